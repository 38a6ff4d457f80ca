# Programs that are counted from the end have places that are not negative, so a producer can load for them; those counted from the
# number of others may have none.
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D AXIS=0 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D AXIS=1 --target sm_90a --no-cache --emit pipeline --remarks -o - 2>&1 | FileCheck %s --check-prefix=OTHER
# CHECK: nv.producer {
# CHECK: nv.tma_load
# OTHER: remark: warps are not specialised: a coordinate may be negative
# OTHER-NOT: nv.producer {
import pantile
import pantile.language as tl


@pantile.jit
def matmul(A, B, Out, stride, n, AXIS: tl.constexpr):
    block = tl.num_programs(AXIS) - 1 - tl.program_id(0)
    rows, columns, depth = block * 64 + tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    for k in range(block * 64, n, 64):
        a = tl.load(A + rows[:, None] * stride + (k + depth)[None, :])
        b = tl.load(B + (k + depth)[:, None] * stride + columns[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(Out + rows[:, None] * stride + columns[None, :], acc)
