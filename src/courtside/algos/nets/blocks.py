"""Convolutions in the forms that are fast on a CPU, forwards and backwards; same numbers as XLA's own up to rounding.

On a CPU XLA's gradients of convolutions are many times slower than its matrix products, and its convolutions of a few images
are slower too. So a kernel whose size is q strides becomes a q x q kernel of stride 1 over blocks: the pixels of a stride x
stride square laid side by side, which makes patches that are quickly copied together. What comes out is the product of all
patches with the weights, the gradient towards the weights that of all patches with the gradients of what they led to. Towards
the input each gradient is multiplied with all weights of its patch and laid back to where the patch came from. (As a
convolution of the padded gradients that would be up to 1.65 times as many products, with zeros.)

Images go through a few at a time, so that what lies between the layers stays in the cache. No gradient goes to the pixels.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

Weights = tuple[tuple[Array, Array], ...]
"""Weight [size x size x channels, outputs] and bias of each convolution."""
CHUNK, LOOK_CHUNK = 4, 16
"""Images that go through at a time, while they are learned from and while they are only looked at. Seen on two cores: with 8
about 2,400 images/s are learned from instead of 2,650; with 4 a look at 32 takes 5.3 ms instead of 4.5."""
BRIGHTEST = 255


class Kernel(NamedTuple):
    """One convolution: its patches have `size` x `size` pixels and begin `stride` apart; `channels` come out."""

    size: int
    stride: int
    channels: int

    @property
    def blocks(self) -> int:
        """Blocks along a side of a patch (q)."""
        return self.size // self.stride

    def reach(self, pixels: int) -> int:
        """How many patches fit along a side."""
        return (pixels - self.size) // self.stride + 1


Kernels = tuple[Kernel, ...]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def convolve(kernels: Kernels, weights: Weights, images: Num[Array, "N height width channels"]) -> Float[Array, "N D"]:
    """All convolutions, a ReLU after each, of pixels from 0 to 255; what comes out of the last lies in a row."""
    seen = _by_chunks(lambda part: _forward(kernels, weights, _first_blocks(kernels, part))[-1], images, LOOK_CHUNK)
    return seen.reshape(seen.shape[0], -1)


def _convolve_and_keep(kernels: Kernels, weights: Weights, images: Array) -> tuple[Array, Any]:
    blocks = _first_blocks(kernels, images)
    seen = _by_chunks(partial(_forward, kernels, weights), blocks, CHUNK)
    return seen[-1].reshape(images.shape[0], -1), (weights, blocks, seen)


def _gradients(kernels: Kernels, kept: Any, cotangent: Array) -> tuple[Weights, None]:
    """Those of the weights; sums over the chunks are kept transposed, as the products leave them."""
    weights, blocks, seen = kept
    parts = _chunks((blocks, seen, cotangent.reshape(seen[-1].shape)), CHUNK)
    zeros = tuple((jnp.zeros(weight.T.shape), jnp.zeros(bias.shape)) for weight, bias in weights)

    def add(sums: Any, part: Any) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, sums, _backward(kernels, weights, *part)), None

    sums, _ = jax.lax.scan(add, zeros, parts)
    grads = [(_unblock_weight(kernel, grad), bias) for kernel, (grad, bias) in zip(kernels, sums, strict=True)]
    return ((grads[0][0] / BRIGHTEST, grads[0][1]), *grads[1:]), None


convolve.defvjp(_convolve_and_keep, _gradients)


def _forward(kernels: Kernels, weights: Weights, blocks: Array) -> tuple[Array, ...]:
    """What each convolution shows the next one, in blocks, and what comes out of the last."""
    x, seen = blocks, []
    strides = [*(kernel.stride for kernel in kernels[1:]), 1]
    for (weight, bias), stride in zip(_block_weights(kernels, weights), strides, strict=True):
        y = _slide(x, weight)
        x = _to_blocks(jax.nn.relu(y + jnp.broadcast_to(bias, y.shape)), stride)
        seen.append(x)
    return tuple(seen)


def _backward(kernels: Kernels, weights: Weights, blocks: Array, seen: tuple[Array, ...], grad: Array) -> tuple:
    """Gradients of the weights (in blocks, transposed) and biases, of one chunk."""
    grads, inputs = [], (blocks, *seen[:-1])
    strides = [*(kernel.stride for kernel in kernels[1:]), 1]
    blocked = _block_weights(kernels, weights)
    for i in reversed(range(len(kernels))):
        grad = _to_pixels(jnp.where(seen[i] > 0, grad, 0), strides[i])
        flat = grad.reshape(-1, grad.shape[-1])
        patches = _patches(inputs[i], kernels[i].blocks).reshape(flat.shape[0], -1)
        grads.append((jax.lax.dot_general(flat, patches, (((0,), (0,)), ((), ()))), jnp.sum(flat, axis=0)))
        if i:
            grad = _slide_back(grad, blocked[i][0])
    return tuple(reversed(grads))


def _slide(x: Array, weight: Array) -> Array:
    """A convolution of stride 1: the product of all patches with the weights. x: [N, h, w, D], weight: [q, q, D, E]"""
    q, channels = weight.shape[0], weight.shape[-1]
    patches = _patches(x, q)
    products = patches.reshape(-1, q * q * x.shape[-1]) @ weight.reshape(-1, channels)
    return products.reshape(*patches.shape[:3], channels)


def _slide_back(grad: Array, weight: Array) -> Array:
    """The gradient towards what `_slide` was given: the sum over all patches that a pixel lies in."""
    q, _, size, channels = weight.shape
    count, rows, columns, _ = grad.shape
    products = grad.reshape(-1, channels) @ weight.reshape(-1, channels).T
    parts = products.reshape(count, rows, columns, q, q, size)
    laid = (
        jnp.pad(parts[:, :, :, i, j], ((0, 0), (i, q - 1 - i), (j, q - 1 - j), (0, 0)))
        for i in range(q)
        for j in range(q)
    )
    return reduce(jnp.add, laid)


def _patches(x: Array, q: int) -> Array:
    """Every q x q patch: [N, h, w, D] -> [N, h - q + 1, w - q + 1, q x q, D]

    The barrier keeps the copy apart from what comes before and after it: plain copies are fast, and of bytes the fastest.
    """
    rows, columns = x.shape[1] - q + 1, x.shape[2] - q + 1
    patches = jnp.stack([x[:, i : i + rows, j : j + columns] for i in range(q) for j in range(q)], axis=3)
    return jax.lax.optimization_barrier(patches).astype(jnp.float32)


def _first_blocks(kernels: Kernels, images: Array) -> Array:
    """The images in blocks of the first stride, cut to what the last convolution sees; bytes move four at a time."""
    height, width = (_extent(kernels, side) for side in images.shape[1:3])
    images = images[:, :height, :width]
    if images.dtype != jnp.uint8 or images.shape[-1] % 4:
        return _to_blocks(images, kernels[0].stride)
    words = jax.lax.bitcast_convert_type(images.reshape(*images.shape[:-1], -1, 4), jnp.uint32)
    blocks = jax.lax.bitcast_convert_type(_to_blocks(words, kernels[0].stride), jnp.uint8)
    return blocks.reshape(*blocks.shape[:-2], -1)


def _extent(kernels: Kernels, pixels: int) -> int:
    """Pixels along a side that are used: what does not fill a patch at the end of the last convolution is never seen."""
    for kernel in kernels:
        pixels = kernel.reach(pixels)
    for kernel in reversed(kernels):
        pixels = (pixels - 1) * kernel.stride + kernel.size
    return pixels


def _to_blocks(x: Array, stride: int) -> Array:
    """[N, h s, w s, D] -> [N, h, w, s s D]"""
    if stride == 1:
        return x
    count, height, width, size = x.shape
    x = x.reshape(count, height // stride, stride, width // stride, stride, size).swapaxes(2, 3)
    return x.reshape(count, height // stride, width // stride, -1)


def _to_pixels(x: Array, stride: int) -> Array:
    """The other way round."""
    if stride == 1:
        return x
    count, height, width, _ = x.shape
    x = x.reshape(count, height, width, stride, stride, -1).swapaxes(2, 3)
    return x.reshape(count, height * stride, width * stride, -1)


def _block_weights(kernels: Kernels, weights: Weights) -> list[tuple[Array, Array]]:
    """Weights over blocks [q, q, s s D, outputs] and biases; the first layer's are scaled, since pixels go up to 255."""
    blocked = []
    for i, (kernel, (weight, bias)) in enumerate(zip(kernels, weights, strict=True)):
        q, s = kernel.blocks, kernel.stride
        weight = (weight if i else weight / BRIGHTEST).reshape(q, s, q, s, -1, kernel.channels).swapaxes(1, 2)
        blocked.append((weight.reshape(q, q, -1, kernel.channels), bias))
    return blocked


def _unblock_weight(kernel: Kernel, grad: Array) -> Array:
    """A gradient over blocks, [outputs, q q s s D], as the weight is kept."""
    q, s = kernel.blocks, kernel.stride
    grad = grad.T.reshape(q, q, s, s, -1, kernel.channels).swapaxes(1, 2)
    return grad.reshape(-1, kernel.channels)


def _chunks(tree: Any, most: int) -> Any:
    """Cut along the first axis into parts of at most so many, all of one size: zeros fill the last one up."""
    count = jax.tree.leaves(tree)[0].shape[0]
    num_chunks = -(-count // most)
    size = -(-count // num_chunks)

    def cut(x: Array) -> Array:
        missing = num_chunks * size - count
        filled = jnp.pad(x, ((0, missing), *((0, 0),) * (x.ndim - 1))) if missing else x
        return filled.reshape(num_chunks, size, *x.shape[1:])

    return jax.tree.map(cut, tree)


def _by_chunks(function: Any, images: Array, most: int) -> Any:
    """`function` of all images, chunk by chunk."""
    found = jax.lax.map(function, _chunks(images, most))
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[: images.shape[0]], found)
