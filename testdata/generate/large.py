"""The program of testdata/large: a dump of about 4 MB of text, for benchmarks.

A decoder of unrolled layers, trained with Adam, split over a mesh of 8 devices.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

from runner import Registry, main, sds

program = Registry()
f32, bf16, s32 = jnp.float32, jnp.bfloat16, jnp.int32

LAYERS, WIDTH, HEADS, VOCABULARY = 11, 1024, 16, 32768
SPLITS = {
    "query_key_value": P("fsdp", "tensor"),
    "project": P("tensor", "fsdp"),
    "expand": P("fsdp", "tensor"),
    "contract": P("tensor", "fsdp"),
    "gain": P(),
}
SHAPES = {
    "query_key_value": (WIDTH, 3 * WIDTH),
    "project": (WIDTH, WIDTH),
    "expand": (WIDTH, 4 * WIDTH),
    "contract": (4 * WIDTH, WIDTH),
    "gain": (WIDTH,),
}


def normalise(x, gain):
    x = x.astype(f32)
    return (x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * gain).astype(bf16)


def self_attention(layer, x):
    batch, positions, _ = x.shape
    mixed = x @ layer["query_key_value"].astype(bf16)
    query, key, value = jnp.split(mixed.reshape(batch, positions, HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("bqhc,bkhc->bhqk", query, key).astype(f32)
    causal = jnp.arange(positions)[:, None] >= jnp.arange(positions)
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9)).astype(bf16)
    out = jnp.einsum("bhqk,bkhc->bqhc", weights, value).reshape(batch, positions, -1)
    return out @ layer["project"].astype(bf16)


def decoder_layer(layer, x):
    x = x + self_attention(layer, normalise(x, layer["gain"]))
    hidden = jax.nn.gelu(normalise(x, layer["gain"]) @ layer["expand"].astype(bf16))
    return x + hidden @ layer["contract"].astype(bf16)


def loss_of(parameters, tokens):
    x = parameters["embedding"].astype(bf16)[tokens[:, :-1]]
    for layer in parameters["layers"]:
        x = decoder_layer(layer, x)
    logits = (x @ parameters["embedding"].astype(bf16).T).astype(f32)
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1)
    return -jnp.mean(picked)


def train_step(state, tokens):
    loss, gradients = jax.value_and_grad(loss_of)(state["parameters"], tokens)
    step = state["step"] + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["first"], gradients)
    second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, state["second"], gradients)

    def update(p, m, v):
        scale = jnp.sqrt(1 - 0.95 ** step.astype(f32)) / (1 - 0.9 ** step.astype(f32))
        return p - 3e-4 * (scale * m / (jnp.sqrt(v) + 1e-8) + 0.1 * p)

    parameters = jax.tree.map(update, state["parameters"], first, second)
    return {"parameters": parameters, "first": first, "second": second, "step": step}, loss


@program(
    f"decoder of {LAYERS} unrolled layers, Adam, state donated and split over fsdp 4 x tensor 2",
    "benchmarks: about 4 MB of text",
    topology="v5e:2x4",
    mesh=((4, 2), ("fsdp", "tensor")),
)
def decoder_train_step(mesh):
    layer = {name: sds(SHAPES[name], f32, mesh, split) for name, split in SPLITS.items()}
    parameters = {
        "embedding": sds((VOCABULARY, WIDTH), f32, mesh, P(("fsdp", "tensor"))),
        "layers": [layer] * LAYERS,
    }
    state = {name: parameters for name in ("parameters", "first", "second")}
    state["step"] = sds((), s32, mesh)
    kept = jax.tree.map(lambda a: a.sharding, state)
    jitted = jax.jit(train_step, donate_argnums=0, out_shardings=(kept, NamedSharding(mesh, P())))
    return jitted, (state, sds((8, 513), s32, mesh, P("fsdp")))


if __name__ == "__main__":
    main(program)
