"""On the CPU every access is checked against the argument's storage."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest


@triton.jit
def read_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)  # reads too far
    tl.store(out_ptr + offsets, x)


@triton.jit
def write_kernel(out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, 1.0)  # writes too far


def test_a_read_outside_gives_zero_and_a_warning():
    x, out = np.ones(10, np.float32), np.full(16, np.nan, np.float32)
    with pytest.warns(RuntimeWarning, match="x_ptr") as caught:
        read_kernel[(1,)](out, x, 16)
    np.testing.assert_array_equal(out, [1] * 10 + [0] * 6)
    text = "".join(str(warning.message) for warning in caught)
    assert "reads too far" in text, "the warning shows the source line"
    assert "test_bounds.py" in text


def test_a_write_outside_is_an_error():
    whole = np.zeros(10, np.float32)
    with pytest.raises(triton.InterpreterError, match="out_ptr") as caught:
        write_kernel[(1,)](whole, 16)
    assert "writes too far" in caught.value.rendered
    assert caught.value.range[1] == write_kernel.first_line + 2


def test_reads_become_errors_on_request(monkeypatch):
    monkeypatch.setenv("PANTILE_CHECK", "bounds")
    x, out = np.ones(10, np.float32), np.zeros(16, np.float32)
    with pytest.raises(triton.InterpreterError, match="x_ptr"):
        read_kernel[(1,)](out, x, 16)


def test_a_view_may_reach_its_neighbours():
    whole, out = np.arange(32, dtype=np.float32), np.zeros(16, np.float32)
    read_kernel[(1,)](out, whole[8:12], 16)
    np.testing.assert_array_equal(out, whole[8:24])


@triton.jit
def masked_kernel(out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, 1.0, mask=offsets < n)


def test_masked_off_lanes_are_not_checked():
    out = np.zeros(10, np.float32)
    masked_kernel[(1,)](out, 10, 1024)
    assert (out == 1).all()
