"""Rows that a mask leaves out of a tf32 dot's left operand are zeros in each iteration."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def masked_rows(
    a, b, table, c, N, K, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """The rows of A that `table` names times B, but for those whose number 3 divides."""
    rows, kk = tl.load(table + tl.arange(0, M)), tl.arange(0, BK)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((M, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES):
        places = a + rows[:, None] * K + (k + kk)[None, :]
        x = tl.load(places, mask=(rows % 3 != 0)[:, None], other=0.0)
        y = tl.load(b + (k + kk)[:, None] * N + columns[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + tl.arange(0, M)[:, None] * N + columns[None, :], acc)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_masked_rows(device, dtype, stages):
    """Rounding to tf32 in place leaves no rest in what is filled with zeros before the loop."""
    M, N, K = 64, 128, 512
    a, b = random((M, K), dtype, 1), random((K, N), dtype, 2)
    table = np.random.default_rng(3).permutation(M).astype(np.int32)
    c = device.output((M, N), "fp32")
    masked_rows[(2,)](*map(device.to, (a, b, table)), c.array, N, K, M, 64, 32, stages, num_warps=4)
    left_out = table % 3 == 0
    assert not c.numpy()[left_out].any()
    wide = a[table].astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.numpy()[~left_out], wide[~left_out], rtol=2e-2, atol=5e-2)
