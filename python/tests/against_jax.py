"""The module against a real JAX, without any TPU: `TPU_SKIP_MDS_QUERY=1 python against_jax.py`.

Needs `jax[tpu]` beside hlolint. Programs are compiled ahead of time for a described topology.
"""

import os

import hlolint
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

TOPOLOGY = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2")
MESH = Mesh(np.array(TOPOLOGY.devices[:1]), ("x",))


def argument(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(MESH, P()))


def attention(q, k, v):
    return jax.nn.softmax(q @ k.T, axis=-1) @ v


def lowered(length):
    return jax.jit(attention).lower(*[argument(length, 128)] * 3)


def said(what, report):
    module = report.modules[0]
    rules = [finding.rule for finding in report.findings]
    print(f"{what:18} {module.chip} {module.verdict:12} {module.required_bytes:>12}", rules)
    return module


small = lowered(8192)
compiled = small.compile()
recorded = compiled.memory_analysis()
first = said("Lowered", hlolint.check(small, ["--isolated"]))
second = said("Compiled", hlolint.check(compiled, ["--isolated"]))
third = said("text", hlolint.check(compiled.as_text(), ["--chip", "v5e", "--isolated"]))
assert first.required_bytes == second.required_bytes == third.required_bytes
assert (first.chip, second.chip) == ("v5e", "v5e")
parts = recorded.argument_size_in_bytes + recorded.output_size_in_bytes
assert parts < first.required_bytes <= parts + recorded.temp_size_in_bytes + 2**20, recorded

report = hlolint.check(lowered(131072), ["--isolated"])
module = said("Lowered, too large", report)
assert report.compile_error is not None and "RESOURCE_EXHAUSTED" in str(report.compile_error)
assert report.fits is False and module.verdict == "does-not-fit"
assert any(f.rule == "hbm-over-capacity" and f.level == "error" for f in report.findings)
print(str(report.compile_error).splitlines()[0][:160])

on_host = jax.jit(attention).lower(*[jax.ShapeDtypeStruct((64, 8), jnp.float32)] * 3)
if jax.default_backend() == "cpu":
    assert said("Lowered for a CPU", hlolint.check(on_host, ["--isolated"])).verdict == "no-limit"
print("ok")
os._exit(0)  # clients of absent devices can hang in their destructors
