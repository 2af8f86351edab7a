"""The programs of testdata/pairs for the rule about functions that are compiled again and again.

`python pairs_tracing.py RULE/bad LOG` compiles one of them; `generate.py` does it for all.
"""

import jax
import jax.numpy as jnp

from runner import Registry, main, sds

program = Registry()


def score(embedding, tokens):
    """How well each token predicts the next, averaged over a batch."""
    states = jnp.tanh(embedding[tokens])
    logits = jnp.einsum("bsd,vd->bsv", states[:, :-1], embedding)
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1)
    return -jnp.mean(chosen)


def of_lengths(mesh, lengths):
    jitted = jax.jit(score)
    embedding = sds((4096, 128), jnp.float32, mesh)
    return [(jitted, (embedding, sds((8, n), jnp.int32, mesh))) for n in lengths]


@program(
    "one function for batches of five lengths",
    "five programs that differ in the length of tokens",
    name="retraced-function/bad",
    keep=(),
)
def every_length(mesh):
    return of_lengths(mesh, (61, 74, 90, 115, 128))


@program(
    "the same with lengths padded to 64 and 128",
    "remedy: few sizes",
    name="retraced-function/good",
)
def two_lengths(mesh):
    return of_lengths(mesh, (64, 128))


if __name__ == "__main__":
    main(program)
