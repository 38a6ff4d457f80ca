# Two consecutive loops with the same stages use the same circular buffers and continue the count of iterations.
# RUN: pantilec %s --kernel causal --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" -D SECOND=64 --target sm_90a --no-cache --disable-pass nv-count-stages --disable-pass nv-overlap-results --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --kernel causal --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" -D SECOND=32 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=TWO
import pantile
import pantile.language as tl


@pantile.jit
def part(acc, a, b, lo, hi, stride, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    at, within = tl.arange(0, 64), tl.arange(0, BLOCK)
    for k in range(lo, hi, BLOCK):
        x = tl.load(a + at[:, None] * stride + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * stride + at[None, :])
        product = tl.dot(x, y)
        if MASKED:
            product = tl.where(at[:, None] + k > at[None, :], product, 0.0)
        acc += tl.maximum(product, 0.0)
    return acc


# CHECK-COUNT-2: nv.channel via tma
# CHECK-NOT: nv.channel via tma
# CHECK: nv.producer {
# CHECK: %[[TURNS:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %c0_i32)
# CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[TURNS]])
# CHECK: %[[SUM:.*]]:2 = scf.for
# CHECK: scf.for {{.*}} %[[SUM]]#1)
# TWO-COUNT-4: nv.channel via tma
@pantile.jit
def causal(a, b, out, stride, SECOND: tl.constexpr):
    at = tl.arange(0, 64)
    middle = tl.program_id(0) * 64
    acc = part(tl.zeros([64, 64], tl.float32), a, b, 0, middle, stride, 64, False)
    acc = part(acc, a, b, middle, middle + 64, stride, SECOND, True)
    tl.store(out + at[:, None] * 64 + at[None, :], acc)
