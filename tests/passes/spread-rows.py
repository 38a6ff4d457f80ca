# A row that would fill a multiprocessor is spread over a cluster; small ones, other GPUs, several lengths, loops and atomics are left alone.
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=65536 --no-cache --emit layout | FileCheck %s --check-prefix=TWO
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=65536 --num-warps 16 --no-cache --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=524288 --num-warps 32 --no-cache --emit layout | FileCheck %s --check-prefix=EIGHT
# RUN: pantilec %s --kernel norm --signature "*fp32:16, *fp32:16, *fp32:16, *fp32, i32:16" --no-cache --emit layout | FileCheck %s --check-prefix=NORM
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=32768 --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=65536 --target sm_80 --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=65536 --disable-pass nv-spread-rows --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel lengths --signature "*fp32:16, *fp32:16" --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel loop --signature "*fp32:16, *fp32:16, i32" --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel atomic --signature "*fp32:16, *fp32:16" --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
import pantile as triton
import pantile.language as tl


# Indices begin at the block's own; both reductions are exchanged; none leaves before the last exchange is read.
# TWO: nv.blocks_per_program = 2
# TWO: %[[RANK:.*]] = nv.block_rank
# TWO: tile.arange 0, 32768
# TWO: %[[START:.*]] = arith.muli %[[RANK]], %c32768
# TWO: tile.splat %[[START]]
# TWO: tile.load
# TWO: %[[OWN:.*]] = tile.reduce
# TWO: %[[ALL:.*]] = nv.gather_blocks %[[OWN]]
# TWO: tile.reduce(%[[ALL]])
# TWO: nv.gather_blocks
# TWO: tile.reduce
# TWO: nv.arrive_blocks
# TWO: tile.store
# TWO: nv.await_blocks
# TWO-NEXT: return
# PTX: .reqnctapercluster 2, 1, 1
# PTX-COUNT-2: ld.shared::cluster.b32
# EIGHT: nv.blocks_per_program = 8
# EIGHT: tile.arange 0, 65536
# PLAIN-NOT: nv.blocks_per_program
# PLAIN-NOT: nv.gather_blocks
@triton.jit
def softmax(y, x, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + tl.program_id(0) * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


# Loads behind the last exchange may see no store of the other block: they meet. The first block stores the scalar.
# NORM: %[[FIRST:.*]] = arith.cmpi eq
# NORM: tile.store {{.*}} mask %[[FIRST]] : i1
# NORM-NOT: nv.arrive_blocks
# NORM: nv.gather_blocks
# NORM: tile.load
# NORM: nv.arrive_blocks
# NORM-NEXT: nv.await_blocks
# NORM: tile.store
# NORM-NOT: nv.await_blocks
@triton.jit
def norm(y, x, w, mean, n):
    cols = tl.arange(0, 65536)
    v = tl.load(x + tl.program_id(0) * n + cols)
    m = tl.sum(v, axis=0)
    tl.store(mean + tl.program_id(0), m)
    scale = tl.rsqrt(tl.sum(v * v, axis=0))
    tl.store(y + tl.program_id(0) * n + cols, (v - m) * scale * tl.load(w + cols))


@triton.jit
def lengths(y, x):
    v = tl.load(x + tl.arange(0, 65536))
    w = tl.load(x + tl.arange(0, 128))
    tl.store(y + tl.arange(0, 65536), v / tl.sum(v, axis=0) + tl.sum(w, axis=0))


@triton.jit
def loop(y, x, n):
    cols = tl.arange(0, 65536)
    for row in range(n):
        v = tl.load(x + row * 65536 + cols)
        tl.store(y + row * 65536 + cols, v / tl.sum(v, axis=0))


@triton.jit
def atomic(y, x):
    v = tl.load(x + tl.arange(0, 65536))
    tl.atomic_add(y, tl.sum(v, axis=0))
