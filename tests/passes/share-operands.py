# What two consecutive loops read is stored once, into a buffer that is freed after both. Where shared memory is needed in
# between, and where another layout of the buffer is needed, each loop has its own.
# RUN: pantilec %s --kernel two_loops --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" -D BETWEEN=0 --target sm_90a --no-cache --disable-pass nv-overlap-results --emit mma -o - | FileCheck %s
# RUN: pantilec %s --kernel two_loops --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" -D BETWEEN=0 --target sm_90a --no-cache --emit mma --disable-pass nv-share-operands -o - | FileCheck %s --check-prefix=TWO
# RUN: pantilec %s --kernel two_loops --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" -D BETWEEN=1 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=TWO
# RUN: pantilec %s --kernel other_values --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=TWO
# What a loop loads for a dot and for its threads is stored once, and read from there. Not where the buffer gets no stages, or the tile is used elsewhere, too.
# DEFINE: %{both} = pantilec %s --kernel for_both --signature "*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16" --target sm_90a --no-cache --disable-pass nv-specialise-warps --emit pipeline -o -
# RUN: %{both} -D WAY=0 | FileCheck %s --check-prefix=BOTH
# RUN: %{both} -D WAY=0 --num-stages 1 | FileCheck %s --check-prefix=OWN
# RUN: %{both} -D WAY=1 | FileCheck %s --check-prefix=OWN
# RUN: %{both} -D WAY=2 | FileCheck %s --check-prefix=OWN
# RUN: %{both} -D WAY=0 --disable-pass nv-share-operands | FileCheck %s --check-prefix=OWN
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


# BOTH: scf.for
# BOTH-NOT: tile.load
# BOTH: nv.copy_async
# BOTH: %[[TILE:.*]] = nv.local_load
# BOTH: arith.extf %[[TILE]]
# BOTH-NOT: nv.local_store
# BOTH: scf.yield
# OWN: scf.for
# OWN: %[[TILE:.*]] = tile.load
# OWN: nv.local_store %[[TILE]]
# OWN: arith.extf %[[TILE]]
@pantile.jit
def for_both(a, b, out, squares, stride, WAY: tl.constexpr):
    at = tl.arange(0, 64)
    acc, total = tl.zeros([64, 64], tl.float32), tl.zeros([64], tl.float32)
    last = tl.zeros([64, 64], tl.float16)
    for k in range(0, stride, 64):
        pointers = a + at[:, None] * stride + (k + at)[None, :]
        if WAY == 2:
            x = tl.load(pointers, mask=(k + at)[None, :] < 100, other=1.0)
        else:
            x = tl.load(pointers)
        y = tl.load(b + (k + at)[:, None] * stride + at[None, :])
        acc = tl.dot(x, y, acc)
        total += tl.sum(x.to(tl.float32), 1)
        if WAY == 1:
            last = x
    tl.store(out + at[:, None] * 64 + at[None, :], acc + last)
    tl.store(squares + at, total)
