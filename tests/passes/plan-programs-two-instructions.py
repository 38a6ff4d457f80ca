# Dots of 32 rows run on mma.sync, whose operands are in registers: these count next to the MMAs of warp groups, so ptxas is not asked for a second CTA per SM.
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" --num-warps 8 --num-stages 2 --target sm_90a --no-cache --emit mma -o - | FileCheck %s
# CHECK-NOT: nv.launch<{{.*}}ctas_per_sm = 2
# CHECK: nv.wgmma
# CHECK: tile.dot
import pantile
import pantile.language as tl


@pantile.jit
def both(q_ptr, k_ptr, sums_ptr, wide_ptr, n):
    rows, columns, features = tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, 128)
    q = tl.load(q_ptr + rows[:, None] * 128 + features[None, :])
    other = tl.load(q_ptr + 16384 + rows[:, None] * 128 + features[None, :])
    wide = tl.zeros((128, 128), tl.float32)
    total = tl.zeros((128,), tl.float32)
    for start in range(0, n, 32):
        k = tl.load(k_ptr + (start + columns)[:, None] * 128 + features[None, :])
        wide = tl.dot(other, tl.trans(q), wide)
        scores = tl.dot(k, tl.trans(q))
        scores = tl.dot(k, tl.trans(q), scores)
        turned = tl.dot(tl.trans(other), tl.trans(scores.to(tl.float16)))
        total += tl.sum(turned.to(tl.float16).to(tl.float32), 1)
    tl.store(sums_ptr + features, total)
    tl.store(wide_ptr + rows[:, None] * 128 + features[None, :], wide)
