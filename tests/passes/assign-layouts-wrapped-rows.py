# Rows that wrap around, or are limited, at a number that nothing is known of are contiguous but for one place: lanes are adjacent along them.
# DEFINE: %{run} = pantilec %s --no-cache --kernel load -o - --remarks --signature "*fp16:16, *fp16:16, i32, i32"
# RUN: %{run} --emit layout -D EDGE=modulo 2>/dev/null | FileCheck %s
# RUN: %{run} --emit layout -D EDGE=choice 2>/dev/null | FileCheck %s
# RUN: %{run} --emit layout -D EDGE=limit 2>/dev/null | FileCheck %s
# RUN: %{run} --emit layout -D EDGE=cycle 2>/dev/null | FileCheck %s --check-prefix=CYCLE
# RUN: %{run} --emit ptx -D EDGE=modulo 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
import pantile as triton
import pantile.language as tl


# CHECK: #layout{{[0-9]*}} = #tile.layout<[128, 32], {{.*}}lane = {{\[\[}}1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]
# A cycle of 7 rows breaks everywhere.
# CYCLE-NOT: #tile.layout<[128, 32], {{.*}}lane = {{\[\[}}1, 0]
# CYCLE: tile.load
# REMARK-NOT: not coalesced
# REMARK: load moves 2 bytes per thread at once, of 16: its index may wrap around, or stay at its limit, between any two elements
@triton.jit
def load(x, out, rows, stride, EDGE: tl.constexpr):
    at, columns = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, 32)
    if EDGE == "modulo":
        at = at % rows
    elif EDGE == "choice":
        at = tl.where(at < rows, at, 0)
    elif EDGE == "limit":
        at = tl.minimum(at, rows - 1)
    else:
        at = at % 7
    pointers = x + at[:, None] + columns[None, :] * stride
    for _ in range(0, 4):
        tl.store(out + tl.arange(0, 128)[:, None] * 33 + columns[None, :], tl.load(pointers))
        pointers += 32 * stride
