# Relaxed atomic sums in loops with MMAs, whose old values are not used, become TMA reductions, also those of several loops
# through one pointer. Not where something in the kernel may signal them to other programs, where their old values are
# used, where they have an order, or where the choice is left out.
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,*i32" -D KIND=0 --target sm_90a --no-cache --emit mma -o - | FileCheck %s
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,*i32" -D KIND=0 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,*i32" -D KIND=0 --target sm_90a --no-cache --disable-pass tma-reductions --emit mma -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,*i32" -D KIND=1 --target sm_90a --no-cache --emit mma -o - --remarks 2>&1 | FileCheck %s --check-prefixes=PLAIN,TELLS
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,*i32" -D KIND=2 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,*i32" -D KIND=3 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=PLAIN
import pantile
import pantile.language as tl


# CHECK: nv.tensor_map
# CHECK: scf.for
# CHECK: nv.tma_store adding
# CHECK-NOT: tile.atomic_rmw
# CHECK: scf.yield
# CHECK: scf.for
# CHECK: nv.tma_store adding
# CHECK-NOT: tile.atomic_rmw
# CHECK: nv.tma_store_wait
# PTX: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group
# PTX: cp.async.bulk.wait_group.read 0
# PLAIN-NOT: nv.tma_store
# TELLS: remark: atomic add is not converted to TMA: a later operation may read what it writes
@pantile.jit
def kernel(A, B, Out, n, Flag, KIND: tl.constexpr):
    at = tl.arange(0, 64)
    own = at[:, None] * 64 + at[None, :]
    a = tl.load(A + own)
    for start in range(0, n, 64):
        b = tl.load(B + start * 64 + own)
        product = tl.dot(a, b)
        if KIND == 2:
            old = tl.atomic_add(Out + start * 64 + own, product, sem="relaxed")
            tl.store(Out + (n + start) * 64 + own, old)
        elif KIND == 3:
            tl.atomic_add(Out + start * 64 + own, product)
        else:
            tl.atomic_add(Out + start * 64 + own, product, sem="relaxed")
    if KIND == 0:
        for start in range(0, n, 64):
            b = tl.load(B + (n + start) * 64 + own)
            tl.atomic_add(Out + start * 64 + own, tl.dot(a, b), sem="relaxed")
    if KIND == 1:
        tl.atomic_xchg(Flag, 1)
