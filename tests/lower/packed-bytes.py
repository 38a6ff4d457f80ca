# Bytes that a word was loaded with are shifted and masked four at a time, and converted from the word.
# RUN: pantilec %s --kernel nibbles --signature "*u8:16,*bf16:16" --no-cache --no-line-info --emit ptx -o - | FileCheck %s
# RUN: pantilec %s --kernel scalars --signature "*u8,*u8" --no-cache --no-line-info --emit ptx -o - | FileCheck %s --check-prefix=SCALARS
import pantile
import pantile.language as tl


# CHECK: ld.global.v2.b32
# CHECK-NOT: {{shr.*16|shl.*16|bfe}}
# CHECK: st.global
@pantile.jit
def nibbles(X, Y):
    at = tl.arange(0, 1024)
    x = tl.load(X + at)
    tl.store(Y + at, ((x << 4).to(tl.int8) >> 4).to(tl.bfloat16))


# Bytes that come one by one stay apart.
# SCALARS: ld.global.b8
# SCALARS-NOT: prmt
# SCALARS: st.global.b8
@pantile.jit
def scalars(X, Y):
    at = tl.arange(0, 1024)
    tl.store(Y + at, tl.load(X + 3 * at) >> 4)


# Of numbers that take few bits, bf16's fraction holds all: no sign is spread, and one number subtracted.
# RUN: pantilec %s --kernel nibbles --signature "*u8:16,*bf16:16" --no-cache --no-line-info --emit ptx -o - | FileCheck %s --check-prefix=FEW
# FEW-NOT: BA98
# FEW-COUNT-4: prmt.b32 {{.*}}, {{.*}}, 1128481603
# FEW-NOT: {{prmt|and}}
# FEW: st.global
