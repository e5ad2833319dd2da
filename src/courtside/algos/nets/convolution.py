"""The Nature CNN: three convolutions and a dense layer look at an image (Mnih et al. 2015, doi:10.1038/nature14236).

Convolutions of 32 8x8 stride 4, 64 4x4 stride 2, 64 3x3 stride 1, then `cnn_features` units, a ReLU after each. Rows of
pixels come in as bytes or as numbers from 0 to 255; the division by 255 is done to the weights of the first layer.
Weights are kept as matrices, a row for each input of a patch in the order row, column, channel.

XLA's convolutions are slow on a CPU, strided ones and above all backwards. There they are matrix products of patches over
blocks instead (`nets.blocks`), with the same numbers up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from courtside.algos.nets import blocks, cores
from courtside.algos.nets.blocks import Kernel
from courtside.algos.nets.layers import HIDDEN_GAIN, Linear
from courtside.settings.config import NetConfig
from courtside.spaces import Box, Space

KERNELS = (Kernel(8, 4, 32), Kernel(4, 2, 64), Kernel(3, 1, 64))
SMALLEST = 36
"""Pixels along a side that the convolutions need."""


@dataclass(frozen=True)
class Image:
    """How the pixels of one observation lie in its row."""

    height: int
    width: int
    channels: int
    channels_first: bool = False

    def layer_shapes(self, num_features: int) -> list[tuple[int, int, float]]:
        """Inputs, outputs and gain of each layer; a convolution's inputs are those of one patch."""
        channels = [self.channels, *(kernel.channels for kernel in KERNELS)]
        patches = [kernel.size**2 * count for kernel, count in zip(KERNELS, channels, strict=False)]
        shapes = [(patch, kernel.channels, HIDDEN_GAIN) for patch, kernel in zip(patches, KERNELS, strict=True)]
        return [*shapes, (self.outputs()[-1], num_features, HIDDEN_GAIN)]

    def outputs(self) -> list[int]:
        """Numbers that each convolution puts out."""
        height, width, sizes = self.height, self.width, []
        for kernel in KERNELS:
            height, width = kernel.reach(height), kernel.reach(width)
            sizes.append(height * width * kernel.channels)
        return sizes


def image_of(net: NetConfig, space: Space) -> Image | None:
    """What a CNN looks at; None where the space is no image or the network shall have none.

    An image is a uint8 box of three axes: the smallest counts the channels and comes first or last.
    """
    if net.torso == "mlp" or not isinstance(space, Box) or space.dtype_name != "uint8" or len(space.shape) != 3:
        return None
    first, middle, last = space.shape
    image = Image(middle, last, first, True) if first < last else Image(first, middle, last)
    is_large = min(image.height, image.width) >= max(SMALLEST, image.channels)
    return image if is_large else None


class NatureTorso(eqx.Module):
    """Rows of pixels in, features out; takes the place of hidden layers."""

    layers: tuple[Linear, ...]
    """The convolutions and the dense layer."""
    image: Image = eqx.field(static=True)
    by_blocks: bool = eqx.field(static=True)
    """Convolve over blocks, which is faster on a CPU; chosen where the network is made."""

    def __call__(self, rows: Num[Array, "*batch D"]) -> Float[Array, "*batch H"]:
        seen = cores.share(_look, self, rows.reshape(-1, rows.shape[-1]))
        return seen.reshape(*rows.shape[:-1], -1)


def _look(torso: NatureTorso, rows: Num[Array, "N D"]) -> Float[Array, "N H"]:
    convolve: Any = blocks.convolve if torso.by_blocks else convolve_directly
    weights = tuple((layer.weight, layer.bias) for layer in torso.layers[:-1])
    seen = convolve(KERNELS, weights, pixels(torso.image, rows))
    return jax.nn.relu(torso.layers[-1](seen))


def make_nature_torso(layers: tuple[Linear, ...], image: Image) -> NatureTorso:
    """The torso as it is fastest on the device that this program computes on."""
    return NatureTorso(layers, image, by_blocks=jax.default_backend() == "cpu")


def held_bytes(image: Image) -> tuple[int, int]:
    """About how much of each image lies between the layers: while a batch is only looked at, and while it is learned from.

    Made of blocks, images go through a few at a time, so that of a look only the last convolution's outputs are left. What
    those few take meanwhile, some megabytes, is not counted.
    """
    size, outputs = image.height * image.width * image.channels, image.outputs()
    if jax.default_backend() == "cpu":
        return 4 * outputs[-1], size + 4 * (sum(outputs) + outputs[-1])
    return 4 * (size + 2 * outputs[0]), 4 * (size + 3 * sum(outputs))


def pixels(image: Image, rows: Num[Array, "N D"]) -> Num[Array, "N height width channels"]:
    """The rows as images, channels last."""
    if image.channels_first:
        return rows.reshape(-1, image.channels, image.height, image.width).transpose(0, 2, 3, 1)
    return rows.reshape(-1, image.height, image.width, image.channels)


def convolve_directly(
    kernels: tuple[Kernel, ...], weights: blocks.Weights, images: Num[Array, "N height width channels"]
) -> Float[Array, "N D"]:
    """The convolutions as XLA has them: the fastest on a GPU."""
    x = images.astype(jnp.float32)
    for i, (kernel, (weight, bias)) in enumerate(zip(kernels, weights, strict=True)):
        weight = weight.reshape(kernel.size, kernel.size, x.shape[-1], kernel.channels) / (1 if i else blocks.BRIGHTEST)
        strides = (kernel.stride, kernel.stride)
        y = jax.lax.conv_general_dilated(x, weight, strides, "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(y + jnp.broadcast_to(bias, y.shape))
    return x.reshape(x.shape[0], -1)
