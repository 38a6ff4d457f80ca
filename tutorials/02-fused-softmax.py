"""
Fused softmax
=============

The softmax of each row of a matrix, `exp(x) / sum(exp(x))`, in one kernel instead of five passes
over memory. You will see

* why it pays to fuse operations;
* tiles with two axes, and reductions along one of them (`tl.max`, `tl.sum`);
* how a tile of one size serves rows of any length.

With torch and a GPU the script runs there; otherwise it runs on the CPU, on NumPy arrays.
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
# Why fuse
# --------
# Written with array operations, the softmax is a sequence of passes. For a matrix of M rows and N
# columns, counting elements that travel to and from memory:


def unfused_softmax(x):
    largest = x.max(axis=1, keepdims=True)  # reads M N, writes M
    shifted = x - largest  # reads M N + M, writes M N
    numerator = np.exp(shifted)  # reads M N, writes M N
    denominator = numerator.sum(axis=1, keepdims=True)  # reads M N, writes M
    return numerator / denominator  # reads M N + M, writes M N


# %%
# That is about 8 M N elements moved, where 2 M N are enough: read the matrix once, write the result
# once. None of the steps computes much, so that time is spent on moving data, and a kernel that
# keeps a row in registers from the first step to the last can be up to four times as fast.
#
# (Subtracting the largest element changes nothing in the quotient, and keeps `exp` from
# overflowing.)
#
# The kernel
# ----------
# Each program takes `ROWS` rows as one tile of `ROWS` × `BLOCK_SIZE` elements. `rows[:, None]` is a
# column and `columns[None, :]` a row, as in NumPy, and their sum broadcasts to a matrix of
# addresses. The element (i, j) lies `i * row_stride + j` behind the first one; taking the stride as
# a parameter lets the rows have gaps between them.
#
# `BLOCK_SIZE` is the next power of two above the number of columns, so that one kernel serves many
# widths and its tiles divide evenly among the threads. The lanes beyond are filled with minus
# infinity: they do not win the maximum, and add `exp(-inf) = 0` to the sum.


@triton.jit
def softmax_kernel(
    output_ptr,
    input_ptr,
    output_row_stride,
    input_row_stride,
    n_rows,
    n_cols,
    ROWS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, BLOCK_SIZE)[None, :]
    mask = (rows < n_rows) & (columns < n_cols)
    x = tl.load(input_ptr + rows * input_row_stride + columns, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    y = numerator / tl.sum(numerator, axis=1, keep_dims=True)
    tl.store(output_ptr + rows * output_row_stride + columns, y, mask=mask)


# %%
# The wrapper
# -----------
# Two numbers are chosen here. A program should have some thousand elements, enough to keep many
# loads in flight at a time; where rows are short it takes several. And `num_warps` says how many
# threads share a program's tile, in units of 32: the more elements, the more threads, so that each
# thread's part fits its registers. You do not say which thread holds which element: that is the
# compiler's work.


def softmax(x):
    n_rows, n_cols = x.shape
    output = (torch if ON_GPU else np).empty_like(x)
    block = triton.next_power_of_2(n_cols)
    rows = max(1, 1024 // block)
    warps = 4 if block <= 4096 else 8 if block <= 8192 else 16
    softmax_kernel[(triton.cdiv(n_rows, rows),)](
        output,
        x,
        row_stride(output),
        row_stride(x),
        n_rows,
        n_cols,
        ROWS=rows,
        BLOCK_SIZE=block,
        num_warps=warps,
    )
    return output


def row_stride(matrix):
    """How many elements lie between the beginnings of two rows; NumPy counts in bytes."""
    return matrix.stride(0) if ON_GPU else matrix.strides[0] // matrix.itemsize


def library_softmax(x):
    return torch.softmax(x, dim=1) if ON_GPU else unfused_softmax(x)


def random_matrix(rows, cols):
    if ON_GPU:
        return torch.randn(rows, cols, device="cuda")
    return np.random.default_rng().standard_normal((rows, cols), dtype=np.float32)


# %%
# Unit test
# ---------
# Odd numbers of rows and columns exercise both parts of the mask, a slice of a wider matrix the row
# stride. The reference is computed in double precision.


def test():
    for rows, cols in [(1823, 781), (37, 100), (5, 2049)]:
        x = random_matrix(rows, cols + 3)[:, :cols]
        wide = (x.cpu().numpy() if ON_GPU else x).astype(np.float64)
        triton.testing.assert_close(softmax(x), unfused_softmax(wide), atol=1e-7, rtol=1e-5)
    print(f"ours and the library agree on {'the GPU' if ON_GPU else 'the CPU'}")


# %%
# Benchmark
# ---------
# The matrix has to be read once and written once: rates are given in those bytes, for both. A
# library that moves more shows a lower rate.


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["N"],
        x_vals=[128 * i for i in range(2, 100, 4)] if ON_GPU else [256, 1000],
        line_arg="provider",
        line_vals=["ours", "library"],
        line_names=["Pantile", "torch" if ON_GPU else "NumPy"],
        styles=[("blue", "-"), ("green", "-")],
        xlabel="columns",
        ylabel="GB/s",
        plot_name="softmax-performance",
        args={"M": 4096 if ON_GPU else 256},
    )
)
def benchmark(M, N, provider):
    x = random_matrix(M, N)
    run = (lambda: softmax(x)) if provider == "ours" else (lambda: library_softmax(x))
    ms, fastest, slowest = triton.testing.do_bench(run, quantiles=[0.5, 0.2, 0.8])
    gbps = lambda ms: 2 * x.itemsize * M * N / ms * 1e-6
    return gbps(ms), gbps(slowest), gbps(fastest)


# %%
# What to try next
# ----------------
# * Compute the logarithm of the softmax, `x - max - log(sum(exp(x - max)))`, without the division.
# * Fuse more: scale the input by a factor, or set elements above the diagonal to minus infinity.
# * Rows of millions of elements do not fit one tile. Walk over the row in tiles, keeping a running
#   maximum and a running sum, and correct the sum whenever the maximum grows. Tutorial 06 uses
#   exactly this.

if __name__ == "__main__":
    test()
    benchmark.run(print_data=True, save_path=".out")
