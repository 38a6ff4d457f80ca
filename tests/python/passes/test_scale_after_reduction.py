"""Maxima of scaled scores: the scale may have any sign, be zero, infinite or NaN.

Where a launch finds it positive and of moderate size, rows are scaled after their maximum is taken
(`nv-scale-after-reduction`). Elements are small integers, so that dots are exact, and so are
maxima.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest

SCALES = [
    0.125, 3.0e-20, -0.125, 0.0, -0.0, 2.0**-70, 2.0**70, -(2.0**70), np.inf, -np.inf, np.nan
]  # fmt: skip


@triton.jit
def maxima_kernel(
    q_ptr, k_ptr, top_ptr, low_ptr, sum_ptr, length, scale, other,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, MASKED: tl.constexpr, FACTOR: tl.constexpr,
):  # fmt: skip
    """Maxima and minima of rows of `(q k^T) scale`, and a sum of exponentials of what is below the maximum.

    `other` scales a second maximum, which is added to the sum.
    """
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + depth[None, :])
    k_ptrs = k_ptr + depth[:, None] + columns[None, :] * D
    top, low = tl.full([M], float("-inf"), tl.float32), tl.full([M], float("inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    factor = scale * FACTOR
    for start in range(0, length, N):
        dot = tl.dot(q, tl.load(k_ptrs))
        s = dot * factor
        if MASKED:
            s = tl.where(rows[:, None] >= start + columns[None, :], s, float("-inf"))
        top = tl.maximum(top, tl.max(s, 1))
        total += tl.sum(tl.exp2(s - top[:, None]), 1) + tl.max(dot * other, 1)
        low = tl.minimum(low, tl.min(dot * scale, 1))
        k_ptrs += N * D
    tl.store(top_ptr + rows, top)
    tl.store(low_ptr + rows, low)
    tl.store(sum_ptr + rows, total)


def expected(dot, scale, other, n, masked, factor):
    """The same with rounding as in fp32."""
    with np.errstate(all="ignore"):
        scaled = dot * np.float32(np.float32(scale) * np.float32(factor))
        if masked:
            rows, columns = (np.arange(x) for x in dot.shape)
            scaled = np.where(rows[:, None] >= columns[None, :], scaled, np.float32("-inf"))
        top, total = np.full(len(dot), -np.inf, np.float32), np.zeros(len(dot), np.float32)
        for start in range(0, dot.shape[1], n):
            part = scaled[:, start : start + n]
            top = np.fmax(top, np.fmax.reduce(part, 1))
            total += np.exp2(part - top[:, None]).sum(1)
            total += (dot[:, start : start + n] * np.float32(other)).max(1)
        low = np.fmin(np.fmin.reduce(dot * np.float32(scale), 1), np.float32(np.inf))
        return top, low, total


class Scores:
    """Arrays of one launch."""

    def __init__(self, device, masked):
        self.m, self.n, self.d = 64, 64, 64
        rng = np.random.default_rng()
        self.q, self.k = (
            rng.integers(-3, 4, (x, self.d)).astype(np.float16) for x in (self.m, 3 * self.n)
        )
        self.q[0] = 0
        self.inputs = device.to(self.q), device.to(self.k)
        self.factor, self.other = (1.4426950408889634, -0.5) if masked else (1.0, -2.0)
        self.masked = masked
        self.outputs = [device.output(self.m, "fp32") for _ in range(3)]

    def launch(self, scale):
        maxima_kernel[(1,)](
            *self.inputs, *(out.array for out in self.outputs), len(self.k), scale, self.other,
            M=self.m, N=self.n, D=self.d, MASKED=self.masked, FACTOR=self.factor, num_warps=4,
            num_stages=3, disabled_passes="occupancy-first",
        )  # fmt: skip

    def check(self, scale):
        dot = self.q.astype(np.float32) @ self.k.astype(np.float32).T
        want = expected(dot, scale, self.other, self.n, self.masked, self.factor)
        top, low, total = (out.numpy() for out in self.outputs)
        np.testing.assert_array_equal(top, want[0])
        np.testing.assert_array_equal(low, want[1])
        if abs(scale) < 1:  # else exponentials of roundings
            np.testing.assert_allclose(total, want[2], rtol=1e-5)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("masked", [False, True])
def test_scales(device, scale, masked):
    """Maxima and minima are exact, also where a scale turns these into each other."""
    scores = Scores(device, masked)
    scores.launch(scale)
    scores.check(scale)


def test_launches_whose_scale_changes_its_sign(device):
    """A launch like the one before tests the scale again."""
    scores = Scores(device, masked=True)
    for scale in (0.125, 0.125, 0.25, -0.125, -0.125, 0.125, float("nan"), 0.5):
        scores.launch(scale)
        scores.check(scale)
