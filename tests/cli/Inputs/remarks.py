"""Kernels with something to say about their speed."""
import pantile as triton
import pantile.language as tl


@triton.jit
def matmul(a, b, c, m, n, k, sa, sb, sc, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    left = a + rows[:, None] * sa + depth[None, :]
    right = b + depth[:, None] * sb + columns[None, :]
    total = tl.zeros((M, N), tl.float32)
    for step in range(0, k, K):
        x = tl.load(left, mask=depth[None, :] < k - step, other=0.0)
        y = tl.load(right, mask=depth[:, None] < k - step, other=0.0)
        total = tl.dot(x, y, total)
        left += K
        right += K * sb
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(c + rows[:, None] * sc + columns[None, :], total.to(tl.float16), mask=inside)


@triton.jit
def columns_of(x, y, stride, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at * stride))


@triton.jit
def shifted(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at + 1))


@triton.jit
def crowded(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    for turn in tl.static_range(6):
        value = tl.sort(value) * tl.cumsum(value) + tl.flip(value)
    tl.store(y + at, value)


@triton.jit
def turned(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tile = tl.load(x + at[:, None] * N + at[None, :])
    tl.store(y + at[:, None] * N + at[None, :], tile.T)
