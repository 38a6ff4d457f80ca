# The halves of a word of bf16 become fp32 by a shift and a mask.
# RUN: pantilec %s --signature "*bf16:16,*fp32:16" --no-cache --no-line-info --emit ptx -o - | FileCheck %s
import pantile
import pantile.language as tl


# CHECK-NOT: cvt.f32.bf16
# CHECK-DAG: shl.b32 {{.*}}, 16;
# CHECK-DAG: and.b32 {{.*}}, -65536;
# CHECK-NOT: cvt.f32.bf16
# CHECK: ret
@pantile.jit
def widen(X, Y):
    at = tl.arange(0, 1024)
    tl.store(Y + at, tl.load(X + at).to(tl.float32) * 3)
