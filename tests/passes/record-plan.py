# What was decided for a kernel, and what it is predicted to cost, in lines to read: program map, raster group, partitions, channels with
# their transports, MMAs in flight, cycles per iteration with their limiter.
# DEFINE: %{matmul} = pantilec %s --kernel matmul --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --no-cache --emit plan
# RUN: %{matmul} -D M=128 -D N=256 -D K=64 --num-warps 8 --num-stages 4 --target sm_90a | FileCheck %s --check-prefix=PERSISTENT
# RUN: %{matmul} -D M=128 -D N=256 -D K=64 --num-warps 8 --num-stages 4 --target sm_90a --disable-pass nv-order-raster | FileCheck %s --check-prefix=UNORDERED
# RUN: %{matmul} -D M=128 -D N=256 -D K=64 --num-warps 8 --num-stages 3 --target sm_90a --enable-pass nv-stream-k | FileCheck %s --check-prefix=STREAM
# RUN: %{matmul} -D M=128 -D N=256 -D K=64 --num-warps 8 --num-stages 3 --target sm_90a --max-registers 168 | FileCheck %s --check-prefix=LIMITED
# RUN: %{matmul} -D M=128 -D N=256 -D K=64 --num-warps 8 --num-stages 4 --target sm_90a --no-line-info | FileCheck %s --check-prefix=NOWHERE
# RUN: %{matmul} -D M=128 -D N=128 -D K=32 --num-warps 4 --num-stages 4 --target sm_80 | FileCheck %s --check-prefix=ASYNC
# RUN: %{matmul} -D M=128 -D N=128 -D K=32 --num-warps 4 --num-stages 1 --target sm_80 | FileCheck %s --check-prefix=ONE
# RUN: pantilec %s --kernel walk --signature "*fp32:16, *fp32:16, i32, i32:16" --no-cache --emit plan | FileCheck %s --check-prefix=REGISTERS
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=128 --num-warps 1 --no-cache --emit plan | FileCheck %s --check-prefix=PACKED
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=131072 --num-warps 16 --no-cache --emit plan | FileCheck %s --check-prefix=CLUSTER
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=1024 --no-cache --emit plan | FileCheck %s --check-prefix=GRID
import pantile as triton
import pantile.language as tl


# PERSISTENT: kernel matmul for sm_90a
# PERSISTENT-NEXT: programs: persistent, raster groups of 8
# PERSISTENT-NEXT: candidate: grid, a producer: about {{[0-9]+}} bytes of shared memory, 1 per SM{{$}}
# PERSISTENT-NEXT: candidate: persistent, a producer: about 213056 bytes of shared memory, 1 per SM; taken
# PERSISTENT-NEXT: candidate: stream-K, a producer: about {{[0-9]+}} bytes of shared memory, 1 per SM; taken by launches that gain by it
# PERSISTENT-NEXT: CTA: 9 warps, about {{[0-9]+}} registers per thread, 229440 bytes of shared memory, 1 per SM
# PERSISTENT-NEXT: producer: 1 warp
# PERSISTENT-NEXT: consumers: 8 warps
# PERSISTENT-NEXT: loop at record-plan.py:[[#@LINE+32]]:9: about {{[0-9]+}} cycles per iteration, bound by {{the tensor cores|L2|shared memory}}
# PERSISTENT-NEXT: channel [128, 64] x f16: depth 4 via tma
# PERSISTENT-NEXT: channel [64, 256] x f16: depth 4 via tma
# PERSISTENT-NEXT: wgmma m64n256k16, 1 in flight over the end of an iteration
# PERSISTENT-NOT: {{.}}
# UNORDERED: programs: persistent{{$}}
# STREAM: programs: stream-K
# STREAM: candidate: stream-K, a producer: about {{[0-9]+}} bytes of shared memory, 1 per SM; taken
# STREAM: producer: 1 warp
# STREAM-NEXT: helper: 1 warp
# STREAM-NEXT: consumers: 8 warps
# `maxnreg` leaves no producer: threads copy, and no more registers are predicted than there may be.
# LIMITED: programs: grid
# LIMITED-NEXT: CTA: 8 warps, about 168 registers per thread
# LIMITED-NEXT: loop
# LIMITED-NEXT: channel [128, 64] x f16: depth 4 via cp_async
# The kernel cache has one entry for every location of the kernel.
# NOWHERE: loop: about
# ASYNC: kernel matmul for sm_80
# ASYNC-NEXT: programs: grid
# ASYNC-NEXT: CTA: 4 warps, about {{[0-9]+}} registers per thread, 65536 bytes of shared memory, 2 per SM
# ASYNC-NEXT: loop at
# ASYNC-NEXT: channel [128, 32] x f16: depth 4 via cp_async
# ASYNC-NEXT: channel [32, 128] x f16: depth 4 via cp_async
# ASYNC-NEXT: mma.sync m16n8k16{{$}}
# ONE: channel [128, 32] x f16: depth 1 via shared
# ONE-NEXT: channel [32, 128] x f16: depth 1 via shared
@triton.jit
def matmul(A, B, C, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    at = tl.arange(0, K)
    total = tl.zeros([M, N], tl.float32)
    for i in range(0, k, K):
        a = tl.load(A + rows[:, None] * k + (i + at)[None, :], mask=(rows[:, None] < m) & (i + at < k)[None, :], other=0.0)
        b = tl.load(B + (i + at)[:, None] * n + columns[None, :], mask=(i + at < k)[:, None] & (columns[None, :] < n), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(C + rows[:, None] * n + columns[None, :], total.to(tl.float16), mask=(rows[:, None] < m) & (columns[None, :] < n))


# A prefetch distance of three iterations, and no MMA: nothing estimates the registers.
# REGISTERS: CTA: 4 warps, {{[0-9]+}} bytes of shared memory
# REGISTERS-NEXT: loop at record-plan.py:[[#@LINE+6]]:9: about {{[0-9]+}} cycles per iteration, bound by L2
# REGISTERS-NEXT: channel [1024] x f32: depth 3 via registers
# REGISTERS-NOT: {{.}}
@triton.jit
def walk(y, x, rows, n):
    cols = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=4):
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        tl.store(y + row * n + cols, v - tl.max(v, axis=0), mask=cols < n)


# PACKED: programs: packed, up to 4 per CTA
# PACKED-NEXT: CTA: 1 warp, 0 bytes of shared memory, 32 per SM
# CLUSTER: programs: clusters of 4 CTAs
# GRID: programs: grid
# GRID-NEXT: CTA: 4 warps
# GRID-NOT: loop
@triton.jit
def softmax(y, x, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + cols, mask=cols < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + tl.program_id(0) * n + cols, v / tl.sum(v, axis=0), mask=cols < n)
