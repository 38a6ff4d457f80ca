# What does not fit into shared memory is made smaller step by step, and each step is a remark. The last one fits wherever
# Triton's buffers do, which are one fewer than the stages of MMAs that read registers.
# DEFINE: %{run} = pantilec %s --no-cache --remarks --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16"
# RUN: %{run} --kernel matmul -D M=128 -D N=128 -D K=32 --num-warps 2 --num-stages 8 --emit mma -o - 2>&1 | FileCheck %s --check-prefix=FEWER
# RUN: %{run} --kernel matmul -D M=256 -D N=256 -D K=16 --num-warps 16 --num-stages 2 --emit mma -o - 2>&1 | FileCheck %s --check-prefix=PLACE
# RUN: pantilec %s --no-cache --remarks --target sm_80 --kernel straight --signature "*fp16:16, *fp16:16, *fp32:16" --emit mma -o - 2>&1 | FileCheck %s --check-prefix=STRAIGHT
# RUN: pantilec %s --no-cache --remarks --target sm_120 --kernel kept --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32" --num-stages 1 --emit mma -o - 2>&1 | FileCheck %s --check-prefix=KEPT
# RUN: not %{run} --kernel matmul -D M=128 -D N=128 -D K=64 --num-warps 4 --num-stages 8 --emit mma -o - 2>&1 | FileCheck %s --check-prefix=NOT
import pantile as triton
import pantile.language as tl


# FEWER: remark: loads are prefetched one iteration less ahead: the buffers of all stages do not fit into shared memory
# FEWER-NOT: results are stored from where
# FEWER: remark: load is prefetched 6 iterations ahead through a circular buffer of 7 stages
# FEWER: shared_bytes = 229376
# PLACE-NOT: remark: loads are prefetched one iteration less ahead
# PLACE: remark: results of dots are stored in the accumulator's layout: scratch for another layout does not fit into shared memory
# PLACE-NOT: tile.convert_layout{{.*}}256x256xf32
# PLACE: tile.store
# NOT: error: out of resource: shared memory, Required: 524288, Hardware limit: 232448
@triton.jit
def matmul(a, b, c, columns, depth, stride, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        x = tl.load(a + rm[:, None] * stride + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * columns + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * columns + rn[None, :], acc)


# One operand after the other, where both do not fit.
# STRAIGHT: remark: operands that are loaded outside of loops have no buffers of their own: they do not fit into shared memory
# STRAIGHT: shared_bytes = 131072
@triton.jit
def straight(a, b, c):
    rm, rn, rk = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 1024)
    x = tl.load(a + rm[:, None] * 1024 + rk[None, :])
    y = tl.load(b + rk[:, None] * 64 + rn[None, :])
    tl.store(c + rm[:, None] * 64 + rn[None, :], tl.dot(x, y))


# An operand that a loop within another loop keeps is back in registers.
# KEPT: remark: operands that are loaded outside of loops have no buffers of their own: they do not fit into shared memory
# KEPT-NOT: nv.alloc {{.*}}[64, 512] x f16
# KEPT: nv.alloc {{.*}}[512, 48] x f16
@triton.jit
def kept(q, cache, out, count, n):
    row, d = tl.arange(0, 64), tl.arange(0, 512)
    for tile in range(count):
        queries = tl.load(q + (tile * 64 + row)[:, None] * 512 + d[None, :])
        acc = tl.zeros((64, 512), tl.float32)
        for start in range(0, n, 48):
            k = tl.load(cache + (start + tl.arange(0, 48))[None, :] * 512 + d[:, None])
            p = tl.exp2(tl.dot(queries, k))
            acc = tl.dot(p.to(tl.float16), tl.trans(k), acc)
        tl.store(out + (tile * 64 + row)[:, None] * 512 + d[None, :], acc)
