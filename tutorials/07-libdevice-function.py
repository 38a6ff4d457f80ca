"""
Functions of libdevice
======================

The language has the functions that the hardware does well (`tl.exp`, `tl.sqrt`, `tl.erf` and their
kin). For the rest there is libdevice, NVIDIA's library of mathematics for GPUs: some two hundred
functions that come as code for the compiler and are inlined into your kernel. You will see

* how to call them;
* how the type of the argument chooses the function;
* how to name a function of a library of your own.

The example is an activation, GELU: `x * Φ(x)`, where Φ is the distribution function of the normal
distribution, `Φ(x) = (1 + erf(x / √2)) / 2`.

With torch and a GPU the script runs there; otherwise it runs on the CPU, on NumPy arrays, where the
same names are computed by the interpreter.
"""

import math

import numpy as np
import pantile as triton
import pantile.language as tl
from pantile.language.extra import libdevice

try:
    import torch

    ON_GPU = torch.cuda.is_available()
except ImportError:
    ON_GPU = False

# %%
# The kernel
# ----------
# `libdevice.erf` looks like any other function of the language. libdevice itself has two,
# `__nv_erff` for fp32 and `__nv_erf` for fp64; which of them is called depends on the type of the
# tile. There is none for fp16, so that such data is converted first, as one would do anyway to keep
# the precision.


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    wide = x.to(tl.float32) if x.dtype.primitive_bitwidth < 32 else x
    y = 0.5 * wide * (1 + libdevice.erf(wide * 0.7071067811865476))
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


# %%
# The condition is about a type, so that it is decided while compiling: the kernel for fp32 contains
# no trace of it.
#
# The derivative is `Φ(x) + x φ(x)`, with the density φ. Here Φ is libdevice's own `normcdf`, which
# also keeps its relative precision far to the left, where `1 + erf` cancels, and costs more.
# `rcbrt`, `hypot`, `lgamma`, the Bessel functions and the conversions with all modes of rounding
# are called in the same way; the page on libdevice in the reference has the list.


@triton.jit
def gelu_derivative_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    wide = x.to(tl.float32) if x.dtype.primitive_bitwidth < 32 else x
    density = libdevice.exp(-0.5 * wide * wide) * 0.3989422804014327
    y = libdevice.fma(wide, density, libdevice.normcdf(wide))
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


# %%
# A library of your own
# ---------------------
# Names like `libdevice.erf` are shorthand for `tl.extern_elementwise`, which is given the library
# and, for each combination of argument types, the symbol to call and the type of its result. With a
# path in the place of the empty string, and functions written in CUDA C++ and compiled by
# `clang -x cuda --cuda-device-only -emit-llvm`, your own code is called in the same way.


@triton.jit
def normal_distribution(x):
    return tl.extern_elementwise(
        "libdevice",
        "",
        [x],
        {
            (tl.float32,): ("__nv_normcdff", tl.float32),
            (tl.float64,): ("__nv_normcdf", tl.float64),
        },
        is_pure=True,
    )


@triton.jit
def distribution_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, normal_distribution(x), mask=mask)


# %%
# The wrapper
# -----------


def elementwise(kernel, x):
    y = (torch if ON_GPU else np).empty_like(x)
    kernel[(triton.cdiv(len(x), 1024),)](x, y, len(x), BLOCK_SIZE=1024)
    return y


def gelu(x):
    return elementwise(gelu_kernel, x)


def gelu_derivative(x):
    return elementwise(gelu_derivative_kernel, x)


def random_vector(size, dtype="float32"):
    if ON_GPU:
        return 2 * torch.randn(size, device="cuda", dtype=getattr(torch, dtype))
    return (2 * np.random.default_rng().standard_normal(size)).astype(dtype)


# %%
# Unit test
# ---------
# Python's own `math.erfc` gives the reference: Φ(x) = erfc(-x / √2) / 2.


def distribution(x):
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in x])


def test():
    for dtype, tolerance in [("float16", 1e-3), ("float32", 2e-6), ("float64", 1e-13)]:
        x = random_vector(10007, dtype)
        wide = (x.cpu().numpy() if ON_GPU else x).astype(np.float64)
        density = np.exp(-0.5 * wide**2) / math.sqrt(2 * math.pi)
        phi = distribution(wide)
        triton.testing.assert_close(gelu(x), wide * phi, atol=tolerance, rtol=tolerance)
        derivative = gelu_derivative(x)
        triton.testing.assert_close(
            derivative, phi + wide * density, atol=tolerance, rtol=tolerance
        )
        if dtype != "float16":
            ours = elementwise(distribution_kernel, x)
            triton.testing.assert_close(ours, phi, atol=tolerance, rtol=tolerance)
    print(f"ours and the library agree on {'the GPU' if ON_GPU else 'the CPU'}")


# %%
# Benchmark
# ---------
# Even with a function of some twenty instructions for each element the memory is the limit. Replace
# it by `normcdf`, and it is not any more.


def library_gelu(x):
    if ON_GPU:
        return torch.nn.functional.gelu(x)
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"],
        x_vals=[2**i for i in range(16, 28)] if ON_GPU else [2**12, 2**16],
        x_log=True,
        line_arg="provider",
        line_vals=["ours", "library"],
        line_names=["Pantile", "torch" if ON_GPU else "NumPy, approximated"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="GB/s",
        plot_name="gelu-performance",
        args={},
    )
)
def benchmark(size, provider):
    x = random_vector(size)
    run = (lambda: gelu(x)) if provider == "ours" else (lambda: library_gelu(x))
    ms, fastest, slowest = triton.testing.do_bench(run, quantiles=[0.5, 0.2, 0.8])
    gbps = lambda ms: 2 * x.itemsize * size / ms * 1e-6
    return gbps(ms), gbps(slowest), gbps(fastest)


# %%
# What to try next
# ----------------
# * Write the approximation by `tanh` that some models use, with `libdevice.tanh`, and look how far
#   it is from the exact function.
# * Compare `tl.exp` with `libdevice.exp`: the first is the fast one, the second the exact one.
# * Look at `gelu_kernel[grid](...).asm["ptx"]`: the library's code is part of the kernel.

if __name__ == "__main__":
    test()
    benchmark.run(print_data=True, save_path=".out")
