# Half of a row that leaves no register for anything else waits in shared memory; loops, and rows that fit, are left alone.
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=65536 --num-warps 32 --no-cache --emit mma | FileCheck %s --check-prefix=SPILLED
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=65536 --num-warps 32 --no-cache --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=65536 --num-warps 32 --target sm_86 --no-cache --emit mma | FileCheck %s --check-prefix=LESS
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=65536 --num-warps 32 --disable-pass nv-spill-to-shared --no-cache --emit mma | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=32768 --num-warps 32 --no-cache --emit mma | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel walk --signature "*fp32:16, *fp32:16, i32:16, i32" -D BLOCK=65536 --num-warps 32 --no-cache --emit mma | FileCheck %s --check-prefix=PLAIN
import pantile as triton
import pantile.language as tl


# 32 of 64 registers of each of 1024 threads, after the sums of 32 warps.
# SPILLED: spills = [[[OFFSET:[0-9]+]], 32]
# LESS: spills = [{{[0-9]+}}, 24]
# PLAIN-NOT: spills = [
# PTX-COUNT-32: st.volatile.shared.b32
# PTX: bar{{.*}}.sync
# PTX-COUNT-32: ld.volatile.shared.b32
@triton.jit
def softmax(y, x, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + tl.program_id(0) * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


@triton.jit
def walk(y, x, n, rows, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        tl.store(y + row * n + cols, v / tl.sum(v, axis=0), mask=cols < n)
