"""Whether the blocks that hlolint suggests compile: five Pallas kernels above their limit.

`python3 kernels_suggested.py HLOLINT` compiles each kernel (it fails with E1001), asks `hlolint vmem`
for smaller blocks, compiles it with those, and prints what came of it.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from dumpfiles import environment
from generate import python_of
from runner import Program, sds, tpu_mesh

HERE = pathlib.Path(__file__).resolve().parent

# Name: chip, compiler, the blocks by which it fails.
CASES = {
    "add": ("v5e:2x2", "0.0.52", {"rows": 1024, "columns": 2048}),
    "matmul": ("v5e:2x2", "0.0.42.1", {"m": 1024, "n": 1024, "k": 1024}),
    "copy_int8": ("v5e:2x2", "0.0.42.1", {"rows": 8192}),
    "row_softmax": ("v6e:2x2", "0.0.52", {"rows": 1024}),
    "batched_scale": ("tpu7x:2x2x1", "0.0.52", {"batch": 2, "rows": 512}),
}


# --- kernels: a function of blocks, and how blocks follow from those that hlolint names -------------


def add(mesh, rows, columns):
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl

    window = pl.BlockSpec((rows, columns), lambda i, j: (i, j))

    def kernel(x, y, out):
        out[...] = x[...] + y[...]

    array = sds((8192, 8192), jnp.float32, mesh)
    grid = (8192 // rows, 8192 // columns)
    call = pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(array.shape, array.dtype), grid=grid,
        in_specs=[window, window], out_specs=window, name="add",
    )
    return call, (array, array)


def matmul(mesh, m, n, k):
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def kernel(x, y, out, total):
        @pl.when(pl.program_id(2) == 0)
        def _():
            total[...] = jnp.zeros_like(total)

        total[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            out[...] = total[...]

    size = 4096
    array = sds((size, size), jnp.bfloat16, mesh)
    call = pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(array.shape, jnp.float32),
        grid=(size // m, size // n, size // k),
        in_specs=[
            pl.BlockSpec((m, k), lambda i, j, s: (i, s)),
            pl.BlockSpec((k, n), lambda i, j, s: (s, j)),
        ],
        out_specs=pl.BlockSpec((m, n), lambda i, j, s: (i, j)),
        scratch_shapes=[pltpu.VMEM((m, n), jnp.float32)], name="matmul",
    )
    return call, (array, array)


def rows_only(name, dtype, shape, body, mesh, rows):
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl

    window = pl.BlockSpec((rows, shape[1]), lambda i: (i, 0))

    def kernel(x, out):
        out[...] = body(x[...])

    array = sds(shape, jnp.dtype(dtype), mesh)
    call = pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(array.shape, array.dtype),
        grid=(shape[0] // rows,), in_specs=[window], out_specs=window, name=name,
    )
    return call, (array,)


def softmax(x):
    import jax.numpy as jnp

    shifted = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
    return shifted / jnp.sum(shifted, axis=1, keepdims=True)


copy_int8 = functools.partial(rows_only, "copy_int8", "int8", (65536, 1024), lambda x: x)
row_softmax = functools.partial(rows_only, "row_softmax", "float32", (65536, 4096), softmax)


def batched_scale(mesh, batch, rows):
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl

    window = pl.BlockSpec((batch, rows, 2304), lambda b, i: (b, i, 0))
    scale = pl.BlockSpec((1, 2304), lambda b, i: (0, 0))

    def kernel(x, factor, out):
        out[...] = x[...] * factor[...][None]

    array = sds((16, 4096, 2304), jnp.float32, mesh)
    call = pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(array.shape, array.dtype),
        grid=(16 // batch, 4096 // rows), in_specs=[window, scale], out_specs=window,
        name="batched_scale",
    )
    return call, (array, sds((1, 2304), jnp.float32, mesh))


def blocks_of(name, found):
    """The kernel's parameters, of the new blocks by role and number."""
    if name == "add":
        rows, columns = found["result", 0]
        return {"rows": rows, "columns": columns}
    if name == "matmul":
        (m, k), (_, n) = found["operand", 0], found["operand", 1]
        return {"m": m, "n": n, "k": k}
    if name == "batched_scale":
        batch, rows, _ = found["result", 0]
        return {"batch": batch, "rows": rows}
    return {"rows": found["result", 0][0]}


# --- compiling and asking --------------------------------------------------------------------------


def compile_one(name, blocks, log):
    """Inside an environment: compiles, writes what the compiler said."""
    import jax

    mesh = tpu_mesh(Program(name, None, "", "", topology=CASES[name][0]))
    call, arguments = globals()[name](mesh, **blocks)
    try:
        jax.jit(call).lower(*arguments).compile()
        text = "compiled"
    except Exception as error:
        text = str(error)
    pathlib.Path(log).write_text(text, encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


def compiled(name, blocks, place):
    """What the compiler says; its dump lies in place/dump."""
    topology, compiler, _ = CASES[name]
    place.mkdir()
    program = Program(name, None, "", "", topology=topology)
    log = place / "compile.log"
    command = [python_of(compiler), __file__, "--compile", name, json.dumps(blocks), log]
    subprocess.run(
        command, cwd=HERE, env=environment(program, place / "dump"), capture_output=True,
        timeout=600, check=True,
    )
    return log.read_text()


def asked(hlolint, dump):
    """What `hlolint vmem` says of the one kernel."""
    done = subprocess.run(
        [hlolint, "vmem", dump, "--format", "json"], capture_output=True, text=True, check=True
    )
    (kernel,) = json.loads(done.stdout)["kernels"]
    return kernel


def suggested(name, hlolint, folder):
    """One case: fails, is asked about, compiles; the line to print, and whether it did."""
    topology, compiler, blocks = CASES[name]
    first = compiled(name, blocks, folder / f"{name}-before")
    assert "CompileTimeScopedVmemOom" in first, first
    kernel = asked(hlolint, folder / f"{name}-before" / "dump")
    # A block that the suggestion leaves alone stays as it is.
    now = {(w["role"], w["operand"]): w["block"] for w in kernel["windows"]}
    new = {(b["role"], b["operand"]): b["to"] for b in kernel["suggestion"]["blocks"]}
    wanted = blocks_of(name, now | new)
    second = compiled(name, wanted, folder / f"{name}-after")
    after = asked(hlolint, folder / f"{name}-after" / "dump")
    outcome = "compiles" if second == "compiled" else second.split("\n", 1)[0][:60]
    line = (
        f"{name:14} {topology.split(':')[0]:5} {compiler:8} {blocks} needs {kernel['total_bytes']}"
        f" of {kernel['limit_bytes']}; suggested {wanted}, {kernel['suggestion']['total_bytes']}:"
        f" {outcome}, estimate {after['total_bytes']}, used {after['used_bytes']}"
    )
    return line, second == "compiled"


def main():
    if sys.argv[1] == "--compile":
        return compile_one(sys.argv[2], json.loads(sys.argv[3]), sys.argv[4])
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in CASES:
            line, is_compiled = suggested(name, sys.argv[1], pathlib.Path(folder))
            print(line, flush=True)
            count += is_compiled
    print(f"{count} of {len(CASES)} compile with the suggested blocks")
    sys.exit(0 if count == len(CASES) else 1)


if __name__ == "__main__":
    main()
