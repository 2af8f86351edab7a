"""The programs of testdata/pairs for the rules about embedding tables on SparseCores.

`python pairs_sparsecore.py RULE/bad LOG` compiles one of them; `generate.py` does it for all.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.layout import Format, Layout
from jax.sharding import NamedSharding, PartitionSpec as P

from runner import Registry, main, sds

register = Registry()
program = functools.partial(
    register, topology="v6e:2x2", mesh=((4,), ("x",)), compiler="sparsecore"
)
f32, i32 = jnp.float32, jnp.int32

CORES = 2  # SparseCores of a v6e device
SAMPLES = 1024  # looked up on each device


def ids_of(mesh, limit):
    """Row pointers, ids, samples and gains of one table, split over the devices."""
    cores = CORES * mesh.size
    pointers = CORES * max(cores, 8) * mesh.size
    count = CORES * cores * limit * mesh.size
    split = P("x")
    return (
        sds((pointers,), i32, mesh, split),
        sds((count,), i32, mesh, split),
        sds((count,), i32, mesh, split),
        sds((count,), f32, mesh, split),
    )


def lookup(ids, table, limit):
    from jax_tpu_embedding.sparsecore.lib.core.primitives import sparse_dense_matmul_csr as csr

    return csr.tpu_sparse_dense_matmul_csr_primitive.bind(
        *ids, jnp.int32(1), table, device_batch_size=SAMPLES,
        max_ids_per_partition=limit, max_unique_ids_per_partition=limit,
    )


def update(ids, table, gradient, limit, name):
    from jax_tpu_embedding.sparsecore.lib.core.primitives import (
        sparse_dense_matmul_grad_with_sgd as sgd,
    )

    return sgd.tpu_sparse_dense_matmul_grad_with_sgd_primitive.bind(
        *ids, jnp.int32(1), table, gradient, jnp.float32(0.1),
        max_ids_per_partition=limit, max_unique_ids_per_partition=limit, computation_name=name,
    )


def sharded(mesh, table=P("x", None)):
    """`f` on each device's part: ids split, the table as said, one gradient a sample."""
    return functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(P("x"), table, P("x", None)), out_specs=table,
        check_vma=False,
    )


def tables_format(mesh):
    """The layout in which SparseCores read a table."""
    layout = Layout(major_to_minor=(0, 1), tiling=((8,),))
    return Format(layout, NamedSharding(mesh, P("x", None)))


def in_layout(mesh, shape):
    return jax.ShapeDtypeStruct(shape, f32, sharding=tables_format(mesh))


def gradients(mesh, width):
    return sds((SAMPLES * mesh.size, width), f32, mesh, P("x", None))


# --- sparsecore-dominates ------------------------------------------------------------------------


def step_with_limit(mesh, limit):
    def step(ids, table, gradient):
        return sharded(mesh)(
            lambda ids, table, gradient: update(ids, table, gradient, limit, "sgd_users")
        )(ids, table, gradient)

    shape = (400000, 128)
    jitted = jax.jit(step, donate_argnums=1, out_shardings=tables_format(mesh))
    return jitted, (ids_of(mesh, limit), in_layout(mesh, shape), gradients(mesh, 128))


@program(
    "update of one embedding table, up to 4096 unique ids a partition",
    "the SparseCores' stack is 774 MiB, the table 50 MiB",
    name="sparsecore-dominates/bad",
)
def many_ids(mesh):
    return step_with_limit(mesh, 4096)


@program(
    "the same, up to 256 unique ids a partition",
    "remedy: fewer unique ids",
    name="sparsecore-dominates/good",
)
def few_ids(mesh):
    return step_with_limit(mesh, 256)


# --- narrow-table --------------------------------------------------------------------------------

ROWS = 64000000


def padded_gradient(gradient):
    """What the embedding library does with a gradient narrower than 8 floats."""
    return lax.pad(gradient, jnp.float32(0), ((0, 0, 0), (0, 8 - gradient.shape[1], 0)))


@program(
    "update of two tables 4 floats wide",
    "each row and gradient is padded to 8 floats: 2 x 488 MiB instead of 488 MiB",
    name="narrow-table/bad",
)
def two_narrow(mesh):
    def step(ids, users, items, gradient):
        def on_device(name):
            return lambda ids, table, gradient: update(
                ids, table, padded_gradient(gradient), 256, name
            )

        users = sharded(mesh)(on_device("sgd_users"))(ids, users, gradient[:, :4])
        return users, sharded(mesh)(on_device("sgd_items"))(ids, items, gradient[:, 4:])

    tables = in_layout(mesh, (ROWS, 8)), in_layout(mesh, (ROWS, 8))
    jitted = jax.jit(step, donate_argnums=(1, 2), out_shardings=(tables_format(mesh),) * 2)
    return jitted, (ids_of(mesh, 256), *tables, gradients(mesh, 8))


@program(
    "the same rows in one table 8 floats wide",
    "remedy: join narrow tables",
    name="narrow-table/good",
)
def joined(mesh):
    def step(ids, both, gradient):
        return sharded(mesh)(
            lambda ids, table, gradient: update(ids, table, gradient, 256, "sgd_both")
        )(ids, both, gradient)

    jitted = jax.jit(step, donate_argnums=1, out_shardings=tables_format(mesh))
    return jitted, (ids_of(mesh, 256), in_layout(mesh, (ROWS, 8)), gradients(mesh, 8))


# --- table-layout-copy ---------------------------------------------------------------------------


def step_of_wide_table(mesh):
    def step(ids, table, gradient):
        return sharded(mesh)(
            lambda ids, table, gradient: update(ids, table, gradient, 256, "sgd_users")
        )(ids, table, gradient)

    return step


WIDE = (8000000, 16)


@program(
    "update of a table in the TensorCore's layout",
    "the table is copied into the SparseCores' layout and back in each step, padded 8 times",
    name="table-layout-copy/bad",
)
def default_layout(mesh):
    jitted = jax.jit(step_of_wide_table(mesh), donate_argnums=1)
    table = sds(WIDE, f32, mesh, P("x", None))
    return jitted, (ids_of(mesh, 256), table, gradients(mesh, 16))


@program(
    "the same in the SparseCores' layout",
    "remedy: the layout pinned for argument and result",
    name="table-layout-copy/good",
)
def pinned_layout(mesh):
    jitted = jax.jit(
        step_of_wide_table(mesh), donate_argnums=1, out_shardings=tables_format(mesh)
    )
    return jitted, (ids_of(mesh, 256), in_layout(mesh, WIDE), gradients(mesh, 16))


# --- unsharded-table -----------------------------------------------------------------------------


def lookups(mesh, spec, table):
    def f(ids, table):
        return jax.shard_map(
            lambda ids, table: lookup(ids, table, 256), mesh=mesh,
            in_specs=(P("x"), spec), out_specs=P("x", None), check_vma=False,
        )(ids, table)

    return jax.jit(f), (ids_of(mesh, 256), table)


@program(
    "lookup in a table that every device holds whole",
    "512 MiB on each of 4 devices",
    name="unsharded-table/bad",
)
def whole_table(mesh):
    layout = Layout(major_to_minor=(0, 1), tiling=((8,),))
    table = jax.ShapeDtypeStruct(
        WIDE, f32, sharding=Format(layout, NamedSharding(mesh, P()))
    )
    return lookups(mesh, P(), table)


@program(
    "the same with its rows split over the devices",
    "remedy: P('x', None)",
    name="unsharded-table/good",
)
def split_table(mesh):
    return lookups(mesh, P("x", None), in_layout(mesh, WIDE))


program = register

if __name__ == "__main__":
    main(register)
