# What two consecutive loops read is stored once, into a buffer that is freed after both. Where shared memory is needed in
# between, and where another layout of the buffer is needed, each loop has its own.
# RUN: pantilec %s --kernel two_loops --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" -D BETWEEN=0 --target sm_90a --no-cache --disable-pass nv-overlap-results --emit mma -o - | FileCheck %s
# RUN: pantilec %s --kernel two_loops --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" -D BETWEEN=0 --target sm_90a --no-cache --emit mma --disable-pass nv-share-operands -o - | FileCheck %s --check-prefix=TWO
# RUN: pantilec %s --kernel two_loops --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" -D BETWEEN=1 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=TWO
# RUN: pantilec %s --kernel other_values --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=TWO
import pantile
import pantile.language as tl


@pantile.jit
def part(acc, x, b, lo, hi, stride):
    at, within = tl.arange(0, 64), tl.arange(0, 64)
    for k in range(lo, hi, 64):
        y = tl.load(b + (k + within)[:, None] * stride + at[None, :])
        acc += tl.maximum(tl.dot(x, y), 0.0)
    return acc


# The threads synchronise once after the store, before both loops.
# CHECK-NOT: nv.local_store
# CHECK: %[[X:.*]] = nv.alloc at {{[0-9]+}} : <1 x[64, 64] x f16
# CHECK-NEXT: nv.local_store %{{.*}}, %[[X]]
# CHECK-NEXT: nv.fence_async
# CHECK: nv.barrier
# CHECK: scf.for
# CHECK-NOT: nv.barrier
# CHECK: nv.wgmma %[[X]]
# CHECK-NOT: {{nv.local_store|nv.barrier}}
# CHECK: scf.for
# CHECK-NOT: nv.barrier
# CHECK: nv.wgmma %[[X]]
# CHECK-NOT: nv.local_store
# CHECK: nv.dealloc %[[X]]
# TWO-COUNT-2: nv.local_store
# TWO-NOT: nv.local_store
@pantile.jit
def two_loops(a, b, out, stride, BETWEEN: tl.constexpr):
    at = tl.arange(0, 64)
    middle = tl.program_id(0) * 64
    x = tl.load(a + at[:, None] * stride + at[None, :])
    acc = part(tl.zeros([64, 64], tl.float32), x, b, 0, middle, stride)
    if BETWEEN:
        acc += tl.sum(acc, 0)[None, :]
    acc = part(acc, x, b, middle, middle + 64, stride)
    tl.store(out + at[:, None] * 64 + at[None, :], acc)


@pantile.jit
def other_values(a, b, out, stride):
    at = tl.arange(0, 64)
    middle = tl.program_id(0) * 64
    x = tl.load(a + at[:, None] * stride + at[None, :])
    acc = part(tl.zeros([64, 64], tl.float32), x, b, 0, middle, stride)
    acc = part(acc, x * 2, b, middle, middle + 64, stride)
    tl.store(out + at[:, None] * 64 + at[None, :], acc)
