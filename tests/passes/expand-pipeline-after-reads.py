# A loop on mma.sync: prefetches are issued after the reads of this iteration's operands.
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --num-warps 2 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --num-warps 4 --target sm_80 --no-cache --emit pipeline -o - | FileCheck %s
import pantile
import pantile.language as tl

# CHECK: scf.for
# CHECK: nv.wait
# CHECK: nv.barrier
# CHECK-NOT: nv.copy_async
# CHECK-COUNT-2: nv.local_load
# CHECK-COUNT-2: nv.copy_async
# CHECK: nv.commit
# CHECK: tile.dot
# CHECK-NOT: nv.copy_async
@pantile.jit
def matmul(a, b, c, n):
    rows, columns, within = tl.arange(0, 32), tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros((32, 64), tl.float32)
    for k in range(0, n, 32):
        x = tl.load(a + rows[:, None] * n + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * 64 + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * 64 + columns[None, :], total.to(tl.float16))
