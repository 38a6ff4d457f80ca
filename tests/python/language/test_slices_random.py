"""Random programs of slices, indices and assignments: one source, run by a kernel and by NumPy."""

import copy
import importlib.util
import random as python_random
import re
import types

import numpy as np
import pytest
from conftest import random

SHAPES = [(16, 32), (4, 64), (64, 8), (8, 128)]
ANY_SHAPES = [(5, 12), (6, 40), (48, 9), (7, 33), (12, 16), (8, 24)]
DTYPES = ["i32", "i32", "i64"]
_KERNEL = """
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(out_ptr, x_ptr, i, j, turns):
    rows, columns = tl.arange(0, {M}), tl.arange(0, {N})
    places = rows[:, None] * {N} + columns[None, :]
    x = tl.load(x_ptr + places)
    y = tl.load(x_ptr + {M} * {N} + places)
    row = tl.load(x_ptr + 2 * {M} * {N} + columns)
{body}
    tl.store(out_ptr + places, x)
    tl.store(out_ptr + {M} * {N} + places, y)
    tl.store(out_ptr + 2 * {M} * {N} + columns, row)
"""


class Drawn:
    """Draws statements on the matrices `x` and `y`, and on `row`."""

    def __init__(self, seed, shape):
        self.draw = python_random.Random(seed)
        self.rows, self.columns = shape
        self.any_counts = shape in ANY_SHAPES

    def slice(self, extent, count=None):
        """The text of a slice of `extent` elements, and how many it takes."""
        d = self.draw
        if self.any_counts:
            count = count or d.randint(1, extent)
        count = count or 1 << d.randint(0, extent.bit_length() - 1)
        stride = 1 if count == 1 else d.randint(1, min(5, (extent - 1) // (count - 1)))
        first = d.randint(0, extent - 1 - stride * (count - 1))
        last = first + stride * (count - 1)
        if count == 1 or d.random() < 0.7:
            return f"{first}:{last + 1}:{stride}", count
        return f"{last}:{first - 1 if first else ''}:-{stride}", count

    def point(self, extent):
        return self.draw.choice(["i", "j", "k % 4", str(self.draw.randint(-extent, extent - 1))])

    def part(self, name):
        """A part of a matrix, and its shape."""
        kind = self.draw.randint(0, 5)
        if kind == 0:
            return f"{name}[{self.point(self.rows)}]", (self.columns,)
        if kind == 1:
            return f"{name}[:, {self.point(self.columns)}]", (self.rows,)
        rows, p = self.slice(self.rows)
        if kind == 2:
            return f"{name}[{rows}, {self.point(self.columns)}]", (p,)
        columns, q = self.slice(self.columns)
        if kind == 3:
            return f"{name}[{self.point(self.rows)}, {columns}]", (q,)
        return f"{name}[{rows}, {columns}]", (p, q)

    def source(self, shape):
        """Something of a shape, of `x`, `y` and `row`."""
        d = self.draw
        name = d.choice("xy")
        kind = d.randint(0, 5)
        if kind == 0:
            return str(d.randint(-9, 9))
        if kind == 1 and shape[-1] <= self.columns:
            return f"row[{self.slice(self.columns, shape[-1])[0]}]"
        if len(shape) == 1:
            if shape[0] > self.columns:
                return f"{name}[{self.slice(self.rows, shape[0])[0]}, {self.point(self.columns)}]"
            return f"{name}[{self.point(self.rows)}, {self.slice(self.columns, shape[0])[0]}]"
        parts = f"{self.slice(self.rows, shape[0])[0]}, {self.slice(self.columns, shape[1])[0]}"
        if kind == 2:
            return f"{name}[{parts}] * row[{self.slice(self.columns, 1)[0]}]"
        return f"{name}[{parts}]"

    def statement(self):
        d = self.draw
        kind = d.randint(0, 9)
        if kind == 0:
            name = d.choice("xy")
            return f"{name} = tl.roll({name}, {d.choice(['i', '3', 'k'])}, {d.randint(0, 1)})"
        if kind == 1:
            half = self.columns // 2
            return f"{d.choice('xy')} = tl.cat((x[:, :{half}], y[:, {half}:]), dim=1)"
        if kind == 2:
            return f"row = tl.sum(x[{self.slice(self.rows)[0]}], 0) + row[::-1]"
        target, shape = (
            self.part(d.choice("xy"))
            if kind > 3
            else (f"row[{self.slice(self.columns, 8)[0]}]", (8,))
        )
        return f"{target} {d.choice(['=', '=', '+=', '-='])} {self.source(shape)}"

    def program(self, length):
        lines = ["    k = 0"]
        for _ in range(length):
            kind = self.draw.randint(0, 3)
            if kind == 0:
                lines += ["    for k in range(turns):", "        " + self.statement()]
                lines += ["        " + self.statement(), "    k = 1"]
            elif kind == 1:
                lines += ["    if i > j:", "        " + self.statement()]
                lines += ["    else:", "        " + self.statement()]
            else:
                lines.append("    " + self.statement())
        return "\n".join(lines)


def in_numpy(body, data, i, j, turns):
    """The same source on arrays. What is assigned is copied: where both sides overlap, NumPy may read
    what it wrote before, and tiles are values."""
    tl = types.SimpleNamespace(
        roll=np.roll,
        cat=lambda parts, dim: np.concatenate(parts, dim),
        sum=lambda x, axis: np.sum(x, axis, dtype=data.dtype),
    )
    M = len(data) // 2
    x, y, row = data[:M].copy(), data[M : 2 * M].copy(), data[2 * M].copy()
    scope = {
        "x": x,
        "y": y,
        "row": row,
        "i": i,
        "j": j,
        "turns": turns,
        "tl": tl,
        "copied": copy.deepcopy,
    }
    lines = [re.sub(r" ([+-]?=) (.*)", r" \1 copied(\2)", line[4:]) for line in body.splitlines()]
    with np.errstate(over="ignore"):
        exec("\n".join(lines), scope)
    return np.vstack([scope["x"], scope["y"], scope["row"]])


def kernel_of(body, shape, folder, seed):
    path = folder / f"program{seed}.py"
    path.write_text(_KERNEL.format(M=shape[0], N=shape[1], body=body))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def check_program(device, folder, seed, shape, num_warps):
    dtype, (M, N) = DTYPES[seed % 3], shape
    body = Drawn(seed, shape).program(6)
    data = random((2 * M + 1, N), dtype, seed=seed, low=-50, high=50)
    i, j, turns = seed % 4, (seed * 7) % 5 - 2, seed % 3
    expected = in_numpy(body, data, i, j, turns)
    out = device.output(data.shape, dtype)
    kernel = kernel_of(body, shape, folder, seed)
    kernel[(1,)](out.array, device.to(data), i, j, turns, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), expected, err_msg=body)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(device, tmp_path, seed):
    check_program(device, tmp_path, seed, SHAPES[seed // 3 % 4], [1, 2, 4, 8][seed % 4])


@pytest.mark.parametrize("seed", range(100, 160))
def test_random_programs_of_any_extent(device, tmp_path, seed):
    check_program(device, tmp_path, seed, ANY_SHAPES[seed // 3 % 6], [1, 3, 4, 6, 8][seed % 5])
