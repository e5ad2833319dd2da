"""A memory between the hidden layers and the heads: one long short-term memory cell.

    i, f, o = σ(x W + h R + b)      g = tanh(x W + h R + b)
    c' = f c + i g                  h' = o tanh(c')

Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000. Weights are orthogonal with gain 1, biases and the
first state are zero. Over a whole sequence x W is one large product; what is left for the loop is h R. Its gradient is written
by hand, so that the way back, too, leaves the products for the weights to the end and makes them in one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from courtside.algos.nets import cores
from courtside.algos.nets.layers import make_layers
from courtside.settings.config import NetConfig

GAIN = 1.0
NUM_GATES = 4
"""Input gate, forget gate, candidate, output gate: the order of the columns of all weights."""


class LSTMState(eqx.Module):
    """What a cell remembers of an episode so far; zero where it begins."""

    hidden: Float[Array, "*batch H"]
    """h, which is also what the heads read. Where policy and value have a cell each, the policy's lies in front."""
    cell: Float[Array, "*batch H"]
    """c, likewise"""


def memory_size(net: NetConfig) -> int:
    """Numbers in h, and in c, of what a network remembers; 0 where it never does."""
    return net.lstm_size * (2 if net.critic_lstm else 1)


def split_memory(memory: LSTMState, count: int) -> list[LSTMState]:
    """What each of `count` cells remembers."""
    halves = (jnp.split(x, count, axis=-1) for x in (memory.hidden, memory.cell))
    return [LSTMState(*part) for part in zip(*halves, strict=True)]


def join_memories(parts: Sequence[LSTMState]) -> LSTMState:
    """The other way round."""
    return jax.tree.map(lambda *x: jnp.concatenate(x, axis=-1), *parts)


def blank_memory(batch: tuple[int, ...], size: int) -> LSTMState:
    """Nothing is remembered yet."""
    return LSTMState(jnp.zeros((*batch, size), jnp.float32), jnp.zeros((*batch, size), jnp.float32))


def forget(memory: Any, where: Bool[Array, "*batch"]) -> Any:
    """The same memory, blank where a flag is set; flags may lack the last axes of the batch, such as the agents."""
    blank = lambda x: where.reshape(*where.shape, *(1,) * (x.ndim - where.ndim))  # noqa: E731
    return jax.tree.map(lambda x: jnp.where(blank(x), jnp.zeros_like(x), x), memory)


class LSTM(eqx.Module):
    """The cell; G = 4 H numbers go into its gates."""

    weight: Float[Array, "*P D G"]
    recurrent: Float[Array, "*P H G"]
    bias: Float[Array, "*P G"]

    def step(self, x: Float[Array, "*batch D"], memory: LSTMState) -> LSTMState:
        """One step: what is remembered afterwards."""
        return LSTMState(*_cell(self._inward(x) + memory.hidden @ self.recurrent, memory.cell)[1:])

    def unroll(self, x: Float[Array, "T S D"], memory: LSTMState, starts: Bool[Array, "T S"]) -> LSTMState:
        """All steps of S sequences: what is remembered after each. [T, S, H]

        `memory` [S, H] is from before the first step; it is forgotten before every step that begins an episode.
        """
        keep = (~starts).astype(jnp.float32)[..., None]
        if cores.num_sharing() == 1:
            return LSTMState(*_unroll(self._inward(x), keep, self.recurrent, memory.hidden, memory.cell))
        sequences = (x.swapaxes(0, 1), keep.swapaxes(0, 1), memory.hidden, memory.cell)
        return LSTMState(*(part.swapaxes(0, 1) for part in cores.share_sequences(_unroll_own, self, sequences)))

    def _inward(self, x: Float[Array, "*batch D"]) -> Float[Array, "*batch G"]:
        y = x @ self.weight
        return y + jnp.broadcast_to(self.bias, y.shape)


def make_lstm(num_inputs: int, size: int, key: PRNGKeyArray) -> LSTM:
    """A fresh cell."""
    inward, recurrent = make_layers([(num, NUM_GATES * size, GAIN) for num in (num_inputs, size)], key)
    return LSTM(inward.weight, recurrent.weight, inward.bias)


def _unroll_own(lstm: LSTM, sequences: tuple[Array, ...]) -> tuple[Array, ...]:
    """What `LSTM.unroll` does, sequences first: cores that share the work take some of them each."""
    x, keep, hidden, cell = sequences
    inward, keep = lstm._inward(x).swapaxes(0, 1), keep.swapaxes(0, 1)
    return tuple(part.swapaxes(0, 1) for part in _unroll(inward, keep, lstm.recurrent, hidden, cell))


def _cell(gates: Array, cell: Array) -> tuple[Array, Array, Array]:
    """The gates after their non-linearities, h' and c'."""
    before = jnp.split(gates, NUM_GATES, axis=-1)
    i, f, o = (jax.nn.sigmoid(before[n]) for n in (0, 1, 3))
    g = jnp.tanh(before[2])
    cell = f * cell + i * g
    return jnp.concatenate([i, f, g, o], axis=-1), o * jnp.tanh(cell), cell


def _scan(inward: Array, keep: Array, recurrent: Array, hidden: Array, cell: Array) -> tuple[Array, Array, Array]:
    """Gates, h and c of every step."""

    def step(carry: tuple[Array, Array], now: tuple[Array, Array]) -> tuple[Any, Any]:
        inward_now, keep_now = now
        hidden, cell = (x * keep_now for x in carry)
        gates, hidden, cell = _cell(inward_now + hidden @ recurrent, cell)
        return (hidden, cell), (gates, hidden, cell)

    return jax.lax.scan(step, (hidden, cell), (inward, keep))[1]


@jax.custom_vjp
def _unroll(inward: Array, keep: Array, recurrent: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
    return _scan(inward, keep, recurrent, hidden, cell)[1:]


def _unroll_forward(inward: Array, keep: Array, recurrent: Array, hidden: Array, cell: Array) -> tuple[Any, Any]:
    gates, hiddens, cells = _scan(inward, keep, recurrent, hidden, cell)
    return (hiddens, cells), (gates, hiddens, cells, keep, recurrent, hidden, cell)


def _unroll_backward(kept: Any, slopes: tuple[Array, Array]) -> tuple[Array, ...]:
    """Slopes of the loss by what went in, from those by all h and c that came out.

    R is turned once and kept so: a CPU would turn it again at every step, at many times the cost of the step.
    """
    gates, hiddens, cells, keep, recurrent, hidden, cell = kept
    turned = jax.lax.optimization_barrier(recurrent.T)
    hidden_before = jnp.concatenate([hidden[None], hiddens[:-1]]) * keep
    cell_before = jnp.concatenate([cell[None], cells[:-1]]) * keep

    def step(carry: tuple[Array, Array], now: tuple[Array, ...]) -> tuple[Any, Array]:
        by_hidden, by_cell = carry[0] + now[0], carry[1] + now[1]
        (i, f, g, o), bent, before, keep_now = jnp.split(now[2], NUM_GATES, axis=-1), jnp.tanh(now[3]), now[4], now[5]
        by_cell = by_cell + by_hidden * o * (1 - bent**2)
        by_gates = jnp.concatenate(
            [
                by_cell * g * i * (1 - i),
                by_cell * before * f * (1 - f),
                by_cell * i * (1 - g**2),
                by_hidden * bent * o * (1 - o),
            ],
            axis=-1,
        )
        return (by_gates @ turned * keep_now, by_cell * f * keep_now), by_gates

    start = (jnp.zeros_like(hidden), jnp.zeros_like(cell))
    inputs = (*slopes, gates, cells, cell_before, keep)
    (by_hidden, by_cell), by_gates = jax.lax.scan(step, start, inputs, reverse=True)
    flat = lambda x: x.reshape(-1, x.shape[-1])  # noqa: E731
    by_recurrent = flat(hidden_before).T @ flat(by_gates)
    return by_gates, jnp.zeros_like(keep), by_recurrent, by_hidden, by_cell


_unroll.defvjp(_unroll_forward, _unroll_backward)
