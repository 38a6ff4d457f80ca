# Loads through descriptors are TMA's: it leaves out negative coordinates as their mask does. Other lower
# bounds are none of its own.
# RUN: pantilec %s --kernel matmul --signature "tensordesc<fp16[64,64]>, tensordesc<fp16[64,64]>, *fp32:16, i32, i32" --target sm_90a --no-cache --emit mma -o - | FileCheck %s
# RUN: pantilec %s --kernel later --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32:16" -D FIRST=0 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=ZERO
# RUN: pantilec %s --kernel later --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32:16" -D FIRST=1 --target sm_90a --no-cache --disable-pass mixed-transports --emit mma -o - | FileCheck %s --check-prefix=ONE
import pantile
import pantile.language as tl


# Rows may start before the tensor: `row` is any number. The extents are the descriptor's.
# CHECK: affine_map<()[{{.*}}] -> (s2, s1)>
# CHECK: nv.producer {
# CHECK: nv.tma_load
# CHECK: nv.tma_load
# CHECK-NOT: tile.load
# CHECK: nv.wgmma
@pantile.jit
def matmul(a, b, out, row, depth):
    acc = tl.zeros([64, 64], tl.float32)
    for k in range(0, depth, 64):
        acc += tl.dot(a.load([row, k]), b.load([k, 0]))
    at = tl.arange(0, 64)
    tl.store(out + at[:, None] * 64 + at[None, :], acc)


# ZERO: nv.tma_load
# ONE-NOT: nv.tma_load
# ONE: nv.copy_async
@pantile.jit
def later(a, b, out, row, depth, stride, FIRST: tl.constexpr):
    at = tl.arange(0, 64)
    rows = row + at
    acc = tl.zeros([64, 64], tl.float32)
    for k in range(0, depth, 64):
        x = tl.load(a + rows[:, None] * stride + (k + at)[None, :], (rows >= FIRST)[:, None], 0.0)
        y = tl.load(b + (k + at)[:, None] * stride + at[None, :])
        acc += tl.dot(x, y)
    tl.store(out + at[:, None] * 64 + at[None, :], acc)
