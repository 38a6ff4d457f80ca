# Warp groups do not multiply by instructions whose sums leave a thread too few registers: the assembler would refuse them.
# REQUIRES: ptxas
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16" -D M=256 -D N=256 --num-warps 16 --no-cache --remarks --emit cubin -o /dev/null 2>&1 | FileCheck %s
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16" -D M=256 -D N=256 --num-warps 32 --num-stages 2 --no-cache --remarks --emit cubin -o /dev/null 2>&1 | FileCheck %s
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16" -D M=128 -D N=256 --num-warps 16 --no-cache --remarks --emit cubin -o /dev/null 2>&1 | FileCheck %s --check-prefix=ENOUGH
import pantile as triton
import pantile.language as tl


# CHECK: this dot runs on mma.sync {{.*}}; not on wgmma: the accumulator of one instruction leaves a thread too few registers
# ENOUGH: this dot runs on wgmma m64n128k16, 8 x 2 warps
@triton.jit
def matmul(a, b, c, depth, stride, M: tl.constexpr, N: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, 64)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, 64):
        x = tl.load(a + rm[:, None] * stride + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * stride + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * stride + rn[None, :], acc.to(tl.float16))
