"""Pairs of the rules that know a pattern of models: attention scores, random bits, one-hot encodings,
logits, intermediates that only fit when they are fused.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax

from runner import Registry, main, sds

program = Registry()
bf16, f32, s32, u32 = jnp.bfloat16, jnp.float32, jnp.int32, jnp.uint32


# --- dense-attention-scores ----------------------------------------------------------------------


def attention(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1]).astype(q.dtype)
    weights = jax.nn.softmax(scores.astype(f32)).astype(q.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def attention_by_chunks(q, k, v):
    """Eight chunks of the queries, one after the other; nothing of a chunk is kept."""
    chunks = jnp.stack(jnp.split(q, 8, axis=1))
    one = jax.checkpoint(lambda chunk: attention(chunk, k, v))
    return jnp.concatenate(lax.map(one, chunks), axis=1)


def attention_gradient(mesh, attend):
    step = jax.jit(jax.grad(lambda q, k, v: jnp.sum(attend(q, k, v)), argnums=(0, 1, 2)))
    return step, (sds((4, 8192, 16, 64), bf16, mesh),) * 3


@program(
    "gradient of attention over 8192 positions, plain einsum and softmax",
    "two bf16[4,16,8192,8192] of 8 GiB at once, on a chip with 15.75 GiB",
    name="dense-attention-scores/bad",
)
def whole_scores(mesh):
    return attention_gradient(mesh, attention)


@program(
    "the same, 1024 queries at a time",
    "remedy: lax.map over chunks of the queries, each under jax.checkpoint",
    name="dense-attention-scores/good",
)
def chunked_scores(mesh):
    return attention_gradient(mesh, attention_by_chunks)


# --- rng-bits ------------------------------------------------------------------------------------


def dropout(mask, x, seed):
    key = jax.random.wrap_key_data(seed, impl="rbg")
    kept = mask(key, x.shape)
    return jnp.where(kept, x, 0), kept


def dropout_program(mesh, mask):
    arguments = sds((16384, 8192), bf16, mesh), sds((4,), u32, mesh)
    return jax.jit(functools.partial(dropout, mask)), arguments


@program(
    "dropout of bf16[16384,8192] by the generator of the chip",
    "four random bytes in HBM for each element that is kept or dropped",
    name="rng-bits/bad",
)
def bits_of_32(mesh):
    return dropout_program(mesh, lambda key, shape: jax.random.bernoulli(key, 0.9, shape))


@program(
    "the same with one random byte an element",
    "remedy: bits of the width that the decision needs",
    name="rng-bits/good",
)
def bits_of_8(mesh):
    return dropout_program(
        mesh, lambda key, shape: jax.random.bits(key, shape, jnp.uint8) < 230
    )


# --- materialized-one-hot ------------------------------------------------------------------------

CLASSES = 32768


def chosen_logits(head, hidden, encoding):
    logits = (hidden @ head).astype(f32)
    return jax.nn.logsumexp(logits, axis=-1) - jnp.sum(logits * encoding, axis=-1)


def encoded_at_once(hidden, head, labels):
    encodings = jax.nn.one_hot(labels, CLASSES, dtype=f32)
    return lax.map(lambda part: chosen_logits(head, *part), (hidden, encodings))


def encoded_in_parts(hidden, head, labels):
    def losses(part):
        return chosen_logits(head, part[0], jax.nn.one_hot(part[1], CLASSES, dtype=f32))

    return lax.map(losses, (hidden, labels))


def classes_arguments(mesh):
    return (
        sds((16, 1024, 1024), bf16, mesh), sds((1024, CLASSES), bf16, mesh),
        sds((16, 1024), s32, mesh),
    )


@program(
    "cross entropy in 16 parts, labels encoded before the loop",
    "f32[16,1024,32768] of 2 GiB, as a loop reads it slice by slice",
    name="materialized-one-hot/bad",
)
def encoded_outside(mesh):
    return jax.jit(encoded_at_once), classes_arguments(mesh)


@program(
    "the same, labels encoded in the loop",
    "remedy: indices as far as they go; the encoding is fused into what reads it",
    name="materialized-one-hot/good",
)
def encoded_inside(mesh):
    return jax.jit(encoded_in_parts), classes_arguments(mesh)


# --- logits-f32 ----------------------------------------------------------------------------------


def token_losses(head, hidden, labels):
    logits = (hidden @ head).astype(f32)
    chosen = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return jax.nn.logsumexp(logits, axis=-1) - chosen


def whole_loss(hidden, head, labels):
    return jnp.mean(token_losses(head, hidden, labels))


def chunked_loss(hidden, head, labels):
    one = jax.checkpoint(lambda part: token_losses(head, *part))
    return jnp.mean(lax.map(one, (hidden, labels)))


def loss_program(mesh, loss):
    arguments = (
        sds((16, 1024, 1024), bf16, mesh), sds((1024, 131072), bf16, mesh),
        sds((16, 1024), s32, mesh),
    )
    return jax.jit(jax.value_and_grad(loss, argnums=(0, 1))), arguments


@program(
    "cross entropy over a vocabulary of 131072, logits in float32",
    "f32[16,1024,131072] of 8 GiB, and the same as bf16",
    name="logits-f32/bad",
)
def logits_at_once(mesh):
    return loss_program(mesh, whole_loss)


@program(
    "the same, 1024 tokens at a time",
    "remedy: lax.map over parts of the tokens, each under jax.checkpoint",
    name="logits-f32/good",
)
def logits_by_parts(mesh):
    return loss_program(mesh, chunked_loss)


# --- huge-elementwise ----------------------------------------------------------------------------


def distances_by_difference(points, others):
    difference = points[:, None, :] - others[None, :, :]
    return jnp.min(jnp.sum(difference**2, axis=2), axis=1)


def distances_by_blocks(points, others):
    blocks = points.reshape(-1, 256, points.shape[1])
    return lax.map(lambda block: distances_by_difference(block, others), blocks).reshape(-1)


def points_arguments(mesh):
    return (sds((32768, 16), f32, mesh),) * 2


@program(
    "nearest of 32768 points by all differences",
    "f32[32768,32768,16] of 64 GiB in the text before optimisation, which must be fused away",
    name="huge-elementwise/bad",
    only=("before_optimizations.txt",),
)
def all_differences(mesh):
    return jax.jit(distances_by_difference), points_arguments(mesh)


@program(
    "the same, 256 points at a time",
    "remedy: lax.map over blocks of rows",
    name="huge-elementwise/good",
    only=("before_optimizations.txt",),
)
def block_differences(mesh):
    return jax.jit(distances_by_blocks), points_arguments(mesh)


if __name__ == "__main__":
    main(program)
