"""Arrays of a shape and a type without memory, and enough of torch to set the benchmarks up.

Needs: pantile.
Gives: `Phantom`; `install_torch`, after which `import torch` finds `Torch`.
How:   what is computed of phantoms is a phantom of the shape that broadcasting gives; nothing has a
       value. The benchmarks make their launches of shapes and types alone, which is what counts.
"""

import functools
import math
import sys
import types

from pantile import language as tl
from pantile.runtime.tensors import MockTensor

DTYPES = {
    "float16": tl.float16,
    "bfloat16": tl.bfloat16,
    "float32": tl.float32,
    "float64": tl.float64,
    "float8_e4m3fn": tl.float8e4nv,
    "int8": tl.int8,
    "uint8": tl.uint8,
    "int16": tl.int16,
    "int32": tl.int32,
    "int64": tl.int64,
    "bool": tl.int1,
}


NUMBER = 4096  # where a number is made of an array


class Phantom(MockTensor):
    """Has `shape`, `dtype` and `stride`; every other method gives a phantom of the same kind."""

    device = "cpu"

    def __init__(self, shape, dtype=tl.float32):
        super().__init__(dtype, list(shape))
        self.shape = tuple(shape)

    def stride(self, axis=None):
        strides = super().stride()
        return strides if axis is None else strides[axis]

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return max(self.dtype.primitive_bitwidth // 8, 1)

    def float(self):
        return Phantom(self.shape, tl.float32)

    def half(self):
        return Phantom(self.shape, tl.float16)

    def mean(self, axis, **options):
        return self._without(axis)

    def var(self, axis, **options):
        return self._without(axis)

    def _without(self, axis):
        return Phantom([n for i, n in enumerate(self.shape) if i != axis % len(self.shape)])

    def _same(self, *others, **options):
        shapes = [getattr(other, "shape", ()) for other in (self, *others)]
        return Phantom(max(shapes, key=math.prod), self.dtype)

    def tolist(self):
        return [NUMBER * i for i in range(self.shape[0])]

    def __int__(self):
        return NUMBER

    def __getitem__(self, index):
        return self

    __pow__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _same

    def __getattr__(self, name):
        if name.startswith("_") or name in ("untyped_storage", "base"):
            raise AttributeError(name)
        return self._same


def make(*shape, dtype=tl.float32, device=None, **options):
    """An array of this shape, given as one tuple or as numbers."""
    return Phantom(shape[0] if isinstance(shape[0], (tuple, list)) else shape, dtype)


def make_like(other, *_, dtype=None, **options):
    return Phantom(other.shape, dtype or other.dtype)


class Torch(types.ModuleType):
    """The functions that make arrays, and types."""

    def __init__(self):
        super().__init__("torch")
        for name, dtype in DTYPES.items():
            setattr(self, name, dtype)
        for name in ("randn", "randperm", "empty", "zeros", "ones", "full"):
            setattr(self, name, make)
        for name in ("empty_like", "zeros_like", "full_like", "randn_like"):
            setattr(self, name, make_like)

    def full(self, shape, value, **options):
        return make(shape, **options)

    def randint(self, low, high, shape, **options):
        return make(shape, **options)

    def mul(self, left, right, out):
        return out


@functools.cache
def install_torch():
    """Have `import torch` find the phantoms; in a process that records and does nothing else."""
    sys.modules["torch"] = torch = Torch()
    return torch
