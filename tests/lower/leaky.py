# A leaky ReLU is a maximum where its slope is between 0 and 1, zero on either side; otherwise both are computed and one is chosen.
# RUN: pantilec %s --kernel leaky --signature "*fp32:16" -D SLOPE=0.01 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
# RUN: pantilec %s --kernel leaky --signature "*fp32:16" -D SLOPE=1.5 --target sm_80 --no-cache --emit ptx -o - | FileCheck %s --check-prefix=STEEP
# RUN: pantilec %s --kernel leaky --signature "*fp32:16" -D SLOPE=0.0 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefix=STEEP
# RUN: pantilec %s --kernel leaky --signature "*fp32:16" -D SLOPE=0.01 --target sm_80 --no-cache --emit cubin -o %t
import pantile
import pantile.language as tl

# CHECK: mul{{.*}}.f32
# CHECK-NOT: setp
# CHECK: max.f32
# CHECK-NOT: selp
# CHECK: st.global
# CHECK: st.global
# STEEP-NOT: max.f32
# STEEP: setp.ge{{.*}}.f32
# STEEP: selp.f32
# STEEP: setp.gt{{.*}}.f32
# STEEP-NOT: max.f32


@pantile.jit
def leaky(p, SLOPE: tl.constexpr):
    at = tl.arange(0, 128)
    x = tl.load(p + at)
    tl.store(p + at, tl.where(x >= 0, x, SLOPE * x))
    tl.store(p + 128 + at, tl.where(x > 0, x, x * SLOPE))
