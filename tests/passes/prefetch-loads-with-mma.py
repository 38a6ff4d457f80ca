# In a loop with MMAs, vectors for the next iteration are loaded after the last use of this one's; in the last
# iteration from the same place. Tiles that MMAs read, and what the loop may write, are loaded as before.
# RUN: pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" -D WRITES=0 --target sm_90a --no-cache --disable-pass occupancy-first --disable-pass nv-count-stages --disable-pass nv-overlap-iterations --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" -D WRITES=0 --target sm_90a --no-cache --disable-pass nv-overlap-iterations --disable-pass occupancy-first --emit pipeline --disable-pass nv-prefetch-loads -o - | FileCheck %s --check-prefix=SAME
# RUN: pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" -D WRITES=1 --target sm_90a --no-cache --disable-pass producer-past-stores --disable-pass nv-overlap-iterations --disable-pass occupancy-first --emit pipeline -o - | FileCheck %s --check-prefix=APART
# RUN: pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" -D WRITES=2 --target sm_90a --no-cache --disable-pass nv-overlap-iterations --disable-pass occupancy-first --emit pipeline -o - | FileCheck %s --check-prefix=SAME
# RUN: pantilec %s --kernel counted --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" --target sm_90a --no-cache --disable-pass nv-overlap-iterations --disable-pass occupancy-first --emit pipeline -o - | FileCheck %s --check-prefix=COUNTED
# RUN: pantilec %s --kernel pages --signature "*fp16:16,*fp16:16,*fp32:16,*i32:16,i32,i32:16" --target sm_90a --no-cache --disable-pass nv-overlap-iterations --remarks --emit pipeline -o - 2>&1 | FileCheck %s --check-prefix=PAGES
# RUN: pantilec %s --kernel walked --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" --target sm_90a --no-cache --disable-pass nv-overlap-iterations --disable-pass occupancy-first --emit pipeline -o - | FileCheck %s --check-prefix=WALKED
import pantile
import pantile.language as tl


# CHECK: %[[FIRST:.*]] = tile.load %{{.*}} mask
# CHECK: scf.for {{.*}} %[[LSE:[a-z0-9]+]] = %[[FIRST]]) ->
# CHECK-NOT: tile.load
# CHECK: tile.expand_dims %[[LSE]]
# CHECK: nv.wgmma_wait
# CHECK: arith.subf
# CHECK: arith.select
# CHECK: %[[NEXT:.*]] = tile.load %{{[^ ]*}} :
# CHECK: math.exp2
# CHECK: nv.wgmma %
# CHECK: scf.yield {{.*}}%[[NEXT]] :
# APART: %[[FIRST:.*]] = tile.load %{{.*}} mask
# APART: scf.for {{.*}} = %[[FIRST]])
# APART: %[[NEXT:.*]] = tile.load %{{[^ ]*}} :
# APART: tile.store
# APART: scf.yield {{.*}}%[[NEXT]] :
# SAME-NOT: tile.load {{.*}} mask
# SAME: nv.wgmma %
# SAME: nv.wgmma %
# COUNTED: %[[FIRST:.*]] = tile.load %{{.*}} mask
# COUNTED: scf.for {{.*}} %{{.*}} = %[[FIRST]]
# COUNTED: arith.select
# COUNTED: %[[NEXT:.*]] = tile.load %{{[^ ]*}} :
# COUNTED: scf.yield {{.*}}%[[NEXT]]
@pantile.jit
def gradient(A, B, Lse, Out, stride, n, WRITES: tl.constexpr):
    at = tl.arange(0, 64)
    a = tl.load(A + at[:, None] * stride + at[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
        lse = tl.load(Lse + start + at)
        p = tl.exp2(tl.dot(a, tl.trans(b)) - lse[None, :])
        acc = tl.dot(p.to(tl.float16), b, acc)
        if WRITES == 1:
            tl.store(Out + start + at, tl.sum(p, 0))
        if WRITES == 2:
            tl.store(Lse + start + at, tl.sum(p, 0))
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)


@pantile.jit
def counted(A, B, Lse, Out, stride, n):
    at = tl.arange(0, 64)
    a = tl.load(A + at[:, None] * stride + at[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    start = 0
    for _ in range(n):
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
        lse = tl.load(Lse + start + at)
        p = tl.exp2(tl.dot(a, tl.trans(b)) - lse[None, :])
        acc = tl.dot(p.to(tl.float16), b, acc)
        start += 64
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)


# What copies go by is carried already.
# PAGES-NOT: ahead into registers
# PAGES: load is prefetched 2 iterations ahead
# PAGES: scf.for
@pantile.jit
def pages(A, B, Out, table, count, stride):
    at = tl.arange(0, 64)
    a = tl.load(A + at[:, None] * 64 + at[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    for i in range(count):
        b = tl.load(B + tl.load(table + i) * stride + at[:, None] * 64 + at[None, :])
        acc += tl.dot(a, b)
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)


# Pointers that the end of the body advances are advanced before the load, which the second MMA then hides.
# WALKED: %[[FIRST:.*]] = tile.load %{{.*}} mask
# WALKED: scf.for {{.*}} = %[[FIRST]],
# WALKED: nv.wgmma_wait
# WALKED: %[[POINTERS:.*]] = tile.addptr
# WALKED: %[[NEXT:.*]] = tile.load %[[POINTERS]] mask
# WALKED: nv.wgmma %
# WALKED: scf.yield {{.*}}%[[NEXT]],
@pantile.jit
def walked(A, B, Lse, Out, stride, n):
    at = tl.arange(0, 64)
    a = tl.load(A + at[:, None] * stride + at[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    rows = Lse + at
    for start in range(0, n, 64):
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
        p = tl.exp2(tl.dot(a, tl.trans(b)) - tl.load(rows)[None, :])
        acc = tl.dot(p.to(tl.float16), b, acc)
        rows += 64
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)
