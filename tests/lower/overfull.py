# The circular buffers of a producer do not fit, the plain kernel does.
# RUN: pantilec %s --num-stages 5 --num-warps 8 --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32, i32:16, i32:16, i32:16" --no-cache --emit mma | FileCheck %s
import pantile as triton
import pantile.language as tl

M: tl.constexpr = 128
N: tl.constexpr = 256
K: tl.constexpr = 64


# CHECK-NOT: nv.producer
# CHECK: nv.wgmma
# CHECK: tile.store
@triton.jit
def matmul(a, b, c, rows, columns, depth, stride_am, stride_bk, stride_cm):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, K)
    a_ptrs = a + (m % rows)[:, None] * stride_am + k[None, :]
    b_ptrs = b + k[:, None] * stride_bk + (n % columns)[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, depth, K):
        x = tl.load(a_ptrs, mask=k[None, :] < depth - start, other=0.0)
        y = tl.load(b_ptrs, mask=k[:, None] < depth - start, other=0.0)
        acc += tl.dot(x, y)
        a_ptrs += K
        b_ptrs += K * stride_bk
    inside = (m[:, None] < rows) & (n[None, :] < columns)
    tl.store(c + m[:, None] * stride_cm + n[None, :], acc.to(tl.float16), mask=inside)
