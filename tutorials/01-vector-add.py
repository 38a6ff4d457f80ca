"""
Vector addition
===============

The smallest kernel: each program adds one block of two vectors. It shows

* what a program is, and how it finds its part of the data;
* masks, which keep a block from touching memory past the end;
* how to test a kernel against a library and how to measure it.

With torch and a GPU the script runs there; otherwise it runs on the CPU, on NumPy arrays.
"""

import pantile as triton
import pantile.language as tl

try:
    import torch

    ON_GPU = torch.cuda.is_available()
except ImportError:
    ON_GPU = False
if not ON_GPU:
    import numpy as np

# %%
# The kernel
# ----------
# A launch starts many programs, numbered from 0. Program `pid` owns the elements
# [pid * BLOCK_SIZE, (pid + 1) * BLOCK_SIZE). `tl.arange` gives the offsets inside a block as a tile, and arithmetic on
# tiles is element-wise: `x_ptr + offsets` is a tile of addresses. The last block may reach past the end, so loads and
# stores carry a mask.


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
# `add_kernel[grid](...)` launches. The grid says how many programs there are; being a function of the meta-parameters
# it follows BLOCK_SIZE.


def add(x, y):
    assert x.shape == y.shape, "operands differ in shape"
    output = torch.empty_like(x) if ON_GPU else np.empty_like(x)
    n_elements = x.numel() if ON_GPU else x.size
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
    return output


def random_vector(size):
    if ON_GPU:
        return torch.rand(size, device="cuda", dtype=torch.float32)
    return np.random.default_rng(size).random(size, dtype=np.float32)


# %%
# Unit test
# ---------
# A length that is no multiple of the block exercises the mask.


def test():
    x, y = random_vector(98432 + 1), random_vector(98432 + 1)
    triton.testing.assert_close(add(x, y), x + y, atol=0, rtol=0)
    print(f"ours and the library agree on {'the GPU' if ON_GPU else 'the CPU'}")


# %%
# Benchmark
# ---------
# Adding moves three numbers an element, so the rate that counts is bytes a second.


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"],
        x_vals=[2**i for i in range(12, 28)] if ON_GPU else [2**12, 2**16],
        x_log=True,
        line_arg="provider",
        line_vals=["ours", "library"],
        line_names=["Pantile", "Torch" if ON_GPU else "NumPy"],
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
    gbps = lambda ms: 3 * size * 4 / ms * 1e-6
    return gbps(ms), gbps(slowest), gbps(fastest)


if __name__ == "__main__":
    test()
    benchmark.run(print_data=True, save_path=".out")
