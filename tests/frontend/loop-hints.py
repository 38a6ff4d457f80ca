# Hints about the variable of a loop, and unrolling.
# RUN: pantilec %s --kernel hint --signature "*fp32:16, i32" --no-cache --emit tile | FileCheck %s --check-prefix=HINT
# RUN: pantilec %s --kernel hint --signature "*fp32:16, i32" --target sm_90a --no-cache --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --kernel unrolled --signature "*fp32:16, i32" --no-cache --emit tile | FileCheck %s --check-prefix=UNROLLED
import pantile as triton
import pantile.language as tl


# HINT: scf.for
# HINT: tile.index_divisibility = 16 : i32
# PTX: ld.global.v4
# PTX: st.global.v4
@triton.jit
def hint(p, n):
    for i in range(0, n, n // 8):
        i = tl.multiple_of(i, 16)
        offsets = i + tl.arange(0, 1024)
        tl.store(p + offsets, tl.load(p + offsets) + 1)


# UNROLLED-COUNT-2: scf.for
# UNROLLED-NOT: scf.for
@triton.jit
def unrolled(p, n):
    total = 0.0
    for i in tl.range(n, loop_unroll_factor=4):
        total += tl.load(p + i)
    tl.store(p, total)
