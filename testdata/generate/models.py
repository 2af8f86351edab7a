"""The programs of testdata/dumps: small, each for one thing that a reader of dumps must know.

`python models.py NAME LOG` compiles one of them; `generate.py` does it for all.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import io_callback
from jax.experimental import pallas as pl
from jax.experimental.layout import Format, Layout
from jax.sharding import NamedSharding, PartitionSpec as P

from runner import Registry, main, sds

program = Registry()
f32, bf16, s32 = jnp.float32, jnp.bfloat16, jnp.int32


# --- a training step of two layers, momentum SGD -------------------------------------------------


def two_layers(weights, batch):
    inputs, labels = batch
    hidden = jax.nn.silu(inputs @ weights["up"])
    return jnp.mean((hidden @ weights["down"] - labels) ** 2)


def momentum_step(state, batch):
    loss, gradients = jax.value_and_grad(two_layers)(state["weights"], batch)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], gradients)
    weights = jax.tree.map(lambda w, m: w - 0.01 * m, state["weights"], momentum)
    return {"weights": weights, "momentum": momentum}, loss


def momentum_arguments(mesh, width, rows, weight=P(), data=P(), dtype=f32):
    matrices = {
        "up": sds((width, 2 * width), dtype, mesh, weight),
        "down": sds((2 * width, width), dtype, mesh, weight),
    }
    examples = sds((rows, width), dtype, mesh, data)
    return {"weights": matrices, "momentum": matrices}, (examples, examples)


@program(
    "two-layer training step with momentum, state donated",
    "donation that works; the only folder with every file that XLA wrote",
    keep=("*",),
)
def mlp_donated(mesh):
    return jax.jit(momentum_step, donate_argnums=0), momentum_arguments(mesh, 3072, 1024)


@program("the same without donation", "a missed donation of 288 MiB, twin of mlp_donated")
def mlp_not_donated(mesh):
    return jax.jit(momentum_step), momentum_arguments(mesh, 3072, 1024)


@program(
    "the same step by the older compiler",
    "rules P0, another report format, no live ranges, source_file in the metadata",
    compiler="0.0.30",
)
def mlp_older_compiler(mesh):
    return jax.jit(momentum_step, donate_argnums=0), momentum_arguments(mesh, 1024, 512)


@program(
    "the same step by libtpu 0.0.42.1",
    "rules P42; the other folder with tpu_comp_env",
    compiler="0.0.42.1",
    keep=("tpu_comp_env.txt",),
)
def mlp_0_0_42_1(mesh):
    return jax.jit(momentum_step, donate_argnums=0), momentum_arguments(mesh, 2048, 512)


# --- programs that do not fit --------------------------------------------------------------------


def attention(query, key, value):
    """Plain causal attention over [batch, head, position, channel], scores written out."""
    scores = jnp.einsum("bhqc,bhkc->bhqk", query, key) / query.shape[-1] ** 0.5
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), axis=-1)
    return jnp.einsum("bhqk,bhkc->bhqc", weights, value)


def attention_gradient(query, key, value):
    return jax.grad(lambda *a: attention(*a).astype(f32).sum(), argnums=(0, 1, 2))(query, key, value)


def attention_arguments(mesh, batch=2, heads=16, positions=16384, channels=128):
    return (sds((batch, heads, positions, channels), bf16, mesh),) * 3


@program(
    "gradient of plain attention, 16384 positions, 16 heads",
    "HBM OOM by score matrices of 16 GiB each, text of 0.0.52 with E1000",
)
def attention_oom(mesh):
    return jax.jit(attention_gradient), attention_arguments(mesh)


@program(
    "the same by libtpu 0.0.42.1",
    "HBM OOM with the message of 0.0.42 (no code), rules P42",
    compiler="0.0.42.1",
)
def attention_oom_0_0_42_1(mesh):
    return jax.jit(attention_gradient), attention_arguments(mesh)


def residual_block(x, weights):
    normed = x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)
    return x + jnp.tanh(normed @ weights["in"]) @ weights["out"], None


def scanned_loss(weights, x, block=residual_block):
    y, _ = lax.scan(block, x, weights)
    return jnp.mean(y.astype(f32) ** 2)


def scanned_arguments(mesh, layers, width, rows):
    stack = {
        "in": sds((layers, width, 4 * width), bf16, mesh),
        "out": sds((layers, 4 * width, width), bf16, mesh),
    }
    return stack, sds((rows, width), bf16, mesh)


@program(
    "gradient of 32 scanned residual blocks over 65536 rows",
    "HBM OOM by residuals that the scan stacks for the backward pass",
)
def scan_oom(mesh):
    return jax.jit(jax.grad(scanned_loss)), scanned_arguments(mesh, 32, 1024, 65536)


@program(
    "five square matrices of 4 GiB, one product",
    "HBM OOM by the arguments alone",
    topology="v5e:2x2",
)
def arguments_oom(mesh):
    def apply(matrices, vector):
        for matrix in matrices:
            vector = jnp.tanh(vector @ matrix)
        return vector

    return jax.jit(apply), ([sds((32768, 32768), f32, mesh)] * 5, sds((256, 32768), f32, mesh))


# --- host transfers ------------------------------------------------------------------------------


@program(
    "jax.debug.print of a matrix before and inside a fori_loop",
    "debug-print: one print outside, one in a loop of 6 trips and alive at the peak",
)
def debug_print(mesh):
    def f(x, w):
        x = jnp.sin(x)
        jax.debug.print("start {}", x)

        def step(i, carry):
            carry = jnp.tanh(carry @ w)
            jax.debug.print("step {} {}", i, carry)
            return carry * 0.5

        return lax.fori_loop(0, 6, step, x)

    return jax.jit(f), (sds((8192, 4096), f32, mesh), sds((4096, 4096), f32, mesh))


@program(
    "pure_callback in a scan, ordered io_callback at the end",
    "host callbacks that are no print: send/recv pairs, one in a loop",
)
def callbacks(mesh):
    def on_host(x):
        return x

    def f(x):
        shape = jax.ShapeDtypeStruct((512, 1024), f32)

        def step(carry, _):
            return jax.pure_callback(on_host, shape, carry * 2.0), jnp.max(carry)

        y, peaks = lax.scan(step, x, None, length=5)
        io_callback(lambda value: None, None, peaks, ordered=True)
        return y

    return jax.jit(f), (sds((512, 1024), f32, mesh),)


# --- sharding ------------------------------------------------------------------------------------

GRID = {"topology": "v5e:2x4", "mesh": ((4, 2), ("data", "model"))}


@program(
    "momentum step on a mesh 4x2, state whole on each device, only the batch split",
    "replicated-tensor: every array of the state given as P(); axis model unused",
    **GRID,
)
def replicated_state(mesh):
    arguments = momentum_arguments(mesh, 4096, 2048, data=P("data"))
    return jax.jit(momentum_step, donate_argnums=0), arguments


@program(
    "the same step, state split over both axes",
    "the well-sharded sibling of replicated_state; asynchronous collectives in fusions",
    **GRID,
)
def sharded_state(mesh):
    arguments = momentum_arguments(mesh, 4096, 2048, weight=P("data", "model"), data=P("data"))
    outputs = jax.tree.map(lambda a: a.sharding, arguments[0]), None
    return jax.jit(momentum_step, donate_argnums=0, out_shardings=outputs), arguments


@program(
    "a linear layer on a mesh of 8; the weight has no sharding at all",
    "`true` in allow_spmd_sharding_propagation_to_parameters: nothing was said of the weight",
    **GRID,
)
def no_sharding_given(mesh):
    def layer(weight, x):
        return jax.nn.gelu(x @ weight)

    data = NamedSharding(mesh, P("data"))
    weight = sds((8192, 8192), f32)
    return jax.jit(layer, in_shardings=(None, data)), (weight, sds((4096, 8192), f32, mesh, P("data")))


@program(
    "all_gather, psum_scatter and ppermute in a shard_map ring",
    "all-gather, reduce-scatter and an asynchronous collective-permute on 8 devices",
    topology="v5e:2x4",
    mesh=((8,), ("ring",)),
)
def collectives(mesh):
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(P("ring"), P("ring")), out_specs=P("ring"), check_vma=False
    )
    def f(x, w):
        whole = lax.all_gather(w, "ring", tiled=True)
        y = lax.psum_scatter(x @ whole, "ring", scatter_dimension=1, tiled=True)
        ring = [(i, (i + 1) % 8) for i in range(8)]
        return lax.ppermute(y, "ring", ring) + y

    return jax.jit(f), (
        sds((16384, 4096), f32, mesh, P("ring")),
        sds((4096, 8192), f32, mesh, P("ring")),
    )


# --- other chips ---------------------------------------------------------------------------------


@program("GRU over 64 steps", "v4: CMEM, one core per device", topology="v4:2x2x1")
def gru_v4(mesh):
    def cell(weights, state, x):
        gates = jax.nn.sigmoid(jnp.concatenate([x, state], -1) @ weights["gates"])
        update, reset = jnp.split(gates, 2, axis=-1)
        fresh = jnp.tanh(jnp.concatenate([x, reset * state], -1) @ weights["fresh"])
        state = update * state + (1 - update) * fresh
        return state, state

    def f(weights, state, xs):
        return lax.scan(functools.partial(cell, weights), state, xs)

    weights = {"gates": sds((1024, 1024), f32, mesh), "fresh": sds((1024, 512), f32, mesh)}
    return jax.jit(f), (weights, sds((256, 512), f32, mesh), sds((64, 256, 512), f32, mesh))


@program("two convolutions and a pool, forward", "v5p: tuple tables of 32 bytes", topology="v5p:2x2x1")
def convolutions_v5p(mesh):
    def f(kernels, images):
        for kernel in kernels:
            images = lax.conv_general_dilated(
                images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            images = jax.nn.relu(images)
        return lax.reduce_window(images, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    kernels = [sds((3, 3, 3, 64), f32, mesh), sds((3, 3, 64, 96), f32, mesh)]
    return jax.jit(f), (kernels, sds((32, 112, 112, 3), f32, mesh))


@program(
    "lookup of 4096 rows in a table and its gradient",
    "v6e: gather and scatter, SparseCore side",
    topology="v6e:2x2",
)
def embedding_v6e(mesh):
    def loss(table, rows):
        return jnp.sum(jnp.tanh(table[rows]))

    return jax.jit(jax.grad(loss)), (sds((100000, 256), f32, mesh), sds((4096,), s32, mesh))


@program(
    "mixture of experts: tokens sent to 8 experts on 8 devices by all_to_all, and back",
    "7x: all-to-all, experts split over the mesh",
    topology="tpu7x:2x2x1",
    mesh=((8,), ("expert",)),
)
def experts_7x(mesh):
    split = P("expert")
    exchange = functools.partial(lax.all_to_all, axis_name="expert", split_axis=0, concat_axis=0)

    @functools.partial(jax.shard_map, mesh=mesh, in_specs=(P(), split, split, split), out_specs=split)
    def f(router, up, down, tokens):
        gain = jax.nn.softmax(tokens @ router)
        order = jnp.argsort(-gain, axis=0)[:128]  # each expert takes its 128 best tokens
        sent = exchange(tokens[order.T])
        hidden = jax.nn.relu(jnp.einsum("etc,ch->eth", sent, up[0]))
        back = exchange(jnp.einsum("eth,hc->etc", hidden, down[0]))
        return tokens.at[order.T].add(back)

    return jax.jit(f), (
        sds((512, 8), bf16, mesh),
        sds((8, 512, 2048), bf16, mesh, split),
        sds((8, 2048, 512), bf16, mesh, split),
        sds((8192, 512), bf16, mesh, split),
    )


# --- layout, control flow, host memory -----------------------------------------------------------


@program(
    "element-wise work on points [4000000, 3], row-major layout pinned",
    "padding: 3 of 128 lanes used, three buffers of 48 MB take 2 GB each",
)
def padded_points(mesh):
    def f(points):
        return jnp.cumsum(points, axis=1) * 2.0

    row_major = Format(Layout((0, 1)), NamedSharding(mesh, P()))
    pinned = jax.jit(f, in_shardings=row_major, out_shardings=row_major)
    return pinned, (sds((4000000, 3), f32, mesh),)


@program(
    "power iteration by while_loop, a conditional in its body",
    "conditional in a while without a known trip count",
)
def while_with_conditional(mesh):
    def f(matrix, vector):
        def going(state):
            _, change, step = state
            return (change > 1e-4) & (step < 100)

        def body(state):
            old, _, step = state
            new = lax.cond(step % 10 == 0, lambda v: matrix @ (matrix @ v), lambda v: matrix @ v, old)
            new = new / jnp.linalg.norm(new)
            return new, jnp.max(jnp.abs(new - old)), step + 1

        return lax.while_loop(going, body, (vector, jnp.float32(1.0), jnp.int32(0)))

    return jax.jit(f), (sds((4096, 4096), f32, mesh), sds((4096, 512), f32, mesh))


@program(
    "momentum kept in host memory, moved in and out by the step",
    "pinned host memory: space 5, copies between the spaces",
)
def offloaded_momentum(mesh):
    on_device = NamedSharding(mesh, P())
    on_host = NamedSharding(mesh, P(), memory_kind="pinned_host")

    def step(weight, momentum, x):
        moved = jax.device_put(momentum, on_device)
        moved = 0.9 * moved + jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(weight)
        return weight - 0.1 * moved, jax.device_put(moved, on_host)

    weight = sds((4096, 4096), f32, mesh)
    momentum = sds((4096, 4096), f32, mesh, memory_kind="pinned_host")
    jitted = jax.jit(step, donate_argnums=(0, 1), out_shardings=(on_device, on_host))
    return jitted, (weight, momentum, sds((1024, 4096), f32, mesh))


# --- Pallas kernels ------------------------------------------------------------------------------


def scaled_sum_kernel(x_ref, y_ref, out_ref):
    out_ref[...] = x_ref[...] * 2.0 + y_ref[...]


def scaled_sum(rows, x, y):
    """x * 2 + y by windows of `rows` whole rows."""
    window = pl.BlockSpec((rows, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        scaled_sum_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // rows,),
        in_specs=[window, window],
        out_specs=window,
        name="scaled_sum",
    )(x, y)


def kernel_program(mesh, rows):
    def f(x, y):
        return jnp.sum(scaled_sum(rows, x, y), axis=0)

    return jax.jit(f), (sds((8192, 2048), f32, mesh),) * 2


@program("x * 2 + y by a Pallas kernel, windows of 256 rows", "tpu_custom_call that compiles")
def kernel_fits(mesh):
    return kernel_program(mesh, 256)


@program(
    "the same kernel, windows of 1024 rows",
    "scoped-vmem: double-buffered windows of 8 MiB exceed the limit of 16 MiB (E1001)",
)
def kernel_over_vmem(mesh):
    return kernel_program(mesh, 1024)


def first_row_kernel(x_ref, out_ref, row_ref):
    row_ref[:1, :] = x_ref[:1, :] * 2
    out_ref[...] = x_ref[...] + jnp.sum(row_ref[:1, :])


def one_step_kernel(x_ref, out_ref):
    out_ref[...] = x_ref[...] * 3


@program(
    "two Pallas kernels: scratch of which one row is used, a grid of one step",
    "what the compiler keeps and deletes of scratch and windows, recorded in after_codegen",
    keep=("after_codegen.txt",),
)
def kernels_kept_and_deleted(mesh):
    from jax.experimental.pallas import tpu as pltpu

    def f(x):
        rows = pl.BlockSpec((64, 384), lambda i: (i, 0))
        x = pl.pallas_call(
            first_row_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, f32), grid=(8,),
            in_specs=[rows], out_specs=rows, scratch_shapes=[pltpu.VMEM((16, 384), f32)],
            name="first_row",
        )(x)
        # Half of each row: the block is not one run of tiles, so that it has a window.
        half = pl.BlockSpec((512, 128), lambda i, j: (i, j))
        y = pl.pallas_call(
            one_step_kernel, out_shape=jax.ShapeDtypeStruct((512, 384), f32), grid=(1, 1),
            in_specs=[half], out_specs=half, name="one_step",
        )(jnp.tanh(x))
        return y + y

    return jax.jit(f), (sds((512, 384), f32, mesh),)


# --- forms of dump directories -------------------------------------------------------------------


def layer_norm(x, gain):
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return gain * centred * lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


def small(mesh):
    return jax.jit(layer_norm), (sds((256, 512), f32, mesh), sds((512,), f32, mesh))


@program(
    "layer norm, --xla_dump_include_timestamp",
    "file names with a time in front; the scheduled text before buffer assignment beside the others",
    flags="--xla_dump_include_timestamp",
    keep=("after_optimizations_before_buffer_assignment.txt",),
)
def timestamped(mesh):
    return small(mesh)


@program(
    "layer norm, --xla_dump_hlo_pass_re of the layout passes",
    "per-pass texts beside the stages, which must not be taken for the result",
    flags="--xla_dump_hlo_pass_re=.*layout.*",
)
def with_passes(mesh):
    return small(mesh)


@program(
    "a training step and an evaluation step in one directory",
    "two modules, two compiles",
)
def two_modules(mesh):
    state, batch = momentum_arguments(mesh, 512, 256)
    evaluate = jax.jit(lambda weights, batch: two_layers(weights, batch))
    return [(jax.jit(momentum_step, donate_argnums=0), (state, batch)), (evaluate, (state["weights"], batch))]


@program("softmax regression on the CPU backend", "names and layouts of a CPU dump", topology=None)
def cpu_softmax(mesh):
    def loss(weight, x, labels):
        logits = jax.nn.log_softmax(x @ weight)
        return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], axis=1))

    return jax.jit(jax.value_and_grad(loss)), (sds((784, 10), f32), sds((512, 784), f32), sds((512,), s32))


@program(
    "layer norm on the CPU, second process, compilation cache hit",
    "a lone after_optimizations.txt without cpu_ in front",
    topology=None,
    cached=True,
)
def cpu_cache_hit(mesh):
    return jax.jit(layer_norm), (sds((256, 512), f32), sds((512,), f32))




@program(
    "a layer, its result normalised and sorted, on a mesh 4x2",
    "replicated-tensor: an intermediate of 512 MiB that a constraint makes whole on each device",
    **GRID,
)
def replicated_intermediate(mesh):
    return normalised(mesh, P())


@program(
    "the same, the constraint splits the rows of the intermediate over data, its columns over model",
    "the remedied sibling of replicated_intermediate",
    **GRID,
)
def sharded_intermediate(mesh):
    return normalised(mesh, P("data", "model"))


def normalised(mesh, spec):
    def step(x, up, down):
        hidden = jnp.tanh(x @ up)
        hidden = lax.with_sharding_constraint(hidden, NamedSharding(mesh, spec))
        scaled = hidden / (1e-6 + jnp.sqrt(jnp.sum(hidden * hidden, axis=0, keepdims=True)))
        return jnp.sort(scaled, axis=0) @ down

    x = sds((16384, 8192), f32, mesh, P("data"))
    up = sds((8192, 8192), f32, mesh, P(None, "model"))
    return jax.jit(step), (x, up, sds((8192, 1024), f32, mesh, P("model")))


@program(
    "momentum step on a mesh 4x2, state split over model only, the batch over data",
    "replicated-tensor: the momentum could be split over data as well (ZeRO)",
    **GRID,
)
def state_over_one_axis(mesh):
    return step_with_momentum(mesh, {"up": P(None, "model"), "down": P("model")})


@program(
    "the same step, the momentum split over both axes",
    "the remedied sibling of state_over_one_axis",
    **GRID,
)
def momentum_over_both_axes(mesh):
    return step_with_momentum(mesh, {"up": P("data", "model"), "down": P("model", "data")})


def step_with_momentum(mesh, momentum):
    def split(tree, specs):
        return {name: sds(a.shape, a.dtype, mesh, specs[name]) for name, a in tree.items()}

    state, batch = momentum_arguments(mesh, 4096, 2048, data=P("data"))
    weights = split(state["weights"], {"up": P(None, "model"), "down": P("model")})
    state = {"weights": weights, "momentum": split(state["momentum"], momentum)}
    outputs = jax.tree.map(lambda a: a.sharding, state), None
    return jax.jit(momentum_step, donate_argnums=0, out_shardings=outputs), (state, batch)


@program(
    "io_callback inside a shard_map over 8 devices",
    "host-callback: each device sends its own shard, nothing is gathered",
    topology="v5e:2x4",
    mesh=((8,), ("data",)),
)
def callback_of_shards(mesh):
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False
    )
    def f(x):
        y = jnp.tanh(x)
        io_callback(lambda array: None, None, y)
        return y * 0.5

    return jax.jit(f), (sds((65536, 4096), f32, mesh, P("data")),)


@program(
    "Adam step of eight layers (a scan) on a mesh 4x2, state split over model only",
    "replicated-tensor: the optimizer state could be split over data as well (ZeRO)",
    **GRID,
)
def adam_over_one_axis(mesh):
    return adam_of_layers(mesh, P(None, None, "model"))


@program(
    "the same step, the optimizer state split over both axes",
    "the remedied sibling of adam_over_one_axis",
    **GRID,
)
def adam_over_both_axes(mesh):
    return adam_of_layers(mesh, P(None, "data", "model"))


def adam_of_layers(mesh, spec):
    def loss(weights, batch):
        x, wanted = batch
        layer = jax.checkpoint(lambda x, weight: (jnp.tanh(x @ weight), None))
        return jnp.mean((lax.scan(layer, x, weights)[0] - wanted) ** 2)

    def step(state, batch):
        gradients = jax.grad(loss)(state["weights"], batch)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], gradients)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["v"], gradients)
        weights = jax.tree.map(
            lambda w, m, v: w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), state["weights"], m, v
        )
        return {"weights": weights, "m": m, "v": v}

    optimizer = sds((8, 4096, 4096), f32, mesh, spec)
    weights = sds((8, 4096, 4096), f32, mesh, P(None, None, "model"))
    state = {"weights": weights, "m": optimizer, "v": optimizer}
    batch = (sds((16384, 4096), f32, mesh, P("data")),) * 2
    outputs = jax.tree.map(lambda a: a.sharding, state)
    return jax.jit(step, donate_argnums=0, out_shardings=outputs), (state, batch)


if __name__ == "__main__":
    main(program)
