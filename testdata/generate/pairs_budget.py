"""The programs of testdata/pairs/budget, whose hlolint.toml states the budget.

`python pairs_budget.py budget/bad LOG` compiles one of them; `generate.py` does it for all.
"""

import jax
import jax.numpy as jnp
from jax import lax

from runner import Registry, main, sds

program = Registry()
f32 = jnp.float32
PARTS = 16


def loss(weights, x):
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return jnp.mean(x * x)


def arguments(mesh):
    return [sds((1024, 1024), f32, mesh)] * 3, sds((65536, 1024), f32, mesh)


def descend(weights, gradients):
    return jax.tree.map(lambda weight, gradient: weight - 1e-3 * gradient, weights, gradients)


@program(
    "a training step over the whole batch",
    "needs more than the budget of its hlolint.toml",
    name="budget/bad",
)
def whole_batch(mesh):
    def train_step(weights, x):
        return descend(weights, jax.grad(loss)(weights, x))

    return jax.jit(train_step, donate_argnums=0), arguments(mesh)


@program(
    "the same step, gradients summed over parts of the batch",
    "remedy: gradient accumulation, within the budget",
    name="budget/good",
)
def accumulated(mesh):
    def train_step(weights, x):
        def add(total, part):
            return jax.tree.map(jnp.add, total, jax.grad(loss)(weights, part)), None

        zeros = jax.tree.map(jnp.zeros_like, weights)
        total, _ = lax.scan(add, zeros, x.reshape(PARTS, -1, x.shape[1]))
        return descend(weights, jax.tree.map(lambda part: part / PARTS, total))

    return jax.jit(train_step, donate_argnums=0), arguments(mesh)


if __name__ == "__main__":
    main(program)
