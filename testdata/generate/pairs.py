"""The programs of testdata/pairs: per rule one that it must report and one with the remedy.

`python pairs.py RULE/bad LOG` compiles one of them; `generate.py` does it for all.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.sharding import NamedSharding, PartitionSpec as P

from runner import Registry, main, sds

program = Registry()
f32 = jnp.float32


# --- hbm-over-capacity ---------------------------------------------------------------------------


def deep_loss(weights, x):
    for weight in weights:
        x = jax.nn.gelu(x @ weight)
    return jnp.sum(x * x)


def deep_arguments(mesh):
    return [sds((2048, 2048), f32, mesh)] * 4, sds((524288, 2048), f32, mesh)


@program(
    "gradient of four layers over 524288 rows at once",
    "activations of 4 GiB per layer, kept for the backward pass, on a chip with 15.75 GiB",
    name="hbm-over-capacity/bad",
)
def whole_batch(mesh):
    return jax.jit(jax.grad(deep_loss)), deep_arguments(mesh)


@program(
    "the same gradient, summed over 32 parts of the batch",
    "remedy: gradient accumulation",
    name="hbm-over-capacity/good",
)
def accumulated(mesh):
    def f(weights, x):
        def step(total, part):
            return jax.tree.map(jnp.add, total, jax.grad(deep_loss)(weights, part)), None

        zeros = jax.tree.map(jnp.zeros_like, weights)
        return lax.scan(step, zeros, x.reshape(32, -1, x.shape[1]))[0]

    return jax.jit(f), deep_arguments(mesh)


# --- large-allocation ----------------------------------------------------------------------------


def nearest(points, others):
    """For each point the largest similarity, and how many others come within half of it."""
    similar = points @ others.T
    best = jnp.max(similar, axis=1, keepdims=True)
    return best[:, 0], jnp.sum(similar > 0.5 * best, axis=1)


def point_arguments(mesh):
    return (sds((49152, 128), f32, mesh),) * 2


@program(
    "similarity of 49152 points with each other, whole matrix",
    "one buffer of 9 GiB, 57% of the chip; compiles",
    name="large-allocation/bad",
)
def similarity_whole(mesh):
    return jax.jit(nearest), point_arguments(mesh)


@program(
    "the same, 2048 points at a time",
    "remedy: lax.map over blocks of rows",
    name="large-allocation/good",
)
def similarity_blocks(mesh):
    def f(points, others):
        blocks = points.reshape(-1, 2048, points.shape[1])
        best, count = lax.map(lambda block: nearest(block, others), blocks)
        return best.reshape(-1), count.reshape(-1)

    return jax.jit(f), point_arguments(mesh)


# --- debug-print ---------------------------------------------------------------------------------


def smoothing(show, x, w):
    def step(i, carry):
        carry = jnp.tanh(carry @ w)
        show(carry)
        return carry * 0.5

    return lax.fori_loop(0, 4, step, x)


def smoothing_arguments(mesh):
    return sds((16384, 4096), f32, mesh), sds((4096, 4096), f32, mesh)


@program(
    "jax.debug.print of a whole matrix in a fori_loop",
    "256 MiB written out for the host in each of 4 trips",
    name="debug-print/bad",
)
def prints_matrix(mesh):
    def show(carry):
        jax.debug.print("carry {}", carry)

    return jax.jit(functools.partial(smoothing, show)), smoothing_arguments(mesh)


@program(
    "the same without the print",
    "remedy: the print removed",
    name="debug-print/good",
)
def prints_nothing(mesh):
    return jax.jit(functools.partial(smoothing, lambda carry: None)), smoothing_arguments(mesh)


# --- replicated-tensor ---------------------------------------------------------------------------

GRID = {"topology": "v5e:2x4", "mesh": ((4, 2), ("data", "model"))}


def adam_step(state, batch):
    inputs, labels = batch

    def loss(weight):
        return jnp.mean((jnp.tanh(inputs @ weight) - labels) ** 2)

    gradient = jax.grad(loss)(state["weight"])
    first = 0.9 * state["first"] + 0.1 * gradient
    second = 0.999 * state["second"] + 0.001 * gradient**2
    weight = state["weight"] - 1e-3 * first / (jnp.sqrt(second) + 1e-8)
    return {"weight": weight, "first": first, "second": second}


def adam_program(mesh, spec):
    weight = sds((8192, 8192), f32, mesh, spec)
    batch = sds((512, 8192), f32, mesh, P("data"))
    kept = NamedSharding(mesh, spec)
    step = jax.jit(adam_step, donate_argnums=0, out_shardings=kept)
    return step, ({"weight": weight, "first": weight, "second": weight}, (batch, batch))


@program(
    "Adam step of one weight on a mesh 4x2, state given as P()",
    "three arrays of 256 MiB whole on each of 8 devices",
    name="replicated-tensor/bad",
    **GRID,
)
def adam_replicated(mesh):
    return adam_program(mesh, P())


@program(
    "the same, state split over both axes",
    "remedy: P('data', 'model') for the state",
    name="replicated-tensor/good",
    **GRID,
)
def adam_sharded(mesh):
    return adam_program(mesh, P("data", "model"))


# --- scoped-vmem ---------------------------------------------------------------------------------


def row_softmax_kernel(x_ref, out_ref):
    shifted = jnp.exp(x_ref[...] - jnp.max(x_ref[...], axis=1, keepdims=True))
    out_ref[...] = shifted / jnp.sum(shifted, axis=1, keepdims=True)


def row_softmax(rows, x):
    window = pl.BlockSpec((rows, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        row_softmax_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // rows,),
        in_specs=[window],
        out_specs=window,
        name="row_softmax",
    )(x)


def softmax_program(mesh, rows):
    return jax.jit(functools.partial(row_softmax, rows)), (sds((65536, 4096), f32, mesh),)


@program(
    "row softmax by a Pallas kernel, windows of 1024 rows",
    "double-buffered windows of 16 MiB against a limit of 16 MiB: does not compile (E1001)",
    name="scoped-vmem/bad",
)
def wide_windows(mesh):
    return softmax_program(mesh, 1024)


@program(
    "the same, windows of 128 rows",
    "remedy: smaller windows",
    name="scoped-vmem/good",
)
def narrow_windows(mesh):
    return softmax_program(mesh, 128)


if __name__ == "__main__":
    main(program)
