# A sum that starts at a constant, or at a tile from before the loop, takes registers of its own in each iteration: with those for four CTAs per SM ptxas would serialise the MMAs (C7512).
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" --num-warps 4 --num-stages 2 --target sm_90a --no-cache --emit mma -o - | FileCheck %s
# CHECK: nv.launch<{{.*}}ctas_per_sm = 3
import pantile
import pantile.language as tl


@pantile.jit
def shifted(q_ptr, k_ptr, sums_ptr, out_ptr, n):
    rows, columns, features = tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, 64)
    q = tl.load(q_ptr + tl.program_id(0) * 8192 + rows[:, None] * 64 + features[None, :])
    acc = tl.zeros((128, 64), tl.float32)
    for start in range(0, n, 32):
        k = tl.load(k_ptr + (start + columns)[None, :] * 64 + features[:, None])
        scores = tl.dot(q, k, tl.full((128, 32), -2.0, tl.float32))
        half = scores.to(tl.float16)
        tl.atomic_add(sums_ptr + start + columns, tl.sum(scores, 0))
        turned = tl.dot(tl.trans(q), half)
        if start < 96:
            acc += tl.dot(half, tl.trans(turned.to(tl.float16)))
    tl.store(out_ptr + rows[:, None] * 64 + features[None, :], acc)
