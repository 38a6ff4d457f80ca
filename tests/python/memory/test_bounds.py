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


@triton.jit
def scale_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, 3 * tl.load(x_ptr + offsets))


@triton.jit
def count_kernel(count_ptr):
    tl.atomic_add(count_ptr, 1)


def frozen(array):
    """A view that NumPy has made read-only."""
    view = array.view()
    view.flags.writeable = False
    return view


def test_arrays_that_may_only_be_read():
    rng = np.random.default_rng()
    x, out = rng.standard_normal(16, dtype=np.float32), np.zeros(16, np.float32)
    before = x.copy()
    for _ in range(2):  # the first launch, and one that finds its kernel
        scale_kernel[(1,)](out, frozen(x), 16)
        np.testing.assert_array_equal(out, np.float32(3) * x)
        with pytest.raises(triton.InterpreterError, match="store to argument `out_ptr`.*only be"):
            scale_kernel[(1,)](frozen(x), out, 16)
        with pytest.raises(triton.InterpreterError, match="`count_ptr`.*only be read"):
            count_kernel[(1,)](frozen(np.zeros(1, np.int32)))
    np.testing.assert_array_equal(x, before)


def test_a_file_mapped_for_reading(tmp_path):
    """A store would end the process."""
    np.save(tmp_path / "x.npy", np.ones(16, np.float32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    out = np.zeros(16, np.float32)
    scale_kernel[(1,)](out, mapped, 16)
    assert (out == 3).all()
    with pytest.raises(triton.InterpreterError, match="only be read"):
        scale_kernel[(1,)](mapped, out, 16)


def test_bytes_in_the_other_order():
    x, out = np.ones(16, ">f4"), np.zeros(16, np.float32)
    for _ in range(2):
        with pytest.raises(TypeError, match="argument `x_ptr`: .*`>f4`.*the other order"):
            scale_kernel[(1,)](out, x, 16)
        scale_kernel[(1,)](out, x.astype(np.float32), 16)
        assert (out == 3).all()
