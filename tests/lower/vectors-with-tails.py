# Where a mask ends is no reason to access single elements: vectors before it are whole, the one that it cuts is made of elements under a branch. Masks with holes, and indices that may overflow within a vector, keep single accesses.
# RUN: pantilec %s --kernel bound --signature "*fp32:16, *fp32:16, i32, i32" --no-cache --emit ptx -o - | FileCheck %s --check-prefix=TAIL
# RUN: pantilec %s --kernel columns --signature "*fp32:16, *fp32:16, i32, i32:16" --no-cache --emit ptx -o - | FileCheck %s --check-prefix=TAIL
# RUN: pantilec %s --kernel bound --signature "*fp32:16, *fp32:16, i32:16, i32" --no-cache --emit ptx -o - | FileCheck %s --check-prefix=VECTOR
# RUN: pantilec %s --kernel holes --signature "*fp32:16, *fp32:16, i32, i32" --no-cache --emit ptx -o - | FileCheck %s --check-prefix=SINGLE
# RUN: pantilec %s --kernel shifted --signature "*fp32:16, *fp32:16, i32, i32" --no-cache --emit ptx -o - | FileCheck %s --check-prefix=SINGLE
# RUN: pantilec %s --kernel shared --signature "*fp32:16, *fp32:16, i32, i32" --no-cache --emit ptx -o - | FileCheck %s --check-prefix=SINGLE
import pantile as triton
import pantile.language as tl

# TAIL:      @[[WHOLE:%p[0-9]+]] ld.global.v4.b32
# TAIL:      @[[WHOLE]] bra [[AFTER:\$L__BB0_[0-9]+]];
# TAIL-NOT:  ld.global.v4
# TAIL-COUNT-3: @%p{{[0-9]+}} ld.global.b32
# TAIL:      [[AFTER]]:
# TAIL:      @[[WHOLE]] st.global.v4.b32
# TAIL-COUNT-3: @%p{{[0-9]+}} st.global.b32
# VECTOR-NOT: bra
# VECTOR:    ld.global.v4.b32
# SINGLE-NOT: .v4
# SINGLE-NOT: bra


@triton.jit
def bound(x, y, n, start):
    at = tl.program_id(0) * 512 + tl.arange(0, 512)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=n > at)


@triton.jit
def columns(x, y, n, stride):
    row, column = tl.arange(0, 16)[:, None], tl.arange(0, 32)[None, :]
    at = row * stride + column
    mask = (row < 11) & (column < n)
    tl.store(y + at, tl.load(x + at, mask=mask), mask=mask)


@triton.jit
def holes(x, y, n, start):
    at = tl.program_id(0) * 512 + tl.arange(0, 512)
    mask = (at < n) & (at != start)
    tl.store(y + at, tl.load(x + at, mask=mask), mask=mask)


@triton.jit
def shifted(x, y, n, start):
    at = tl.arange(0, 512)
    mask = at + start < n
    tl.store(y + at, tl.load(x + at, mask=mask), mask=mask)


@triton.jit
def shared(x, y, n, start):
    at = tl.arange(0, 512)
    tl.store(y + at, tl.load(x + at, mask=at < n) + tl.load(x + start + at, mask=at < n), mask=at < n)
