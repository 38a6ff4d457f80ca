"""Kernels that programs of JAX call, each with a call by `pantile.jax` and its truth in float64.

A Case's `run` takes arrays of JAX, `truth` the same of NumPy; both return a tuple of arrays.
"""

from dataclasses import dataclass

import numpy as np
import pantile
import pantile.jax
import pantile.language as tl


@pantile.jit
def add_kernel(x, y, n, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@pantile.jit
def scale_kernel(x, factor, negate, out, n: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n) * factor
    tl.store(out + i, tl.where(negate, -value, value), i < n)


@pantile.jit
def softmax_kernel(out, x, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, i < columns, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * columns + i, e / tl.sum(e, 0), i < columns)


@pantile.jit
def layer_norm_kernel(x, weight, bias, out, mean_out, columns, eps, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, i < columns, other=0.0)
    mean = tl.sum(v, 0) / columns
    centred = tl.where(i < columns, v - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + eps)
    w, b = tl.load(weight + i, i < columns), tl.load(bias + i, i < columns)
    tl.store(out + row * columns + i, centred * scale * w + b, i < columns)
    tl.store(mean_out + row, mean)


@pantile.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k, (m[:, None] < M) & (k < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n, (k[:, None] < K) & (n < N), other=0.0)
        acc = tl.dot(left, right, acc, input_precision="ieee")
    tl.store(c + m[:, None] * N + n, acc, (m[:, None] < M) & (n < N))


@pantile.jit
def batched_add_kernel(x, y, out, rows, columns, BLOCK: tl.constexpr):
    """A grid of three axes, which leaves none to a batch."""
    row = tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < columns) & (row < rows)
    at = row * columns + i
    tl.store(out + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)


@pantile.jit
def transpose_kernel(x, out, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (r[:, None] < rows) & (c < columns)
    tile = tl.load(x + r[:, None] * columns + c, mask)
    tl.store(out + c[:, None] * rows + r, tl.trans(tile), tl.trans(mask))


@pantile.jit
def total_kernel(x, n, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0), 0))


@pantile.jit
def extremes_kernel(x, largest, where, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, i < columns, other=float("-inf"))
    tl.store(largest + row, tl.max(v, 0))
    tl.store(where + row, tl.argmax(v, 0))


@pantile.jit
def scan_kernel(x, out, columns: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, columns)
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


@pantile.jit
def gather_kernel(table, index, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    source = tl.load(index + row)
    tl.store(
        out + row * columns + i, tl.load(table + source * columns + i, i < columns), i < columns
    )


@pantile.jit
def histogram_kernel(x, n, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + i, i < n, other=0), 1, i < n)


@pantile.jit
def select_kernel(mask, x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chosen = tl.load(mask + i, i < n, other=False)
    tl.store(out + i, tl.where(chosen, tl.load(x + i, i < n), tl.load(y + i, i < n)), i < n)


@pantile.jit
def cast_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n).to(out.dtype.element_ty), i < n)


@pantile.jit
def increment_kernel(x, n, by, BLOCK: tl.constexpr):
    """Writes through its input, as kernels of torch do."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) + by, i < n)


@pantile.jit
def accumulate_kernel(total, x, n, out, BLOCK: tl.constexpr):
    """Has both the input and the output in place, as kernels for jax-triton do."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(total + i, i < n) + tl.load(x + i, i < n), i < n)


@pantile.jit
def rotary_kernel(x, angle, out, half: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, half)
    a, b = tl.load(x + row * 2 * half + i), tl.load(x + row * 2 * half + half + i)
    c, s = tl.cos(tl.load(angle + row * half + i)), tl.sin(tl.load(angle + row * half + i))
    tl.store(out + row * 2 * half + i, a * c - b * s)
    tl.store(out + row * 2 * half + half + i, a * s + b * c)


@pantile.jit
def shift_kernel(x, amount, out, n, BLOCK: tl.constexpr):
    """`amount` is an array of no dimensions: a number that changes and compiles nothing again."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) ^ tl.load(amount), i < n)


@pantile.jit
def entropy_kernel(logits, label, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(logits + row * columns + i, i < columns, other=float("-inf"))
    peak = tl.max(v, 0)
    chosen = tl.load(logits + row * columns + tl.load(label + row))
    tl.store(out + row, tl.log(tl.sum(tl.exp(v - peak), 0)) + peak - chosen)


@pantile.jit
def split_kernel(x, even, odd, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(even + i, tl.load(x + 2 * i, i < n), i < n)
    tl.store(odd + i, tl.load(x + 2 * i + 1, i < n), i < n)


@dataclass
class Case:
    """`make(rng)` returns inputs; results are compared within `tolerance` of the largest element."""

    run: object
    truth: object
    make: object
    tolerance: float = 1e-5


def shaped(shape, dtype):
    import jax

    return jax.ShapeDtypeStruct(tuple(shape), dtype)


def blocks(n):
    """A grid of one axis over `n` elements."""
    return lambda meta: (pantile.cdiv(n, meta["BLOCK"]),)


def normal(*shapes, dtype=np.float32):
    return lambda rng: [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def call(*args, **keywords):
    result = pantile.jax.call(*args, **keywords)
    return result if isinstance(result, tuple) else (result,)


def like(x):
    return shaped(x.shape, x.dtype)


def add(x, y):
    return call(add_kernel, x, y, x.size, out_shape=like(x), grid=blocks(x.size), BLOCK=64)


def scale(x):
    n = x.size
    return call(scale_kernel, x, 2.5, True, out_shape=like(x), grid=blocks(n), n=n, BLOCK=32)


def softmax(x):
    rows, columns = x.shape
    return call(
        softmax_kernel, x=x, columns=columns, out_shape=like(x), grid=rows, BLOCK=128, num_warps=2
    )


def softmax_truth(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True),)


def layer_norm(x, weight, bias):
    rows, columns = x.shape
    shapes = (like(x), shaped((rows,), x.dtype))
    return call(
        layer_norm_kernel, x, weight, bias, columns=columns, eps=1e-5, out_shape=shapes, grid=(rows,),
        BLOCK=128,
    )  # fmt: skip


def layer_norm_truth(x, weight, bias):
    mean, var = x.mean(1), x.var(1)
    return (x - mean[:, None]) / np.sqrt(var + 1e-5)[:, None] * weight + bias, mean


def matmul(a, b):
    (m, k), n = a.shape, b.shape[1]
    return call(
        matmul_kernel, a, b, M=m, N=n, K=k, out_shape=shaped((m, n), np.float32), BM=32, BN=32, BK=16,
        grid=lambda meta: (pantile.cdiv(m, meta["BM"]), pantile.cdiv(n, meta["BN"])),
    )  # fmt: skip


def batched_add(x, y):
    rows, columns = x.shape
    grid = (pantile.cdiv(columns, 16), 2, pantile.cdiv(rows, 2))
    return call(
        batched_add_kernel, x, y, rows=rows, columns=columns, out_shape=like(x), grid=grid, BLOCK=16
    )


def transpose(x):
    rows, columns = x.shape
    grid = (pantile.cdiv(rows, 16), pantile.cdiv(columns, 16))
    out = shaped((columns, rows), x.dtype)
    return call(transpose_kernel, x, rows=rows, columns=columns, out_shape=out, grid=grid, BLOCK=16)


def total(x):
    return call(
        total_kernel, x, x.size, out_shape=shaped((), x.dtype), grid=blocks(x.size), BLOCK=64,
        zeroed_outputs=(0,),
    )  # fmt: skip


def extremes(x):
    rows, columns = x.shape
    shapes = (shaped((rows,), x.dtype), shaped((rows,), np.int32))
    return call(extremes_kernel, x, columns=columns, out_shape=shapes, grid=(rows,), BLOCK=128)


def scan(x):
    return call(scan_kernel, x, out_shape=like(x), grid=(x.shape[0],), columns=x.shape[1])


def gather(table, index):
    out = shaped((index.size, table.shape[1]), table.dtype)
    return call(
        gather_kernel,
        table,
        index,
        columns=table.shape[1],
        out_shape=out,
        grid=(index.size,),
        BLOCK=64,
    )


def histogram(x):
    return call(
        histogram_kernel, x, x.size, out_shape=shaped((10,), np.int32), grid=blocks(x.size), BLOCK=64,
        zeroed_outputs=lambda meta: (0,) if meta["BLOCK"] == 64 else (),
    )  # fmt: skip


def select(mask, x, y):
    return call(
        select_kernel, mask, x, y, n=x.size, out_shape=like(x), grid=blocks(x.size), BLOCK=64
    )


def cast(dtype):
    def run(x):
        out = shaped(x.shape, dtype)
        return call(cast_kernel, x, n=x.size, out_shape=out, grid=blocks(x.size), BLOCK=64)

    return run


def increment(x):
    return call(
        increment_kernel, x, x.size, 1.5, out_shape=like(x), grid=blocks(x.size), BLOCK=64,
        input_output_aliases={"x": 0},
    )  # fmt: skip


def accumulate(total, x):
    return call(
        accumulate_kernel, total, x, x.size, out_shape=like(x), grid=blocks(x.size), BLOCK=64,
        input_output_aliases={0: 0},
    )  # fmt: skip


def rotary(x, angle):
    rows, columns = x.shape
    return call(rotary_kernel, x, angle, out_shape=like(x), grid=(rows,), half=columns // 2)


def rotary_truth(x, angle):
    a, b = np.split(x, 2, 1)
    c, s = np.cos(angle), np.sin(angle)
    return (np.concatenate([a * c - b * s, a * s + b * c], 1),)


def shift(x, amount):
    return call(shift_kernel, x, amount, n=x.size, out_shape=like(x), grid=blocks(x.size), BLOCK=64)


def entropy(logits, label):
    rows, columns = logits.shape
    out = shaped((rows,), logits.dtype)
    return call(entropy_kernel, logits, label, columns=columns, out_shape=out, grid=rows, BLOCK=128)


def entropy_truth(logits, label):
    peak = logits.max(1)
    logs = np.log(np.exp(logits - peak[:, None]).sum(1)) + peak
    return (logs - logits[np.arange(len(label)), label],)


def split(x):
    n = x.size // 2
    shapes = (shaped((n,), x.dtype), shaped((n,), x.dtype))
    return call(split_kernel, x, n=n, out_shape=shapes, grid=blocks(n), BLOCK=64)


def integers(*shapes, end=10):
    return lambda rng: [rng.integers(0, end, shape, np.int32) for shape in shapes]


def with_integers(first, shape, end):
    return lambda rng: [*first(rng), rng.integers(0, end, shape, np.int32)]


def with_mask(rng):
    return [rng.integers(0, 2, 300).astype(bool), *normal(300, 300)(rng)]


# Sizes are odd, so that an element of a batch begins at an address that 16 does not divide.
CASES = {
    "add": Case(add, lambda x, y: (x + y,), normal((1001,), (1001,))),
    "scale": Case(scale, lambda x: (-2.5 * x,), normal((77,))),
    "softmax": Case(softmax, softmax_truth, normal((5, 99))),
    "layer_norm": Case(layer_norm, layer_norm_truth, normal((6, 99), 99, 99)),
    "matmul": Case(matmul, lambda a, b: (a @ b,), normal((70, 50), (50, 45))),
    "matmul_fp16": Case(
        matmul, lambda a, b: (a @ b,), normal((64, 48), (48, 32), dtype=np.float16)
    ),
    "batched_add": Case(batched_add, lambda x, y: (x + y,), normal((5, 37), (5, 37))),
    "transpose": Case(transpose, lambda x: (x.T,), normal((19, 35))),
    "total": Case(total, lambda x: (x.sum(),), normal(500)),
    "extremes": Case(extremes, lambda x: (x.max(1), x.argmax(1)), normal((7, 99))),
    "scan": Case(scan, lambda x: (x.cumsum(1),), normal((3, 64))),
    "gather": Case(gather, lambda t, i: (t[i],), with_integers(normal((20, 33)), 11, 20)),
    "histogram": Case(histogram, lambda x: (np.bincount(x, minlength=10),), integers(333)),
    "select": Case(select, lambda m, x, y: (np.where(m, x, y),), with_mask),
    "cast": Case(cast("bfloat16"), lambda x: (x,), normal(201), tolerance=2**-8),
    "increment": Case(increment, lambda x: (x + 1.5,), normal(123)),
    "accumulate": Case(accumulate, lambda t, x: (t + x,), normal(321, 321)),
    "rotary": Case(rotary, rotary_truth, normal((9, 64), (9, 32))),
    "shift": Case(shift, lambda x, a: (x ^ a,), integers(99, (), end=2**20)),
    "entropy": Case(entropy, entropy_truth, with_integers(normal((8, 77)), 8, 77)),
    "split": Case(split, lambda x: (x[::2], x[1::2]), normal(402)),
}
