# With three stages, the next one is counted on to instead of divided for; with two, a mask does. Both sides of a circular buffer count.
# RUN: pantilec %s --kernel sums --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --num-stages 3 --target sm_90a --no-cache --emit pipeline --disable-pass occupancy-first -o - | FileCheck %s
# RUN: pantilec %s --kernel sums --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --num-stages 3 --target sm_90a --no-cache --emit pipeline --disable-pass occupancy-first --disable-pass nv-count-stages -o - | FileCheck %s --check-prefix=DIVIDED
# RUN: pantilec %s --kernel sums --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --num-stages 2 --target sm_90a --no-cache --emit pipeline --disable-pass occupancy-first -o - | FileCheck %s --check-prefix=DIVIDED
import pantile
import pantile.language as tl


# CHECK: nv.producer {
# CHECK: arith.remui
# CHECK: scf.for {{.*}} %[[SLOT:[a-z0-9]+]] = %{{[0-9]+}}, %[[ROUND:[a-z0-9]+]] = %{{[0-9]+}})
# CHECK-NOT: arith.remui
# CHECK: %[[NEXT:.*]] = arith.addi %[[SLOT]], %c1_i32
# CHECK: %[[LATER:.*]] = arith.addi %[[ROUND]], %c1_i32
# CHECK: %[[OVER:.*]] = arith.cmpi eq, %[[NEXT]], %c3_i32
# CHECK: arith.select %[[OVER]], %c0_i32, %[[NEXT]]
# CHECK: arith.select %[[OVER]], %[[LATER]], %[[ROUND]]
# CHECK: nv.tma_load
# CHECK: arith.remui
# CHECK: scf.for
# CHECK-NOT: arith.remui
# CHECK: nv.mbarrier_wait
# DIVIDED: nv.producer {
# DIVIDED: scf.for
# DIVIDED: scf.for
# DIVIDED: arith.remui
# DIVIDED: scf.for
# DIVIDED: scf.for
# DIVIDED: arith.remui
@pantile.jit
def sums(A, B, Out, stride, n):
    at = tl.arange(0, 64)
    a = tl.load(A + at[:, None] * stride + at[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
        acc += tl.exp2(tl.dot(a, tl.trans(b)))
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)
