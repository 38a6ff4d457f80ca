"""Kernels in programs of JAX: `pantile.jax.call` under `jit`, `vmap`, `shard_map` and gradients.

Arrays that are not traced can be passed to `kernel[grid](...)` as well, which writes to them. JAX's
own transformations need a function without side effects, which `call` is: it returns new arrays.
JAX is imported at the first call.
"""

from ..arith import cdiv, next_power_of_2
from .calls import call, register, strides_from_shape, triton_call

__all__ = [
    "call",
    "cdiv",
    "next_power_of_2",
    "register",
    "strides_from_shape",
    "triton_call",
]
