"""Kernels of the C++ examples. The applications need this text, but no Python."""

import pantile as triton
import pantile.language as tl


@triton.jit
def softmax(out_ptr, x_ptr, columns, stride, BLOCK: tl.constexpr):
    """Rows of `columns` numbers; a program takes one row, BLOCK is at least `columns`."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def matmul(c_ptr, a_ptr, b_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A @ B in row-major order, fp32 from fp16; a program computes a tile of BM x BN."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        ks = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rows[:, None] * K + ks[None, :],
            mask=(rows[:, None] < M) & (ks[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + ks[:, None] * N + cols[None, :],
            mask=(ks[:, None] < K) & (cols[None, :] < N),
            other=0.0,
        )
        sum = tl.dot(a, b, sum)
    tl.store(
        c_ptr + rows[:, None] * N + cols[None, :],
        sum,
        mask=(rows[:, None] < M) & (cols[None, :] < N),
    )
