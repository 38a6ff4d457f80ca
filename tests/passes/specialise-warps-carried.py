# The producer of a loop in another one carries no more than the numbers that its coordinates and stage indices come from: no accumulator.
# RUN: pantilec %s --kernel nested --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32" --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s
import pantile
import pantile.language as tl


# CHECK: nv.producer {
# CHECK-NOT: tensor<
# CHECK: scf.for {{.*}} -> (i32, i32)
# CHECK-NOT: tensor<
# CHECK: scf.for {{.*}} -> (i32, i32)
# CHECK-NOT: tensor<
# CHECK: nv.tma_load
# CHECK-NOT: tensor<
# CHECK: } {nv.programs}
@pantile.jit
def nested(a, b, out, stride, rounds):
    at, within = tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    block = 0
    for _ in range(rounds):
        row = tl.maximum(block, 0) * 64
        for k in range(0, stride, 64):
            x = tl.load(a + (row + at)[:, None] * stride + (k + within)[None, :])
            y = tl.load(b + (k + within)[:, None] * stride + at[None, :])
            acc = tl.dot(x, y, acc)
            block += 1
        acc *= 0.5
    tl.store(out + at[:, None] * 64 + at[None, :], acc)
