"""The MAD4PG family, slowly: float64, one entry, one agent and one atom at a time.

Networks are the modules of `nets.deterministic` with float64 numbers in them, taken apart here and computed by hand; all
activations are tanh, so that finite differences of the losses are exact to many digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np


@dataclass(frozen=True)
class Case:
    """The switches of the family."""

    groups: tuple[tuple[int, ...], ...]
    """Agents of each group."""
    central: bool
    atoms: np.ndarray | None
    """The support; None for a critic of one number."""
    others: str
    """What the other agents are taken to do in an actor's loss: what was `stored`, or what they do by `current` parameters."""


def exact(tree: Any) -> Any:
    return jax.tree.map(lambda x: np.asarray(x, np.float64), tree)


def actor(net: Any, x: np.ndarray) -> np.ndarray:
    for layer in net.torso.layers:
        x = np.tanh(x @ layer.weight + layer.bias)
    return np.tanh(x @ net.head.weight + net.head.bias)


def critic(net: Any, x: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Observations through the first layer, then joined by the actions as if both were one input of the second."""
    if net.observe is not None:
        x = np.tanh(x @ net.observe.weight + net.observe.bias)
    joined = np.concatenate([net.join.weight, net.actions])
    x = np.tanh(np.concatenate([x, a]) @ joined + net.join.bias)
    for layer in net.rest:
        x = np.tanh(x @ layer.weight + layer.bias)
    return x @ net.head.weight + net.head.bias


def own_first(case: Case, rows: list[np.ndarray], agent: int) -> np.ndarray:
    """What the critic of one agent is given of everybody's rows."""
    order = [(agent + k) % len(rows) for k in range(len(rows))] if case.central else [agent]
    return np.concatenate([rows[i] for i in order])


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()


def project(probs: np.ndarray, reward: float, discount: float, atoms: np.ndarray) -> np.ndarray:
    spacing, found = (atoms[-1] - atoms[0]) / (len(atoms) - 1), np.zeros(len(atoms))
    for p, z in zip(probs, atoms, strict=True):
        place = (np.clip(reward + discount * z, atoms[0], atoms[-1]) - atoms[0]) / spacing
        for j in range(len(atoms)):
            found[j] += p * max(0.0, 1.0 - abs(place - j))
    return found


def by_agent(case: Case, nets: list[Any], rows: np.ndarray) -> list[np.ndarray]:
    """Everybody's action, each by its own group's actor."""
    return [
        next(actor(net, row) for g, net in zip(case.groups, nets, strict=True) if i in g) for i, row in enumerate(rows)
    ]


def make_target(case: Case, slow_actors: list[Any], slow_critic: Any, entry: dict[str, Any], agent: int) -> Any:
    """What the critic should say of an entry: a number, or probabilities; and the mean before any clipping."""
    actions = by_agent(case, slow_actors, entry["next"])
    said = critic(slow_critic, own_first(case, list(entry["next"]), agent), own_first(case, actions, agent))
    reward, discount = entry["reward"][agent], entry["discount"][agent]
    if case.atoms is None:
        return reward + discount * said[0], reward + discount * said[0]
    probs = softmax(said)
    return project(probs, reward, discount, case.atoms), reward + discount * probs @ case.atoms


def critic_loss(case: Case, g: int, net: Any, slow: tuple[list[Any], list[Any]], batch: list[dict[str, Any]]) -> float:
    """Σ w i loss / Σ w, with activity w and importance i."""
    total = weights = 0.0
    for entry in batch:
        for agent in case.groups[g]:
            goal, _ = make_target(case, slow[0], slow[1][g], entry, agent)
            said = critic(net, own_first(case, list(entry["obs"]), agent), own_first(case, entry["action"], agent))
            loss = (goal - said[0]) ** 2 if case.atoms is None else -goal @ np.log(softmax(said))
            total += entry["weight"][agent] * entry["importance"] * loss
            weights += entry["weight"][agent]
    return total / weights


def actor_loss(case: Case, g: int, net: Any, actors: list[Any], judge: Any, batch: list[dict[str, Any]]) -> float:
    """- mean value of what `net` does; `actors` and `judge` are held still, the group's own other agents too."""
    total = weights = 0.0
    for entry in batch:
        stored = list(entry["action"])
        for agent in case.groups[g]:
            actions = stored if case.others == "stored" else by_agent(case, actors, entry["obs"])
            actions = [*actions[:agent], actor(net, entry["obs"][agent]), *actions[agent + 1 :]]
            said = critic(judge, own_first(case, list(entry["obs"]), agent), own_first(case, actions, agent))
            value = said[0] if case.atoms is None else softmax(said) @ case.atoms
            total -= entry["weight"][agent] * value
            weights += entry["weight"][agent]
    return total / weights


def td_error(case: Case, critics: list[Any], slow: tuple[list[Any], list[Any]], entry: dict[str, Any]) -> float:
    """|mean prediction - mean target|, averaged over the agents that are there."""
    found = {}
    for g, agents in enumerate(case.groups):
        for agent in agents:
            _, goal = make_target(case, slow[0], slow[1][g], entry, agent)
            said = critic(
                critics[g], own_first(case, list(entry["obs"]), agent), own_first(case, entry["action"], agent)
            )
            found[agent] = abs(goal - (said[0] if case.atoms is None else softmax(said) @ case.atoms))
    weight = entry["weight"]
    return sum(weight[a] * found[a] for a in found) / max(weight.sum(), 1.0)


def slope(loss: Any, net: Any, direction: Any, size: float = 1e-5) -> float:
    """The derivative of `loss(net)` along a direction."""
    ahead, behind = (jax.tree.map(lambda x, d: x + s * d, net, direction) for s in (size, -size))  # noqa: B023
    return (loss(ahead) - loss(behind)) / (2 * size)


def n_step(steps: list[dict[str, Any]], start: int, agent: int, gamma: float, n: int) -> tuple[float, float, Any]:
    """R, d and where it leads, of the entry of one agent that starts at `start`; steps of one env in order."""
    total, discount = 0.0, 1.0
    for step in steps[start : start + n]:
        total += discount * step["reward"][agent]
        discount *= gamma
        if step["terminated"][agent]:
            return total, 0.0, step["final"][agent]
        if step["truncated"][agent]:
            break
    return total, discount, step["final"][agent]
