"""
Matrix multiplication
=====================

A GEMM, C = A·B of fp16 matrices, accumulated in fp32, that competes with the vendor's library in
a few dozen lines. You will see

* how a GEMM is cut into tiles, and why tiles should be large;
* tiles of addresses for matrices whose strides are known only at run time;
* an order of the programs that keeps what they share in the cache;
* a choice among configurations by measurement;
* an activation that is fused into the epilogue, so that C is written once.

With torch and a GPU the script runs there; otherwise it runs on the CPU, on NumPy arrays, at small
sizes.
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
# Tiles
# -----
# A GEMM of 4096 × 4096 matrices has 137 billion operations on 100 MB of data: more than a thousand
# for each byte. A GPU can do about two hundred in the time that it takes to fetch a
# byte, so that the arithmetic is the limit, *if* each byte that was fetched is used often. A
# program that computed one element of C would read a row and a column, and use each number once.
#
# So a program computes a tile of C, BLOCK_SIZE_M × BLOCK_SIZE_N, as a sum of products of tiles of
# A and B along K. In NumPy:
#
#     for m in range(0, M, BLOCK_SIZE_M):              # on the GPU: all at once
#         for n in range(0, N, BLOCK_SIZE_N):          # on the GPU: all at once
#             tile = np.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), np.float32)
#             for k in range(0, K, BLOCK_SIZE_K):
#                 a = A[m : m + BLOCK_SIZE_M, k : k + BLOCK_SIZE_K]
#                 b = B[k : k + BLOCK_SIZE_K, n : n + BLOCK_SIZE_N]
#                 tile += a @ b
#             C[m : m + BLOCK_SIZE_M, n : n + BLOCK_SIZE_N] = tile
#
# With tiles of 128 × 256, a number of A is used 256 times and one of B 128 times. The two outer
# loops become the grid of programs, the loop along K is inside a program. In it, `tl.dot` is the
# product of two tiles; on a GPU it runs on the tensor cores.
#
# Pointers
# --------
# The element (i, j) of a matrix lies at `base + i * stride_i + j * stride_j`. With a column of row
# indices and a row of column indices the sum broadcasts to a tile of addresses:
#
#     a_ptrs = a_ptr + offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak
#
# and the next tile along K is `BLOCK_SIZE_K * stride_ak` further. Taking strides as parameters
# costs nothing and serves transposed matrices too: NumPy's and torch's `.T` only exchange them.
#
# A tile at the lower or right edge may reach past the matrix. Its surplus rows and columns are
# computed from rows that exist (`% M`, `% N`) and are not stored. Along K there is no such way out,
# so the wrapper requires that BLOCK_SIZE_K divide K.
#
# Order of programs
# -----------------
# Programs with neighbouring numbers run at about the same time. The tiles of A and B that they
# read should be the same as far as possible, because then all but the first find them in the L2
# cache. Take matrices of 9 × 9 tiles, and nine programs at a time. If these compute the first row
# of C, they read one row of A and all of B: 9 + 81 tiles. If they compute a square of 3 × 3
# tiles, they read three rows of A and three columns of B: 27 + 27 tiles.
#
# The first lines of the kernel number the tiles of C in that way: in groups of GROUP_SIZE_M rows,
# column by column within a group.
#
# Configurations
# --------------
# Which tile is best depends on the sizes and on the GPU. `autotune` measures all configurations
# when M, N or K is new, and keeps the results; on the CPU it takes the first one, unmeasured. In addition
# to the tile a configuration has the number of warps (groups of 32 threads, as in tutorial 02) and of
# *stages*: while one tile along K is multiplied, `num_stages - 1` more are on their way from
# memory.


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8},
            warps,
            stages,
        )
        for m, n, stages, warps in [
            (128, 256, 3, 8),
            (256, 128, 3, 8),
            (256, 64, 4, 4),
            (64, 256, 4, 4),
            (128, 128, 4, 4),
            (128, 64, 4, 4),
            (64, 128, 4, 4),
            (128, 32, 4, 4),
            (64, 32, 5, 2),
            (32, 64, 5, 2),
        ]
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_kernel(
    # pointers to the matrices, and their sizes
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    # how far apart neighbours are: a_ptr + stride_am is one row further down in A
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    # meta-parameters
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    ACTIVATION: tl.constexpr,
):
    """One tile of C = A·B; A is M×K, B is K×N, C is M×N."""
    # Which tile: groups of GROUP_SIZE_M rows of tiles, column by column inside a group. The last
    # group may be lower.
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + (pid % num_pid_in_group) % group_size_m
    pid_n = (pid % num_pid_in_group) // group_size_m

    # The first tiles of A and B.
    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)

    # Along K, with an accumulator of higher precision than the operands.
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_SIZE_K):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        accumulator += tl.dot(a, b)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk

    # ACTIVATION is known at compile time: a kernel without one does not even contain the branch.
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    c = accumulator.to(tl.float16)

    # The mask drops what lies beyond the edges of C.
    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, c, mask=c_mask)


# %%
# Functions with `@triton.jit` may be called from kernels, also from kernels further up in the file.


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


# %%
# The wrapper
# -----------
# It checks what the kernel takes for granted, allocates C and launches a program for each tile of
# it.


def matmul(a, b, activation=""):
    assert a.shape[1] == b.shape[0], "inner dimensions differ"
    (M, K), (_, N) = a.shape, b.shape
    assert K % 32 == 0, "K must be a multiple of every BLOCK_SIZE_K"
    c = torch.empty((M, N), device=a.device, dtype=a.dtype) if ON_GPU else np.empty((M, N), a.dtype)
    grid = lambda META: (
        triton.cdiv(M, META["BLOCK_SIZE_M"]) * triton.cdiv(N, META["BLOCK_SIZE_N"]),
    )
    matmul_kernel[grid](
        a, b, c, M, N, K, *strides(a), *strides(b), *strides(c), ACTIVATION=activation
    )
    return c


def strides(matrix):
    """Strides in elements; NumPy counts bytes."""
    return matrix.stride() if ON_GPU else [stride // matrix.itemsize for stride in matrix.strides]


def random_matrix(rows, cols, seed):
    if ON_GPU:
        return torch.randn((rows, cols), device="cuda", dtype=torch.float16)
    return np.random.default_rng(seed).standard_normal((rows, cols)).astype(np.float16)


def library_matmul(a, b):
    if ON_GPU:
        return torch.matmul(a, b)
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)


def library_leaky_relu(x):
    return (
        torch.nn.functional.leaky_relu(x) if ON_GPU else np.where(x >= 0, x, np.float16(0.01) * x)
    )


# %%
# Unit test
# ---------
# The sums of the two sides run in different orders, and each result is rounded to fp16: a
# difference of one unit in the last place of a value of size √K is expected.


def test():
    size = 512 if ON_GPU else 256
    a, b = random_matrix(size, size, seed=0), random_matrix(size, size, seed=1)
    ours, library = matmul(a, b), library_matmul(a, b)
    print(f"ours:\n{ours}\nlibrary:\n{library}")
    assert triton.testing.allclose(ours, library, atol=0.0625, rtol=0), (
        "the GEMM differs from the library's"
    )
    activated = library_leaky_relu(library)
    assert triton.testing.allclose(matmul(a, b, "leaky_relu"), activated, atol=0.0625), (
        "the GEMM with its activation differs"
    )
    print(f"ours and the library agree on {'the GPU' if ON_GPU else 'the CPU'}")


# %%
# Benchmark
# ---------
# Square matrices; a multiplication and an addition for each of M·N·K terms. With the activation,
# the library needs a second kernel, which reads and writes C once more; ours does it on the way.


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["M", "N", "K"],
        x_vals=[256 * i for i in range(1, 17)] if ON_GPU else [128, 256],
        line_arg="provider",
        line_vals=["library", "library+relu", "ours", "ours+relu"],
        line_names=[
            *(
                ["cuBLAS", "cuBLAS, then leaky ReLU"]
                if ON_GPU
                else ["NumPy", "NumPy, then leaky ReLU"]
            ),
            "Pantile",
            "Pantile, leaky ReLU fused",
        ],
        styles=[("green", "-"), ("green", "--"), ("blue", "-"), ("blue", "--")],
        ylabel="TFLOP/s",
        plot_name="matmul-performance",
        args={},
    )
)
def benchmark(M, N, K, provider):
    a, b = random_matrix(M, K, seed=0), random_matrix(K, N, seed=1)
    run = {
        "library": lambda: library_matmul(a, b),
        "library+relu": lambda: library_leaky_relu(library_matmul(a, b)),
        "ours": lambda: matmul(a, b),
        "ours+relu": lambda: matmul(a, b, activation="leaky_relu"),
    }[provider]
    ms, fastest, slowest = triton.testing.do_bench(run, quantiles=[0.5, 0.2, 0.8])
    tflops = lambda ms: 2 * M * N * K / ms * 1e-9
    return tflops(ms), tflops(slowest), tflops(fastest)


# %%
# What to try next
# ----------------
# * Multiply bf16, or fp8: which lines change?
# * Let K be any number, with masks on the loads of A and B.
# * Add a bias, one number for each column of C, before the activation.
# * Print `matmul_kernel.best_config` for several sizes. Why do small matrices want small tiles?
# * When M and N are small and K is large there are few programs. Let several compute parts of one tile of C,
#   each with a part of K, and add their results with `tl.atomic_add`.

if __name__ == "__main__":
    test()
    benchmark.run(print_data=True, save_path=".out")
