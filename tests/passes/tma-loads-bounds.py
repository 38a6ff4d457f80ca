# Bounds of a mask that TMA needs no extent for: those that always hold, and those along a row of all heads, where the head becomes a dimension of its own.
# DEFINE: %{run} = pantilec %s --kernel products --signature "*fp16:16, *fp16:16, *fp32:16, *i32:16, i32:16" --target sm_90a --no-cache --disable-pass mixed-transports --disable-pass occupancy-first --remarks --emit pipeline -o %t
# RUN: %{run} -D WAY=0 2>&1 | FileCheck %s --check-prefix=HEADS
# RUN: %{run} -D WAY=1 2>&1 | FileCheck %s --check-prefix=HEADS
# RUN: %{run} -D WAY=2 2>&1 | FileCheck %s --check-prefix=BEFORE
# RUN: %{run} -D WAY=3 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: %{run} -D WAY=4 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: %{run} -D WAY=5 2>&1 | FileCheck %s --check-prefix=UNKNOWN
import pantile
import pantile.language as tl

B: tl.constexpr = 64


# The columns of a head end at its begin plus 96. Those of B, from 0 to 63, end below 96 in any case.
# HEADS: remark: load is converted to TMA with a tensor map of 5 dimensions
# HEADS: remark: load is converted to TMA with a tensor map of 4 dimensions
# A first tile of rows that may lie before the sequence reads what precedes it: nothing but the mask forbids that.
# BEFORE: warps are not specialised: its mask has a lower bound that is not zero
# Columns up to a number in memory, or a head at no multiple of 16 bytes, are no extent; so is a bound by the head that the address does not have.
# UNKNOWN: warps are not specialised: a bound in its mask is not known on the host
@pantile.jit
def products(a, b, out, begins, stride, WAY: tl.constexpr):
    sequence, head, at = tl.program_id(0), tl.program_id(1), tl.program_id(2) * B
    begin = tl.load(begins + sequence)
    tokens = tl.load(begins + sequence + 1) - begin
    within = tl.arange(0, B)
    first = begin * stride + head * (100 if WAY == 4 else 96)
    if WAY == 5:
        first = begin * stride
    columns = at + within
    if WAY == 3:
        end = tl.load(begins + head)
    elif WAY == 5:
        end = 96 * head
    else:
        end = 96
    acc = tl.zeros((B, B), tl.float32)
    for k in range(-B if WAY == 2 else 0, tokens, B):
        rows = k + within
        inside = rows < tokens
        if WAY == 1 or WAY == 2:
            inside = inside & (rows >= 0)
        x = tl.load(
            a + first + rows[:, None] * stride + columns[None, :],
            mask=inside[:, None] & (columns < end)[None, :], other=0.0,
        )  # fmt: skip
        y = tl.load(
            b + first + rows[:, None] * stride + within[None, :],
            mask=inside[:, None] & (within < 96)[None, :], other=0.0,
        )  # fmt: skip
        acc = tl.dot(x.T, y, acc)
    tl.store(out + at * B + within[:, None] * B + within[None, :], acc)
