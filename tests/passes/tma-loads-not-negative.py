# A coordinate that is computed by unsigned operations, bits or a choice is not negative where its operands say so: an unsigned minimum, `&` and a rest need one operand that is not, the others both. So is one that a loop counts down to zero.
# DEFINE: %{run} = pantilec %s --kernel matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16" --target sm_90a --no-cache --disable-pass mixed-transports --remarks --emit pipeline -o %t
# RUN: %{run} -D WAY=0 2>&1 | FileCheck %s --check-prefix=RAISED
# RUN: %{run} -D WAY=1 2>&1 | FileCheck %s --check-prefix=RAISED
# RUN: %{run} -D WAY=2 2>&1 | FileCheck %s --check-prefix=RAISED
# RUN: %{run} -D WAY=3 2>&1 | FileCheck %s --check-prefix=RAISED
# RUN: %{run} -D WAY=4 2>&1 | FileCheck %s --check-prefix=RAISED
# RUN: %{run} -D WAY=9 2>&1 | FileCheck %s --check-prefix=RAISED
# RUN: %{run} -D WAY=10 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} -D WAY=5 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} -D WAY=6 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} -D WAY=7 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} -D WAY=8 2>&1 | FileCheck %s --check-prefix=REFUSED
import pantile
import pantile.language as tl

B: tl.constexpr = 64


@pantile.jit
def first_row(WAY: tl.constexpr):
    any_sign, count = tl.program_id(1) - 3, tl.program_id(2)
    if WAY > 8:
        return count
    if WAY == 0:
        return tl.minimum(any_sign.to(tl.uint32), count.to(tl.uint32)).to(tl.int32)
    elif WAY == 1:
        return any_sign & count
    elif WAY == 2:
        return (any_sign.to(tl.uint32) % 640).to(tl.int32)
    elif WAY == 3:
        return tl.maximum(count.to(tl.uint32), 7).to(tl.int32)
    elif WAY == 4:
        return tl.where(any_sign > 5, count >> 1, count | 1)
    elif WAY == 5:
        return tl.maximum(any_sign.to(tl.uint32), count.to(tl.uint32)).to(tl.int32)
    elif WAY == 6:
        return any_sign | count
    elif WAY == 7:
        return tl.where(count > 5, count, any_sign)
    else:
        return any_sign >> 1


# RAISED: remark: load is converted to TMA
# RAISED: remark: load is converted to TMA
# REFUSED: warps are not specialised: a coordinate may be negative
@pantile.jit
def matmul(a, b, c, depth, stride, WAY: tl.constexpr):
    m, within = tl.program_id(0) * B, tl.arange(0, B)
    rows = first_row(WAY) + within
    acc = tl.zeros((B, B), tl.float32)
    count = tl.cdiv(depth, B)
    for i in range(count):
        # Down to 0, or to -1 tile.
        k = (count - 1 - i if WAY == 9 else count - 2 - i if WAY == 10 else i) * B
        x = tl.load(a + rows[:, None] * stride + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * stride + (m + within)[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + (m + within)[:, None] * stride + within[None, :], acc)
