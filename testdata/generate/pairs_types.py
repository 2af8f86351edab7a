"""The programs of testdata/pairs about element types: f32 where bf16 would do.

`python pairs_types.py RULE/bad LOG` compiles one of them; `generate.py` does it for all.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

from runner import Registry, main, sds

program = Registry()
f32, bf16 = jnp.float32, jnp.bfloat16


# --- f32-upcast ----------------------------------------------------------------------------------


def normalized(x):
    wide = x.astype(f32)
    return (wide * lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)).astype(bf16)


def deep_program(mesh, norm):
    def loss(weights, x):
        def layer(x, weight):
            return x + jnp.tanh(norm(x) @ weight), None

        return jnp.sum(lax.scan(layer, x, weights)[0].astype(f32))

    arguments = sds((64, 1024, 1024), bf16, mesh), sds((4096, 1024), bf16, mesh)
    return jax.jit(jax.grad(loss)), arguments


@program(
    "gradient of a scan of 64 layers that normalise in f32",
    "the scan keeps the layers' inputs in f32 for the backward pass, converted from bf16",
    name="f32-upcast/bad",
)
def saves_f32(mesh):
    return deep_program(mesh, normalized)


@program(
    "the same with jax.checkpoint around the norm",
    "remedy: the bf16 input is saved and converted again",
    name="f32-upcast/good",
)
def saves_bf16(mesh):
    return deep_program(mesh, jax.checkpoint(normalized))


# --- f32-collective ------------------------------------------------------------------------------

FOUR = {"topology": "v5e:2x2", "mesh": ((4,), ("data",))}


def gathered_program(mesh, whole_in_f32):
    def f(weight, x):
        whole = NamedSharding(mesh, P())
        if whole_in_f32:
            weight = lax.with_sharding_constraint(weight, whole)
        narrow = lax.with_sharding_constraint(weight.astype(bf16), whole)
        return x @ narrow, jnp.max(jnp.abs(weight), axis=0)

    arguments = (
        sds((16384, 8192), f32, mesh, P("data")), sds((4096, 16384), bf16, mesh, P("data")),
    )
    return jax.jit(f), arguments


@program(
    "a weight gathered in f32 for its scale, and converted to bf16 for a product",
    "512 MiB of f32 on each device, of which the product needs the bf16 half",
    name="f32-collective/bad",
    **FOUR,
)
def gathers_f32(mesh):
    return gathered_program(mesh, whole_in_f32=True)


@program(
    "the same, the scale from the shards and the product's weight gathered in bf16",
    "remedy: convert before the gather, reduce before the gather",
    name="f32-collective/good",
    **FOUR,
)
def gathers_bf16(mesh):
    return gathered_program(mesh, whole_in_f32=False)


# --- weight-convert ------------------------------------------------------------------------------


def inference(weights, x):
    narrow = weights.astype(bf16)

    def layer(x, weight):
        return jnp.tanh(x @ weight), None

    return lax.scan(layer, x, narrow)[0]


def inference_arguments(mesh, dtype):
    return sds((16, 4096, 4096), dtype, mesh), sds((2048, 4096), bf16, mesh)


@program(
    "16 layers by scan, their f32 weights converted to bf16 before it",
    "all weights stand in HBM twice, 1 GiB of f32 and 512 MiB of bf16",
    name="weight-convert/bad",
)
def f32_weights(mesh):
    return jax.jit(inference), inference_arguments(mesh, f32)


@program(
    "the same with weights in bf16",
    "remedy: weights kept in bf16",
    name="weight-convert/good",
)
def bf16_weights(mesh):
    return jax.jit(inference), inference_arguments(mesh, bf16)


if __name__ == "__main__":
    main(program)
