# A loop over programs that stores does not prefetch what its inner loop keeps: a CTA would hold it twice. The inner loop prefetches
# its own operands, the first of them before what it keeps is stored, since that waits for memory.
# RUN: pantilec %s --kernel programs --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32" --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s
import pantile
import pantile.language as tl


# CHECK: %[[KEPT:.*]] = nv.alloc : <1 x[64, 64] x f16
# CHECK: nv.channel via cp_async ahead 2 by 16 : <3 x[64, 64] x f16
# CHECK: nv.copy_async
# CHECK: nv.local_store %{{.*}}, %[[KEPT]]
# CHECK-NOT: nv.copy_async
# CHECK: scf.for
# CHECK: nv.wgmma %[[KEPT]],
# CHECK: nv.copy_async
@pantile.jit
def programs(A, B, Out, stride, n, count):
    at = tl.arange(0, 64)
    for program in range(tl.program_id(0), count, tl.num_programs(0)):
        rows = program * 64 + at
        a = tl.load(A + rows[:, None] * stride + at[None, :])
        acc = tl.zeros([64, 64], tl.float32)
        for start in range(0, n, 64):
            b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
            acc += tl.exp2(tl.dot(a, tl.trans(b)))
        tl.store(Out + rows[:, None] * 64 + at[None, :], acc)
