"""
Fused softmax
=============

The softmax of each row of a matrix. A library without fusion reads and writes the matrix several times: once for the
maximum, once for the exponentials, once for their sum, once for the quotient. A kernel that keeps the row on the chip
reads it once and writes it once. The script shows

* reductions over a tile (`tl.max`, `tl.sum`);
* a block that is the next power of two above the row, with the rest masked off;
* programs that walk over rows, so that a grid of fixed size serves any number of them.

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
# Rows are read through their stride, so the input need not be contiguous. Lanes past the end of the row hold minus
# infinity: they neither win the maximum nor add to the sum. Subtracting the maximum first keeps `exp` in range.


@triton.jit
def softmax_kernel(
    output_ptr,
    input_ptr,
    output_row_stride,
    input_row_stride,
    n_rows,
    n_cols,
    BLOCK_SIZE: tl.constexpr,
):
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    for row in range(tl.program_id(0), n_rows, tl.num_programs(0)):
        x = tl.load(input_ptr + row * input_row_stride + columns, mask=mask, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        y = numerator / tl.sum(numerator, axis=0)
        tl.store(output_ptr + row * output_row_stride + columns, y, mask=mask)


# %%
# The wrapper
# -----------
# Longer rows get more warps. A few programs for each multiprocessor are enough, since each walks over many rows.


def softmax(x):
    n_rows, n_cols = x.shape
    output = torch.empty_like(x) if ON_GPU else np.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    warps = 4 if block < 2048 else 8 if block < 8192 else 16
    grid = (min(n_rows, 1024),)
    softmax_kernel[grid](
        output, x, *row_strides(output, x), n_rows, n_cols, BLOCK_SIZE=block, num_warps=warps
    )
    return output


def row_strides(*matrices):
    if ON_GPU:
        return [matrix.stride(0) for matrix in matrices]
    return [matrix.strides[0] // matrix.itemsize for matrix in matrices]


def library_softmax(x):
    if ON_GPU:
        return torch.softmax(x, axis=1)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def random_matrix(rows, cols):
    if ON_GPU:
        return torch.randn(rows, cols, device="cuda", dtype=torch.float32)
    return np.random.default_rng(rows).standard_normal((rows, cols), dtype=np.float32)


# %%
# Unit test
# ---------
# An odd number of rows and of columns exercises the mask and the walk.


def test():
    x = random_matrix(1823, 781)
    triton.testing.assert_close(softmax(x), library_softmax(x), atol=1e-6, rtol=1e-5)
    print(f"ours and the library agree on {'the GPU' if ON_GPU else 'the CPU'}")


# %%
# Benchmark
# ---------
# The matrix is read once and written once: rates are given in those bytes.


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["N"],
        x_vals=[128 * i for i in range(2, 100, 4)] if ON_GPU else [256, 1024],
        line_arg="provider",
        line_vals=["ours", "library"],
        line_names=["Pantile", "Torch" if ON_GPU else "NumPy"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="GB/s",
        plot_name="softmax-performance",
        args={"M": 4096 if ON_GPU else 256},
    )
)
def benchmark(M, N, provider):
    x = random_matrix(M, N)
    ms = triton.testing.do_bench(lambda: softmax(x) if provider == "ours" else library_softmax(x))
    return 2 * M * N * 4 / ms * 1e-6


if __name__ == "__main__":
    test()
    benchmark.run(print_data=True, save_path=".out")
