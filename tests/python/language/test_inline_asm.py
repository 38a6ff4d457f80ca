"""PTX on every element (on a GPU), and what the CPU says instead."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.language.extra.cuda import globaltimer, smid


@triton.jit
def reverse_bits_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    y = tl.inline_asm_elementwise(
        "brev.b32 $0, $1;",
        "=r,r",
        [tl.load(x_ptr + offsets)],
        dtype=tl.uint32,
        is_pure=True,
        pack=1,
    )
    tl.store(out_ptr + offsets, y)


def reversed_bits(x):
    return np.array([int(f"{value:032b}"[::-1], 2) for value in x], np.uint32)


@pytest.mark.parametrize("n", [16, 512])
def test_one_operand(gpu, n):
    x = random(n, "u32", seed=41, low=0, high=2**32 - 1)
    out = gpu.output(n, "u32")
    reverse_bits_kernel[(1,)](out.array, gpu.to(x), n)
    np.testing.assert_array_equal(out.numpy(), reversed_bits(x))


@triton.jit
def packed_kernel(sum_ptr, low_ptr, a_ptr, b_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    a, b = tl.load(a_ptr + offsets), tl.load(b_ptr + offsets)
    total, low = tl.inline_asm_elementwise(
        """
        add.rn.f16x2 $0, $2, $3;
        min.f16x2 $1, $2, $3;
        """,
        "=r,=r,r,r",
        [a, b],
        dtype=(tl.float16, tl.float16),
        is_pure=True,
        pack=2,
    )
    tl.store(sum_ptr + offsets, total)
    tl.store(low_ptr + offsets, low)


@pytest.mark.parametrize("n", [32, 1024])
def test_packed_halves_and_two_results(gpu, n):
    a, b = random(n, "fp16", seed=42), random(n, "fp16", seed=43)
    total, low = gpu.output(n, "fp16"), gpu.output(n, "fp16")
    packed_kernel[(1,)](total.array, low.array, gpu.to(a), gpu.to(b), n)
    np.testing.assert_array_equal(total.numpy(), a + b)
    np.testing.assert_array_equal(low.numpy(), np.minimum(a, b))


@triton.jit
def bytes_kernel(out_ptr, x_ptr, N: tl.constexpr):
    """Four bytes a register, widened to four floats."""
    offsets = tl.arange(0, N)
    y = tl.inline_asm_elementwise(
        """
        {
        .reg .b8 t<4>;
        .reg .u32 w<4>;
        mov.b32 {t0, t1, t2, t3}, $4;
        cvt.u32.u8 w0, t0;
        cvt.u32.u8 w1, t1;
        cvt.u32.u8 w2, t2;
        cvt.u32.u8 w3, t3;
        cvt.rn.f32.u32 $0, w0;
        cvt.rn.f32.u32 $1, w1;
        cvt.rn.f32.u32 $2, w2;
        cvt.rn.f32.u32 $3, w3;
        }
        """,
        "=f,=f,=f,=f,r",
        [tl.load(x_ptr + offsets)],
        dtype=tl.float32,
        is_pure=True,
        pack=4,
    )
    tl.store(out_ptr + offsets, y)


def test_four_bytes_a_register(gpu):
    x = random(512, "u8", seed=44, low=0, high=256)
    out = gpu.output(512, "fp32")
    bytes_kernel[(1,)](out.array, gpu.to(x), 512)
    np.testing.assert_array_equal(out.numpy(), x.astype(np.float32))


@triton.jit
def counters_kernel(out_ptr):
    start = tl.extra.cuda.globaltimer()
    tl.store(out_ptr, tl.extra.cuda.num_threads())
    tl.store(out_ptr + 1, tl.extra.cuda.num_warps())
    tl.store(out_ptr + 2, smid())
    tl.store(out_ptr + 3, (globaltimer() - start).to(tl.int32))


def test_counters(device):
    """The counters of threads, warps and SM are in their ranges."""
    out = device.output(4, "i32")
    counters_kernel[(1,)](out.array, num_warps=2)
    threads, warps, processor, elapsed = out.numpy()
    assert (threads, warps) == (64, 2)
    assert 0 <= processor < 1024
    assert 0 <= elapsed < 10**9


def test_no_ptx_on_the_cpu():
    with pytest.raises(triton.CompilationError, match="PTX.* not supported on the CPU") as caught:
        reverse_bits_kernel[(1,)](np.zeros(16, np.uint32), np.zeros(16, np.uint32), 16)
    assert "inline_asm_elementwise(" in str(caught.value.rendered)


@triton.jit
def constraints_kernel(out_ptr):
    x = tl.inline_asm_elementwise("mov.u32 $0, 1;", "=r,=r", [], tl.int32, True, 1)
    tl.store(out_ptr, x)


def test_constraints_are_counted():
    with pytest.raises(triton.CompilationError, match="constraints have 2 outputs"):
        constraints_kernel[(1,)](np.zeros(1, np.int32))


@triton.jit
def assume_kernel(out_ptr, n):
    tl.assume(n > 3)
    tl.store(out_ptr, n * 2)


def test_assume(device):
    """An assumption changes no result."""
    out = device.output(1, "i32")
    assume_kernel[(1,)](out.array, 5)
    assert out.numpy()[0] == 10


def test_the_cpu_checks_assumptions():
    with pytest.raises(Exception, match="assumption does not hold"):
        assume_kernel[(1,)](np.zeros(1, np.int32), 2)
