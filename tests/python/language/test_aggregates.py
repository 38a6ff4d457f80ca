"""Aggregates: classes whose objects live in kernels."""

from typing import NamedTuple

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.language.core import _aggregate as aggregate


@aggregate
class Tile:
    ptr: tl.tensor
    stride: tl.tensor
    rows: tl.constexpr
    columns: tl.constexpr

    def __init__(self, ptr, stride, rows, columns=16):
        self.ptr = ptr
        self.stride = stride
        self.rows = tl.constexpr(rows)
        self.columns = tl.constexpr(columns)

    @triton.jit
    def pointers(self):
        return (
            self.ptr
            + tl.arange(0, self.rows)[:, None] * self.stride
            + tl.arange(0, self.columns)[None, :]
        )

    @triton.jit
    def load(self):
        return tl.load(self.pointers())

    @triton.jit
    def moved(self, rows):
        return Tile(self.ptr + rows * self.stride, self.stride, self.rows, self.columns)

    @triton.constexpr_function
    def count(rows, columns):
        return rows * columns

    @triton.constexpr_function
    def numel(self):
        return self.rows * self.columns

    @property
    @triton.jit
    def end(self):
        return self.ptr + self.rows * self.stride


@triton.jit
def tile_kernel(x_ptr, y_ptr, stride, steps):
    tile = Tile(x_ptr, stride, 8)
    out = Tile(y_ptr, 16, rows=8)
    tl.static_assert(tile.columns == 16)
    tl.static_assert(Tile.count(3, 4) == 12)
    tl.static_assert(tile.numel() == 128)
    tl.static_assert(isinstance(tile, Tile))
    total = tl.zeros((8, 16), tl.float32)
    for _ in range(steps):
        total += tile.load()
        tile = Tile(tile.end, stride, rows=8)
    tl.store(out.pointers(), total)


def test_tile(device):
    """An object holds pointers and a shape that its methods load with."""
    x = random((24, 20), "fp32", seed=1)
    out = device.output((8, 16), "fp32")
    tile_kernel[(1,)](device.to(x), out.array, 20, 3)
    expected = x.reshape(3, 8, 20)[:, :, :16].astype(np.float64).sum(axis=0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-5)


@triton.aggregate
class Counter:
    value: tl.tensor
    history: tl.tensor
    step: tl.constexpr = tl.constexpr(2)

    def __init__(self, value, history, step: tl.constexpr = 2):
        self.value = value + 1
        self.history = history
        self.value -= 1
        if step > 4:
            self.step = tl.constexpr(4)
        else:
            self.step = step

    @staticmethod
    @triton.jit
    def start(value):
        return Counter(value, value * 0)

    @triton.jit
    def next(self):
        return tl.core.aggregate_replace(
            self, value=self.value + self.step, history=self.history * 10 + self.value
        )


@triton.jit
def counter_kernel(out_ptr, x, n):
    counter = Counter.start(x)
    for i in range(n):
        if i % 2 == 0:
            counter = counter.next()
        else:
            counter = tl.core.aggregate_replace(counter, value=counter.value - 1)
    tl.store(out_ptr, counter.value)
    tl.store(out_ptr + 1, counter.history)
    limited = Counter(x, x, step=9)
    tl.static_assert(limited.step == 4)
    while limited.value < 20:
        limited = limited.next()
    tl.store(out_ptr + 2, limited.value)
    chosen = counter if x > 2 else Counter(x, x)
    tl.store(out_ptr + 3, chosen.history)


@pytest.mark.parametrize("x", [1, 5])
def test_counter(device, x):
    """An object's fields change through loops and branches."""
    out = device.output(4, "i32")
    counter_kernel[(1,)](out.array, x, 5)
    value, history = x, 0
    for i in range(5):
        if i % 2 == 0:
            value, history = value + 2, history * 10 + value
        else:
            value -= 1
    limited = x
    while limited < 20:
        limited += 4
    np.testing.assert_array_equal(out.numpy(), [value, history, limited, history if x > 2 else x])


@triton.aggregate
class Fields:
    x: tl.tensor
    scale: tl.constexpr
    pair: tl.tuple


@triton.jit
def fields_kernel(out_ptr, n, BLOCK: tl.constexpr):
    fields = Fields(tl.arange(0, BLOCK), 3, pair=(n, None))
    tl.static_assert(fields.pair[1] is None)
    tl.store(out_ptr + fields.x, fields.x * fields.scale + fields.pair[0])


def test_without_constructor(device):
    out = device.output(32, "i32")
    fields_kernel[(1,)](out.array, 9, 32)
    np.testing.assert_array_equal(out.numpy(), np.arange(32) * 3 + 9)


@triton.jit
def argument_kernel(tile, out_ptr):
    tl.static_assert(tile.rows == 8)
    value = tile.load()
    out = Tile(out_ptr, 16, 8)
    tl.store(out.pointers(), value)


def test_argument(device):
    """An object of the host is a kernel's argument."""
    x = random((8, 24), "fp16", seed=2)
    out = device.output((8, 16), "fp16")
    argument_kernel[(1,)](Tile(device.to(x), 24, 8), out.array)
    np.testing.assert_array_equal(out.numpy(), x[:, :16])


@triton.aggregate
class Nested:
    counter: Counter
    tile: Tile

    def __init__(self, counter, tile):
        self.counter = counter
        self.tile = tile


@triton.jit
def nested_kernel(x_ptr, out_ptr, n):
    state = Nested(Counter.start(n), Tile(x_ptr, 16, 8))
    for _ in range(3):
        state = Nested(state.counter.next(), state.tile.moved(1))
    tl.store(out_ptr + tl.arange(0, 8), tl.sum(state.tile.load(), axis=1) + state.counter.value)


def test_nested(device):
    """An object holds another one."""
    x = random((16, 16), "fp32", seed=3)
    out = device.output(8, "fp32")
    nested_kernel[(1,)](device.to(x), out.array, 10)
    np.testing.assert_allclose(
        out.numpy(), x[3:11].astype(np.float64).sum(axis=1) + 16, rtol=1e-5, atol=1e-4
    )


@triton.aggregate
class Affine:
    block: tl.constexpr
    scale: tl.tensor

    @triton.constexpr_function
    def __init__(self, block, scale):
        self.block = tl.constexpr(block)
        self.scale = scale

    @triton.jit
    def apply(self, x, *, bias=0.0):
        return x * self.scale + bias


class Vectors(NamedTuple):
    x: object
    y: object
    n: object

    @triton.jit
    def load(self, offsets):
        return tl.load(self.x + offsets, mask=offsets < self.n, other=0.0)


@triton.jit
def affine_kernel(vectors, scale, BLOCK: tl.constexpr):
    map = Affine(BLOCK, scale)
    offsets = tl.program_id(0) * map.block + tl.arange(0, map.block)
    x = vectors.load(offsets)
    if scale > 1.0:
        map = Affine(BLOCK, scale * 2)
    tl.store(vectors.y + offsets, map.apply(x, bias=1.0), mask=offsets < vectors.n)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_methods_of_named_tuples(device, scale):
    x = random(100, "fp32", seed=4)
    out = device.output(100, "fp32")
    affine_kernel[(2,)](Vectors(device.to(x), out.array, 100), scale, 64)
    factor = 2 * scale if scale > 1 else scale
    np.testing.assert_allclose(out.numpy(), x.astype(np.float64) * factor + 1, rtol=1e-6, atol=1e-6)
