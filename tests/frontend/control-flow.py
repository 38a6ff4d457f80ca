# Branches that return, branches that merge variables, and loops.
# RUN: pantilec %s --kernel returns --signature "*i32, i32" --no-cache --emit tile | FileCheck %s --check-prefix=RETURNS
# RUN: pantilec %s --kernel maybe_returns --signature "*i32, i32" --no-cache --emit tile | FileCheck %s --check-prefix=MAYBE
# RUN: pantilec %s --kernel merges --signature "*fp32, i32" --no-cache --emit tile | FileCheck %s --check-prefix=MERGES
# RUN: pantilec %s --kernel pruned --signature "*fp32, None" -D NAME=abc --no-cache --emit tile | FileCheck %s --check-prefix=PRUNED
# RUN: pantilec %s --kernel loops --signature "*fp32, i32, i64" -D N=3 --no-cache --emit tile | FileCheck %s --check-prefix=LOOPS
# RUN: pantilec %s --kernel down --signature "*i32, i32" --no-cache --emit tile | FileCheck %s --check-prefix=DOWN
import pantile as triton
import pantile.language as tl


# RETURNS: %[[OUT:.*]] = arith.cmpi sge, %{{.*}}, %arg1
# RETURNS-NEXT: scf.if %[[OUT]] {
# RETURNS-NEXT: } else {
# RETURNS: tile.store
# RETURNS-NEXT: }
# RETURNS-NEXT: return
@triton.jit
def returns(p, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(p + pid, pid)


# MAYBE: %[[DONE:.*]] = scf.if %{{.*}} -> (i1) {
# MAYBE: %[[THREE:.*]] = arith.cmpi eq, %{{.*}}, %c3_i32
# MAYBE: tile.store %arg0
# MAYBE: scf.yield %[[THREE]] : i1
# MAYBE: scf.yield %false : i1
# MAYBE: scf.if %[[DONE]] {
# MAYBE-NEXT: } else {
# MAYBE: tile.store
@triton.jit
def maybe_returns(p, n):
    i = tl.program_id(0)
    if i < n:
        if i == 3:
            return
        tl.store(p, i)
    tl.store(p + 1, i)


@triton.jit
def sign(x):
    if x > 0:
        return 1.0, x
    elif x < 0:
        return -1.0, -x
    return 0.0, x


# MERGES: %[[MERGED:.*]]:2 = scf.if %{{.*}} -> (f32, f32) {
# MERGES: scf.yield %{{.*}}, %{{.*}} : f32, f32
# MERGES: } else {
# MERGES: scf.if
# MERGES: arith.addf %[[MERGED]]#0, %[[MERGED]]#1 : f32
@triton.jit
def merges(p, n):
    x = tl.load(p)
    side, size = sign(x)
    tl.store(p, side + size if n > 2 else size)


# PRUNED-NOT: scf.if
# PRUNED: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
# PRUNED: tile.store %arg0, %[[TWO]]
@triton.jit
def pruned(p, q, NAME: tl.constexpr):
    x = 1.0
    if q is not None:
        x = tl.load(q)
    if NAME == "abc" and x == 1.0:
        x = 2.0
    else:
        x = undefined_here
    tl.store(p, x)


# LOOPS: %[[WHILE:.*]]:3 = scf.while (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[I:.*]] = %c0_i32) : (f32, f32, i32) -> (f32, f32, i32)
# LOOPS: arith.cmpi slt, %[[I]], %arg1
# LOOPS: scf.condition(
# LOOPS: %[[STEP:.*]] = arith.extsi %arg1 : i32 to i64
# LOOPS: scf.for %[[K:.*]] = %c0_i64 to %arg2 step %[[STEP]] iter_args(%[[ACC:.*]] = %[[WHILE]]#0) -> (f32) : i64
# LOOPS: } {tile.num_stages = 2 : i32, tile.warp_specialize = 1 : i32}
# LOOPS-COUNT-3: arith.addf
# LOOPS: tile.store
@triton.jit
def loops(p, n, m, N: tl.constexpr):
    i = 0
    pair = (0.0, 1.0)
    while i < n:
        a, b = pair
        pair = (b, a + b)
        i += 3
    acc, last = pair
    for k in tl.range(0, m, n, num_stages=2, warp_specialize=True):
        acc += tl.load(p + k)
    for k in tl.static_range(1, N + 1):
        acc += k
    tl.store(p, acc)


# DOWN: scf.for %[[UP:.*]] = %c0_i32 to %arg1 step %c2_i32
# DOWN-NEXT: %[[I:.*]] = arith.subi %arg1, %[[UP]] : i32
# DOWN-NEXT: %[[P:.*]] = tile.addptr %arg0, %[[I]]
# DOWN-NEXT: tile.store %[[P]], %[[I]]
@triton.jit
def down(p, n):
    for i in range(n, 0, -2):
        tl.store(p + i, i)
