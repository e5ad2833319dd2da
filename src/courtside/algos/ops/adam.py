"""Adam as the families take it. PPO: one long vector of parameters, clipped by a factor, the decay of the weights beside it.
The MAD4PG family: trees, an L2 gradient that Adam sees. They are two, because their states lie otherwise in checkpoints and
their clipping rounds otherwise."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float


class AdamNumbers(NamedTuple):
    """What a step depends on; traced, so that many settings can share one compiled program."""

    rate: Float[Array, ""]
    eps: Float[Array, ""]
    max_norm: Float[Array, ""]
    """Longer gradients are shortened to this; inf leaves all as they are."""
    weight_decay: Float[Array, ""]


def adam_start(params: Float[Array, "W"]) -> Any:
    """The state before the first step."""
    return _adam(0.0, 0.0).init(params)


def adam_step(
    numbers: AdamNumbers, params: Float[Array, "W"], grads: Float[Array, "W"], norm: Float[Array, ""], state: Any
) -> tuple[Float[Array, "W"], Any]:
    """θ ← θ + (Adam(g · min(1, c / ‖g‖)) - η λ θ); `norm` is ‖g‖.

    Kingma and Ba 2015 (arXiv:1412.6980); the decay λ is that of AdamW, which Adam never sees (Loshchilov and Hutter 2019,
    arXiv:1711.05101). Both parts of the change are added up first: beside θ a small decay would be rounded away.
    """
    clipped = grads * jnp.minimum(1.0, numbers.max_norm / norm)
    change: Any
    change, state = _adam(numbers.eps, numbers.rate).update(clipped, state)
    return params + (change - numbers.rate * numbers.weight_decay * params), state


def _adam(eps: Any, rate: Any) -> optax.GradientTransformation:
    """Clipping is a factor before it, since Optax's own would be one more pass over all parameters; the identity holds its
    place, so that older checkpoints fit."""
    return optax.chain(optax.identity(), optax.scale_by_adam(eps=eps), optax.scale(-1.0 * rate))


def adam_of_tree(clips: bool, max_norm: Any, l2: Any, eps: Any, rate: Any) -> optax.GradientTransformation:
    """Clip, add the L2 gradient, Adam; made inside the program because the numbers are traced."""
    clip = [optax.clip_by_global_norm(max_norm)] if clips else []
    decay = optax.add_decayed_weights(l2)
    return optax.chain(*clip, decay, optax.scale_by_adam(eps=eps), optax.scale(-1.0 * rate))
