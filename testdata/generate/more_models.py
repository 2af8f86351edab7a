"""Programs to score the memory model on: other chips, topologies, libraries than testdata.

`python more_models.py NAME LOG` compiles one of them; `more.py` does it for all, with two compilers.
"""

import functools
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from jax import lax
from jax.experimental import pallas as pl
from jax.sharding import NamedSharding, PartitionSpec as P

from runner import Registry, main, sds

program = Registry()
f32, bf16, s32, s8, u32 = jnp.float32, jnp.bfloat16, jnp.int32, jnp.int8, jnp.uint32


def like(tree, mesh, spec_of=lambda leaf: P()):
    """The shapes of a tree as arguments on the mesh."""
    return jax.tree.map(lambda leaf: sds(leaf.shape, leaf.dtype, mesh, spec_of(leaf)), tree)


def shapes_of(function, *arguments):
    return jax.eval_shape(function, *arguments)


def biggest_axis(mesh, axis):
    """A rule that splits the largest dimension of an array over `axis`, where it divides."""

    def spec_of(leaf):
        if not leaf.shape or max(leaf.shape) % mesh.shape[axis] or leaf.size < 65536:
            return P()
        largest = leaf.shape.index(max(leaf.shape))
        return P(*(axis if i == largest else None for i in range(len(leaf.shape))))

    return spec_of


def optimised(loss, optimizer):
    """A training step of an optax optimizer."""

    def train_step(parameters, memory, *batch):
        value, gradients = jax.value_and_grad(loss)(parameters, *batch)
        updates, memory = optimizer.update(gradients, memory, parameters)
        return optax.apply_updates(parameters, updates), memory, value

    return train_step


def flax_training(mesh, model, optimizer, inputs, targets, spec_of=lambda leaf: P(), split=P()):
    """Jitted step and arguments of a flax model with a squared or label loss."""
    key = jax.ShapeDtypeStruct((2,), u32)
    parameters = shapes_of(lambda k, x: model.init(k, x), key, jax.ShapeDtypeStruct(*inputs))
    memory = shapes_of(optimizer.init, parameters)

    def loss(parameters, x, y):
        out = model.apply(parameters, x)
        if jnp.issubdtype(y.dtype, jnp.integer):
            return optax.softmax_cross_entropy_with_integer_labels(out.astype(f32), y).mean()
        return jnp.mean((out - y) ** 2)

    arguments = (
        like(parameters, mesh, spec_of),
        like(memory, mesh, spec_of),
        sds(*inputs, mesh, split),
        sds(*targets, mesh, split),
    )
    return jax.jit(optimised(loss, optimizer), donate_argnums=(0, 1)), arguments


# --- flax and optax ------------------------------------------------------------------------------


class SmallNet(nn.Module):
    """Convolutions, pools, two dense layers."""

    @nn.compact
    def __call__(self, x):
        for features in (32, 64, 128):
            x = nn.relu(nn.Conv(features, (3, 3))(x))
            x = nn.avg_pool(x, (2, 2), (2, 2))
        x = nn.relu(nn.Dense(256)(x.reshape(x.shape[0], -1)))
        return nn.Dense(100)(x)


@program("flax CNN, SGD with Nesterov", "v3", topology="v3:2x2")
def flax_cnn_v3(mesh):
    optimizer = optax.sgd(0.1, momentum=0.9, nesterov=True)
    return flax_training(mesh, SmallNet(), optimizer, ((64, 64, 64, 3), f32), ((64,), s32))


@program("flax CNN, Adam, batch over 8", "v2", topology="v2:2x2", mesh=((8,), ("data",)))
def flax_cnn_v2_data8(mesh):
    images, labels = ((256, 32, 32, 3), f32), ((256,), s32)
    return flax_training(mesh, SmallNet(), optax.adam(1e-3), images, labels, split=P("data"))


class Encoder(nn.Module):
    """Token encoder with attention of flax."""

    layers: int
    width: int
    heads: int
    vocabulary: int
    remat: bool = False

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(self.vocabulary, self.width, dtype=bf16)(tokens)
        block = nn.remat(EncoderBlock) if self.remat else EncoderBlock
        for _ in range(self.layers):
            x = block(self.width, self.heads)(x)
        return nn.Dense(self.vocabulary, dtype=bf16)(nn.LayerNorm(dtype=bf16)(x))


class EncoderBlock(nn.Module):
    width: int
    heads: int

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm(dtype=bf16)(x)
        x = x + nn.MultiHeadDotProductAttention(self.heads, dtype=bf16)(y, y)
        y = nn.gelu(nn.Dense(4 * self.width, dtype=bf16)(nn.LayerNorm(dtype=bf16)(x)))
        return x + nn.Dense(self.width, dtype=bf16)(y)


@program(
    "flax encoder of 4 layers, AdamW with clipping, fsdp over 8",
    "v5p in three dimensions",
    topology="v5p:2x2x2",
    mesh=((8,), ("fsdp",)),
)
def flax_encoder_v5p(mesh):
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    return flax_training(
        mesh, Encoder(4, 512, 8, 8192), optimizer, ((16, 512), s32), ((16, 512), s32),
        biggest_axis(mesh, "fsdp"), P("fsdp"),
    )


@program("flax encoder with nn.remat, Adafactor", "7x, factored moments", topology="tpu7x:2x2x1")
def flax_encoder_remat_7x(mesh):
    tokens = ((4, 1024), s32)
    return flax_training(mesh, Encoder(3, 768, 12, 16384, True), optax.adafactor(1e-3), tokens, tokens)


@program(
    "flax encoder, Lion, 16 chips as data 4 x fsdp 4",
    "v5e 4x4",
    topology="v5e:4x4",
    mesh=((4, 4), ("data", "fsdp")),
)
def flax_encoder_lion_v5e16(mesh):
    tokens = ((32, 256), s32)
    return flax_training(
        mesh, Encoder(2, 512, 8, 8192), optax.lion(1e-4), tokens, tokens,
        biggest_axis(mesh, "fsdp"), P(("data", "fsdp")),
    )


class Mixer(nn.Module):
    """MLP mixer."""

    blocks: int

    @nn.compact
    def __call__(self, images):
        x = nn.Conv(256, (8, 8), strides=(8, 8))(images)
        x = x.reshape(x.shape[0], -1, x.shape[-1])
        for _ in range(self.blocks):
            y = nn.LayerNorm()(x).swapaxes(1, 2)
            x = x + nn.Dense(x.shape[1])(nn.gelu(nn.Dense(384)(y))).swapaxes(1, 2)
            y = nn.LayerNorm()(x)
            x = x + nn.Dense(256)(nn.gelu(nn.Dense(1024)(y)))
        return nn.Dense(1000)(x.mean(axis=1))


@program("flax MLP mixer, LAMB", "v4 with CMEM", topology="v4:2x2x1")
def flax_mixer_v4(mesh):
    images, labels = ((64, 96, 96, 3), f32), ((64,), s32)
    return flax_training(mesh, Mixer(4), optax.lamb(1e-3), images, labels)


class Recurrent(nn.Module):
    """Two LSTM layers of flax."""

    @nn.compact
    def __call__(self, x):
        x = nn.RNN(nn.OptimizedLSTMCell(256))(x)
        x = nn.RNN(nn.OptimizedLSTMCell(256))(x)
        return nn.Dense(64)(x)


@program("flax LSTM over 100 steps, RMSProp", "v6e, loops with stacked residuals", topology="v6e:2x2")
def flax_lstm_v6e(mesh):
    return flax_training(
        mesh, Recurrent(), optax.rmsprop(1e-3), ((32, 100, 128), f32), ((32, 100, 64), f32)
    )


class UNet(nn.Module):
    """Down, up, skips."""

    @nn.compact
    def __call__(self, x):
        skips = []
        for features in (32, 64, 128):
            x = nn.silu(nn.GroupNorm(8)(nn.Conv(features, (3, 3))(x)))
            skips.append(x)
            x = nn.max_pool(x, (2, 2), (2, 2))
        for features in (128, 64, 32):
            x = nn.ConvTranspose(features, (2, 2), strides=(2, 2))(x)
            x = nn.silu(nn.Conv(features, (3, 3))(jnp.concatenate([x, skips.pop()], -1)))
        return nn.Conv(3, (1, 1))(x)


@program("flax U-Net with an average of the weights", "v5p, convolutions", topology="v5p:2x2x1")
def flax_unet_v5p(mesh):
    optimizer = optax.chain(optax.adam(1e-3), optax.ema(0.99))
    images = ((16, 128, 128, 3), f32)
    return flax_training(mesh, UNet(), optimizer, images, images)


@program("flax encoder, gradients of 4 parts added by optax.MultiSteps", "v6e, conditional update", topology="v6e:2x2")
def flax_multisteps_v6e(mesh):
    optimizer = optax.MultiSteps(optax.adam(1e-3), every_k_schedule=4).gradient_transformation()
    tokens = ((8, 256), s32)
    return flax_training(mesh, Encoder(2, 384, 6, 4096), optimizer, tokens, tokens)


# --- keras ---------------------------------------------------------------------------------------


def keras_training(mesh, model, inputs, targets):
    """Keras on JAX: a stateless step with plain gradient descent."""

    def loss(trainable, fixed, x, y):
        out, fixed = model.stateless_call(trainable, fixed, x, training=True)
        return jnp.mean((out.astype(f32) - y) ** 2), fixed

    def keras_step(trainable, fixed, x, y):
        (value, fixed), gradients = jax.value_and_grad(loss, has_aux=True)(trainable, fixed, x, y)
        return [w - 0.01 * g for w, g in zip(trainable, gradients)], fixed, value

    trainable = [variable.value for variable in model.trainable_variables]
    fixed = [variable.value for variable in model.non_trainable_variables]
    arguments = (like(trainable, mesh), like(fixed, mesh), sds(*inputs, mesh), sds(*targets, mesh))
    return jax.jit(keras_step, donate_argnums=(0, 1)), arguments


KERAS = {"flags": "--xla_dump_hlo_module_re=.*keras_step.*"}  # not the helpers that run on the CPU


@program("keras LSTM", "v5e; keras names in op_name", **KERAS)
def keras_lstm_v5e(mesh):
    import keras

    with jax.default_device(jax.devices("cpu")[0]):
        model = keras.Sequential(
            [
                keras.Input((64, 96)),
                keras.layers.LSTM(256, return_sequences=True),
                keras.layers.LSTM(128),
                keras.layers.Dense(32),
            ]
        )
    return keras_training(mesh, model, ((128, 64, 96), f32), ((128, 32), f32))


@program("keras CNN with batch normalisation", "v3", topology="v3:2x2", **KERAS)
def keras_cnn_v3(mesh):
    import keras

    with jax.default_device(jax.devices("cpu")[0]):
        layers = [keras.Input((64, 64, 3))]
        for features in (32, 64, 96):
            layers += [
                keras.layers.SeparableConv2D(features, 3, padding="same"),
                keras.layers.BatchNormalization(),
                keras.layers.ReLU(),
                keras.layers.MaxPooling2D(),
            ]
        layers += [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)]
        model = keras.Sequential(layers)
    return keras_training(mesh, model, ((128, 64, 64, 3), f32), ((128, 10), f32))


@program("keras attention block", "7x", topology="tpu7x:2x2x1", **KERAS)
def keras_attention_7x(mesh):
    import keras

    with jax.default_device(jax.devices("cpu")[0]):
        x = start = keras.Input((256, 384))
        x = keras.layers.LayerNormalization()(x + keras.layers.MultiHeadAttention(6, 64)(x, x))
        x = keras.layers.Dense(384)(keras.layers.Dense(1536, activation="gelu")(x))
        model = keras.Model(start, x)
    return keras_training(mesh, model, ((16, 256, 384), f32), ((16, 256, 384), f32))


# --- plain JAX: collectives and meshes -----------------------------------------------------------


@program(
    "mixture of experts by all_to_all over 16 devices",
    "7x in three dimensions",
    topology="tpu7x:2x2x2",
    mesh=((16,), ("expert",)),
)
def experts_7x16(mesh):
    split = P("expert")

    @functools.partial(jax.shard_map, mesh=mesh, in_specs=(split, split, split), out_specs=split)
    def layer(up, down, x):
        sent = lax.all_to_all(x.reshape(16, -1, 512), "expert", 0, 0)
        hidden = jax.nn.silu(jnp.einsum("etc,ch->eth", sent, up[0]))
        back = jnp.einsum("eth,hc->etc", hidden, down[0])
        return lax.all_to_all(back, "expert", 0, 0).reshape(x.shape)

    def loss(up, down, x):
        return jnp.sum(layer(up, down, x).astype(f32) ** 2)

    return jax.jit(jax.grad(loss, argnums=(0, 1))), (
        sds((16, 512, 1024), bf16, mesh, split),
        sds((16, 1024, 512), bf16, mesh, split),
        sds((16384, 512), bf16, mesh, split),
    )


@program(
    "pipeline of 8 stages by ppermute, 16 microbatches, gradient",
    "v4 in three dimensions",
    topology="v4:2x2x1",
    mesh=((8,), ("stage",)),
)
def pipeline_v4(mesh):
    split = P("stage")

    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(split, P()), out_specs=split, check_vma=False
    )
    def run(weights, batches):
        stage = lax.axis_index("stage")
        ahead = [(i, (i + 1) % 8) for i in range(8)]

        def tick(carry, i):
            x = jnp.where(stage == 0, batches[jnp.minimum(i, 15)], carry)
            y = jnp.tanh(x @ weights[0])
            return lax.ppermute(y, "stage", ahead), y

        _, out = lax.scan(tick, jnp.zeros_like(batches[0]), jnp.arange(23))
        return out[None]

    def loss(weights, batches):
        return jnp.mean(run(weights, batches)[-1, 7:] ** 2)

    return jax.jit(jax.value_and_grad(loss)), (
        sds((8, 1024, 1024), f32, mesh, split),
        sds((16, 64, 1024), f32, mesh),
    )


@program(
    "data parallel over 2 slices, model parallel inside",
    "multi-slice v5e",
    slices=2,
    mesh=((2, 4), ("slice", "model")),
)
def two_slices_v5e(mesh):
    def step(weights, x):
        def loss(weights):
            y = jax.nn.relu(x @ weights["in"])
            return jnp.mean((y @ weights["out"]) ** 2)

        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, jax.grad(loss)(weights))

    weights = {
        "in": sds((1024, 4096), f32, mesh, P(None, "model")),
        "out": sds((4096, 1024), f32, mesh, P("model", None)),
    }
    return jax.jit(step, donate_argnums=0), (weights, sds((512, 1024), f32, mesh, P("slice")))


@program(
    "tensor parallel layers with sequence split between them",
    "v6e 2x4, reduce-scatter and all-gather",
    topology="v6e:2x4",
    mesh=((2, 4), ("data", "model")),
)
def sequence_parallel_v6e8(mesh):
    def constrain(x, *spec):
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def f(weights, x):
        for up, down in weights:
            hidden = constrain(jax.nn.gelu(x @ up), "data", None, "model")
            x = constrain(x + hidden @ down, "data", "model", None)
        return x

    pair = (
        sds((1024, 4096), bf16, mesh, P(None, "model")),
        sds((4096, 1024), bf16, mesh, P("model", None)),
    )
    return jax.jit(f), ([pair] * 3, sds((8, 1024, 1024), bf16, mesh, P("data", "model")))


@program(
    "ring attention: keys and values go round by ppermute in a fori_loop",
    "v5p, long sequences",
    topology="v5p:2x2x1",
    mesh=((4,), ("sequence",)),
)
def ring_attention_v5p(mesh):
    split = P(None, "sequence")

    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(split,) * 3, out_specs=split, check_vma=False
    )
    def f(query, key, value):
        ring = [(i, (i + 1) % 4) for i in range(4)]

        def turn(_, state):
            key, value, best, total, out = state
            scores = jnp.einsum("hqc,hkc->hqk", query, key)
            new = jnp.maximum(best, scores.max(-1))
            weights = jnp.exp(scores - new[..., None])
            scale = jnp.exp(best - new)
            out = out * scale[..., None] + jnp.einsum("hqk,hkc->hqc", weights, value)
            total = total * scale + weights.sum(-1)
            key, value = (lax.ppermute(a, "sequence", ring) for a in (key, value))
            return key, value, new, total, out

        start = jnp.full(query.shape[:2], -1e30), jnp.zeros(query.shape[:2]), jnp.zeros_like(query)
        *_, total, out = lax.fori_loop(0, 4, turn, (key, value, *start))
        return out / total[..., None]

    return jax.jit(f), (sds((8, 8192, 128), f32, mesh, split),) * 3


# --- plain JAX: loops, conditionals, odd operations ----------------------------------------------


@program("gradient of a scan in a scan with checkpoint", "v5e, nested residuals")
def nested_scan_v5e(mesh):
    def inner(carry, w):
        return jnp.sin(carry @ w), carry.sum()

    @jax.checkpoint
    def outer(carry, ws):
        return lax.scan(inner, carry, ws)

    def loss(ws, x):
        y, sums = lax.scan(outer, x, ws)
        return jnp.sum(y) + jnp.sum(sums)

    return jax.jit(jax.grad(loss)), (sds((6, 4, 512, 512), f32, mesh), sds((1024, 512), f32, mesh))


@program("switch of five branches in a scan", "v2, conditionals", topology="v2:2x2")
def switch_v2(mesh):
    def f(x, w, choices):
        branches = [
            lambda c: jnp.tanh(c @ w),
            lambda c: c * 2,
            lambda c: jnp.sort(c, axis=1),
            lambda c: c - c.mean(),
            lambda c: jnp.cumsum(c, axis=0),
        ]
        return lax.scan(lambda c, i: (lax.switch(i, branches, c), c[0]), x, choices)

    return jax.jit(f), (sds((512, 384), f32, mesh), sds((384, 384), f32, mesh), sds((20,), s32, mesh))


@program("Fourier filter of images", "v4, complex numbers", topology="v4:2x2x1")
def fourier_v4(mesh):
    def f(images, kernel):
        spectrum = jnp.fft.rfft2(images)
        return jnp.fft.irfft2(spectrum * kernel), jnp.abs(spectrum).sum((1, 2))

    return jax.jit(f), (sds((32, 256, 256), f32, mesh), sds((256, 129), jnp.complex64, mesh))


@program("top-k sampling with a random generator", "v6e, sorts and random bits", topology="v6e:2x2")
def sampling_v6e(mesh):
    def f(key, logits):
        values, rows = lax.top_k(logits, 50)
        picked = jax.random.categorical(jax.random.wrap_key_data(key), values)
        order = jnp.argsort(logits[:, :4096], axis=-1)
        return jnp.take_along_axis(rows, picked[:, None], 1), order

    return jax.jit(f), (sds((2,), u32, mesh), sds((64, 32000), f32, mesh))


@program("int8 matmuls with scales", "v5e, s8 and s32")
def quantised_v5e(mesh):
    def f(layers, x):
        for weight, scale in layers:
            largest = jnp.max(jnp.abs(x), axis=1, keepdims=True)
            rounded = jnp.round(x / largest * 127).astype(s8)
            product = lax.dot_general(
                rounded, weight, (((1,), (0,)), ((), ())), preferred_element_type=s32
            )
            x = jax.nn.relu(product.astype(f32) * scale * largest)
        return x

    layer = (sds((3000, 3000), s8, mesh), sds((3000,), f32, mesh))
    return jax.jit(f), ([layer] * 3, sds((700, 3000), f32, mesh))


@program("int4 and fp8 weights", "7x, narrow types", topology="tpu7x:2x2x1")
def narrow_7x(mesh):
    def f(four, eight, x):
        y = x @ four.astype(bf16)
        return (y @ eight.astype(bf16)).astype(jnp.float8_e4m3fn)

    return jax.jit(f), (
        sds((2048, 3000), jnp.int4, mesh),
        sds((3000, 2048), jnp.float8_e4m3fn, mesh),
        sds((1000, 2048), bf16, mesh),
    )


@program("QR, Cholesky, triangular solve, determinant", "v3, expanded into loops", topology="v3:2x2")
def linear_algebra_v3(mesh):
    def f(a, b):
        q, r = jnp.linalg.qr(a)
        low = jnp.linalg.cholesky(a @ a.swapaxes(-1, -2) + 3 * jnp.eye(a.shape[-1]))
        return q @ jax.scipy.linalg.solve_triangular(low, b, lower=True), jnp.linalg.det(r)

    return jax.jit(f), (sds((4, 200, 200), f32, mesh), sds((4, 200, 72), f32, mesh))


@program("linear recurrence by associative_scan, gradient", "v5e, logarithmic tree of slices")
def recurrence_v5e(mesh):
    def loss(decay, x):
        def combine(left, right):
            return left[0] * right[0], right[0] * left[1] + right[1]

        _, y = lax.associative_scan(combine, (jax.nn.sigmoid(decay), x), axis=1)
        return jnp.sum(y * y)

    return jax.jit(jax.grad(loss, argnums=(0, 1))), (sds((8, 1000, 768), f32, mesh),) * 2


@program("greedy decoding of 32 tokens with a cache", "v5e, cache updated in place in a loop")
def decoding_v5e(mesh):
    def f(weights, cache, token):
        def step(i, state):
            cache, token, out = state
            x = weights["embed"][token]
            fresh = x @ weights["kv"]
            cache = lax.dynamic_update_slice(cache, fresh[:, None], (0, i, 0))
            scores = jnp.einsum("bc,bpc->bp", x, cache)
            x = jnp.einsum("bp,bpc->bc", jax.nn.softmax(scores), cache)
            token = jnp.argmax(x @ weights["embed"].T, axis=-1).astype(s32)
            return cache, token, out.at[:, i].set(token)

        out = jnp.zeros((token.shape[0], 32), s32)
        cache, _, out = lax.fori_loop(0, 32, step, (cache, token, out))
        return cache, out

    weights = {"embed": sds((16000, 512), bf16, mesh), "kv": sds((512, 512), bf16, mesh)}
    return jax.jit(f, donate_argnums=1), (weights, sds((32, 2048, 512), bf16, mesh), sds((32,), s32, mesh))


@program("gathers and scatters over an edge list", "v6e, segment sums", topology="v6e:2x2")
def message_passing_v6e(mesh):
    def f(nodes, w, sources, targets):
        for _ in range(3):
            messages = jax.nn.relu(nodes[sources] @ w)
            nodes = nodes + jax.ops.segment_sum(messages, targets, nodes.shape[0])
        return jax.ops.segment_max(nodes, targets[: nodes.shape[0]], 100)

    return jax.jit(f), (
        sds((20000, 128), f32, mesh),
        sds((128, 128), f32, mesh),
        sds((100000,), s32, mesh),
        sds((100000,), s32, mesh),
    )


@program(
    "debug.print and a callback in a sharded loop",
    "v5p, host transfers on 4 devices",
    topology="v5p:2x2x1",
    mesh=((4,), ("data",)),
)
def prints_v5p(mesh):
    def f(x, w):
        def step(i, c):
            c = jnp.tanh(c @ w)
            jax.debug.print("{} {}", i, c.max())
            return c

        x = lax.fori_loop(0, 5, step, x)
        jax.debug.callback(lambda value: None, x)
        return x

    return jax.jit(f), (sds((4096, 1024), f32, mesh, P("data")), sds((1024, 1024), f32, mesh))


@program("optimizer state in host memory, two layers", "v6e, pinned host", topology="v6e:2x2")
def host_state_v6e(mesh):
    here = NamedSharding(mesh, P())
    host = NamedSharding(mesh, P(), memory_kind="pinned_host")

    def step(weights, moments, x):
        gradients = jax.grad(lambda w: jnp.sum((jnp.tanh(x @ w[0]) @ w[1]) ** 2))(weights)
        moments = [jax.device_put(m, here) * 0.9 + g for m, g in zip(moments, gradients)]
        weights = [w - 0.1 * m for w, m in zip(weights, moments)]
        return weights, [jax.device_put(m, host) for m in moments]

    shapes = (2048, 3000), (3000, 2048)
    weights = [sds(shape, f32, mesh) for shape in shapes]
    moments = [sds(shape, f32, mesh, memory_kind="pinned_host") for shape in shapes]
    jitted = jax.jit(step, donate_argnums=(0, 1), out_shardings=([here] * 2, [host] * 2))
    return jitted, (weights, moments, sds((512, 2048), f32, mesh))


@program("checkpoint policies: dots saved, the rest recomputed", "7x, unrolled", topology="tpu7x:2x2x1")
def policy_7x(mesh):
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable

    @functools.partial(jax.checkpoint, policy=policy)
    def block(x, pair):
        return x + jax.nn.gelu(x @ pair[0]) @ pair[1]

    def loss(pairs, x):
        for pair in pairs:
            x = block(x, pair)
        return jnp.mean(x.astype(f32) ** 2)

    pair = (sds((1024, 4096), bf16, mesh), sds((4096, 1024), bf16, mesh))
    return jax.jit(jax.grad(loss)), ([pair] * 4, sds((8192, 1024), bf16, mesh))


def tile_sum(x_ref, out_ref, sum_ref):
    @pl.when(pl.program_id(1) == 0)
    def _():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    sum_ref[...] += x_ref[...]
    out_ref[...] = sum_ref[...]


@program("Pallas running sum with scratch, twice", "v5p, tpu_custom_call", topology="v5p:2x2x1")
def kernel_v5p(mesh):
    from jax.experimental.pallas import tpu as pltpu

    def running(x):
        window = pl.BlockSpec((256, 512), lambda i, j: (j, i))
        return pl.pallas_call(
            tile_sum, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            grid=(x.shape[1] // 512, x.shape[0] // 256), in_specs=[window], out_specs=window,
            scratch_shapes=[pltpu.VMEM((256, 512), f32)], name="running",
        )(x)

    return jax.jit(lambda x: running(jnp.sin(running(x)))), (sds((4096, 4096), f32, mesh),)


@program("ten unrelated results of odd shapes, one argument passed through", "v2, padding", topology="v2:2x2")
def odd_shapes_v2(mesh):
    def f(x, y):
        return (
            x, x.T @ y, x[:, :7] * 2, jnp.sum(x, axis=0), y[::3], jnp.pad(x, ((1, 2), (3, 1))),
            (x > 0).astype(s8), x.astype(bf16)[3:-4], jnp.argmax(y, axis=1), jnp.outer(x[0], y[0]),
        )

    return jax.jit(f), (sds((333, 257), f32, mesh), sds((333, 65), f32, mesh))


# --- near and over the limit ---------------------------------------------------------------------


def wide_chain(mesh, rows, width, layers, dtype=f32):
    """The gradient of a chain of layers: rows x width is kept per layer."""

    def loss(weights, x):
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return jnp.sum(x.astype(f32) ** 2)

    return jax.jit(jax.grad(loss)), ([sds((width, width), dtype, mesh)] * layers, sds((rows, width), dtype, mesh))


def near(topology, rows, layers, dtype=f32):
    """Registers a chain that needs about 2.5 GiB less than the chip has: which heap is kept?"""
    name = f"margin_{topology.split(':')[0]}_{rows}"

    @program("chain near the limit", "on one side of limit - 2.5 GiB", topology=topology, name=name)
    def margin(mesh):
        return wide_chain(mesh, rows, 2048, layers, dtype)


for rows in (430000, 434000):
    near("v5e:2x2", rows, 3)
for rows in (552000, 558000):
    near("v4:2x2x1", rows, 5, bf16)
for rows in (676000, 690000):
    near("v6e:2x2", rows, 4)
for rows in (2420000, 2460000):
    near("v5p:2x2x1", rows, 6)


@program("chain over the limit", "v5p, HBM OOM", topology="v5p:2x2x1")
def oom_v5p(mesh):
    return wide_chain(mesh, 4000000, 2048, 6)


@program("chain over the limit", "7x, HBM OOM", topology="tpu7x:2x2x1")
def oom_7x(mesh):
    return wide_chain(mesh, 6000000, 2048, 6, bf16)


@program("chain over the limit", "v2, HBM OOM", topology="v2:2x2")
def oom_v2(mesh):
    return wide_chain(mesh, 400000, 1536, 4)


@program("scan of residual layers over the limit", "v6e, HBM OOM by stacked residuals", topology="v6e:2x2")
def scan_oom_v6e(mesh):
    def block(x, w):
        return x + jnp.tanh(jax.nn.relu(x @ w[0]) @ w[1]), None

    def loss(ws, x):
        return jnp.sum(lax.scan(block, x, ws)[0].astype(f32) ** 2)

    ws = (sds((20, 1536, 3072), bf16, mesh), sds((20, 3072, 1536), bf16, mesh))
    return jax.jit(jax.grad(loss)), (ws, sds((200000, 1536), bf16, mesh))


@program("attention over the limit on 8 devices, batch split", "v3, HBM OOM", topology="v3:2x2", mesh=((8,), ("data",)))
def attention_oom_v3(mesh):
    def f(q, k, v):
        scores = jnp.einsum("bhqc,bhkc->bhqk", q, k)
        return jnp.sum(jnp.einsum("bhqk,bhkc->bhqc", jax.nn.softmax(scores), v) ** 2)

    return jax.jit(jax.grad(f, argnums=(0, 1, 2))), (sds((8, 8, 16384, 64), f32, mesh, P("data")),) * 3


if __name__ == "__main__":
    main(program)
