"""Learning from images on all cores of a CPU: every core takes its share of the images, from pixels to features and back.

XLA splits single operations over threads, and most of those of a CNN are too small for that or are not split at all. Here
every core is a device of its own that runs the whole program. They share only the work on images: each makes the features
of its own, all get everybody's, and the gradients are summed. The rest is small, and each does it for itself with the same
numbers. How the sums are made depends on the number of cores, never on which of them is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Num

AXIS = "cores"
COMPILER = {"xla_cpu_multi_thread_eigen": False, "xla_backend_optimization_level": 2}
"""An operation that one core split would wait for threads of the others; level 2 is faster here than the usual 3
(bench/cnn_speed.py)."""


def count() -> int:
    """Cores that can share: the devices that `backend.start` made of them; 1 where an accelerator computes."""
    return jax.local_device_count() if jax.default_backend() == "cpu" else 1


def on_all(function: Callable[..., Any], donate_argnums: int | tuple[int, ...]) -> Callable[..., Any]:
    """The function compiled for all cores; arguments and what comes back lie on the first one."""
    mesh = Mesh(np.asarray(jax.local_devices()), (AXIS,))
    everywhere = NamedSharding(mesh, PartitionSpec())
    on_mesh: Any = jax.shard_map(
        function, mesh=mesh, in_specs=PartitionSpec(), out_specs=PartitionSpec(), check_vma=False
    )
    compiled = jax.jit(on_mesh, donate_argnums=donate_argnums, compiler_options=COMPILER)

    def call(*args: Any) -> Any:
        return on_first(compiled(*jax.device_put(args, everywhere)))

    return call


def on_first(tree: Any) -> Any:
    """The tree's arrays on the first core; bound to it, so that programs are compiled only once."""
    return jax.device_put(tree, jax.local_devices()[0])


def num_sharing() -> int:
    """Cores that run the program which is being traced."""
    try:
        return jax.lax.axis_size(AXIS)
    except NameError:
        return 1


def share(function: Callable[..., Any], params: Any, rows: Num[Array, "N D"]) -> Array:
    """`function(params, rows)`, each core with its part of the rows, where they can be dealt out evenly.

    Gradients go to the parameters alone.
    """
    cores = num_sharing()
    return function(params, rows) if cores == 1 or rows.shape[0] % cores else _shared(function, params, rows)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _shared(function: Callable[..., Any], params: Any, rows: Array) -> Array:
    return jax.lax.all_gather(function(params, _own(rows)), AXIS, tiled=True)


def _share_and_keep(function: Callable[..., Any], params: Any, rows: Array) -> tuple[Array, Any]:
    found, back = jax.vjp(lambda params: function(params, _own(rows)), params)
    return jax.lax.all_gather(found, AXIS, tiled=True), back


def _sum_gradients(function: Callable[..., Any], back: Any, cotangent: Array) -> tuple[Any, None]:
    return jax.lax.psum(back(_own(cotangent))[0], AXIS), None


_shared.defvjp(_share_and_keep, _sum_gradients)


def share_sequences(function: Callable[..., Any], params: Any, sequences: Any) -> Any:
    """The same for arrays that gradients pass through, as those that an LSTM reads: a tree of them, sequences first."""
    cores, count = num_sharing(), jax.tree.leaves(sequences)[0].shape[0]
    return function(params, sequences) if cores == 1 or count % cores else _passed(function, params, sequences)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _passed(function: Callable[..., Any], params: Any, sequences: Any) -> Any:
    return _gathered(function(params, jax.tree.map(_own, sequences)))


def _pass_and_keep(function: Callable[..., Any], params: Any, sequences: Any) -> tuple[Any, Any]:
    found, back = jax.vjp(function, params, jax.tree.map(_own, sequences))
    return _gathered(found), back


def _gather_gradients(function: Callable[..., Any], back: Any, cotangent: Any) -> tuple[Any, Any]:
    by_params, by_sequences = back(jax.tree.map(_own, cotangent))
    return jax.lax.psum(by_params, AXIS), _gathered(by_sequences)


_passed.defvjp(_pass_and_keep, _gather_gradients)


def _gathered(tree: Any) -> Any:
    """Everybody's parts."""
    return jax.tree.map(lambda x: jax.lax.all_gather(x, AXIS, tiled=True), tree)


def _own(x: Array) -> Array:
    """This core's part."""
    size = x.shape[0] // num_sharing()
    return jax.lax.dynamic_slice_in_dim(x, jax.lax.axis_index(AXIS) * size, size)
