"""The programs of testdata/pairs for rules about callbacks.

`python pairs_host.py RULE/bad LOG` compiles one of them; `generate.py` does it for all.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from jax.sharding import PartitionSpec as P

from runner import Registry, main, sds

program = Registry()
f32 = jnp.float32

RING = {"topology": "v5e:2x4", "mesh": ((8,), ("data",))}


# --- host-callback -------------------------------------------------------------------------------


def keep(array):
    """What the host does with a value is of no interest here."""


def recorded(record, x, w):
    hidden = jnp.tanh(x @ w)
    record(hidden)
    return jnp.sum(hidden * hidden, axis=1)


def recorded_program(mesh, record):
    x = sds((65536, 4096), f32, mesh, P("data"))
    return jax.jit(functools.partial(recorded, record)), (x, sds((4096, 4096), f32, mesh))


@program(
    "io_callback of an array that is split over 8 devices",
    "the whole of it, 1 GiB, is gathered on each device for device 0 to send",
    name="host-callback/bad",
    **RING,
)
def records_whole(mesh):
    return recorded_program(mesh, lambda hidden: io_callback(keep, None, hidden))


@program(
    "the same callback of a sum over each column",
    "remedy: the device sends what the host needs of it",
    name="host-callback/good",
    **RING,
)
def records_sum(mesh):
    return recorded_program(mesh, lambda hidden: io_callback(keep, None, jnp.sum(hidden, axis=0)))


# --- callback-in-loop ----------------------------------------------------------------------------


def on_host(array):
    return np.tanh(array)


def on_device(array):
    return jnp.tanh(array)


def relaxed(smooth, x, w):
    def step(i, carry):
        return smooth(carry @ w) * 0.5 + carry

    return lax.fori_loop(0, 12, step, x)


def relaxed_program(mesh, smooth):
    x = sds((16384, 4096), f32, mesh)
    return jax.jit(functools.partial(relaxed, smooth)), (x, sds((4096, 4096), f32, mesh))


@program(
    "pure_callback of a whole matrix in a fori_loop",
    "256 MiB to the host and back in each of 12 trips",
    name="callback-in-loop/bad",
)
def smooths_on_host(mesh):
    def smooth(array):
        return jax.pure_callback(on_host, jax.ShapeDtypeStruct(array.shape, array.dtype), array)

    return relaxed_program(mesh, smooth)


@program(
    "the same computed on the device",
    "remedy: no callback in the loop",
    name="callback-in-loop/good",
)
def smooths_on_device(mesh):
    return relaxed_program(mesh, on_device)


if __name__ == "__main__":
    main(program)
