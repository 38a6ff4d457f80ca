"""GEMMs with indirect weights, at addresses from a table, one set of rows for each adapter.

Addresses are integers of 64 bits, signed or not, that a kernel makes pointers of. Rows are sorted
by adapter and found through a list; adapters without rows, and rows without an adapter, are left
out by early returns. K is split over programs, which add up by relaxed atomics; a last step of K
that is not whole is masked by itself. fp32 sums of bf16 within 1e-4.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def _partial_product(
    x_ptrs, w_ptrs, first, K: tl.constexpr, WHOLE: tl.constexpr, STEP: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    acc = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for i in range(tl.cdiv(K, STEP)):
        k = i * STEP + first
        if WHOLE:
            acc += tl.dot(tl.load(x_ptrs), tl.load(w_ptrs))
        else:
            if k >= K:
                pass
            elif k + BLOCK_K <= K:
                acc += tl.dot(tl.load(x_ptrs), tl.load(w_ptrs))
            else:
                left = tl.arange(0, BLOCK_K) < K - k
                x = tl.load(x_ptrs, mask=left[None, :], other=0.0)
                acc += tl.dot(x, tl.load(w_ptrs, mask=left[:, None], other=0.0))
        x_ptrs += STEP
        w_ptrs += STEP
    return acc


@triton.jit
def adapters_kernel(
    x_ptr, table_ptr, out_ptr, order_ptr, counts_ptr, starts_ptr, adapters_ptr, scale, rows, N,
    K: tl.constexpr, WHOLE: tl.constexpr, SPLITS: tl.constexpr, SLICES: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    split, part = tl.program_id(0) % SPLITS, tl.program_id(0) // SPLITS
    which, group = tl.program_id(1), tl.program_id(2)
    adapter = tl.load(adapters_ptr + group)
    if adapter == -1:
        return
    count = tl.load(counts_ptr + group)
    if part * ROWS >= count:
        return
    size = min(ROWS, count - part * ROWS)
    at = tl.load(starts_ptr + group) + part * ROWS + tl.arange(0, ROWS) % size
    row = tl.load(order_ptr + at)
    if SLICES == 1:
        w_ptr = table_ptr
    else:
        w_ptr = tl.load(table_ptr + which).to(tl.pointer_type(x_ptr.dtype.element_ty))
    column = tl.arange(0, COLUMNS)
    wrapped = tl.max_contiguous(tl.multiple_of(column % N, COLUMNS), COLUMNS)
    k = split * BLOCK_K + tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + row[:, None] * K + k[None, :]
    w_ptrs = w_ptr + (adapter * N + wrapped[None, :]) * K + k[:, None]
    acc = _partial_product(
        x_ptrs, w_ptrs, split * BLOCK_K, K, WHOLE, BLOCK_K * SPLITS, ROWS, COLUMNS, BLOCK_K
    )
    acc *= scale
    out_ptrs = out_ptr + (which * rows + row[:, None]) * N + column[None, :]
    inside = (tl.arange(0, ROWS) < size)[:, None] & (column < N)[None, :]
    if SPLITS == 1:
        tl.store(out_ptrs, acc, mask=inside)
    else:
        tl.atomic_add(out_ptrs, acc, mask=inside, sem="relaxed")


def address(array):
    return array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data


@pytest.mark.parametrize(
    "slices, splits, depth, kind",
    [(1, 1, 128, None), (2, 4, 144, np.uint64), (2, 1, 128, np.int64), (3, 2, 100, np.int64)],
)
def test_adapters(device, slices, splits, depth, kind):
    """Rows are multiplied by the weights whose address the table has."""
    rows, n = 40, 16
    x = random((rows, depth), "bf16", 1)
    weights = [random((3, n, depth), "bf16", 2 + i) for i in range(slices)]
    held = [device.to(w) for w in weights]
    table = held[0] if slices == 1 else device.to(np.array([address(w) for w in held], kind))
    chosen = np.random.default_rng(1).integers(-1, 3, rows)
    order = np.argsort(chosen, kind="stable").astype(np.int64)
    adapters = np.array([-1, 0, 1, 2], np.int32)
    counts = np.array([(chosen == a).sum() for a in adapters], np.int32)
    starts = np.array([0, *counts.cumsum()[:-1]], np.int32)
    out = device.to(np.zeros((slices, rows, n), np.float32))
    adapters_kernel[(splits * triton.cdiv(rows, 16), slices, 4)](
        device.to(x), table, out, *map(device.to, (order, counts, starts, adapters)), 0.5, rows, n,
        depth, depth % (32 * splits) == 0, splits, slices, 16, 16, 32, num_warps=4, num_stages=2,
    )  # fmt: skip
    expected = np.zeros((slices, rows, n))
    for s in range(slices):
        for row in np.flatnonzero(chosen >= 0):
            w = weights[s][chosen[row]].astype(np.float64)
            expected[s, row] = 0.5 * w @ x[row].astype(np.float64)
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-4, atol=1e-4)
