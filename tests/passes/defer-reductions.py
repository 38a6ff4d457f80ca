# The sum of an online softmax: each thread's own elements in the loops, and one exchange after the last; the second loop continues with
# what the first carried. A sum that is read in the loop, and one that begins elsewhere, stay as they are, as in loops without MMAs.
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D KIND=0 --num-warps 4 --target sm_90a --no-cache --emit layout -o - | FileCheck %s --check-prefix=PARTS
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D KIND=0 --num-warps 4 --target sm_80 --no-cache --emit layout -o - | FileCheck %s --check-prefix=PARTS
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D KIND=0 --num-warps 4 --target sm_90a --disable-pass tile-defer-reductions --no-cache --emit layout -o - | FileCheck %s --check-prefix=WHOLE
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D KIND=1 --num-warps 4 --target sm_90a --no-cache --emit layout -o - | FileCheck %s --check-prefix=WHOLE
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D KIND=2 --num-warps 4 --target sm_90a --no-cache --emit layout -o - | FileCheck %s --check-prefix=WHOLE
# RUN: pantilec %s --kernel rows --signature "*fp32:16,*fp32:16,i32:16" --num-warps 4 --target sm_90a --no-cache --emit layout -o - | FileCheck %s --check-prefix=WHOLE
# PARTS: %[[FIRST:[0-9]+]]:{{[0-9]+}} = scf.for
# PARTS: tile.reshape {{.*}} -> tensor<64x8x4x2xf32
# PARTS: arith.addf {{.*}} : tensor<64x4xf32
# PARTS: scf.yield {{.*}}tensor<64x4xf32
# PARTS-NOT: tile.reduce
# PARTS: scf.for {{.*}} = %[[FIRST]]#
# PARTS: scf.yield {{.*}}tensor<64x4xf32
# PARTS: tile.reduce({{.*}}), 1 {
# PARTS: (tensor<64x4xf32, {{.*}}>) -> tensor<64xf32
# WHOLE-NOT: tile.reshape
import pantile
import pantile.language as tl


@pantile.jit
def attend(acc, total, best, q, keys, begin, end, Sums, KIND: tl.constexpr):
    rows = tl.arange(0, 64)
    for start in range(begin, end, 64):
        block = tl.load(keys + start * 64)
        scores = tl.dot(q, tl.trans(block))
        now = tl.maximum(best, tl.max(scores, 1))
        p = tl.exp2(scores - now[:, None])
        scale = tl.exp2(best - now)
        total = total * scale + tl.sum(p, 1)
        if KIND == 1:
            tl.store(Sums + start + rows, total)
        acc = tl.dot(p.to(tl.float16), block, acc * scale[:, None])
        best = now
    return acc, total, best


@pantile.jit
def attention(Q, K, Out, Sums, n, KIND: tl.constexpr):
    rows = tl.arange(0, 64)
    place = rows[:, None] * 64 + tl.arange(0, 64)[None, :]
    q = tl.load(Q + place)
    acc = tl.zeros((64, 64), tl.float32)
    total = tl.load(Sums + rows) if KIND == 2 else tl.zeros((64,), tl.float32)
    best = tl.full((64,), float("-inf"), tl.float32)
    acc, total, best = attend(acc, total, best, q, K + place, 0, n, Sums, KIND)
    acc, total, best = attend(acc, total, best, q, K + place, n, 2 * n, Sums, KIND)
    tl.store(Out + place, acc / total[:, None])
    tl.store(Sums + rows, best + tl.log2(total))


@pantile.jit
def rows(X, Out, n):
    place = tl.arange(0, 64)
    total = tl.zeros((64,), tl.float32)
    for start in range(0, n, 64):
        total += tl.sum(tl.load(X + place[:, None] * n + start + place[None, :]), 1)
    tl.store(Out + place, total)
