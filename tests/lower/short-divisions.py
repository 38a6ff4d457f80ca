# Scalars that are smaller than their divisor: a branch skips the division, one for quotient and remainder. So do threads whose few elements are all
# smaller than one number.
# RUN: pantilec %s --kernel split --signature "*i32:16, i32, i32" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
# RUN: pantilec %s --kernel wraps --signature "*i32:16, i32, i32" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefix=WRAPS
# RUN: pantilec %s --kernel wraps --signature "*i32:16, i32, i32" --target sm_80 --no-cache --emit cubin -o %t
# RUN: pantilec %s --kernel wraps_by_many --signature "*i32:16, i32, i32" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefix=PLAIN
import pantile
import pantile.language as tl

# CHECK: @%p{{[0-9]+}} bra [[ROUND:.*]];
# CHECK: div.s32
# CHECK: [[ROUND]]:
# CHECK-NOT: bra
# CHECK-NOT: div.s32 %r{{[0-9]+}}, %r{{[0-9]+}}, %r
# CHECK: st.global


# A division by 7 needs no branch.
@pantile.jit
def split(out, n, width):
    pid = tl.program_id(0) + n
    row, column = pid // width, pid % width
    at = tl.arange(0, 128)
    tl.store(out + at, row * 1000 + column + at // 7 + pid // 7)


# WRAPS: @%p{{[0-9]+}} bra [[ROUND:.*]];
# WRAPS: rem.s32
# WRAPS: rem.s32
# WRAPS-NOT: rem.s32
# WRAPS: [[ROUND]]:
# WRAPS-NOT: bra
# WRAPS: st.global
@pantile.jit
def wraps(out, n, width):
    at = tl.program_id(0) * 256 + tl.arange(0, 256)
    tl.store(out + at, (at + n) % width)


# PLAIN-NOT: bra
# PLAIN: rem.s32
@pantile.jit
def wraps_by_many(out, n, width):
    at = tl.program_id(0) * 256 + tl.arange(0, 256)
    tl.store(out + at, (at + n) % (at + width))
