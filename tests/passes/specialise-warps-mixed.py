# A producer loads the operand that TMA can load; the consumers gather the rows of the other one.
# DEFINE: %{run} = pantilec %s --kernel gathered --target sm_90a --no-cache --remarks --emit pipeline -o - --num-stages 3
# DEFINE: %{arguments} = --signature "*fp16:16,*fp16:16,*fp16:16,*i32:16,i32:16,i32:16"
# RUN: %{run} %{arguments} -D WAY=0 2>&1 | FileCheck %s
# RUN: %{run} %{arguments} --disable-pass mixed-transports -D WAY=0 2>&1 | FileCheck %s --check-prefix=WITHOUT
# RUN: %{run} %{arguments} -D WAY=1 2>&1 | FileCheck %s --check-prefix=WITHOUT
# RUN: %{run} %{arguments} -D WAY=2 2>&1 | FileCheck %s --check-prefix=WRITTEN
import pantile
import pantile.language as tl


# The wait for the MMA is deferred by one iteration: both of its operands have a stage more than the loop says.
# CHECK: remark: a producer warp loads for this loop, through 4 stages
# CHECK: remark: the consumer warps copy this tile: its addresses are not affine in the indices
# CHECK: nv.channel via tma : <4 x
# CHECK: nv.producer
# CHECK-NOT: nv.copy_async
# CHECK: nv.tma_load
# CHECK: nv.channel via cp_async ahead 2 by 16 : <4 x
# CHECK: scf.for
# CHECK: nv.wait
# CHECK-NEXT: nv.fence_async
# CHECK: nv.mbarrier_wait
# CHECK: nv.wgmma
# CHECK: nv.copy_async
# CHECK: nv.wgmma_wait
# CHECK-SAME: done
# CHECK: nv.release
# WITHOUT: warps are not specialised: its addresses are not affine in the indices
# WITHOUT-NOT: nv.tma_load
# What the loop writes can be prefetched by neither.
# WRITTEN: warps are not specialised
# WRITTEN-NOT: nv.tma_load
@pantile.jit
def gathered(Out, A, B, Table, K, N, WAY: tl.constexpr):
    at = tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    rows = tl.load(Table + at)
    for k in range(0, K, 64):
        a = tl.load(A + rows[:, None] * K + (k + at)[None, :])
        if WAY == 1:
            b = tl.load(B + rows[:, None] * N + (k + at)[None, :])
        else:
            b = tl.load(B + (k + at)[:, None] * N + at[None, :])
        acc = tl.dot(a, b, acc)
        if WAY == 2:
            tl.store(A + k + at, tl.sum(acc, 0).to(tl.float16))
    tl.store(Out + at[:, None] * N + at[None, :], acc.to(tl.float16))
