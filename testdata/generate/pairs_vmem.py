"""The programs of testdata/pairs for the rules on scoped VMEM near its limit."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from runner import Registry, main, sds

program = Registry()
f32 = jnp.float32
MIB = 1 << 20
RECORDED = {"keep": ("after_codegen.txt",)}


def normalize_kernel(x_ref, out_ref):
    x = x_ref[...]
    scale = jax.lax.rsqrt(jnp.mean(x * x, axis=1, keepdims=True) + 1e-6)
    out_ref[...] = x * scale


def normalize(rows, limit, x):
    """Rows divided by their root mean square, so many rows at a time."""
    window = pl.BlockSpec((rows, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        normalize_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // rows,),
        in_specs=[window],
        out_specs=window,
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=limit),
        name="normalize",
    )(x)


def normalized(mesh, shape, rows, limit=None):
    return jax.jit(functools.partial(normalize, rows, limit)), (sds(shape, f32, mesh),)


# --- scoped-vmem-near-limit ------------------------------------------------------------------------


@program(
    "rows normalised by a Pallas kernel, windows of 256 rows of 4096",
    "16 MiB of a limit of 16 MiB; compiles",
    name="scoped-vmem-near-limit/bad",
    **RECORDED,
)
def near_limit(mesh):
    return normalized(mesh, (65536, 4096), 256)


@program(
    "the same, windows of 128 rows",
    "remedy: smaller windows",
    name="scoped-vmem-near-limit/good",
    **RECORDED,
)
def far_from_limit(mesh):
    return normalized(mesh, (65536, 4096), 128)


# --- vmem-limit-over-capacity ----------------------------------------------------------------------


@program(
    "rows normalised by a Pallas kernel that asks for 200 MiB of VMEM",
    "vmem_limit_bytes of 200 MiB on a chip with 128 MiB; compiles",
    name="vmem-limit-over-capacity/bad",
    **RECORDED,
)
def limit_over_capacity(mesh):
    return normalized(mesh, (65536, 4096), 128, 200 * MIB)


@program(
    "the same with the limit that it needs",
    "remedy: vmem_limit_bytes of 16 MiB",
    name="vmem-limit-over-capacity/good",
    **RECORDED,
)
def limit_of_the_need(mesh):
    return normalized(mesh, (65536, 4096), 128, 16 * MIB)


# --- vmem-block-misaligned -------------------------------------------------------------------------


def mixed(rows, x):
    """Rows mixed with their neighbours in blocks."""

    def kernel(x_ref, out_ref):
        out_ref[...] = 0.5 * x_ref[...] + 0.5 * jnp.mean(x_ref[...])

    window = pl.BlockSpec((rows, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // rows,),
        in_specs=[window],
        out_specs=window,
        name="mixed",
    )(x)


@program(
    "an array of 48 columns through a Pallas kernel, blocks of 4096 rows",
    "windows of 2 MiB for 0.75 MiB of data: 48 lanes of 128",
    name="vmem-block-misaligned/bad",
    **RECORDED,
)
def narrow_array(mesh):
    return jax.jit(functools.partial(mixed, 4096)), (sds((262144, 48), f32, mesh),)


@program(
    "the same numbers as an array of 384 columns, blocks of 512 rows",
    "remedy: reshape so that the last dimension is a multiple of 128",
    name="vmem-block-misaligned/good",
    **RECORDED,
)
def wide_array(mesh):
    return jax.jit(functools.partial(mixed, 512)), (sds((32768, 384), f32, mesh),)


if __name__ == "__main__":
    main(program)
