"""When a batch of launches becomes an axis of the grid: what the kernel reads of the grid decides."""

import numpy as np
import pantile
import pantile.language as tl
import pytest
from pantile.jax.batches import fold
from pantile.jax.kernels import prepare_kernel
from pantile.jax.launches import Axis, Launch
from pantile.jax.parameters import Constant, Operand, Result
from pantile.language.extra import libdevice


@pantile.jit
def plain_kernel(x, out, n: tl.constexpr):
    i = tl.program_id(0) * n + tl.arange(0, n)
    tl.store(out + i, tl.load(x + i) * 2)


@pantile.jit
def plane_kernel(x, out, n: tl.constexpr):
    i = (tl.program_id(0) + tl.program_id(1) * tl.num_programs(2)) * n + tl.arange(0, n)
    tl.store(out + i, tl.load(x + i) * 2)


@pantile.jit
def second_of(axis: tl.constexpr):
    return tl.program_id(axis + 1)


@pantile.jit
def calling_kernel(x, out, n: tl.constexpr):
    """Reads an axis in a function that it calls, by a number that is computed."""
    i = (tl.program_id(0) + second_of(1)) * n + tl.arange(0, n)
    tl.store(out + i, tl.load(x + i) * 2)


@pantile.jit
def one_program_kernel(x, out, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(out + i, tl.load(x + i) * 2)


@pantile.jit
def waiting_kernel(x, out, n: tl.constexpr):
    while tl.atomic_cas(out, 0, 1) == 1:
        pass
    tl.store(out + 1, tl.load(x))


@pantile.jit
def polling_kernel(x, out, n: tl.constexpr):
    while tl.load(out, volatile=True) == 0:
        pass
    tl.store(out + 1, tl.load(x))


@pantile.jit
def waiting_by_poll_kernel(x, out, n: tl.constexpr):
    found = tl.atomic_poll((out + tl.arange(0, 2)).to(tl.pointer_type(tl.int32)), 5)
    tl.store(out + 2 + tl.arange(0, 2), tl.load(x) + found)


@pantile.jit(noinline=True)
def acquire(lock):
    return tl.atomic_cas(lock, 0, 1)


@pantile.jit(noinline=True)
def wait_for(lock):
    while acquire(lock) == 1:
        pass


@pantile.jit
def waiting_by_functions_kernel(x, out, n: tl.constexpr):
    """The atomic and the loop are in functions of their own."""
    first = acquire(out + 2)
    wait_for(out)
    tl.store(out + 1, tl.load(x) + first)


@pantile.jit
def asm_kernel(x, out, n: tl.constexpr):
    i = tl.program_id(0) * n + tl.arange(0, n)
    v = tl.inline_asm_elementwise("mov.u32 $0, %ctaid.z;", "=r,r", [i], tl.int32, True, 1)
    tl.store(out + i, tl.load(x + i) + v)


@pantile.jit
def libdevice_kernel(x, out, n: tl.constexpr):
    i = tl.program_id(0) * n + tl.arange(0, n)
    tl.store(out + i, libdevice.erfinv(tl.load(x + i)))


@pantile.jit
def looping_kernel(x, out, n: tl.constexpr):
    """A loop that waits for no other program, and may look as if it did."""
    total, i = 0.0, 0
    while i < n and total < 1e9:
        total += tl.load(x + i)
        i += 1
    tl.atomic_add(out, total)


@pantile.jit
def counting_kernel(x, out, n: tl.constexpr):
    """A loop that counts."""
    total, i = 0.0, 0
    while i < n:
        total += tl.load(x + i)
        i += 1
    tl.atomic_add(out, total)


def grid_of(kernel, grid, count, **options):
    """The grid of the batch; None where the launches are one after the other."""
    float32 = np.dtype("float32")
    operands = [np.zeros((count, 64), float32) if count < 1000 else _Shape((count, 64), float32)]
    launch = Launch(
        kernel,
        "",
        (("x", Operand(0)), ("out", Result(0)), ("n", Constant(16))),
        tuple((name, Constant(value)) for name, value in options.items()),
        (((64,), float32),),
        grid,
        (),
        (Axis(count, (True,)),),
    )
    prepared = prepare_kernel(launch, lambda _: float32, "sm_90a", lambda _: True)
    folded = fold(launch, operands, prepared)
    return None if folded is None else folded[1]


class _Shape:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


@pytest.mark.parametrize(
    "kernel, grid, count, expected",
    [
        (plain_kernel, (4, 1, 1), 7, (4, 1, 7)),
        (plain_kernel, (4, 1, 3), 7, (4, 7, 3)),
        (plain_kernel, (4, 2, 3), 7, None),
        (plain_kernel, (4, 1, 1), 65535, (4, 1, 65535)),
        (plain_kernel, (4, 1, 1), 65536, None),
        (plain_kernel, (1, 1, 1), 65536, None),
        (one_program_kernel, (1, 1, 1), 65536, (65536, 1, 1)),
        (one_program_kernel, (1, 5, 1), 7, (1, 5, 7)),
        (plane_kernel, (4, 1, 1), 7, None),
        (calling_kernel, (4, 1, 1), 7, (4, 7, 1)),
        (calling_kernel, (4, 2, 1), 7, None),
        (waiting_kernel, (1, 1, 1), 7, None),
        (polling_kernel, (1, 1, 1), 7, None),
        (waiting_by_poll_kernel, (1, 1, 1), 7, None),
        (waiting_by_functions_kernel, (1, 1, 1), 7, None),
        (asm_kernel, (4, 1, 1), 7, None),
        (libdevice_kernel, (4, 1, 1), 7, (4, 1, 7)),
        (plain_kernel, (0, 1, 1), 7, (0, 1, 7)),
    ],
)
def test_grids(kernel, grid, count, expected):
    """A batch becomes the axis of the grid that is free."""
    assert grid_of(kernel, grid, count) == expected


def test_loops_that_wait_for_no_other_program():
    """A loop that memory ends, before an atomic, may wait for another program: it counts as if it did."""
    assert grid_of(looping_kernel, (1, 1, 1), 7) is None
    assert grid_of(counting_kernel, (1, 1, 1), 7) == (1, 1, 7)


def test_cooperative_launches():
    """A cooperative launch is never widened by a batch."""
    assert grid_of(plain_kernel, (4, 1, 1), 7, launch_cooperative_grid=True) is None
