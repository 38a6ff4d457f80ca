"""The kernels of a small classifier: scores = x · w + bias, then the softmax of each row."""

import pantile as triton
import pantile.language as tl


@triton.jit
def scores(
    x_ptr, w_ptr, bias_ptr, scores_ptr, rows, features, classes,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """x is (rows, features), w is (features, classes), all fp32; dots run as tf32."""
    r = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for first in range(0, features, BLOCK_K):
        inside = first + k < features
        x_ptrs = x_ptr + r[:, None] * features + (first + k)[None, :]
        w_ptrs = w_ptr + (first + k)[:, None] * classes + c[None, :]
        x = tl.load(x_ptrs, mask=(r[:, None] < rows) & inside[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=inside[:, None] & (c[None, :] < classes), other=0.0)
        accumulator = tl.dot(x, w, accumulator)
    accumulator += tl.load(bias_ptr + c, mask=c < classes, other=0.0)[None, :]
    out = scores_ptr + r[:, None] * classes + c[None, :]
    tl.store(out, accumulator, mask=(r[:, None] < rows) & (c[None, :] < classes))


@triton.jit
def softmax(x_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """The softmax of each row, in place."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    mask = (r < rows) & (c < columns)
    x = tl.load(x_ptr + r * columns + c, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    tl.store(x_ptr + r * columns + c, e / tl.sum(e, axis=1, keep_dims=True), mask=mask)
