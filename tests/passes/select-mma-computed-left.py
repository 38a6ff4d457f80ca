# A right operand that a loop computes from what it loads becomes the left one of the transposed dot, in registers: four adjacent rows of a
# thread where the weights are contiguous along N and warps have two blocks of rows, so that bytes are read in words.
# DEFINE: %{run} = pantilec %s --signature "*fp16:16,*i8:16,*fp16:16,i32:16,i32:16" --target sm_90a --no-cache --emit mma -o -
# RUN: %{run} --kernel weights -D N=128 -D WAY=0 | FileCheck %s
# RUN: %{run} --kernel weights -D N=64 -D WAY=0 | FileCheck %s --check-prefix=PAIRS
# RUN: %{run} --kernel weights -D N=128 -D WAY=0 --disable-pass computed-left | FileCheck %s --check-prefix=PLAIN
# RUN: %{run} --kernel weights -D N=128 -D WAY=1 | FileCheck %s --check-prefix=PLAIN
# RUN: %{run} --kernel weights -D N=128 -D WAY=2 | FileCheck %s --check-prefix=CHAINED
# RUN: %{run} --kernel weights -D N=128 -D WAY=3 | FileCheck %s --check-prefix=STORED
# RUN: %{run} --kernel weights -D N=64 -D WAY=4 | FileCheck %s --check-prefix=TRANSPOSED
# RUN: pantilec %s --kernel read_again --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp16:16,i32:16" --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=AGAIN
import pantile
import pantile.language as tl


# CHECK: scf.for
# CHECK-NOT: nv.local_store
# CHECK: nv.local_load {{.*}} -> tensor<64x128xi8
# CHECK-NOT: nv.local_store
# CHECK: nv.wgmma {{.*}}mma<wgmma, 64 x 16 x 16, warps = 4 x 1, adjacent_rows = 4> : tensor<128x64xf16
# PAIRS: nv.wgmma {{.*}}mma<wgmma, 64 x 16 x 16, warps = 4 x 1, adjacent_rows = 2> : tensor<64x64xf16
# With both operands computed, or the right one from the result of a dot, or switched off, rows are too few for wgmma.
# PLAIN-NOT: nv.wgmma
# PLAIN: mma_sync
# CHAINED: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16
# A transpose that the text ends with is no further use.
# TRANSPOSED-NOT: nv.local_store
# TRANSPOSED: nv.wgmma {{.*}}mma<wgmma, 64 x 16 x 16, warps = 4 x 1{{.*}}> : tensor<64x64xf16
# What something else reads, too, goes through shared memory.
# STORED: nv.local_store
# STORED: nv.wgmma {{.*}}mma<wgmma, 64 x 16 x 16, warps = 4 x 1> : !nv.buffer<1 x[128, 64] x f16
@pantile.jit
def weights(A, B, Out, stride, n, N: tl.constexpr, WAY: tl.constexpr):
    m, at, columns = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, N)
    acc = tl.zeros([16, N], tl.float32)
    total = tl.zeros([64, N], tl.float16)
    for start in range(0, n, 64):
        a = tl.load(A + m[:, None] * stride + (start + at)[None, :])
        if WAY == 1:
            a = -a
        b = tl.load(B + (start + at)[:, None] * stride + columns[None, :]).to(tl.float16)
        if WAY == 2:
            b += tl.dot(tl.trans(a), acc.to(tl.float16)).to(tl.float16)
        if WAY == 4:
            b = tl.trans((tl.load(B + columns[:, None] * stride + (start + at)[None, :])).to(tl.float16) * 2)
        acc = tl.dot(a, b, acc)
        if WAY == 3:
            total += b
    tl.store(Out + m[:, None] * N + columns[None, :], acc)
    if WAY == 3:
        tl.store(Out + at[:, None] * N + columns[None, :] + 16 * N, total)


# Registers of an MMA in flight are not read, under another name either: the transposed tile goes through shared memory.
# AGAIN: scf.for
# AGAIN: nv.wgmma
# AGAIN: nv.local_store {{.*}}xf16
# AGAIN: nv.wgmma {{.*}} : !nv.buffer
@pantile.jit
def read_again(A, B, Y, Out, Squares, n):
    at = tl.arange(0, 64)
    acc, total = tl.zeros([64, 64], tl.float32), tl.zeros([64, 64], tl.float16)
    for start in range(0, n, 64):
        a = tl.load(A + at[:, None] * n + (start + at)[None, :])
        b = tl.load(B + (start + at)[:, None] * 64 + at[None, :])
        p = tl.dot(a, b).to(tl.float16)
        acc = tl.dot(tl.trans(p), tl.load(Y + (start + at)[:, None] * 64 + at[None, :]), acc)
        total += p * p
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)
    tl.store(Squares + at[:, None] * 64 + at[None, :], total)
