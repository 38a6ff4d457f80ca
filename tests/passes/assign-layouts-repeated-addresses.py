# What is read one element at a time, since addresses repeat, gets the layout of the vectors that it is used with; and
# what has adjacent elements in adjacent lanes is stored so. Nothing goes through shared memory.
# RUN: pantilec %s --kernel rows --signature "*fp32:16, *i64:16, *fp32:16" --no-cache --emit layout | FileCheck %s
# RUN: pantilec %s --kernel rows --signature "*fp32:16, *i64:16, *fp32:16" --no-cache --emit ptx | FileCheck %s --check-prefix=VECTORS
# RUN: pantilec %s --kernel groups --signature "*fp16:16, *fp32:16, *fp16:16" --no-cache --emit layout | FileCheck %s
# RUN: pantilec %s --kernel halves --signature "*u8:16, *bf16:16" --no-cache --emit layout | FileCheck %s
# RUN: pantilec %s --kernel every_third --signature "*fp32:16, *fp32:16" --no-cache --emit layout | FileCheck %s
# RUN: pantilec %s --kernel shifted --signature "*fp32:16, *fp32, *fp32:16" --no-cache --emit layout | FileCheck %s --check-prefix=SHIFTED
import pantile as triton
import pantile.language as tl

N: tl.constexpr = 1024

# CHECK-LABEL: func.func
# CHECK-NOT: convert_layout
# CHECK: tile.store


# Rows of a table: their numbers repeat, so elements of a row are contiguous.
# VECTORS: ld.global{{.*}}v4
@triton.jit
def rows(table, index, y):
    at = tl.arange(0, N)
    row = tl.load(index + at // 64)
    tl.store(y + at, tl.load(table + row * 64 + at % 64))


@triton.jit
def groups(x, scale, y):
    at = tl.arange(0, N)
    tl.store(y + at, (tl.load(x + at) * tl.load(scale + at // 32)).to(tl.float16))


# Two elements share a byte, but not a mask: a warp's reads lie in one line of memory all the same.
@triton.jit
def halves(x, y):
    at = tl.arange(0, N)
    low = tl.load(x + at // 2, mask=at % 2 == 0, other=0) & 15
    high = tl.load(x + at // 2, mask=at % 2 == 1, other=0) >> 4
    tl.store(y + at, (low + high).to(tl.bfloat16))


# No more stores than writes to shared memory would be.
@triton.jit
def every_third(x, y):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at * 3))


# Adjacent elements that are not aligned: in vectors, each read of a warp would touch four lines.
# SHIFTED-LABEL: func.func
# SHIFTED: convert_layout
# SHIFTED: tile.store
@triton.jit
def shifted(x, bias, y):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at) + tl.load(bias + at))
