"""The programs of testdata/dumps that XLA:GPU and XLA:CPU compile.

`python gpu_cpu.py NAME LOG` compiles one of them; `generate.py` does it for all.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import io_callback
from jax.sharding import NamedSharding, PartitionSpec as P

from runner import Registry, main, sds

program = Registry()
f32, bf16, s32 = jnp.float32, jnp.bfloat16, jnp.int32


def on_gpu(what, purpose, card="h100", **settings):
    return program(what, purpose, topology=f"gpu:{card}", compiler="cuda12", **settings)


def on_cpu(what, purpose, **settings):
    return program(what, purpose, topology=None, **settings)


# --- a training step -----------------------------------------------------------------------------


def layers(weights, x):
    for weight, bias in weights:
        x = jax.nn.gelu(x @ weight + bias)
    return x


def adam_step(state, batch):
    weights, first, second = state
    x, y = batch
    loss, gradients = jax.value_and_grad(lambda w: jnp.mean((layers(w, x) - y) ** 2))(weights)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
    weights = jax.tree.map(
        lambda w, m, v: w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), weights, first, second
    )
    return (weights, first, second), loss


def adam_arguments(mesh, sizes, rows, weight=P(), data=P()):
    weights = [
        (sds((m, n), f32, mesh, weight), sds((n,), f32, mesh)) for m, n in zip(sizes, sizes[1:])
    ]
    ends = (sds((rows, sizes[0]), f32, mesh, data), sds((rows, sizes[-1]), f32, mesh, data))
    return (weights, weights, weights), ends


@on_gpu("Adam step of three layers, state donated", "donation, fusions that write over operands")
def gpu_adam_donated(mesh):
    return jax.jit(adam_step, donate_argnums=0), adam_arguments(mesh, (768, 1536, 512, 64), 256)


@on_cpu("Adam step of three layers, state donated", "donation on the CPU backend")
def cpu_adam_donated(mesh):
    return jax.jit(adam_step, donate_argnums=0), adam_arguments(None, (384, 768, 256, 32), 128)


@on_gpu(
    "the same step on 8 devices, state and batch split",
    "asynchronous collectives of XLA:GPU: all-gather-start, reduce-scatter",
    mesh=((8,), ("data",)),
)
def gpu_adam_sharded(mesh):
    return jax.jit(adam_step, donate_argnums=0), adam_arguments(
        mesh, (768, 1536, 512, 64), 512, P("data"), P("data")
    )


@on_cpu(
    "the same step on 8 devices, state and batch split",
    "collectives of XLA:CPU",
    mesh=((8,), ("data",)),
    flags="--xla_force_host_platform_device_count=8",
)
def cpu_adam_sharded(mesh):
    return jax.jit(adam_step, donate_argnums=0), adam_arguments(
        mesh, (384, 768, 256, 64), 256, P("data"), P("data")
    )


# --- too large for the card ----------------------------------------------------------------------


@on_gpu(
    "gradient of attention over 16384 positions, 24 heads, on a card of 16 GB",
    "hbm-over-capacity on a GPU: XLA compiles it, it fails when it runs",
    card="v100",
)
def gpu_attention_too_large(mesh):
    def loss(q, k, v):
        scores = jnp.einsum("qhd,khd->hqk", q, k) / 8.0
        return jnp.sum(jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores), v))

    argument = sds((16384, 24, 64), f32, mesh)
    return jax.jit(jax.grad(loss, argnums=(0, 1, 2))), (argument, argument, argument)


# --- prints and callbacks ------------------------------------------------------------------------


def printing_loop(x, w):
    def body(_, carry):
        carry = jnp.tanh(carry @ w)
        jax.debug.print("carry {}", carry)
        return carry

    return lax.fori_loop(0, 5, body, x)


@on_gpu("jax.debug.print of a matrix in a fori_loop", "debug-print in the form of XLA:GPU")
def gpu_debug_print(mesh):
    return jax.jit(printing_loop), (sds((2048, 1024), f32, mesh), sds((1024, 1024), f32, mesh))


@on_cpu("jax.debug.print of a matrix in a fori_loop", "debug-print in the form of XLA:CPU")
def cpu_debug_print(mesh):
    return jax.jit(printing_loop), (sds((1024, 1024), f32), sds((1024, 1024), f32))


def calling_back(x):
    def host(value):
        return value * 2

    def body(carry, row):
        carry = carry + jax.pure_callback(host, jax.ShapeDtypeStruct((512,), f32), row)
        return carry, jnp.sum(carry)

    total, sums = lax.scan(body, jnp.zeros((512,), f32), x)
    io_callback(lambda value: None, None, total, ordered=True)
    return total, sums


@on_cpu("pure_callback in a scan, ordered io_callback", "callbacks that are no print, tokens")
def cpu_callbacks(mesh):
    return jax.jit(calling_back), (sds((64, 512), f32),)


# --- loops that keep values ----------------------------------------------------------------------


def decode(cache, token, weights):
    def body(step, carry):
        cache, x = carry
        key = jnp.tanh(x @ weights)
        cache = lax.dynamic_update_slice(cache, key[None], (step, 0, 0))
        scores = jax.nn.softmax(jnp.einsum("sbd,bd->sb", cache, key), axis=0)
        return cache, x + jnp.einsum("sb,sbd->bd", scores, cache)

    return lax.fori_loop(0, cache.shape[0], body, (cache, token))


@on_gpu(
    "decoding with a donated cache that a loop updates", "in-place updates in a loop", card="a100-40"
)
def gpu_decode(mesh):
    arguments = sds((128, 8, 512), f32, mesh), sds((8, 512), f32, mesh), sds((512, 512), f32, mesh)
    return jax.jit(decode, donate_argnums=0), arguments


@on_cpu("decoding with a donated cache that a loop updates", "in-place updates in a loop")
def cpu_decode(mesh):
    arguments = sds((64, 4, 256), f32), sds((4, 256), f32), sds((256, 256), f32)
    return jax.jit(decode, donate_argnums=0), arguments


def scanned_loss(weights, x):
    def block(x, weight):
        return x + jax.nn.silu(x @ weight), None

    x, _ = lax.scan(jax.checkpoint(block), x, weights)
    return jnp.mean(x.astype(f32) ** 2)


@on_gpu("gradient of 8 scanned blocks in bf16", "residuals that a scan keeps for the backward pass")
def gpu_scan_gradient(mesh):
    arguments = sds((8, 512, 512), bf16, mesh), sds((1024, 512), bf16, mesh)
    return jax.jit(jax.grad(scanned_loss)), arguments


def sorted_groups(values, keys, table):
    order = jnp.argsort(keys)
    ranked = values[order]
    sums = jax.ops.segment_sum(ranked, keys[order], num_segments=64)
    return table.at[keys].add(values), jnp.cumsum(sums, axis=0), lax.top_k(values[:, 0], 16)


@on_cpu("sort, scatter, cumulative sum, top_k", "operations that XLA:CPU does not fuse")
def cpu_sort_scatter(mesh):
    return jax.jit(sorted_groups, donate_argnums=2), (
        sds((4096, 32), f32), sds((4096,), s32), sds((64, 32), f32),
    )


if __name__ == "__main__":
    main(program)
