# Signed minima and maxima of fewer than 32 bits are those of 32: ptxas 13.0 packs two of 16, and clamps both at zero where one is.
# RUN: pantilec %s --kernel clamped --signature "*i16:16, *i16:16, *i16:16" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
# RUN: pantilec %s --kernel clamped --signature "*i8:16, *i8:16, *i8:16" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
# RUN: pantilec %s --kernel clamped --signature "*u16:16, *u16:16, *u16:16" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefix=UNSIGNED
import pantile as triton
import pantile.language as tl


# CHECK-NOT: {{(min|max)}}.s16
# CHECK: min.s32
# CHECK: max.s32
# CHECK-NOT: {{(min|max)}}.s16
# UNSIGNED: min.u16
@triton.jit
def clamped(a, b, out):
    i = tl.arange(0, 1024)
    least = tl.minimum(tl.load(a + i), tl.load(b + i))
    tl.store(out + i, tl.where(i % 2 == 0, tl.maximum(least, 3), least))
