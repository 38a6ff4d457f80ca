"""Loops with `disable_licm`: over ranges, left early, under a condition, nested; the numbers are the same."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def kept_kernel(out_ptr, x_ptr, w_ptr, n, bound, LOOP: tl.constexpr, KEEP: tl.constexpr):
    at = tl.arange(0, 128)
    i = 0
    if LOOP == "range":
        for i in tl.range(0, n, disable_licm=KEEP):
            w = tl.load(w_ptr + at)
            tl.store(out_ptr + i * 128 + at, tl.load(x_ptr + i * 128 + at) * w + bound * bound)
    elif LOOP == "left":
        for i in tl.range(0, n, disable_licm=KEEP):
            x = tl.load(x_ptr + i * 128 + at)
            if tl.max(x) > bound:
                break
            tl.store(out_ptr + i * 128 + at, x * tl.load(w_ptr + at) + bound * bound)
    elif LOOP == "condition":
        while tl.condition(tl.max(tl.load(x_ptr + i * 128 + at)) <= bound, disable_licm=KEEP):
            x = tl.load(x_ptr + i * 128 + at)
            tl.store(out_ptr + i * 128 + at, x * tl.load(w_ptr + at) + bound * bound)
            i += 1
    elif LOOP == "nested":
        for i in tl.range(0, n, disable_licm=KEEP):
            for j in tl.range(0, 2, disable_licm=not KEEP):
                here = i * 128 + j * 64 + tl.arange(0, 64)
                w = tl.load(w_ptr + j * 64 + tl.arange(0, 64))
                tl.store(out_ptr + here, tl.load(x_ptr + here) * w + bound * bound)


@pytest.mark.parametrize("loop", ["range", "left", "condition", "nested"])
@pytest.mark.parametrize("keep", [False, True])
def test_kept(device, loop, keep):
    """A loop whose invariants stay in it gives the same numbers."""
    n, bound = 9, 8.0
    x, w = random((n, 128), "fp32", 1), random(128, "fp32", 2)
    x[7, 77] = 9.0
    out = device.output((n, 128), "fp32")
    kept_kernel[(1,)](out.array, device.to(x), device.to(w), n, bound, loop, keep)
    rows = n if loop in ("range", "nested") else 7
    expected = x.astype(np.float64) * w + bound * bound
    np.testing.assert_allclose(out.numpy()[:rows], expected[:rows], rtol=1e-6)
    assert np.isnan(out.numpy()[rows:]).all()
