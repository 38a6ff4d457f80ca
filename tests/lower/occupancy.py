# A loop of loads gets the least registers that hold what is in flight together; so do a large CTA and what is computed element by element from several vectors; so does whatever holds more than a thread of a full SM has; other kernels keep the assembler's choice.
# RUN: pantilec %s --kernel row_sum --signature "*fp32:16, *fp32, i32:16" -D N=1024 --no-cache --emit ptx | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --kernel row_sum --signature "*fp32:16, *fp32, i32:16" -D N=2048 --no-cache --emit ptx | FileCheck %s --check-prefix=SMALL
# RUN: pantilec %s --kernel row_sum --signature "*fp32:16, *fp32, i32:16" -D N=8192 --no-cache --emit ptx | FileCheck %s --check-prefix=LARGE
# RUN: pantilec %s --kernel row_sum --signature "*fp32:16, *fp32, i32:16" -D N=32768 --no-cache --emit ptx | FileCheck %s --check-prefix=HUGE
# RUN: pantilec %s --kernel row_sum --signature "*fp32:16, *fp32, i32:16" -D N=1024 --no-cache --emit ptx --max-registers 40 | FileCheck %s --check-prefix=LIMIT
# RUN: pantilec %s --kernel row_sum --signature "*fp32:16, *fp32, i32:16" -D N=512 --num-warps 1 --disable-pass nv-pack-programs --no-cache --emit ptx | FileCheck %s --check-prefix=MOST
# RUN: pantilec %s --kernel row_sum --signature "*fp32:16, *fp32, i32:16" -D N=512 --num-warps 1 --no-cache --emit ptx | FileCheck %s --check-prefix=SMALL
# RUN: pantilec %s --kernel copy --signature "*fp32:16, *fp32:16" --no-cache --emit ptx | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16" --num-warps 16 --no-cache --emit ptx | FileCheck %s --check-prefix=LARGE
# RUN: pantilec %s --kernel norm --signature "*fp16:16, *fp16:16, *fp16:16" --num-warps 16 --no-cache --emit ptx | FileCheck %s --check-prefix=ROW
# RUN: pantilec %s --kernel wave --signature "*fp32:16, *fp32:16" --no-cache --emit ptx | FileCheck %s --check-prefix=SMALL
# RUN: pantilec %s --kernel wave --signature "*fp64:16, *fp64:16" --no-cache --emit ptx | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --kernel matmul --signature "*fp32:16, *fp16:16, *fp16:16, i32" --no-cache --emit ptx | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --kernel weighted_sum --signature "*fp32:16, *fp32:16, *fp32" -D BEHIND=0 --no-cache --emit ptx | FileCheck %s --check-prefix=SMALL
# RUN: pantilec %s --kernel weighted_sum --signature "*fp32:16, *fp32:16, *fp32" -D BEHIND=1 --no-cache --emit ptx | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --kernel gathered_sum --signature "*i32:16, *fp32:16, *fp32:16, i32" --no-cache --emit ptx | FileCheck %s --check-prefix=GATHER
# RUN: pantilec %s --kernel one_mma --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --num-warps 8 --num-stages 2 --target sm_90a --no-cache --emit cubin -o %t
# RUN: pantilec %s --kernel one_mma --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --num-warps 8 --num-stages 2 --target sm_90a --no-cache --emit ptx | FileCheck %s --check-prefix=MMA
import pantile as triton
import pantile.language as tl


# Sixteen registers of accumulators and sixteen of loads: eight CTAs of 128 threads with 64 registers.
# SMALL: .minnctapersm 8
# MOST: .minnctapersm 16
# LARGE: .minnctapersm 1{{$}}
# HUGE: .minnctapersm 1{{$}}
# LIMIT-NOT: .minnctapersm
# LIMIT: .maxnreg 40
@triton.jit
def row_sum(x, out, n, N: tl.constexpr):
    total = tl.zeros([N], dtype=tl.float32)
    for start in range(0, n, N):
        cols = start + tl.arange(0, N)
        total += tl.load(x + cols, mask=cols < n, other=0.0)
    tl.store(out, tl.sum(total, axis=0))


# 64 registers of one row: what the assembler spills of, left alone.
@triton.jit
def softmax(x, y):
    v = tl.load(x + tl.arange(0, 32768))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + tl.arange(0, 32768), e / tl.sum(e, axis=0))


# NONE-NOT: .minnctapersm
@triton.jit
def copy(x, y):
    tl.store(y + tl.arange(0, 512), tl.load(x + tl.arange(0, 512)))


# Two vectors per thread: the second load is issued before the sines of the first are computed.
@triton.jit
def wave(x, y):
    tl.store(y + tl.arange(0, 1024), tl.sin(tl.load(x + tl.arange(0, 1024))))


# Vectors that are reduced after some arithmetic are loaded together, those after the reduction are not.
@triton.jit
def weighted_sum(x, w, y, BEHIND: tl.constexpr):
    at = tl.arange(0, 1024)
    v = tl.load(x + at)
    total = tl.sum(tl.exp(v) * tl.load(w + at), axis=0)
    tl.store(y, total)
    if BEHIND:
        tl.store(y + 1 + at, tl.load(w + 1024 + at) * total)


# 32 registers of one row, and what computes with them: more than the 32 of a full SM.
# ROW: .minnctapersm 2
@triton.jit
def norm(x, w, y):
    v = tl.load(x + tl.arange(0, 16384)).to(tl.float32)
    v *= tl.rsqrt(tl.sum(v * v, axis=0))
    tl.store(y + tl.arange(0, 16384), v * tl.load(w + tl.arange(0, 16384)))


@triton.jit
def matmul(c, a, b, n):
    m, k = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    total = tl.zeros([64, 64], dtype=tl.float32)
    for i in range(n):
        total = tl.dot(tl.load(a + i * 4096 + m * 64 + k), tl.load(b + m * 64 + k), total)
    tl.store(c + m * 64 + k, total)


# Four unrolled iterations load their rows together: 48 registers.
# GATHER: .minnctapersm 10
@triton.jit
def gathered_sum(ids, x, y, n):
    at = tl.arange(0, 512)
    total = tl.zeros([512], dtype=tl.float32)
    for i in range(n):
        total += tl.load(x + tl.load(ids + i) * 512 + at)
    tl.store(y + at, total)


# Five CTAs by the registers of the loop would leave 48, fewer than the MMA of 32 accumulators before it takes.
# MMA: .minnctapersm 4
@triton.jit
def one_mma(q, k, sums, n):
    rows, columns, few, d = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, 64)
    queries = tl.load(q + tl.program_id(0) * n + rows[:, None] * 64 + d[None, :])
    first = tl.dot(queries, tl.load(k + columns[None, :] * 64 + d[:, None]))
    tl.atomic_add(sums + columns, tl.sum(first, 0))
    for i in range(128, 512, 32):
        keys = tl.load(k + (i + few)[None, :] * 64 + d[:, None])
        scores = tl.dot(queries, keys)
        p = tl.exp2(tl.minimum(tl.maximum(scores, -5.0), 3.0))
        tl.atomic_add(sums + i + few, tl.sum(p, 0))
