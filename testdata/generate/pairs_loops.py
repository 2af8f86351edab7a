"""The pairs of rules about loops, recomputation and the capacity.

`python pairs_loops.py RULE/bad LOG` compiles one of them; `generate.py` does it for all.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax

from runner import Registry, main, sds

program = Registry()
f32, bf16 = jnp.float32, jnp.bfloat16


# --- stacked-residuals ---------------------------------------------------------------------------


def feed_forward(x, weights):
    inner = jax.nn.gelu(x @ weights["up"])
    return x + inner @ weights["down"]


def scanned_loss(layer, weights, x):
    x, _ = lax.scan(lambda x, weights: (layer(x, weights), None), x, weights)
    return jnp.mean(x.astype(f32) ** 2)


def scanned_program(mesh, layer):
    weights = {
        "up": sds((16, 2048, 8192), bf16, mesh),
        "down": sds((16, 8192, 2048), bf16, mesh),
    }
    step = jax.jit(jax.grad(functools.partial(scanned_loss, layer)))
    return step, (weights, sds((32768, 2048), bf16, mesh))


@program(
    "gradient of 16 scanned layers over 32768 rows",
    "what the scan keeps for the backward pass does not fit",
    name="stacked-residuals/bad",
)
def scanned_layers(mesh):
    return scanned_program(mesh, feed_forward)


@program(
    "the same with jax.checkpoint around the layer",
    "remedy: one input a layer is kept",
    name="stacked-residuals/good",
)
def scanned_layers_checkpoint(mesh):
    return scanned_program(mesh, jax.checkpoint(feed_forward))


# --- unrolled-layers -----------------------------------------------------------------------------


def unrolled_loss(layer, weights, x):
    for one in weights:
        x = layer(x, one)
    return jnp.mean(x.astype(f32) ** 2)


def unrolled_program(mesh, layer):
    one = {"up": sds((2048, 8192), bf16, mesh), "down": sds((8192, 2048), bf16, mesh)}
    step = jax.jit(jax.grad(functools.partial(unrolled_loss, layer)))
    return step, ([one] * 6, sds((65536, 2048), bf16, mesh))


@program(
    "gradient of 6 layers in a Python loop over 65536 rows",
    "equal buffers of all layers are alive together",
    name="unrolled-layers/bad",
)
def unrolled_layers(mesh):
    return unrolled_program(mesh, feed_forward)


@program(
    "the same with jax.checkpoint around each layer",
    "remedy: one input a layer is kept",
    name="unrolled-layers/good",
)
def unrolled_layers_checkpoint(mesh):
    return unrolled_program(mesh, jax.checkpoint(feed_forward))


# --- loop-copy -----------------------------------------------------------------------------------


def wave(before, now):
    """One step of the wave equation on a grid that is closed at its ends."""
    around = sum(jnp.roll(now, shift, axis) for axis in (0, 1) for shift in (1, -1))
    return 2 * now - before + 0.1 * (around - 4 * now)


def wave_arguments(mesh):
    return (sds((16384, 8192), f32, mesh),) * 2


@program(
    "wave equation, two fields that change places in each of 64 steps",
    "XLA copies a field of 512 MiB in each step",
    name="loop-copy/bad",
)
def wave_changing_places(mesh):
    def f(before, now):
        return lax.fori_loop(0, 64, lambda _, fields: (fields[1], wave(*fields)), (before, now))

    return jax.jit(f, donate_argnums=(0, 1)), wave_arguments(mesh)


@program(
    "the same, two steps an iteration: each field stays in its place",
    "remedy: the loop's body unrolled by two",
    name="loop-copy/good",
)
def wave_in_place(mesh):
    def two_steps(_, fields):
        first = wave(*fields)
        return first, wave(fields[1], first)

    def f(before, now):
        return lax.fori_loop(0, 32, two_steps, (before, now))

    return jax.jit(f, donate_argnums=(0, 1)), wave_arguments(mesh)


# --- remat-exhausted -----------------------------------------------------------------------------


def attention(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def attention_program(mesh, batch):
    def loss(q, k, v):
        return jnp.sum(attention(q, k, v).astype(f32) ** 2)

    return jax.jit(jax.grad(loss, (0, 1, 2))), (sds((batch, 8192, 16, 64), bf16, mesh),) * 3


@program(
    "gradient of attention over 8192 tokens, batch 4",
    "XLA computes the scores again by itself, and it still does not fit",
    name="remat-exhausted/bad",
)
def attention_whole(mesh):
    return attention_program(mesh, 4)


@program(
    "the same with batch 2",
    "remedy: a smaller batch",
    name="remat-exhausted/good",
)
def attention_half(mesh):
    return attention_program(mesh, 2)


# --- hbm-near-capacity ---------------------------------------------------------------------------


def decay(field):
    return field * 0.5


@program(
    "a field of 7.80 GiB and its result",
    "99% of the chip: nothing else fits beside it",
    name="hbm-near-capacity/bad",
)
def field_twice(mesh):
    return jax.jit(decay), (sds((8192, 255590), f32, mesh),)


@program(
    "the same with the field donated",
    "remedy: the result takes the argument's memory",
    name="hbm-near-capacity/good",
)
def field_once(mesh):
    return jax.jit(decay, donate_argnums=0), (sds((8192, 255590), f32, mesh),)


if __name__ == "__main__":
    main(program)
