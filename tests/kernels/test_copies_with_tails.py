"""Tiles of a loop with dots whose mask ends within vectors: copied up to there, zeros after it.

A is NaN wherever its mask is false, so that nothing of it may be read. Masks are true for a first part of
each row, for a last part, or have holes; they end anywhere. Results within 5e-2 of float64.
"""

import re

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

PREFIXES = [
    "causal", "strictly causal", "end", "end of rows and columns", "end unsigned", "even rows",
    "changing",
]  # fmt: skip
OTHERS = ["suffix", "from a table", "holes", "either"]


@triton.jit
def masked(
    out, a, b, table, K, end, WAY: tl.constexpr, READ: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    BLOCK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """A under a mask times B. With READ threads compute with A before."""
    i, n = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    for start in tl.range(0, K, BLOCK, num_stages=STAGES):
        k = start + tl.arange(0, BLOCK)
        row, column = i[:, None], k[None, :]
        if WAY == "causal":
            mask = row >= column
        elif WAY == "strictly causal":
            mask = column < row
        elif WAY == "end":
            mask = (row >= 0) & (column < end)
        elif WAY == "end of rows and columns":
            mask = (row < end) & (column <= end + row)
        elif WAY == "end unsigned":
            mask = (column.to(tl.uint32) < end.to(tl.uint32)) & (row >= 0)
        elif WAY == "even rows":
            mask = (row % 2 == 0) & (column < end)
        elif WAY == "suffix":
            mask = row <= column
        elif WAY == "from a table":
            mask = tl.load(table + k)[None, :] < row
        elif WAY == "holes":
            mask = (column % 3 != 1) & (row >= 0)
        elif WAY == "either":
            mask = (row >= column) | (column >= end)
        else:
            mask = column < end + start // BLOCK
        x = tl.load(a + row * K + column, mask=mask, other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :])
        if READ:
            x = (x.to(tl.float32) * 0.5).to(y.dtype)
        acc = tl.dot(x, y, acc)
    tl.store(out + i[:, None] * N + n[None, :], acc)


def mask_of(way, rows, K, end, block, table):
    row, column = np.arange(rows)[:, None], np.arange(K)[None, :]
    return np.broadcast_to(
        {
            "causal": row >= column,
            "strictly causal": column < row,
            "end": column < end,
            "end of rows and columns": (row < end) & (column <= end + row),
            "end unsigned": column < end,
            "even rows": (row % 2 == 0) & (column < end),
            "suffix": row <= column,
            "from a table": table[None, :] < row,
            "holes": column % 3 != 1,
            "either": (row >= column) | (column >= end),
            "changing": column < end + column // block,
        }[way],
        (rows, K),
    )


def check(device, way, read, dtype, end, stages, **options):
    """Compares all elements; the compiled kernel."""
    M, N, K, block = 64, 64, 128, 32
    rows = 2 * M
    a, b = random((rows, K), dtype, seed=1), random((K, N), "fp16", seed=2)
    table = np.random.default_rng(3).integers(0, rows, K).astype(np.int32)
    mask = mask_of(way, rows, K, end, block, table)
    a[~mask] = 113 if dtype == "i8" else np.nan
    out = device.output((rows, N), "fp32")
    compiled = masked[(2,)](
        out.array, *map(device.to, (a, b, table)), K, end, way, read, M, N, block, stages, **options
    )
    left = np.where(mask, a, 0).astype(np.float64)
    if read:
        left = (left / 2).astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(out.numpy(), left @ b.astype(np.float64), rtol=1e-3, atol=5e-2)
    return compiled


def cut_copies(compiled):
    """Whether copies of 16 bytes leave out those after the end of their mask; None without a GPU."""
    if compiled and "ptx" in compiled.asm:
        return bool(re.search(r"cp\.async\.cg\S+ \S+ \S+ 16, %r", compiled.asm["ptx"]))
    return None


@pytest.mark.parametrize(
    "dtype, read", [("fp16", False), ("fp16", True), ("fp32", True), ("i8", True)]
)
@pytest.mark.parametrize("way", PREFIXES)
def test_first_elements(device, way, dtype, read):
    """A mask of the first elements of a row: whole vectors are copied, and parts of one."""
    for end in (0, 1, 61, 77, 128, 200):
        compiled = check(device, way, read, dtype, end, 3, disabled_passes="nv-specialise-warps")
        if end in (61, 77):  # others are known to end with a vector
            assert cut_copies(compiled) in (True, None)


@pytest.mark.parametrize("dtype, read", [("fp16", False), ("fp32", True), ("i8", True)])
@pytest.mark.parametrize("way", OTHERS)
def test_other_elements(device, way, dtype, read):
    """Of other masks nothing is known: their elements are not copied as vectors with an end."""
    for end in (0, 61, 128):
        compiled = check(device, way, read, dtype, end, 3, disabled_passes="nv-specialise-warps")
        assert cut_copies(compiled) in (False, None)


@pytest.mark.parametrize("stages", [2, 4])
@pytest.mark.parametrize("way", ["causal", "end", "even rows", "changing", "suffix"])
def test_with_a_producer(device, way, stages):
    """All warps copy what a producer cannot load."""
    for dtype, read in (("fp16", False), ("fp32", True)):
        for end in (3, 77):
            check(device, way, read, dtype, end, stages)
            check(device, way, read, dtype, end, stages, disabled_passes="occupancy-first")
