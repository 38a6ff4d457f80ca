# What follows a poll may be what others wrote before it: loads after it are not prefetched past it, though nothing uses its result.
# RUN: pantilec %s --kernel waits --signature "*fp16:16,*fp16:16,*fp32:16,*i32:16,i32:16,i32" --target sm_90a --no-cache --remarks --emit pipeline -o %t 2>&1 | FileCheck %s --check-prefix REMARK
# RUN: FileCheck %s < %t
import pantile
import pantile.language as tl


# CHECK: scf.for
# CHECK-NOT: nv.copy_async
# CHECK: tile.atomic_rmw poll
# CHECK-NOT: nv.copy_async
# REMARK: load is not prefetched: what it reads may change in the loop
@pantile.jit
def waits(A, B, Out, Flags, stride, n):
    at = tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        tl.atomic_poll(Flags + start // 64, 1, scope="sys")
        a = tl.load(A + at[:, None] * stride + (start + at)[None, :])
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
        acc += tl.dot(a, b)
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)
