# A warp that holds few fragments of a product's result adds up every other step apart: here two of 16x8, then one, whose four steps leave no more than two to
# a chain. With four of them, or steps that are too few, it does not pay.
# RUN: pantilec %s --kernel product --signature "*fp16:16, *fp16:16, *fp32:16" -D M=32 -D N=32 -D K=64 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
# RUN: pantilec %s --kernel product --signature "*fp16:16, *fp16:16, *fp32:16" -D M=32 -D N=16 -D K=64 --target sm_80 --no-cache --emit ptx -o - | FileCheck %s
# RUN: pantilec %s --kernel product --signature "*i8:16, *i8:16, *i32:16" -D M=32 -D N=32 -D K=128 --target sm_80 --no-cache --emit ptx -o - | FileCheck %s --check-prefix=INTEGERS
# RUN: pantilec %s --kernel product --signature "*fp16:16, *fp16:16, *fp32:16" -D M=32 -D N=32 -D K=64 --target sm_90a --no-cache --disable-pass sum-chains --emit ptx -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel product --signature "*fp16:16, *fp16:16, *fp32:16" -D M=32 -D N=64 -D K=64 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel product --signature "*fp16:16, *fp16:16, *fp32:16" -D M=32 -D N=32 -D K=32 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefix=PLAIN
import pantile
import pantile.language as tl

# CHECK: mma.sync
# CHECK: add{{(.rn)?}}.f32
# CHECK: st.global
# INTEGERS-COUNT-8: mma.sync
# INTEGERS-COUNT-8: add.s32
# INTEGERS: st.global
# PLAIN: mma.sync
# PLAIN-NOT: add{{(.rn)?}}.f32
# PLAIN: st.global


@pantile.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y))
