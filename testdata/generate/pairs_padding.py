"""Pairs of the rules that speak of padding: shapes and layouts that tiles do not fit, and the same data
in a shape or layout that they do.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.layout import Format, Layout
from jax.sharding import NamedSharding, PartitionSpec as P

from runner import Registry, main, sds

program = Registry()
bf16, f32, s32 = jnp.bfloat16, jnp.float32, jnp.int32


# --- tile-padding --------------------------------------------------------------------------------


def damped(signal, gain):
    return signal * jnp.tanh(gain), gain * jnp.tanh(signal)


def signal_arguments(mesh):
    return (sds((256, 1024, 129), f32, mesh),) * 2


@program(
    "elementwise over f32[256,1024,129], layouts of arguments and results pinned row-major",
    "129 of 256 lanes hold data: each array takes twice its size",
    name="tile-padding/bad",
)
def row_major(mesh):
    rows = Format(Layout(major_to_minor=(0, 1, 2)), NamedSharding(mesh, P()))
    return jax.jit(damped, in_shardings=rows, out_shardings=rows), signal_arguments(mesh)


@program(
    "the same, layouts left to XLA",
    "remedy: no pinned layout; 1024 becomes the minor dimension and 129 the major one",
    name="tile-padding/good",
)
def free_layout(mesh):
    return jax.jit(damped), signal_arguments(mesh)


# --- layout-copy-pads ----------------------------------------------------------------------------

LAYERS, BATCH, LENGTH, HEADS, WIDTH = 4, 16, 4096, 16, 64
LANES = 128
SIDE_BY_SIDE = LANES // WIDTH


def decode(attend, split, cache, queries, position):
    """One token through all layers: writes its key and value, reads the whole cache."""

    def write(stacked, at, x):
        return lax.dynamic_update_slice(stacked, split(x)[None, :, None], (at, 0, position, 0, 0))

    def layer(carry, at):
        x, keys, values = carry
        keys, values = write(keys, at, x), write(values, at, jnp.tanh(x))
        k = lax.dynamic_index_in_dim(keys, at, keepdims=False)
        v = lax.dynamic_index_in_dim(values, at, keepdims=False)
        return (attend(x, k, v), keys, values), None

    carry, _ = lax.scan(layer, (queries, *cache), jnp.arange(LAYERS))
    return carry


def decode_program(mesh, attend, split, heads, width):
    cache = sds((LAYERS, BATCH, LENGTH, heads, width), bf16, mesh)
    step = jax.jit(functools.partial(decode, attend, split), donate_argnums=0)
    return step, ((cache, cache), sds((BATCH, HEADS, WIDTH), bf16, mesh), sds((), s32, mesh))


@program(
    "decoding step over a key/value cache bf16[4,16,4096,16,64], donated",
    "the loop wants heads of 64 on the lanes: both caches are copied into a layout of twice the size",
    name="layout-copy-pads/bad",
)
def heads_apart(mesh):
    def attend(x, k, v):
        scores = jnp.einsum("bhd,bkhd->bhk", x, k)
        return jnp.einsum("bhk,bkhd->bhd", jax.nn.softmax(scores), v)

    return decode_program(mesh, attend, lambda x: x, HEADS, WIDTH)


@program(
    "the same with two heads side by side, bf16[4,16,4096,8,128]",
    "remedy: packed heads; a query is zero where the other head's keys are",
    name="layout-copy-pads/good",
)
def heads_packed(mesh):
    groups = HEADS // SIDE_BY_SIDE
    own = np.eye(SIDE_BY_SIDE, dtype=bf16)

    def split(x):
        return x.reshape(BATCH, groups, LANES)

    def attend(x, k, v):
        apart = x.reshape(BATCH, groups, SIDE_BY_SIDE, 1, WIDTH) * own[:, :, None]
        queries = apart.reshape(BATCH, groups, SIDE_BY_SIDE, LANES)
        weights = jax.nn.softmax(jnp.einsum("bgpd,bkgd->bgpk", queries, k))
        mixed = jnp.einsum("bgpk,bkgd->bgpd", weights, v)
        mixed = mixed.reshape(BATCH, groups, SIDE_BY_SIDE, SIDE_BY_SIDE, WIDTH)
        return jnp.einsum("bgpqd,pq->bgpd", mixed, own).reshape(BATCH, HEADS, WIDTH)

    return decode_program(mesh, attend, split, groups, LANES)


# --- gather-index-padding ------------------------------------------------------------------------


def sampled(volume, points):
    """The voxels at integer points, and the neighbours of the points."""
    near = jnp.clip(points + 1, 0, volume.shape[0] - 1)
    return volume[points[:, 0], points[:, 1], points[:, 2]], near


@program(
    "gather by points s32[2097152,3], coordinates pinned as the minor dimension",
    "three of 128 lanes hold data: 24 MiB of indices take 1 GiB",
    name="gather-index-padding/bad",
)
def coordinates_minor(mesh):
    whole = NamedSharding(mesh, P())
    rows = Format(Layout(major_to_minor=(0, 1)), whole)
    step = jax.jit(sampled, in_shardings=(whole, rows), out_shardings=(whole, rows))
    return step, (sds((256, 256, 256), f32, mesh), sds((2097152, 3), s32, mesh))


@program(
    "the same, layout of the indices left to XLA",
    "remedy: points along the lanes",
    name="gather-index-padding/good",
)
def points_minor(mesh):
    return jax.jit(sampled), (sds((256, 256, 256), f32, mesh), sds((2097152, 3), s32, mesh))


if __name__ == "__main__":
    main(program)
