"""A blind test of the estimate of scoped VMEM: random Pallas kernels, compiled without a TPU.

`python3 kernels_random.py FOLDER [SEED] [COUNT] [HLOLINT]` draws COUNT kernels (grids, blocks, types,
scratch, pipeline modes, index maps) over three chips and two compilers, compiles each into FOLDER
and holds what `hlolint vmem` estimates against what the compiler recorded: the `used_bytes` of
after_codegen, or the size in the error. What is in FOLDER already is not compiled again.
"""

import dataclasses
import json
import os
import pathlib
import random
import subprocess
import sys

from dumpfiles import environment
from generate import python_of
from runner import Program

HERE = pathlib.Path(__file__).resolve().parent
CHIPS = {"v5e": "v5e:2x2", "v6e": "v6e:2x2", "7x": "tpu7x:2x2x1"}
COMPILERS = ("0.0.42.1", "0.0.52")
TYPES = {"float32": 4, "bfloat16": 2, "int8": 1, "int32": 4, "float8_e4m3fn": 1, "int16": 2}
JOBS = 2


# --- drawing -------------------------------------------------------------------------------------


@dataclasses.dataclass
class Operand:
    """An array, its block, and how the grid moves the block."""

    dtype: str
    shape: tuple
    block: tuple  # 0: squeezed
    moves: tuple  # per dimension: a grid dimension, or None for a fixed position
    change: str  # "plain", "half" (two steps a block), "reversed"
    buffers: int | None
    space: str  # "blocks", "vmem" (whole), "any" (copied by the kernel)


def draw_operand(rng, grid, is_result):
    """An array of rank 1 to 3 whose blocks the grid covers."""
    dtype = rng.choice(list(TYPES)[:4] * 3 + list(TYPES)[4:])
    pack = 4 // TYPES[dtype]
    rank = rng.choice((1, 2, 2, 2, 2, 3, 3))
    moves = rng.sample(range(len(grid)), len(grid))[:rank]
    moves = [None] * (rank - len(moves)) + moves
    rng.shuffle(moves)
    if not is_result:
        moves = [None if rng.random() < 0.25 else move for move in moves]
    change = "plain" if is_result else rng.choice(("plain",) * 4 + ("half", "reversed"))
    block, shape = [], []
    for at in range(rank):
        steps = 1 if moves[at] is None else grid[moves[at]]
        if at == rank - 1 and rank == 1:
            size = 1024 * pack * rng.choice((1, 2, 4)) if steps > 1 else rng.randint(1, 3000)
        elif at == rank - 1:
            size = 128 * rng.choice((1, 1, 2, 3, 4, 8)) if steps > 1 or rng.random() < 0.7 else rng.randint(1, 700)
        elif at == rank - 2:
            many = 8 * pack * rng.choice((1, 1, 2, 4, 8, 16, 32))
            size = many if steps > 1 or rng.random() < 0.7 else rng.randint(1, 100)
        else:
            size = rng.choice((0, 1, 1, 2, 3))
        block.append(size)
        whole = max(size, 1) * steps
        # More of the array than the grid visits: the block is not the whole dimension.
        if rng.random() < 0.3 and (at < rank - 2 or size % (1024 if rank == 1 else 128 if at == rank - 1 else 8 * pack) == 0):
            whole += max(size, 1) * rng.randint(1, 3)
        shape.append(whole)
    buffers = rng.choice((None,) * 5 + (1, 2))
    space = "blocks" if is_result else rng.choice(("blocks",) * 7 + ("vmem", "any"))
    return Operand(dtype, tuple(shape), tuple(block), tuple(moves), change, buffers, space)


def draw(seed, at):
    """One kernel as plain data."""
    rng = random.Random(f"{seed}-{at}")
    grid = [rng.choice((1, 2, 3, 4, 5, 8)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3)))]
    scratch = []
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        rank = rng.choice((1, 2, 2, 2, 3))
        sizes = [rng.choice((1, 2, 3)), rng.choice((1, 3, 8, 16, 24, 32, 64, 100, 128, 512)), rng.choice((1, 64, 128, 200, 256, 384, 1024))]
        use = rng.choice(("accumulate", "accumulate", "store", "forward", "partial", "unused"))
        scratch.append((tuple(sizes[-rank:]), rng.choice(list(TYPES)[:4]), use))
    return {
        "name": f"k{at:03}",
        "chip": rng.choice(list(CHIPS)),
        "compiler": COMPILERS[at % len(COMPILERS)],
        "grid": grid,
        "semantics": [rng.choice(("parallel", "arbitrary")) for _ in grid] if rng.random() < 0.4 else None,
        "prefetch": bool(grid) and rng.random() < 0.2,
        "operands": [dataclasses.asdict(draw_operand(rng, grid, False)) for _ in range(rng.choice((1, 1, 2, 3)))],
        "results": [dataclasses.asdict(draw_operand(rng, grid, True)) for _ in range(rng.choice((1, 1, 1, 2)))],
        "scratch": scratch,
        "body": rng.choice(("copy", "arithmetic", "arithmetic", "reduce", "when", "loop", "scoped", "dot")),
        "limit": rng.choice((None,) * 5 + (2 << 20, 24 << 20, 48 << 20)),
        # The operands are results of other operations: the compiler may place them in VMEM.
        "is_produced": rng.random() < 0.4,
    }


# --- building (inside an environment with jax) -----------------------------------------------------


def build(spec, mesh):
    """The jitted function and its arguments."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu
    from runner import sds

    grid = spec["grid"]
    operands, results = spec["operands"], spec["results"]
    f32 = jnp.float32

    def window(array):
        if array["space"] == "any":
            return pl.BlockSpec(memory_space=pl.ANY)
        if array["space"] == "vmem" or not grid:
            return pl.BlockSpec(memory_space=pltpu.VMEM)

        def at_of(*indices):
            def position(move):
                if move is None:
                    return 0
                index = indices[move]
                if array["change"] == "half":
                    return index // 2
                if array["change"] == "reversed":
                    return grid[move] - 1 - index
                return index

            return tuple(position(move) for move in array["moves"])

        block = tuple(size or None for size in array["block"])
        mode = {} if array["buffers"] is None else {"pipeline_mode": pl.Buffered(array["buffers"])}
        return pl.BlockSpec(block, at_of, **mode)

    def scalar(value):
        return jnp.sum(value.astype(f32))

    def kernel(*refs):
        refs = list(refs)
        if spec["prefetch"]:
            refs.pop(0)
        sources = refs[: len(operands)]
        targets = refs[len(operands) : len(operands) + len(results)]
        scratch = refs[len(operands) + len(results) :]
        is_first = pl.program_id(len(grid) - 1) == 0 if grid else True
        read = [
            ref for ref, array in zip(sources, operands) if array["space"] != "any"
        ]
        extra = jnp.float32(0)
        for (_, _, use), ref in zip(spec["scratch"], scratch):
            if use == "accumulate":
                @pl.when(is_first)
                def _(ref=ref):
                    ref[...] = jnp.zeros(ref.shape, ref.dtype)

                ref[...] += jnp.ones(ref.shape, ref.dtype)
                extra += scalar(ref[...])
            elif use == "store":
                ref[...] = jnp.full(ref.shape, 2, ref.dtype)
            elif use == "forward":
                ref[...] = jnp.full(ref.shape, 3, ref.dtype)
                extra += scalar(ref[...])
            elif use == "partial" and len(ref.shape) >= 2:
                ref[..., :1, :] = jnp.full((*ref.shape[:-2], 1, ref.shape[-1]), 1, ref.dtype)
                extra += scalar(ref[..., :1, :])
        body = spec["body"]

        def write(more):
            for target in targets:
                same = [ref for ref in read if ref.shape == target.shape]
                base = same[0][...].astype(f32) if same else jnp.zeros(target.shape, f32)
                target[...] = (base + more).astype(target.dtype)

        if body == "copy" or not read:
            write(extra)
        elif body == "arithmetic":
            write(extra + sum(scalar(jnp.tanh(ref[...].astype(f32))) for ref in read))
        elif body == "reduce":
            write(extra + scalar(jnp.max(read[0][...].astype(f32), axis=-1)))
        elif body == "when":
            pl.when(is_first)(lambda: write(extra + scalar(read[0][...])))
        elif body == "loop":
            total = jax.lax.fori_loop(0, 4, lambda i, t: t * 0.5 + scalar(read[0][...]), extra)
            write(total)
        elif body == "scoped":
            def inside(buffer):
                buffer[...] = jnp.full(buffer.shape, 1, f32) * scalar(read[0][...])
                if grid:
                    write(extra + buffer[pl.program_id(0) % buffer.shape[0], 0])
                else:
                    write(extra + scalar(buffer[...]))

            pl.run_scoped(inside, pltpu.VMEM((16, 256), f32))
        elif body == "dot":
            matrix = read[0][...]
            matrix = matrix.astype(jnp.bfloat16).reshape(-1, matrix.shape[-1])
            product = jax.lax.dot_general(
                matrix, matrix, (((1,), (1,)), ((), ())), preferred_element_type=f32
            )
            write(extra + scalar(product))

    scratch_shapes = [pltpu.VMEM(sizes, jnp.dtype(dtype)) for sizes, dtype, _ in spec["scratch"]]
    parameters = {}
    if spec["semantics"]:
        parameters["dimension_semantics"] = tuple(spec["semantics"])
    if spec["limit"]:
        parameters["vmem_limit_bytes"] = spec["limit"]
    common = {
        "out_shape": [jax.ShapeDtypeStruct(r["shape"] if grid else shape_of(r), jnp.dtype(r["dtype"])) for r in results],
        "compiler_params": pltpu.CompilerParams(**parameters),
        "name": spec["name"],
    }
    windows = {
        "in_specs": [window(array) for array in operands],
        "out_specs": [window(array) for array in results],
    }
    if not grid:
        call = pl.pallas_call(kernel, scratch_shapes=scratch_shapes, **windows, **common)
    else:
        grid_spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=int(spec["prefetch"]), grid=tuple(grid),
            scratch_shapes=scratch_shapes, **windows,
        )
        call = pl.pallas_call(kernel, grid_spec=grid_spec, **common)
    arguments = [sds(array["shape"], jnp.dtype(array["dtype"]), mesh) for array in operands]

    def program(arguments, scalars):
        if spec["is_produced"]:
            arguments = [(a * 2).astype(a.dtype) for a in arguments]
        out = call(*([scalars] if spec["prefetch"] else []), *arguments)
        return [o + o for o in out] if spec["is_produced"] else out

    return jax.jit(program), (arguments, sds((8,), jnp.int32, mesh))


def shape_of(array):
    """Without a grid the block is the whole array."""
    return tuple(max(size, 1) for size in array["block"])


def compile_one(spec, log):
    """Inside an environment: compiles, writes what the compiler said."""
    from runner import tpu_mesh

    mesh = tpu_mesh(Program("", None, "", "", topology=CHIPS[spec["chip"]]))
    try:
        import jax

        # Blocks of rank 1 are checked for the device kind of the mesh in use.
        with jax.sharding.set_mesh(mesh):
            function, arguments = build(spec, mesh)
            lowered = function.lower(*arguments)
    except Exception as error:
        text = f"not lowered: {type(error).__name__}: {error}"
    else:
        try:
            lowered.compile()
            text = "compiled"
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    pathlib.Path(log).write_text(text, encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


# --- scoring ---------------------------------------------------------------------------------------


def compile_all(folder, specs):
    """Compiles what is missing, some at a time."""
    import concurrent.futures

    def run(spec):
        place = folder / spec["name"]
        log = place / "compile.log"
        if log.exists():
            return
        place.mkdir(parents=True, exist_ok=True)
        program = Program(spec["name"], None, "", "", topology=CHIPS[spec["chip"]])
        (place / "spec.json").write_text(json.dumps(spec, indent=1))
        command = [python_of(spec["compiler"]), __file__, "--compile", place / "spec.json", log]
        subprocess.run(
            command, cwd=HERE, env=environment(program, place / "dump"), capture_output=True,
            timeout=600, check=False,
        )
        if not log.exists():
            log.write_text("the compiler ended")

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(run, specs))


def usable(folder, seed, count):
    """The first `count` kernels that jax lowers and the compiler accepts or refuses for VMEM."""
    found, at = [], 0
    while len(found) < count and at < 6 * count:
        specs = [draw(seed, at + step) for step in range(2 * JOBS)]
        at += len(specs)
        compile_all(folder, specs)
        for spec in specs:
            text = (folder / spec["name"] / "compile.log").read_text()
            if text == "compiled" or "CompileTimeScopedVmemOom" in text or "in memory space vmem" in text:
                found.append((spec, text))
    return found[:count]


def score(hlolint, folder, kernels):
    """Prints every miss and the shares."""
    import collections
    import re

    right, all_of = collections.Counter(), collections.Counter()
    for spec, text in kernels:
        done = subprocess.run(
            [hlolint, "vmem", folder / spec["name"] / "dump", "--format", "json"],
            capture_output=True, text=True, check=False,
        )
        rows = [r for r in json.loads(done.stdout)["kernels"] if spec["name"] in r["name"]]
        row = rows[0] if rows else {}
        estimate, group = row.get("total_bytes"), f"{spec['chip']} {spec['compiler']}"
        if text == "compiled":
            wanted = row.get("used_bytes")
            is_right, what = estimate is not None and estimate == wanted, "total"
        else:
            wanted = re.search(r"(?:with size|Used) (\S+) ", text).group(1)
            is_right, what = row.get("quoted") == wanted, "size in the error"
            estimate = row.get("quoted")
        for key in (what, f"{what}: {group}"):
            all_of[key] += 1
            right[key] += is_right
        if what == "total" and estimate is not None and wanted is not None and estimate > wanted:
            right["above the record"] += 1
        if not is_right:
            print(f"{spec['name']} {group} {spec['body']}: {what} {estimate}, recorded {wanted}")
    for key in sorted(all_of):
        print(f"{key:32} {right[key]} of {all_of[key]}")
    print(f"{'above the record':32} {right['above the record']}")


def main():
    if sys.argv[1] == "--compile":
        return compile_one(json.loads(pathlib.Path(sys.argv[2]).read_text()), sys.argv[3])
    folder = pathlib.Path(sys.argv[1]).resolve()
    seed = sys.argv[2] if len(sys.argv) > 2 else "1"
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    hlolint = sys.argv[4] if len(sys.argv) > 4 else "hlolint"
    kernels = usable(folder, seed, count)
    print(f"{len(kernels)} kernels of seed {seed}")
    score(hlolint, folder, kernels)


if __name__ == "__main__":
    main()
