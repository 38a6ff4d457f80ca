# Attention has no producer where more CTAs run on an SM without it and loads are vectors. An MMA whose wait is deferred by one
# iteration needs no other CTAs.
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D HEAD=64 -D M=64 -D N=64 -D EVEN=1 --num-warps 4 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=ALONE
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D HEAD=64 -D M=64 -D N=64 -D EVEN=1 --num-warps 4 --target sm_90a --no-cache --emit mma --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D HEAD=64 -D M=64 -D N=64 -D EVEN=1 --num-warps 4 --target sm_90a --no-cache --emit mma --disable-pass occupancy-first -o - | FileCheck %s --check-prefix=PRODUCER
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D HEAD=64 -D M=128 -D N=128 -D EVEN=1 --num-warps 8 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=PRODUCER
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D HEAD=128 -D M=64 -D N=64 -D EVEN=1 --num-warps 4 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=PRODUCER
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D HEAD=128 -D M=64 -D N=64 -D EVEN=0 --num-warps 4 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=PRODUCER
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --num-warps 4 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=PRODUCER
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --num-warps 4 --target sm_90a --no-cache --emit plan -o - | FileCheck %s --check-prefix=PLAN
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --num-warps 4 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=ESTIMATE
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --num-warps 4 --target sm_90a --no-cache --disable-pass nv-stream-k --emit plan -o - | FileCheck %s --check-prefix=NEVER
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --num-warps 4 --num-stages 15 --target sm_90a --no-cache --emit plan -o - | FileCheck %s --check-prefix=LARGE
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --num-warps 4 --target sm_90a --no-cache --enable-pass nv-stream-k --emit plan -o - | FileCheck %s --check-prefix=SPLIT
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D HEAD=64 -D M=64 -D N=64 -D EVEN=1 --num-warps 4 --target sm_90a --no-cache --enable-pass nv-stream-k --emit plan -o - | FileCheck %s --check-prefix=WHOLE
# RUN: pantilec %s --kernel gradients --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" -D HEAD=256 -D M=64 -D N=128 --num-warps 8 --num-stages 2 --target sm_90a --no-cache --emit mma --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=STARVED
# RUN: pantilec %s --kernel gradients --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" -D HEAD=128 -D M=64 -D N=128 --num-warps 8 --num-stages 2 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=TIGHT
# RUN: pantilec %s --kernel gradients --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" -D HEAD=64 -D M=32 -D N=128 --num-warps 4 --target sm_90a --no-cache --emit mma --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=TILES
# RUN: pantilec %s --kernel gradients --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" -D HEAD=64 -D M=64 -D N=64 --num-warps 4 --target sm_90a --no-cache --emit mma --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=CARRIED
# RUN: pantilec %s --kernel gradients --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" -D HEAD=64 -D M=64 -D N=64 --num-warps 4 --target sm_90a --no-cache --disable-pass carried-accumulators --emit mma -o - | FileCheck %s --check-prefix=PRODUCER
# RUN: pantilec %s --kernel gradients --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16" -D HEAD=64 -D M=64 -D N=128 --num-warps 8 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=PRODUCER
# RUN: pantilec %s --kernel described --signature "*fp16:16,tensordesc<fp16[64, 64]>,tensordesc<fp16[64, 64]>,*fp32:16,i32:16,i32:16" --num-warps 4 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=PRODUCER
# ALONE: nv.launch<{{.*}}ctas_per_sm = 4
# ALONE-NOT: nv.producer {
# SAID: [[@LINE+43]]:9: remark: warps are not specialised: 4 CTAs per SM fill each other's waits, and with a producer there are 3
# STARVED: remark: warps are not specialised: a producer leaves too few registers
# TIGHT: nv.launch<{{.*}}registers = [168, 24, 240]
# TIGHT: nv.producer {
# CARRIED: remark: warps are not specialised: as many CTAs share an SM without a producer, and waits are deferred by one iteration
# TILES: remark: warps are not specialised: 2 CTAs per SM fill each other's waits, and with a producer there are 1
# PRODUCER: nv.producer {
# Two CTAs per SM are kept before all else, a third is not.
# PLAN: programs: persistent
# PLAN: candidate: grid, a producer: about {{[0-9]+}} bytes of shared memory, 3 per SM
# PLAN-NEXT: candidate: persistent, a producer: about {{[0-9]+}} bytes of shared memory, 2 per SM; taken
# PLAN-NEXT: candidate: stream-K, a producer: about {{[0-9]+}} bytes of shared memory, 2 per SM; taken by launches that gain by it
# A launch counts the iterations of a tile by the argument `n`.
# ESTIMATE: nv.stream_k_estimate = #nv.stream_k_estimate<()[s0, s1, s2, s3, s4] -> ([[N:s[34]]] + 63), divisor = 64,
# NEVER-NOT: stream-K
# 15 stages do not fit into shared memory, a producer's or others: there are 14.
# LARGE: programs: grid
# LARGE: candidate: grid, a producer: its circular buffers do not fit into shared memory
# LARGE: channel [64, 64] x f16: depth 14 via cp_async
# Stream-K splits the tiles of a persistent kernel, if asked.
# SPLIT: programs: stream-K
# SPLIT: candidate: persistent, a producer: about {{[0-9]+}} bytes of shared memory, 2 per SM{{$}}
# SPLIT-NEXT: candidate: stream-K, a producer: about {{[0-9]+}} bytes of shared memory, 2 per SM; taken
# WHOLE: programs: grid
# WHOLE: candidate: stream-K, a producer: the kernel is not persistent
import pantile
import pantile.language as tl


@pantile.jit
def attention(
    Q, K, V, Out, stride, n,
    HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr, EVEN: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) * M
    rows, columns, features = first + tl.arange(0, M), tl.arange(0, N), tl.arange(0, HEAD)
    q = tl.load(Q + rows[:, None] * stride + features[None, :])
    best = tl.full([M], float("-inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, HEAD], tl.float32)
    end = n
    if not EVEN:
        end = first
    for start in range(0, end, N):
        k = tl.load(K + (start + columns)[None, :] * stride + features[:, None])
        scores = tl.dot(q, k)
        now = tl.maximum(best, tl.max(scores, 1))
        p = tl.exp2(scores - now[:, None])
        scale = tl.exp2(best - now)
        total = total * scale + tl.sum(p, 1)
        v = tl.load(V + (start + columns)[:, None] * stride + features[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * scale[:, None])
        best = now
    tl.store(Out + rows[:, None] * stride + features[None, :], acc / total[:, None])


@pantile.jit
def matmul(A, B, Out, stride, n):
    rows, columns, depth = (
        tl.program_id(0) * 64 + tl.arange(0, 64),
        tl.arange(0, 64),
        tl.arange(0, 64),
    )
    acc = tl.zeros([64, 64], tl.float32)
    for k in range(0, n, 64):
        a = tl.load(A + rows[:, None] * stride + (k + depth)[None, :])
        b = tl.load(B + (k + depth)[:, None] * stride + columns[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(Out + rows[:, None] * stride + columns[None, :], acc)


@pantile.jit
def gradients(Q, G, K, Best, Out, stride, n, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    keys, queries, features = tl.arange(0, N), tl.arange(0, M), tl.arange(0, HEAD)
    k = tl.load(K + keys[:, None] * stride + features[None, :])
    dk = tl.zeros([N, HEAD], tl.float32)
    dv = tl.zeros([N, HEAD], tl.float32)
    for start in range(0, n, M):
        rows = start + queries
        q = tl.load(Q + rows[:, None] * stride + features[None, :])
        g = tl.load(G + rows[:, None] * stride + features[None, :])
        p = tl.exp2(tl.dot(k, tl.trans(q)) - tl.load(Best + rows)[None, :])
        dv = tl.dot(p.to(tl.float16), g, dv)
        ds = p * tl.dot(k, tl.trans(g))
        dk = tl.dot(ds.to(tl.float16), q, dk)
    at = keys[:, None] * HEAD + features[None, :]
    tl.store(Out + at, dk)
    tl.store(Out + N * HEAD + at, dv)


@pantile.jit
def described(Q, K, V, Out, stride, n):
    rows, features = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 64)
    q = tl.load(Q + rows[:, None] * stride + features[None, :])
    best = tl.full([64], float("-inf"), tl.float32)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        scores = tl.dot(q, K.load([start, 0]).T)
        now = tl.maximum(best, tl.max(scores, 1))
        p = tl.exp2(scores - now[:, None])
        acc = tl.dot(p.to(tl.float16), V.load([start, 0]), acc * tl.exp2(best - now)[:, None])
        best = now
    tl.store(Out + rows[:, None] * stride + features[None, :], acc)
