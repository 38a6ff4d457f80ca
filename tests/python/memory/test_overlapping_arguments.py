"""`PANTILE_CHECK=overlap`: arguments that overlap in memory that the kernel writes are reported by name."""

import itertools
import warnings

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from pantile.runtime import overlap

TEXT = "def {}(x_ptr, y_ptr, N: tl.constexpr):\n    i = tl.arange(0, N)\n    {}\n"
_numbers = itertools.count()


@triton.jit
def copy(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def sum_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i) + tl.load(y_ptr + i))


@triton.jit
def add_atomically(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def in_a_loop(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = x_ptr + i, y_ptr + i
    for _ in range(n):
        tl.store(y, tl.load(x))
        x += N
        y += N


@triton.jit
def chosen(x_ptr, y_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if n > 3:
        out = x_ptr
    else:
        out = y_ptr
    tl.store(out + i, tl.load(out_ptr + i))


@triton.jit
def by_a_table(x_ptr, table_ptr, y_ptr, N: tl.constexpr):
    """Writes where the table says, and not into the table."""
    i = tl.arange(0, N)
    tl.store(y_ptr + tl.load(table_ptr + i), tl.load(x_ptr + i))


@triton.jit
def of_a_pair(pair, x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(pair[1] + i, tl.load(pair[0] + i) + tl.load(x_ptr + i))


@pytest.fixture(autouse=True)
def checking(monkeypatch):
    monkeypatch.setattr(overlap, "_reported", set())
    # These kernels race where their arguments overlap, which the check is to report.
    monkeypatch.setenv("PANTILE_EMULATION_UNCHECKED", "races")
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.check = "overlap"
        yield


def told(kernel, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        kernel[(1,)](*args)
    return [str(one.message) for one in seen]


def pairs_of(messages):
    """The names that are said to overlap, and those that are written."""
    found = []
    for text in messages:
        names = text.split("`")
        assert "overlap in memory" in text
        written = text.split("writes through ")[1].split(";")[0].replace("`", "").split(" and ")
        found.append((names[1], names[3], written))
    return found


class Memory:
    """Views of one allocation, on the host or the emulated GPU."""

    def __init__(self, device, size):
        made = device.to(np.arange(size, dtype=np.float32))
        self.whole = made
        self.host = getattr(made, "host", made)

    def view(self, array):
        assert np.shares_memory(array, self.host) or not array.size
        return array if self.whole is self.host else type(self.whole)(self.whole.memory, array)

    def __getitem__(self, index):
        return self.view(self.host[index])


@pytest.fixture
def memory(device):
    if not isinstance(getattr(device.to(np.zeros(1, np.float32)), "host", np.zeros(1)), np.ndarray):
        pytest.skip("needs views by NumPy's means")
    made = Memory(device, 256)
    if made.whole is made.host and not isinstance(made.host, np.ndarray):
        pytest.skip("needs views by NumPy's means")
    return made


def test_the_same_array(memory):
    found = pairs_of(told(copy, memory[:64], memory[:64], 64))
    assert found == [("x_ptr", "y_ptr", ["y_ptr"])]


@pytest.mark.parametrize("by", [1, 63])
def test_shifted(memory, by):
    """A shifted view of the same memory is reported once."""
    assert len(told(copy, memory[:64], memory[by : by + 64], 64)) == 1


@pytest.mark.parametrize("by", [64, 65, 128])
def test_arguments_that_do_not_overlap(memory, by):
    assert told(copy, memory[:64], memory[by : by + 64], 64) == []


def test_only_what_is_written_counts(memory):
    assert told(sum_kernel, memory[:64], memory[:64], memory[64:128], 64) == []
    found = pairs_of(told(sum_kernel, memory[:64], memory[:64], memory[32:96], 64))
    assert found == [("x_ptr", "out_ptr", ["out_ptr"]), ("y_ptr", "out_ptr", ["out_ptr"])]


def test_atomics_and_loops_write(memory):
    assert len(told(add_atomically, memory[:64], memory[:64], 64)) == 1
    assert len(told(in_a_loop, memory[:64], memory[32:96], 2, 32)) == 1


def test_either_may_be_written(memory):
    found = pairs_of(told(chosen, memory[:64], memory[:64], memory[64:128], 5, 64))
    assert found == [("x_ptr", "y_ptr", ["x_ptr", "y_ptr"])]


def test_a_table_is_only_read(device):
    x = device.to(np.arange(16, dtype=np.float32))
    table = device.to(np.arange(16, dtype=np.int32))
    y = device.to(np.zeros(16, np.float32))
    assert told(by_a_table, x, table, y, 16) == []
    assert pairs_of(told(by_a_table, y, table, y, 16)) == [("x_ptr", "y_ptr", ["y_ptr"])]


def test_parts_of_tuples_have_names(memory):
    found = pairs_of(told(of_a_pair, (memory[:64], memory[64:128]), memory[100:164], 64))
    assert found == [("pair[1]", "x_ptr", ["pair[1]"])]


def test_a_pair_is_reported_once(memory):
    assert [len(told(copy, memory[:64], memory[:64], 64)) for _ in range(3)] == [1, 0, 0]


def test_nothing_is_looked_at_when_off(memory):
    triton.knobs.runtime.check = "bounds"
    kernel = copy
    assert told(kernel, memory[:64], memory[:64], 64) == []
    kernel[(1,)](memory[:64], memory[:64], 64)
    before = triton.runtime.stats()
    for _ in range(3):
        kernel[(1,)](memory[:64], memory[:64], 64)
    assert triton.runtime.stats()["misses"] == before["misses"]


def test_a_compiled_kernel_is_checked_too(memory):
    compiled = copy[(1,)](memory[:64], memory[64:128], 64)
    with pytest.warns(RuntimeWarning, match="`x_ptr` and `y_ptr` of kernel `copy` overlap"):
        compiled[(1,)](memory[:64], memory[:64], 64)


def test_the_variable_counts(memory, monkeypatch):
    triton.knobs.runtime.reset()
    monkeypatch.setenv("PANTILE_CHECK", "bounds,overlap")
    triton.knobs.export()
    assert len(told(copy, memory[:64], memory[:64], 64)) == 1


def shares_bytes(a, b):
    """The truth, byte by byte."""
    both = []
    for array in (a, b):
        addresses = np.full(array.shape, array.ctypes.data, np.int64)
        for axis, stride in enumerate(array.strides):
            steps = np.arange(array.shape[axis]) * stride
            addresses += steps.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
        both.append(set((addresses[..., None] + np.arange(array.itemsize)).ravel().tolist()))
    return bool(both[0] & both[1])


def random_view(rng, base):
    view = base
    for axis in range(base.ndim):
        extent = view.shape[axis]
        start, step = int(rng.integers(0, extent)), int(rng.choice([-3, -2, -1, 1, 2, 3]))
        stop = int(rng.integers(0, extent + 1))
        index = [slice(None)] * view.ndim
        index[axis] = slice(start, stop, step)
        view = view[tuple(index)]
    return view.transpose(rng.permutation(view.ndim))


def test_extents_never_miss_an_overlap():
    rng = np.random.default_rng(7)
    base = np.zeros((6, 8, 5), np.float32)
    missed, alarms, apart = 0, 0, 0
    for _ in range(3000):
        a, b = random_view(rng, base), random_view(rng, base)
        told = overlap._Extent.of(a).meets(overlap._Extent.of(b))
        truth = shares_bytes(a, b)
        missed += truth and not told
        alarms += told and not truth
        apart += not truth
    assert missed == 0
    assert alarms < apart / 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.s_[:, :3], np.s_[:, 3:]),  # columns of one matrix
        (np.s_[:, 0::2], np.s_[:, 1::2]),  # parts in turns
        (np.s_[::2], np.s_[1::2]),
        (np.s_[:, 4:1:-1], np.s_[:, 5:]),
    ],
)
def test_views_side_by_side_do_not_overlap(first, second):
    base = np.zeros((6, 8), np.float32)
    a, b = base[first], base[second]
    assert not shares_bytes(a, b)
    assert not overlap._Extent.of(a).meets(overlap._Extent.of(b))
    assert not overlap._Extent.of(b).meets(overlap._Extent.of(a))
    assert overlap._Extent.of(a).meets(overlap._Extent.of(base))


def test_what_has_no_size_is_left_out():
    class Address:
        def data_ptr(self):
            return 64

    assert overlap._Extent.of(Address()) is None
