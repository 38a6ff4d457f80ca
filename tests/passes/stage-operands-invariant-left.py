# A dot's result that is the next one's left operand stays in registers, but not where a loop keeps it: ptxas 13.0 writes into
# registers of left operands that a loop does not change.
# RUN: pantilec %s --kernel chain --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D KEPT=0 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --kernel chain --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D KEPT=1 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=BUFFER
import pantile
import pantile.language as tl


# CHECK: scf.for
# CHECK: nv.wgmma {{.*}} : !nv.buffer<
# CHECK: nv.wgmma {{.*}} : tensor<64x64xf16
# BUFFER: nv.wgmma {{.*}} : !nv.buffer<
# BUFFER: nv.local_store
# BUFFER: scf.for
# BUFFER: nv.wgmma {{.*}} : !nv.buffer<
@pantile.jit
def chain(A, B, Out, stride, n, KEPT: tl.constexpr):
    at = tl.arange(0, 64)
    a = tl.load(A + at[:, None] * stride + at[None, :])
    first = tl.load(B + at[:, None] * stride + at[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    left = tl.dot(a, first).to(tl.float16)
    for start in range(0, n, 64):
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
        if not KEPT:
            left = tl.dot(a, b).to(tl.float16)
        acc += tl.exp2(tl.dot(left, b))
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)
