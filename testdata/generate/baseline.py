"""Three programs that are one program over time: for tests of baselines.

`known` has findings that a team accepted; `layer_added` is the same program with one layer more;
`print_added` is that one with a new mistake, which shifts the numbers of the instructions behind it.

`python baseline.py NAME LOG` compiles one of them; `generate.py` does it for all.
"""

import jax
import jax.numpy as jnp

from runner import Registry, main, sds

program = Registry()
f32 = jnp.float32


def forward(weights, x, layers, prints):
    if prints:
        jax.debug.print("input {}", jnp.exp(x) - 1)
    for at in range(layers):
        x = jnp.tanh(x @ weights[f"w{at}"])
    jax.debug.print("hidden {}", x)
    jax.debug.print("scaled {}", x[:8192] * 2)
    return x.sum()


def forward_program(mesh, layers, prints):
    def score(weights, x):
        return forward(weights, x, layers, prints)

    weights = {f"w{at}": sds((2048, 2048), f32, mesh) for at in range(layers)}
    return jax.jit(score), (weights, sds((32768, 2048), f32, mesh))


@program("two layers, prints of whole matrices", "the program from which a baseline is written")
def baseline_known(mesh):
    return forward_program(mesh, 2, False)


@program("the same with a third layer", "baseline: nothing new")
def baseline_layer_added(mesh):
    return forward_program(mesh, 3, False)


@program("the same with a third layer and one more print", "baseline: one new finding")
def baseline_print_added(mesh):
    return forward_program(mesh, 3, True)


if __name__ == "__main__":
    main(program)
