# Scalars that are smaller than what divides them: a branch goes round the division, one for quotient and remainder.
# RUN: pantilec %s --signature "*i32:16, i32, i32" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
import pantile
import pantile.language as tl

# CHECK: @%p{{[0-9]+}} bra [[ROUND:.*]];
# CHECK: div.s32
# CHECK: [[ROUND]]:
# CHECK-NOT: bra
# CHECK-NOT: div.s32 %r{{[0-9]+}}, %r{{[0-9]+}}, %r
# CHECK: st.global


# Elements of tiles differ between threads: no branch goes round theirs; nor is one needed for 7.
@pantile.jit
def split(out, n, width):
    pid = tl.program_id(0) + n
    row, column = pid // width, pid % width
    at = tl.arange(0, 128)
    tl.store(out + at, row * 1000 + column + at // 7 + pid // 7)
