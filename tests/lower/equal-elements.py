# Elements that are known to be equal are computed once: an index of a row, from which the pointers of a row follow. A
# quotient of a negative number, to which the sum may have overflowed, differs for the first element of a block.
# RUN: pantilec %s --kernel rows --signature "*fp32:16, *fp32:16" --no-cache --emit ptx -o - | FileCheck %s --check-prefix=ROWS
# RUN: pantilec %s --kernel signs --signature "*i32:16, i32:16" --no-cache --emit ptx -o - | FileCheck %s --check-prefix=SIGNS
import pantile as triton
import pantile.language as tl


# ROWS-COUNT-2: cvt.rn.f32
# ROWS-NOT: cvt.rn.f32
@triton.jit
def rows(x, y):
    at = tl.program_id(0) * 512 + tl.arange(0, 512)
    row = (at // 12288).to(tl.float32) * 0.5
    tl.store(y + at, tl.load(x + at) + row)


# The rest of a number that may be negative does not count up within a block.
# SIGNS-COUNT-4: not.b32
@triton.jit
def signs(y, start):
    at = start + tl.arange(0, 512)
    tl.store(y + tl.arange(0, 512), (at % 64 > -1).to(tl.int32))
