"""The programs of testdata/pairs about donation and large constants.

`python pairs_donation.py RULE/bad LOG` compiles one of them; `generate.py` does it for all.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

from runner import Registry, main, sds

program = Registry()
f32, bf16, s32 = jnp.float32, jnp.bfloat16, jnp.int32


# --- undonated-input -----------------------------------------------------------------------------


def momentum_step(state, batch):
    inputs, labels = batch

    def loss(weight):
        return jnp.mean((jnp.tanh(inputs @ weight) - labels) ** 2)

    gradient = jax.grad(loss)(state["weight"])
    velocity = 0.9 * state["velocity"] + gradient
    return {"weight": state["weight"] - 0.01 * velocity, "velocity": velocity}


def momentum_arguments(mesh):
    state = {"weight": sds((8192, 8192), f32, mesh), "velocity": sds((8192, 8192), f32, mesh)}
    return state, (sds((1024, 8192), f32, mesh),) * 2


@program(
    "momentum step of one weight, its state not donated",
    "weight and velocity of 256 MiB twice: before and after the step",
    name="undonated-input/bad",
)
def state_kept(mesh):
    return jax.jit(momentum_step), momentum_arguments(mesh)


@program(
    "the same, the state donated",
    "remedy: donate_argnums",
    name="undonated-input/good",
)
def state_donated(mesh):
    return jax.jit(momentum_step, donate_argnums=0), momentum_arguments(mesh)


# --- donation-size-mismatch ----------------------------------------------------------------------


def decay_program(mesh, keep_type):
    def f(weight, rows, columns):
        moved = weight * 0.99 + rows[:, None] * columns[None, :]
        return moved.astype(weight.dtype) if keep_type else moved

    arguments = (
        sds((16384, 8192), bf16, mesh), sds((16384,), f32, mesh), sds((8192,), f32, mesh),
    )
    return jax.jit(f, donate_argnums=0), arguments


@program(
    "bf16 weight, donated, whose update is promoted to f32",
    "the result has another size: the donated 256 MiB stay beside its 512 MiB",
    name="donation-size-mismatch/bad",
)
def promoted(mesh):
    return decay_program(mesh, keep_type=False)


@program(
    "the same, the update in the type of the weight",
    "remedy: astype(weight.dtype)",
    name="donation-size-mismatch/good",
)
def kept_type(mesh):
    return decay_program(mesh, keep_type=True)


# --- copied-donated-input ------------------------------------------------------------------------


def cache_program(mesh, difference_of_all):
    def f(cache, new, position, weight):
        updated = lax.dynamic_update_slice(cache, new, (0, position, 0))
        scores = jnp.tanh(jnp.einsum("bsd,de->bse", updated, weight))
        old = cache if difference_of_all else lax.dynamic_slice(
            cache, (0, position, 0), new.shape
        )
        current = updated if difference_of_all else new
        return updated, jnp.max(scores), jnp.max(jnp.abs(current - old))

    arguments = (
        sds((8, 8192, 1024), f32, mesh), sds((8, 16, 1024), f32, mesh), sds((), s32, mesh),
        sds((1024, 1024), f32, mesh),
    )
    return jax.jit(f, donate_argnums=0), arguments


@program(
    "cache updated in place, compared with the old one afterwards",
    "the donated cache of 256 MiB is copied, because its old values are still needed",
    name="copied-donated-input/bad",
)
def compares_whole_cache(mesh):
    return cache_program(mesh, difference_of_all=True)


@program(
    "the same, only the slice that changes is compared",
    "remedy: nothing reads the old array behind the update",
    name="copied-donated-input/good",
)
def compares_slice(mesh):
    return cache_program(mesh, difference_of_all=False)


# --- large-constant ------------------------------------------------------------------------------

FOUR = {"topology": "v5e:2x2", "mesh": ((4,), ("data",))}


def positions():
    return np.random.default_rng(0).standard_normal((16384, 4096)).astype(np.float32)


def sequence(mesh):
    return sds((4, 16384, 4096), f32, mesh, P(None, "data"))


@program(
    "an array of numpy added to a sequence that is split over 4 devices",
    "256 MiB in the program text, whole on each device, which needs a quarter of it",
    name="large-constant/bad",
    **FOUR,
)
def captured_positions(mesh):
    table = positions()
    return jax.jit(lambda x: jnp.tanh(x + table)), (sequence(mesh),)


@program(
    "the same array as an argument, split like the sequence",
    "remedy: an argument with a sharding",
    name="large-constant/good",
    **FOUR,
)
def positions_argument(mesh):
    arguments = sequence(mesh), sds((16384, 4096), f32, mesh, P("data"))
    return jax.jit(lambda x, table: jnp.tanh(x + table)), arguments


if __name__ == "__main__":
    main(program)
