"""PPO's loss, its gradient and Adam in plain NumPy float64: the slow twin, with backpropagation written out by hand.

Parameters are a dict of arrays: `actor0.weight`, `actor0.bias`, ..., `critic0.weight`, ..., `policy.weight`, `value.bias`,
`log_std`. A shared torso has no `critic` entries. Only tanh networks.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from courtside.spaces import Box, Discrete, Space

Params = dict[str, np.ndarray]


@dataclass
class Settings:
    """The numbers of one update."""

    action: Space
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    norm_adv: bool = True
    clip_vloss: bool = True
    max_grad_norm: float = 0.5
    learning_rate: float = 1e-3
    adam_eps: float = 1e-5
    weight_decay: float = 0.0


def to_dict(net: Any) -> Params:
    """An ActorCritic as a dict of float64 arrays."""
    parts: dict[str, Any] = {f"actor{i}": layer for i, layer in enumerate(net.actor_torso.layers)}
    if net.critic_torso is not None:
        parts |= {f"critic{i}": layer for i, layer in enumerate(net.critic_torso.layers)}
    parts |= {"policy": net.policy_head, "value": net.value_head}
    found = {
        f"{name}.{kind}": np.asarray(getattr(layer, kind), np.float64)
        for name, layer in parts.items()
        for kind in ("weight", "bias")
    }
    return found | ({} if net.log_std is None else {"log_std": np.asarray(net.log_std, np.float64)})


def _num_layers(params: Params, torso: str) -> int:
    return sum(name.startswith(torso) for name in params) // 2


def run_torso(params: Params, torso: str, x: np.ndarray) -> list[np.ndarray]:
    """Input and output of every layer."""
    seen = [x]
    for i in range(_num_layers(params, torso)):
        seen.append(np.tanh(seen[-1] @ params[f"{torso}{i}.weight"] + params[f"{torso}{i}.bias"]))
    return seen


def critic_name(params: Params) -> str:
    return "critic" if "critic0.weight" in params else "actor"


def values(params: Params, x: np.ndarray) -> np.ndarray:
    return (run_torso(params, critic_name(params), x)[-1] @ params["value.weight"] + params["value.bias"])[..., 0]


def logits(params: Params, x: np.ndarray) -> np.ndarray:
    return run_torso(params, "actor", x)[-1] @ params["policy.weight"] + params["policy.bias"]


def _edges(action: Space) -> list[tuple[int, int]]:
    sizes = (action.n,) if isinstance(action, Discrete) else action.nvec
    ends = np.cumsum((0, *sizes))
    return list(itertools.pairwise(ends))


def distribution(action: Space, params: Params, head: np.ndarray, taken: np.ndarray) -> tuple[Any, ...]:
    """log π, H and their derivatives by the head (and, for real numbers, by the log deviation). M rows."""
    if isinstance(action, Box):
        std = np.exp(params["log_std"])
        z = (taken - head) / std
        log_prob = (-0.5 * z**2 - params["log_std"] - 0.5 * np.log(2 * np.pi)).sum(-1)
        entropy = np.full(len(head), (0.5 + 0.5 * np.log(2 * np.pi) + params["log_std"]).sum())
        return log_prob, entropy, z / std, np.zeros_like(head), z**2 - 1, np.ones_like(head)
    log_prob, entropy = np.zeros(len(head)), np.zeros(len(head))
    d_log_prob, d_entropy = np.zeros_like(head), np.zeros_like(head)
    choices = taken.reshape(len(head), -1)
    for i, (a, b) in enumerate(_edges(action)):
        part = head[:, a:b] - head[:, a:b].max(-1, keepdims=True)
        log_p = part - np.log(np.exp(part).sum(-1, keepdims=True))
        p = np.exp(log_p)
        chosen = np.eye(b - a)[choices[:, i]]
        h = -(p * log_p).sum(-1)
        log_prob += (chosen * log_p).sum(-1)
        entropy += h
        d_log_prob[:, a:b] = chosen - p
        d_entropy[:, a:b] = -p * (log_p + h[:, None])
    return log_prob, entropy, d_log_prob, d_entropy, None, None


def _surrogate(log_ratio: np.ndarray, advantage: np.ndarray, clip: float) -> tuple[np.ndarray, np.ndarray]:
    """Per sample: -min(ρÂ, clip(ρ)Â) and its derivative by log ρ."""
    ratio = np.exp(log_ratio)
    plain, clipped = ratio * advantage, np.clip(ratio, 1 - clip, 1 + clip) * advantage
    # Inside the range both terms are the same; outside, the clipped one is flat.
    inside = np.abs(ratio - 1) <= clip
    return -np.minimum(plain, clipped), np.where(inside | (plain < clipped), -plain, 0.0)


def _value_loss(s: Settings, value: np.ndarray, old: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per sample: the value loss and its derivative by the value."""
    error = value - target
    if not s.clip_vloss:
        return 0.5 * error**2, error
    near = old + np.clip(value - old, -s.clip_coef, s.clip_coef) - target
    inside = np.abs(value - old) <= s.clip_coef
    far_counts = near**2 > error**2
    return 0.5 * np.maximum(error**2, near**2), np.where(inside | ~far_counts, error, 0.0)


def loss_and_gradient(s: Settings, params: Params, batch: dict[str, np.ndarray]) -> tuple[float, dict, Params]:
    """The loss, its parts and its gradient by every parameter."""
    x, m = batch["features"], len(batch["features"])
    advantage = batch["advantage"]
    if s.norm_adv:
        advantage = (advantage - advantage.mean()) / (advantage.std(ddof=1) + 1e-8)
    head, value = logits(params, x), values(params, x)
    log_prob, entropy, d_lp, d_h, d_lp_std, d_h_std = distribution(s.action, params, head, batch["action"])
    log_ratio = log_prob - batch["log_prob"]
    policy_terms, d_ratio = _surrogate(log_ratio, advantage, s.clip_coef)
    value_terms, d_value = _value_loss(s, value, batch["value"], batch["target"])
    loss = policy_terms.mean() - s.ent_coef * entropy.mean() + s.vf_coef * value_terms.mean()

    d_head = (d_ratio[:, None] * d_lp - s.ent_coef * d_h) / m
    grads = {name: np.zeros_like(array) for name, array in params.items()}
    if d_lp_std is not None:
        grads["log_std"] = ((d_ratio[:, None] * d_lp_std - s.ent_coef * d_h_std) / m).sum(0)
    _backward(params, grads, "policy", "actor", x, d_head)
    _backward(params, grads, "value", critic_name(params), x, (s.vf_coef * d_value / m)[:, None])
    parts = {
        "policy_loss": policy_terms.mean(), "value_loss": value_terms.mean(), "entropy": entropy.mean(),
        "approx_kl": (np.expm1(log_ratio) - log_ratio).mean(), "old_approx_kl": -log_ratio.mean(),
        "clipfrac": (np.abs(np.expm1(log_ratio)) > s.clip_coef).mean(),
    }  # fmt: skip
    return loss, parts, grads


def _backward(params: Params, grads: Params, head: str, torso: str, x: np.ndarray, d_out: np.ndarray) -> None:
    """Back through a head and its torso; adds, because both heads may stand on one torso."""
    seen = run_torso(params, torso, x)
    grads[f"{head}.weight"] += seen[-1].T @ d_out
    grads[f"{head}.bias"] += d_out.sum(0)
    d = d_out @ params[f"{head}.weight"].T
    for i in reversed(range(len(seen) - 1)):
        d = d * (1 - seen[i + 1] ** 2)
        grads[f"{torso}{i}.weight"] += seen[i].T @ d
        grads[f"{torso}{i}.bias"] += d.sum(0)
        d = d @ params[f"{torso}{i}.weight"].T


def global_norm(grads: Params) -> float:
    return float(np.sqrt(sum((g**2).sum() for g in grads.values())))


class Adam:
    """Kingma and Ba 2015, algorithm 1, after the gradient has been scaled to the largest norm; with decoupled decay."""

    def __init__(self, params: Params) -> None:
        self.t = 0
        self.m = {k: np.zeros_like(v) for k, v in params.items()}
        self.v = {k: np.zeros_like(v) for k, v in params.items()}

    def step(self, s: Settings, params: Params, grads: Params) -> Params:
        shrink = min(1.0, s.max_grad_norm / global_norm(grads))
        self.t += 1
        moved = {}
        for name, g in grads.items():
            g = g * shrink
            self.m[name] = 0.9 * self.m[name] + 0.1 * g
            self.v[name] = 0.999 * self.v[name] + 0.001 * g**2
            m_hat, v_hat = self.m[name] / (1 - 0.9**self.t), self.v[name] / (1 - 0.999**self.t)
            shrunk = params[name] * (1 - s.learning_rate * s.weight_decay)
            moved[name] = shrunk - s.learning_rate * m_hat / (np.sqrt(v_hat) + s.adam_eps)
        return moved


def advantages(
    reward: np.ndarray, value: np.ndarray, next_value: np.ndarray, terminated: np.ndarray, truncated: np.ndarray,
    gamma: float, lam: float,
) -> np.ndarray:  # fmt: skip
    """GAE, from the last step back. [T, ...]"""
    following, rows = np.zeros_like(value[0]), []
    for t in reversed(range(len(reward))):
        delta = reward[t] + gamma * np.where(terminated[t], 0.0, next_value[t]) - value[t]
        following = delta + np.where(terminated[t] | truncated[t], 0.0, gamma * lam * following)
        rows.append(following)
    return np.stack(rows[::-1])
