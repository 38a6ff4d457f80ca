"""Loop conditions, printing, the target's description, and types used as values."""

import enum

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.language.core import _unwrap_if_constexpr


@triton.jit
def collatz_kernel(out_ptr, x_ptr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    steps = 0
    while tl.condition(x > 1, disable_licm=True):
        x = tl.where(x % 2 == 0, x // 2, 3 * x + 1)
        steps += 1
    tl.store(out_ptr + pid, steps)


def collatz(x):
    steps = 0
    while x > 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        steps += 1
    return steps


def test_while_with_condition(device):
    x = random(32, "i64", seed=51, low=1, high=1000)
    out = device.output(32, "i32")
    collatz_kernel[(32,)](out.array, device.to(x))
    np.testing.assert_array_equal(out.numpy(), [collatz(int(v)) for v in x])


@triton.jit
def static_print_kernel(out_ptr, N: tl.constexpr):
    tl.static_print("width", N, "doubled", 2 * N, sep="; ")
    tl.store(out_ptr + tl.arange(0, N), N)


def test_static_print(device, capfd, monkeypatch, tmp_path):
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(tmp_path))  # what is found there is not compiled
    out = device.output(8, "i32")
    static_print_kernel[(1,)](out.array, 8)
    np.testing.assert_array_equal(out.numpy(), np.full(8, 8))
    captured = capfd.readouterr()
    assert "width; 8; doubled; 16" in captured.out + captured.err


@triton.jit
def device_print_kernel(x_ptr):
    pid = tl.program_id(0)
    value = tl.load(x_ptr + pid)
    tl.device_print("value: ", value)


def test_device_print(device, capfd):
    x = random(3, "i32", seed=52, low=1000, high=9999)
    device_print_kernel[(3,)](device.to(x), num_warps=1)
    if device.on_gpu:
        device.torch.cuda.synchronize()
    text = capfd.readouterr().out
    for pid in range(3):
        assert f"pid ({pid}, 0, 0)" in text
        assert str(x[pid]) in text


@triton.jit
def target_kernel(out_ptr):
    if tl.target_info.is_cuda():
        tl.store(out_ptr, 1)
    else:
        tl.store(out_ptr, 0)
    if tl.target_info.cuda_capability_geq(8, 0):
        tl.store(out_ptr + 1, 1)
    else:
        tl.store(out_ptr + 1, 0)


def test_target_info(device):
    out = device.output(2, "i32")
    target_kernel[(1,)](out.array)
    expected = [1, 1] if device.arch else [0, 0]
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def address_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    raw = x_ptr.to(tl.int64)
    words = raw.to(tl.pointer_type(tl.uint16))
    tl.store(out_ptr + offsets, tl.load(words + offsets))


def test_pointer_type(device):
    x = random(64, "fp16", seed=53)
    out = device.output(64, "u16")
    address_kernel[(1,)](out.array, device.to(x), 64)
    np.testing.assert_array_equal(out.numpy(), x.view(np.uint16))


@triton.jit
def classes_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    kinds: tl.constexpr = (
        isinstance(x, tl.tensor),
        isinstance(N, tl.constexpr),
        isinstance((x, x), tl.tuple),
        isinstance(x.dtype, tl.dtype),
        x.dtype == tl.float64,
    )
    count = 0
    for i in tl.static_range(5):
        if kinds[i]:
            count += 1 << i
    tl.store(out_ptr, count)


@pytest.mark.parametrize("dtype", ["fp64", "i16"])
def test_classes_of_values(device, dtype):
    x = random(16, dtype, seed=54)
    out = device.output(1, "i32")
    classes_kernel[(1,)](out.array, device.to(x), 16)
    assert out.numpy()[0] == (31 if dtype == "fp64" else 15)


class Schedule(enum.Enum):
    ROWS = "rows"
    COLUMNS = 7


class Other(enum.Enum):
    ROWS = "rows"


ROWS = tl.constexpr(Schedule.ROWS)


@triton.jit
def members_kernel(out_ptr, SCHEDULE: tl.constexpr):
    if SCHEDULE == ROWS:
        tl.store(out_ptr, 1)
    elif SCHEDULE == Schedule.COLUMNS:
        tl.store(out_ptr, SCHEDULE.value)
    else:
        tl.store(out_ptr, -1)


def test_members_of_enumerations(device):
    for member, expected in [(Schedule.ROWS, 1), (Schedule.COLUMNS, 7), (Other.ROWS, -1)]:
        out = device.output(1, "i32")
        members_kernel[(1,)](out.array, member)
        assert out.numpy()[0] == expected


@triton.jit
def unwrapped_kernel(out_ptr, x_ptr, TO: tl.constexpr):
    TO = tl.core._unwrap_if_constexpr(TO)
    width = tl.core.constexpr(TO.primitive_bitwidth)
    tl.static_assert(isinstance(x_ptr.dtype, tl.pointer_type))
    tl.static_assert(not isinstance(TO, (tl.pointer_type, tl.block_type)))
    tl.static_assert(isinstance(tl.load(x_ptr + tl.arange(0, 16)).type, tl.block_type))
    at = tl.arange(0, _unwrap_if_constexpr(width))
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(TO, bitcast=True))


def test_constants_without_their_wrapper(device):
    x = random(32, "fp32", seed=55)
    out = device.output(32, "u32")
    unwrapped_kernel[(1,)](out.array, device.to(x), tl.uint32)
    np.testing.assert_array_equal(out.numpy(), x.view(np.uint32))


@triton.jit
def const_kernel(out_ptr, x_ptr: tl.const, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * 2)


def test_const_pointer(device):
    x = random(64, "i32", seed=55)
    out = device.output(64, "i32")
    const_kernel[(1,)](out.array, device.to(x), 64)
    np.testing.assert_array_equal(out.numpy(), 2 * x)


@triton.jit
def width_kernel(out_ptr, x_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    words = x.to(tl.get_int_dtype(bits, signed=False), bitcast=True)
    tl.store(out_ptr + tl.arange(0, N), words)


@pytest.mark.parametrize("dtype, words", [("fp16", "u16"), ("fp32", "u32"), ("fp64", "u64")])
def test_get_int_dtype(device, dtype, words):
    x = random(64, dtype, seed=56)
    out = device.output(64, words)
    width_kernel[(1,)](out.array, device.to(x), 64)
    assert out.numpy().tobytes() == x.tobytes()


@triton.jit
def to_tensor_kernel(out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.to_tensor(N) // 2 + tl.to_tensor(1.5).to(tl.int32))


def test_to_tensor(device):
    out = device.output(1, "i32")
    to_tensor_kernel[(1,)](out.array, -7)
    # A run-time division truncates; one of constants would give -4.
    assert out.numpy()[0] == -3 + 1


def test_types_on_the_host():
    """Types that kernels rarely name: their names, widths and classes."""
    assert [str(tl.void), str(tl.float8e4b8), str(tl.float8e5b16)] == [
        "void",
        "fp8e4b8",
        "fp8e5b16",
    ]
    assert tl.float8e4b15.is_fp8() and tl.float8e4b15.primitive_bitwidth == 8
    assert tl.pi32_t is not None
    for kind in (tl.slice, tl.constexpr_type, tl.block_type, tl.tensor_descriptor, tl.tuple):
        assert callable(kind)
    pointer = tl.pointer_type(tl.float16)
    assert pointer.element_ty == tl.float16
