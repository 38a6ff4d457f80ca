"""
Vector addition
===============

A first kernel: the sum of two vectors. You need Python and NumPy to follow, nothing about GPUs.
You will see

* what a kernel and a program are, and how a program finds its part of the data;
* what a mask is for;
* how to launch a kernel, test it against a library and measure it.

With torch and a GPU the script runs there. On any other machine it runs on the CPU, on NumPy
arrays, at smaller sizes: it is the same kernel source.
"""

import numpy as np
import pantile as triton
import pantile.language as tl

try:
    import torch

    ON_GPU = torch.cuda.is_available()
except ImportError:
    ON_GPU = False

# %%
# Why a kernel
# ------------
# `z = x + y` in NumPy is a loop over all elements, written in C and run by one core. A GPU has more
# than a hundred processors, each with its own registers and its own fast memory, and it is quick
# only when all of them have something to do. So we cut the vectors into tiles of, say, 1024
# elements and describe what happens to *one* tile. That description is the kernel. Running it once
# for one tile is called a *program*; the hardware runs as many programs at a time as fit, in any
# order.
#
# In NumPy the same idea would be
#
#     for pid in range(number_of_blocks):             # on the GPU: all at once
#         part = slice(pid * 1024, (pid + 1) * 1024)
#         z[part] = x[part] + y[part]
#
# The kernel
# ----------
# A kernel is a Python function under `@triton.jit`. Python does not run it: the compiler reads its
# text. Where NumPy code would receive arrays, a kernel receives *pointers*, the addresses of the
# first elements.
#
# * `tl.program_id(0)` says which tile this program owns.
# * `tl.arange(0, BLOCK_SIZE)` is a vector of numbers, as in NumPy. Such small arrays, which live in
#   registers, are called *tiles*; their sizes are any numbers that are known when the kernel is
#   compiled, hence `tl.constexpr`. Powers of two divide best among the threads.
# * `x_ptr + offsets` is a tile of addresses, one for each element. `tl.load` fetches what lies
#   there, `tl.store` writes.
# * The last tile may reach past the end of the vectors. Lanes whose `mask` is false neither read
#   nor write.


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


# %%
# The wrapper
# -----------
# `add_kernel[grid](...)` starts the programs. The grid is how many there are: one for each tile,
# the last one perhaps partly filled, which is what `cdiv` (division, rounded up) counts. Here the
# grid is a function of the kernel's compile-time parameters, so that it follows `BLOCK_SIZE`.
#
# The first call compiles the kernel for the types it is given. Later calls, also those of other
# processes, find the result in a cache.


def add(x, y):
    assert x.shape == y.shape, "operands differ in shape"
    output = (torch if ON_GPU else np).empty_like(x)
    n_elements = len(x)
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
    return output


def random_vector(size):
    if ON_GPU:
        return torch.randn(size, device="cuda")
    return np.random.default_rng().standard_normal(size, dtype=np.float32)


# %%
# Unit test
# ---------
# A length that is no multiple of the tile exercises the mask. One addition is rounded once, on
# both sides in the same way, so that the results must be equal to the last bit.


def test():
    x, y = random_vector(98433), random_vector(98433)
    triton.testing.assert_close(add(x, y), x + y, atol=0, rtol=0)
    print(f"ours and the library agree on {'the GPU' if ON_GPU else 'the CPU'}")


# %%
# Benchmark
# ---------
# An addition reads two numbers and writes one, twelve bytes for one operation: the arithmetic is
# idle, the memory is busy. So the rate that counts is bytes per second, and the limit is what the
# memory can deliver (4.8 TB/s on an H200, of which a plain copy reaches about 4.3).
#
# `perf_report` calls the function below for each size and each line of the plot. It prints a table
# and saves the plot and the numbers under `.out`.


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"],
        x_vals=[2**i for i in range(12, 28)] if ON_GPU else [2**12, 2**16],
        x_log=True,
        line_arg="provider",
        line_vals=["ours", "library"],
        line_names=["Pantile", "torch" if ON_GPU else "NumPy"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="GB/s",
        plot_name="vector-add-performance",
        args={},
    )
)
def benchmark(size, provider):
    x, y = random_vector(size), random_vector(size)
    run = (lambda: add(x, y)) if provider == "ours" else (lambda: x + y)
    ms, fastest, slowest = triton.testing.do_bench(run, quantiles=[0.5, 0.2, 0.8])
    gbps = lambda ms: 3 * x.itemsize * size / ms * 1e-6
    return gbps(ms), gbps(slowest), gbps(fastest)


# %%
# What to try next
# ----------------
# * Compute `a * x + y` with a number `a` as a further parameter. How many bytes does it move?
# * Give `add` vectors of different types. Which type has the sum?
# * Leave the mask away and run with `PANTILE_CHECK=bounds` on the CPU: what is reported, and where?
# * Try tiles of 64 and of 16384 elements. Small ones leave each program too little to do; what
#   happens at the other end?

if __name__ == "__main__":
    test()
    benchmark.run(print_data=True, save_path=".out")
