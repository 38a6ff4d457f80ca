# Bytes that a conversion leaves in pairs move as pairs.
# RUN: pantilec %s --signature "*fp32:16,*fp8e4nv:16" --no-cache --no-line-info --emit ptx -o - | FileCheck %s
import pantile
import pantile.language as tl


# CHECK-COUNT-4: cvt.rn.satfinite.e4m3x2.f32
# CHECK-NOT: shr
# CHECK-NOT: prmt
# CHECK: st.global.v2.b16
@pantile.jit
def narrow(X, Y):
    at = tl.arange(0, 1024)
    tl.store(Y + at, tl.load(X + at).to(tl.float8e4nv))
