"""The programs of testdata/pairs for rules about meshes, shardings and gathers.

`python pairs_sharding.py RULE/bad LOG` compiles one of them; `generate.py` does it for all.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

from runner import Registry, main, sds

program = Registry()
f32, bf16 = jnp.float32, jnp.bfloat16

GRID = {"topology": "v5e:2x4", "mesh": ((4, 2), ("data", "model"))}
RING = {"topology": "v5e:2x4", "mesh": ((8,), ("data",))}


# --- unused-mesh-axis ----------------------------------------------------------------------------


def two_layers(weights, x):
    hidden = jax.nn.gelu(x @ weights["up"])
    return jnp.mean((hidden @ weights["down"]) ** 2)


def layers_program(mesh, batch):
    weights = {"up": sds((1024, 4096), f32, mesh), "down": sds((4096, 1024), f32, mesh)}
    return jax.jit(jax.grad(two_layers)), (weights, sds((262144, 1024), f32, mesh, batch))


@program(
    "gradient of two layers on a mesh 4x2, batch split over data only",
    "activations of 1 GiB, computed twice: no sharding uses the axis model",
    name="unused-mesh-axis/bad",
    **GRID,
)
def batch_over_one_axis(mesh):
    return layers_program(mesh, P("data"))


@program(
    "the same, batch split over data and model",
    "remedy: P(('data', 'model')) for the batch",
    name="unused-mesh-axis/good",
    **GRID,
)
def batch_over_both_axes(mesh):
    return layers_program(mesh, P(("data", "model")))


# --- gather-then-slice ---------------------------------------------------------------------------


def resharded(mesh, between, x):
    """Halves x twice; `between` says how it lies on the devices in the meantime."""
    x = jnp.sin(x)
    for spec in between:
        x = lax.with_sharding_constraint(x, NamedSharding(mesh, spec))
    return x * 0.5


CUBE = (2048, 1024, 512)


@program(
    "a cube of 4 GiB from one split to another that shares no axis order with it",
    "the partitioner gathers the whole cube on each device and slices it (full rematerialization)",
    name="gather-then-slice/bad",
    **GRID,
)
def cube_at_once(mesh):
    x = sds(CUBE, f32, mesh, P("model", None, "data"))
    return jax.jit(functools.partial(resharded, mesh, [P(None, ("data", "model"))])), (x,)


@program(
    "the same in two steps, each of which moves one axis",
    "remedy: a split in between that the partitioner can reach without a gather",
    name="gather-then-slice/good",
    **GRID,
)
def cube_in_steps(mesh):
    x = sds(CUBE, f32, mesh, P("model", None, "data"))
    steps = [P("model", "data"), P(None, ("data", "model"))]
    return jax.jit(functools.partial(resharded, mesh, steps)), (x,)


# --- long-lived-all-gather -----------------------------------------------------------------------


def deep(layer, weights, x):
    for weight in weights:
        x = layer(weight, x)
    return jnp.mean(x**2)


def deep_program(mesh, remat):
    def layer(weight, x):
        whole = lax.with_sharding_constraint(weight, NamedSharding(mesh, P()))
        return jnp.tanh(x @ whole)

    weights = [sds((16384, 16384), bf16, mesh, P("data"))] * 8
    of_input = jax.grad(functools.partial(deep, remat(layer)), argnums=1)
    return jax.jit(of_input), (weights, sds((16384, 16384), bf16, mesh, P("data")))


@program(
    "gradient of the input of eight frozen layers, weights split over 8 devices and gathered",
    "gathered weights of 512 MiB per layer, kept from the forward to the backward pass",
    name="long-lived-all-gather/bad",
    **RING,
)
def gathers_kept(mesh):
    return deep_program(mesh, lambda layer: layer)


@program(
    "the same, each layer under jax.checkpoint",
    "remedy: the weights are gathered again for the backward pass",
    name="long-lived-all-gather/good",
    **RING,
)
def gathers_repeated(mesh):
    return deep_program(mesh, jax.checkpoint)


# --- gather-over-capacity ------------------------------------------------------------------------

TOKENS, WIDTH, EXPERTS, CHOSEN = 524288, 2048, 8, 8


def dispatch(weights, tokens, chosen):
    """Each token to its experts: rows sorted by expert, one block of equal size each."""
    rows = tokens[chosen.reshape(-1) // CHOSEN].reshape(EXPERTS, -1, WIDTH)
    return jnp.einsum("erw,ewv->erv", rows, weights).astype(bf16).sum(axis=1)


def dispatch_program(mesh, spec):
    weights = sds((EXPERTS, WIDTH, WIDTH), bf16, mesh)
    tokens = sds((TOKENS, WIDTH), bf16, mesh, P())
    return jax.jit(dispatch), (weights, tokens, sds((TOKENS, CHOSEN), jnp.int32, mesh, spec))


@program(
    "rows of 524288 tokens gathered for 8 experts each, the same on each of 8 devices",
    "one gather of 16 GiB on a chip with 15.75 GiB: does not compile",
    name="gather-over-capacity/bad",
    **RING,
)
def dispatch_whole(mesh):
    return dispatch_program(mesh, P())


@program(
    "the same, the choice of experts split over the devices",
    "remedy: each device gathers the rows of its own tokens",
    name="gather-over-capacity/good",
    **RING,
)
def dispatch_split(mesh):
    return dispatch_program(mesh, P("data"))


if __name__ == "__main__":
    main(program)
