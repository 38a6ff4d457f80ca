# The variable of a loop after it: computed from the bounds, carried only where these do not give it.
# RUN: pantilec %s --kernel plain --signature "*i32, i32" --no-cache --emit tile | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel unread --signature "*i32, i32" --no-cache --emit tile | FileCheck %s --check-prefix=UNREAD
# RUN: pantilec %s --kernel changed --signature "*i32, i32" --no-cache --emit tile | FileCheck %s --check-prefix=CHANGED
# RUN: pantilec %s --kernel overwritten --signature "*i32, i32" --no-cache --emit tile | FileCheck %s --check-prefix=OVER
import pantile as triton
import pantile.language as tl


@triton.jit
def plain(p, n):
    # PLAIN: %[[RUNS:.*]] = arith.cmpi sgt, %arg1, %[[START:.*]] : i32
    # PLAIN-NOT: iter_args
    # PLAIN: %[[LAST:.*]] = arith.{{addi|subi}} %arg1
    # PLAIN: %[[KEPT:.*]] = arith.select %[[RUNS]], %[[LAST]], %[[START]] : i32
    # PLAIN: tile.store %{{.*}}, %[[KEPT]]
    for i in range(n):
        tl.store(p, i)
    tl.store(p + 1, i)


@triton.jit
def unread(p, n):
    # UNREAD-NOT: arith.cmpi
    # UNREAD-NOT: iter_args
    for i in range(n):
        tl.store(p, i)
    for i in range(n):
        tl.store(p + i, i)


@triton.jit
def changed(p, n):
    # CHANGED: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (i32)
    for i in range(n):
        i = i * 10
        tl.store(p, i)
    tl.store(p + 1, i)


@triton.jit
def overwritten(p, n):
    # OVER-NOT: iter_args
    for j in range(n):
        for i in range(j):
            tl.store(p, i)
    i = tl.load(p)
    tl.store(p + 1, i)
