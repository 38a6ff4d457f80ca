"""Atomic loads, stores and polls: `tl.atomic_load`, `tl.atomic_store`, `tl.atomic_poll`."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

DTYPES = [
    "i1",
    "i8",
    "u8",
    "i16",
    "u16",
    "i32",
    "u32",
    "i64",
    "u64",
    "fp16",
    "bf16",
    "fp32",
    "fp64",
]


def words(dtype, n, seed):
    """Random elements, as NumPy holds them."""
    if dtype == "i1":
        return random(n, "i32", seed=seed) > 0
    return random(n, dtype, seed=seed)


@triton.jit
def copy_kernel(out, x, n, BLOCK: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    load: tl.constexpr = "relaxed" if SEM == "relaxed" else "acquire"
    store: tl.constexpr = "relaxed" if SEM == "relaxed" else "release"
    value = tl.atomic_load(x + i, mask=i < n, sem=load, scope=SCOPE)
    tl.atomic_store(out + i, value, mask=i < n, sem=store, scope=SCOPE)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block, num_warps", [(32, 4), (256, 2)])
def test_copies(device, dtype, block, num_warps):
    """Ordered loads and stores copy every element, and none past the mask."""
    n = 300
    x, start = words(dtype, n + 20, 301), words(dtype, n + 20, 302)
    out = device.to(start.copy())
    grid = (triton.cdiv(n, block),)
    copy_kernel[grid](out, device.to(x), n, block, "ordered", "gpu", num_warps=num_warps)
    got = device.numpy(out)
    np.testing.assert_array_equal(got[:n], x[:n])
    np.testing.assert_array_equal(got[n:], start[n:])


@pytest.mark.parametrize("sem", ["relaxed", "ordered"])
@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
def test_orders_and_scopes(device, sem, scope):
    """Every order and scope of `atomic_load` and `atomic_store` copies each element."""
    x = random(100, "i32", seed=303)
    out = device.to(np.zeros(100, np.int32))
    copy_kernel[(2,)](out, device.to(x), 100, 64, sem, scope)
    np.testing.assert_array_equal(device.numpy(out), x)


@triton.jit
def scalar_kernel(out, x):
    i = tl.program_id(0)
    value = (x + i).atomic_load()
    (out + i).atomic_store(value * 3, mask=i != 2)


@pytest.mark.parametrize("dtype", ["i16", "i32", "fp32", "fp64"])
def test_scalars(device, dtype):
    """Ordered loads and stores of scalars do what plain ones do."""
    x, out = words(dtype, 6, 304), device.to(words(dtype, 6, 305))
    before = device.numpy(out).copy()
    scalar_kernel[(5,)](out, device.to(x))
    expected = np.where([True, True, False, True, True], x[:5] * x.dtype.type(3), before[:5])
    np.testing.assert_array_equal(device.numpy(out)[:5], expected)
    assert device.numpy(out)[5] == before[5]


@triton.jit
def constant_kernel(out, x):
    i = tl.arange(0, 16)
    tl.atomic_store(out + i, 7)
    x: tl.const = x
    tl.atomic_store(out + 16, tl.atomic_load(x))


def test_constants_take_the_type_of_memory(device):
    out, x = device.to(np.zeros(17, np.float32)), device.to(np.array([2.5], np.float32))
    constant_kernel[(1,)](out, x)
    np.testing.assert_array_equal(device.numpy(out), [7.0] * 16 + [2.5])


@triton.jit
def relay_kernel(flags, data, SCOPE: tl.constexpr, N: tl.constexpr):
    """Program p waits for the one before it, changes what all have changed before it, and lets the next one run."""
    program = tl.program_id(0)
    i = tl.arange(0, N)
    tl.atomic_poll(flags + program, 1, scope=SCOPE)
    tl.store(data + i, tl.load(data + i) * 3 + program)
    tl.atomic_store(flags + program + 1, 1, scope=SCOPE)


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.uint32])
@pytest.mark.parametrize("scope", ["gpu", "sys"])
def test_relay(device, dtype, scope):
    """Programs that poll a flag run one after the other."""
    programs, n = 9, 128
    flags = device.to(np.eye(1, programs + 1, dtype=dtype)[0])
    start = random(n, "i64", seed=306)
    data = device.to(start.copy())
    relay_kernel[(programs,)](flags, data, scope, n)
    expected = start
    for program in range(programs):
        expected = expected * 3 + program
    np.testing.assert_array_equal(device.numpy(data), expected)
    np.testing.assert_array_equal(device.numpy(flags), np.ones(programs + 1, dtype))


@triton.jit
def backwards_kernel(flags, out):
    """The last program starts the chain: the first ones wait for programs that start later."""
    program = tl.program_id(0)
    last = tl.num_programs(0) - 1
    if program != last:
        tl.atomic_poll(flags + program + 1, 7)
        tl.store(out + program, tl.load(out + program + 1) + program)
    tl.atomic_store(flags + program, 7)


def test_waits_for_programs_that_start_later(device):
    programs = 6
    flags, out = (
        device.to(np.zeros(programs, np.int32)),
        device.to(np.full(programs, 100, np.int32)),
    )
    backwards_kernel[(programs,)](flags, out)
    expected = np.cumsum(np.append(100, np.arange(programs - 2, -1, -1)))[::-1]
    np.testing.assert_array_equal(device.numpy(out), expected)


@triton.jit
def tile_poll_kernel(flags, data, out, N: tl.constexpr):
    """The programs before the last one write a part of the data each, and say so by its flags."""
    program = tl.program_id(0)
    others = tl.num_programs(0) - 1
    i = tl.arange(0, N)
    if program == others:
        found = tl.atomic_poll(flags + i, i + 5)
        tl.store(out + N + i, found)
        tl.store(out + i, tl.load(data + i) * 2)
    else:
        own = i % others == program
        tl.store(data + i, i * 3 + 7, mask=own)
        tl.atomic_store(flags + i, i + 5, mask=own)


@pytest.mark.parametrize("n, num_warps", [(16, 4), (128, 4), (512, 1)])
def test_tiles_of_flags(device, n, num_warps):
    flags, data = device.to(np.zeros(n, np.int64)), device.to(np.zeros(n, np.int64))
    out = device.to(np.zeros(2 * n, np.int64))
    tile_poll_kernel[(5,)](flags, data, out, n, num_warps=num_warps)
    expected = np.append((np.arange(n) * 3 + 7) * 2, np.ones(n))
    np.testing.assert_array_equal(device.numpy(out), expected)
    np.testing.assert_array_equal(device.numpy(flags), np.arange(n) + 5)


@triton.jit
def timeout_kernel(flags, out, timeout, N: tl.constexpr):
    i = tl.arange(0, N)
    found = tl.atomic_poll(flags + i, 3, sem="relaxed", timeout_ns=timeout)
    tl.store(out + i, found)
    tl.store(out + N, tl.atomic_poll(flags, 3, timeout_ns=0))


@pytest.mark.parametrize("timeout", [0, 2000])
@pytest.mark.parametrize("n", [32, 256])
def test_timeout(device, timeout, n):
    """A poll ends at its timeout, and returns whether the value came."""
    flags = random(n, "i32", seed=307) % 4
    out = device.to(np.full(n + 1, 9, np.int32))
    timeout_kernel[(2,)](device.to(flags), out, timeout, n)
    np.testing.assert_array_equal(device.numpy(out), np.append(flags, flags[0]) == 3)


def test_a_poll_in_vain_is_an_error():
    flags = np.zeros(8, np.int32)
    with pytest.raises(triton.InterpreterError, match="waits here for a change of memory"):
        tile_poll_kernel[(1,)](flags, flags.copy(), np.zeros(16, np.int32), 8)


@triton.jit
def wrong_kernel(p, WHAT: tl.constexpr):
    if WHAT == 0:
        tl.atomic_load(p, sem="release")
    elif WHAT == 1:
        tl.atomic_store(p, 1, sem="acquire")
    elif WHAT == 2:
        tl.atomic_poll(p, 1, sem="acq_rel")
    elif WHAT == 3:
        tl.atomic_poll(p, 1, timeout_ns=-1)
    elif WHAT == 4:
        tl.atomic_poll(p, 1, timeout_ns=tl.arange(0, 2))
    else:
        tl.atomic_poll(p.to(tl.pointer_type(tl.float32)), 1)


@pytest.mark.parametrize(
    "what, message",
    [
        (0, "only supports acquire and relaxed semantics"),
        (1, "only supports release and relaxed semantics"),
        (2, "only supports acquire and relaxed semantics"),
        (3, "non-negative"),
        (4, "must be a scalar integer"),
        (5, "only supports integer elements with width"),
    ],
)
def test_what_is_refused(what, message):
    with pytest.raises(triton.CompilationError, match=message):
        wrong_kernel[(1,)](np.zeros(4, np.int32), what)
