# Rows of a loop are prefetched where `tl.range` says so and nothing in the loop may write them: by one iteration less than there are stages, as far as registers allow.
# RUN: pantilec %s --kernel walk --signature "*fp32:16, *fp32:16, i32, i32:16" -D STAGES=2 --no-cache --emit pipeline | FileCheck %s --check-prefix=AHEAD
# RUN: pantilec %s --kernel walk --signature "*fp32:16, *fp32:16, i32, i32:16" -D STAGES=4 --no-cache --emit pipeline | FileCheck %s --check-prefix=THREE
# RUN: pantilec %s --kernel walk --signature "*fp32:16, *fp32:16, i32, i32:16" -D STAGES=4 --num-warps 2 --no-cache --emit pipeline | FileCheck %s --check-prefix=TWO
# RUN: pantilec %s --kernel walk --signature "*fp32:16, *fp32:16, i32, i32:16" -D STAGES=1 --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel walk --signature "*fp32:16, *fp32:16, i32, i32:16" -D STAGES=2 --disable-pass nv-prefetch-loads --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel in_place --signature "*fp32:16, i32, i32:16" --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel counted --signature "*fp32:16, *fp32:16, *i32, i32, i32:16" --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel scaled --signature "*fp32:16, *fp32:16, *fp32:16, i32, i32:16" --no-cache --emit pipeline | FileCheck %s --check-prefix=SCALAR
# RUN: pantilec %s --kernel summed --signature "*fp32:16, *fp32:16, i32" --no-cache --emit pipeline | FileCheck %s --check-prefix=ALONE
import pantile as triton
import pantile.language as tl


# AHEAD: %[[FIRST:.*]] = tile.load
# AHEAD: scf.for {{.*}} = %[[FIRST]])
# AHEAD-NEXT: arith.subi
# AHEAD: %[[NEXT:.*]] = tile.load {{.*}} mask
# AHEAD: tile.reduce(
# AHEAD: tile.store
# AHEAD: scf.yield %[[NEXT]]
# THREE: %[[FIRST:.*]] = tile.load
# THREE: %[[SECOND:.*]] = tile.load
# THREE: %[[THIRD:.*]] = tile.load
# THREE: scf.for {{.*}}(%[[NOW:.*]] = %[[FIRST]], %[[NEXT:.*]] = %[[SECOND]], %[[THEN:.*]] = %[[THIRD]])
# THREE: %[[LAST:.*]] = tile.load {{.*}} mask
# THREE: tile.reduce(%[[NOW]]
# THREE: scf.yield %[[NEXT]], %[[THEN]], %[[LAST]]
# TWO: tile.load
# TWO: tile.load
# TWO-NOT: tile.load
# TWO: scf.for
# PLAIN-NOT: tile.load
# PLAIN: scf.for
# PLAIN: tile.load
# PLAIN-NOT: tile.load
@triton.jit
def walk(y, x, rows, n, STAGES: tl.constexpr):
    cols = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        tl.store(y + row * n + cols, v - tl.max(v, axis=0), mask=cols < n)


@triton.jit
def in_place(x, rows, n):
    cols = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        tl.store(x + row * n + cols, 2 * tl.load(x + row * n + cols))


@triton.jit
def counted(y, x, count, rows, n):
    cols = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        tl.atomic_add(count, 1)
        tl.store(y + row * n + cols, tl.load(x + row * n + cols))


# A scalar of a row comes with its tile, next to as many registers of tiles as are allowed.
# SCALAR: %[[TILE:.*]] = tile.load {{.*}} -> tensor<4096xf32
# SCALAR: %[[SCALE:.*]] = tile.load {{.*}} -> f32
# SCALAR: scf.for {{.*}}(%[[ROW:.*]] = %[[TILE]], %[[BY:.*]] = %[[SCALE]])
# SCALAR: %[[NEXT:.*]] = tile.load {{.*}} -> tensor<4096xf32
# SCALAR: %[[THEN:.*]] = tile.load {{.*}} -> f32
# SCALAR: tile.splat %[[BY]]
# SCALAR: scf.yield %[[NEXT]], %[[THEN]]
@triton.jit
def scaled(y, x, scale, rows, n):
    cols = tl.arange(0, 4096)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        tl.store(y + row * n + cols, v * tl.load(scale + row), mask=cols < n)


# Scalars alone, too, by as many iterations as there are stages but one.
# ALONE-COUNT-2: tile.load {{.*}} -> f32
# ALONE-NOT: tile.load
# ALONE: scf.for
# ALONE: tile.load {{.*}} -> f32
# ALONE-NOT: tile.load
@triton.jit
def summed(y, x, n):
    total = 0.0
    for i in tl.range(0, n, num_stages=3):
        total += tl.load(x + i)
    tl.store(y, total)
