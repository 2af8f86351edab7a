"""Compiles one registered program ahead of time, without a TPU, and writes compile.log.

In: a `Program` (function, arguments, topology, mesh). Out: XLA's dump in the directory that
XLA_FLAGS names, and `compile.log` beside it: CompiledMemoryStats as JSON, or the exception.
"""

import dataclasses
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

STATS = (
    "argument_size_in_bytes",
    "output_size_in_bytes",
    "alias_size_in_bytes",
    "temp_size_in_bytes",
    "generated_code_size_in_bytes",
    "peak_memory_in_bytes",
    "host_argument_size_in_bytes",
    "host_output_size_in_bytes",
    "host_alias_size_in_bytes",
    "host_temp_size_in_bytes",
)


@dataclasses.dataclass(frozen=True)
class Program:
    """One program of testdata: how to build it, for which chip, and what it is for."""

    name: str
    build: Callable  # mesh -> (jitted function, arguments) or a list of such pairs
    what: str  # what the program is
    purpose: str  # what it is in testdata for
    topology: str | None = "v5e:2x2"  # "gpu:h100": a GPU; None: the CPU backend
    mesh: tuple = ((1,), ("x",))
    slices: int = 1
    compiler: str = "0.0.52"  # libtpu release that compiles it; "cuda12": XLA:GPU
    flags: str = ""  # dump flags besides --xla_dump_to and --xla_dump_hlo_as_text
    cached: bool = False  # compile twice, keep what the second process writes (a cache hit)
    keep: tuple = ()  # stages and side files kept besides the usual ones; "*": all
    only: tuple = ()  # the only files kept, by the end of the name; empty: the usual ones

    @property
    def card(self):
        """The GPU, where it is one."""
        backend, _, card = (self.topology or "").partition(":")
        return card if backend == "gpu" else None


class Registry(dict):
    """Programs by name, filled by the decorator."""

    def __call__(self, what, purpose, **settings):
        def register(build):
            name = settings.pop("name", build.__name__)
            self[name] = Program(name, build, what, purpose, **settings)
            return build

        return register


def sds(shape, dtype, mesh=None, spec=P(), memory_kind=None):
    """An argument without data; without a mesh it has no sharding at all."""
    if mesh is None:
        return jax.ShapeDtypeStruct(shape, dtype)
    kind = {} if memory_kind is None else {"memory_kind": memory_kind}
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec, **kind))


def tpu_mesh(program):
    """The mesh of the program over the devices of a topology that need not be present."""
    from jax.experimental import topologies

    extra = {"num_slices": program.slices} if program.slices > 1 else {}
    topology = topologies.get_topology_desc(
        platform="tpu", topology_name=program.topology, **extra
    )
    shape, axes = program.mesh
    devices = np.array(topology.devices[: int(np.prod(shape))]).reshape(shape)
    return Mesh(devices, axes)


def gpu_mesh(program):
    """The mesh of the program over GPUs that need not be present."""
    from gpu_targets import target_config
    from jax.experimental import topologies

    # The lowering of a callback asks for the client of the GPU that is present, and the compile takes
    # the functions along; nothing runs here, so that any client and no function will do.
    from jax._src import compiler
    from jax._src.interpreters import mlir

    mlir.ModuleContext.get_backend = lambda context, optional=False: jax.devices("cpu")[0].client
    compile_and_load = compiler.backend_compile_and_load
    compiler.backend_compile_and_load = lambda *arguments: compile_and_load(*arguments[:4], [])
    shape, axes = program.mesh
    topology = topologies.get_topology_desc(
        platform="cuda",
        target_config=target_config(program.card),
        topology=f"1x1x{int(np.prod(shape))}",
    )
    return Mesh(np.array(topology.devices).reshape(shape), axes)


def cpu_mesh(program):
    shape, axes = program.mesh
    return Mesh(np.array(jax.devices("cpu")[: int(np.prod(shape))]).reshape(shape), axes)


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def stats_of(compiled):
    found = compiled.memory_analysis()
    return {name: getattr(found, name) for name in STATS if hasattr(found, name)}


def main(registry):
    """`python models.py NAME LOG`: compile NAME, write LOG."""
    program, log = registry[sys.argv[1]], sys.argv[2]
    on_tpu = program.topology is not None and program.card is None
    mesh_of = tpu_mesh if on_tpu else gpu_mesh if program.card else cpu_mesh
    mesh = mesh_of(program)
    head = {
        "program": program.name,
        "topology": program.topology,
        "devices": int(mesh.devices.size),
        "device_kind": mesh.devices.flat[0].device_kind,
        "jax": version("jax"),
        "libtpu": version("libtpu") if on_tpu else None,
    }
    built = program.build(mesh)
    pairs = built if isinstance(built, list) else [built]
    try:
        stats = [stats_of(function.lower(*arguments).compile()) for function, arguments in pairs]
    except Exception as error:  # the text of any failure is what the log is for
        text = f"# {json.dumps(head)}\n{type(error).__module__}.{type(error).__name__}: {error}\n"
    else:
        head["memory_stats"] = stats[0] if len(stats) == 1 else stats
        text = json.dumps(head, indent=1) + "\n"
    with open(log, "w", encoding="utf-8") as file:
        file.write(text)
    # Clients of absent devices can hang in their destructors: the work is done.
    sys.stdout.flush()
    os._exit(0)
