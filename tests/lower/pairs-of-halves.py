# Sums and products of 16-bit floats are computed two at a time where an operand has them in words, and the other one too,
# or one number for both.
# DEFINE: %{ptx} = pantilec %s --no-cache --no-line-info --emit ptx -o -
# RUN: %{ptx} --kernel scaled --signature "*bf16:16,*bf16:16" --target sm_90a | FileCheck %s --check-prefix=PAIRS
# RUN: %{ptx} --kernel scaled --signature "*fp16:16,*fp16:16" --target sm_80 | FileCheck %s --check-prefix=HALVES
# RUN: %{ptx} --kernel scaled --signature "*bf16:16,*bf16:16" --target sm_80 | FileCheck %s --check-prefix=OLD
# RUN: %{ptx} --kernel apart --signature "*bf16,*bf16" --target sm_90a | FileCheck %s --check-prefix=APART
# RUN: %{ptx} --kernel unpacked --signature "*u8:16,*bf16:16" --target sm_90a | FileCheck %s --check-prefix=UNPACKED
import pantile
import pantile.language as tl


# PAIRS-NOT: {{\.bf16 }}
# PAIRS-COUNT-4: fma.rn.bf16x2
# PAIRS-NOT: {{\.bf16 }}
# HALVES-COUNT-4: fma.rn.f16x2
# There is no product of bf16 before sm_90.
# OLD-NOT: bf16x2
# OLD: st.global
@pantile.jit
def scaled(X, Y):
    at = tl.arange(0, 1024)
    x = tl.load(X + at)
    tl.store(Y + at, x * 3 + x)


# Elements that come one by one stay apart.
# APART-NOT: bf16x2
# APART: st.global
@pantile.jit
def apart(X, Y):
    at = tl.arange(0, 1024)
    tl.store(Y + at, tl.load(X + 3 * at) * 3)


# Two parts of a word are its halves: nothing puts them together.
# UNPACKED: and.b32
# UNPACKED-NOT: {{prmt|mov.b32.*\{|shr}}
# UNPACKED: mul.bf16x2
# UNPACKED-NOT: {{prmt|mov.b32.*\{}}
# UNPACKED: st.global
@pantile.jit
def unpacked(X, Y):
    at = tl.arange(0, 128)
    word = (tl.load(X + at).to(tl.uint32) * 0x40040) & 0x01C001C0
    low = word.to(tl.uint16).to(tl.bfloat16, bitcast=True)
    high = (word >> 16).to(tl.uint16).to(tl.bfloat16, bitcast=True)
    tl.store(Y + tl.arange(0, 256), tl.interleave(low, high) * 4)
