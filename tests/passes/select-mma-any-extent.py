# wgmma on columns that are no power of two: warp groups and instructions interleave in runs of them, of 8 where the right operand lies
# along K, of a panel in shared memory where it lies along N; TMA brings in boxes of at most 256 rows.
# DEFINE: %{gemm} = pantilec %s --kernel gemm --no-cache --num-stages 3 --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16"
# RUN: %{gemm} -D M=192 -D N=192 -D K=64 -D ALONG_N=1 --num-warps 8 --emit pipeline -o - | FileCheck %s --check-prefix=PANELS
# RUN: %{gemm} -D M=192 -D N=96 -D K=64 -D ALONG_N=1 --num-warps 8 --emit pipeline -o - | FileCheck %s --check-prefix=NARROW
# RUN: %{gemm} -D M=192 -D N=192 -D K=64 -D ALONG_N=0 --num-warps 8 --emit pipeline -o - | FileCheck %s --check-prefix=EIGHTS
# RUN: %{gemm} -D M=64 -D N=320 -D K=64 -D ALONG_N=1 --num-warps 4 --emit pipeline -o - | FileCheck %s --check-prefix=REPEATS
# RUN: %{gemm} -D M=320 -D N=64 -D K=64 -D ALONG_N=1 --num-warps 4 --emit pipeline -o - | FileCheck %s --check-prefix=TALL
# RUN: %{gemm} -D M=128 -D N=88 -D K=64 -D ALONG_N=0 --num-warps 8 --emit pipeline -o - | FileCheck %s --check-prefix=ODD
# RUN: %{gemm} -D M=64 -D N=88 -D K=64 -D ALONG_N=1 --num-warps 4 --emit layout --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=NO-SWIZZLE
# RUN: %{gemm} -D M=64 -D N=88 -D K=64 -D ALONG_N=0 --num-warps 8 --emit layout --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNEVEN
# RUN: %{gemm} -D M=192 -D N=192 -D K=64 -D ALONG_N=1 --num-warps 8 --emit ptx -o - | FileCheck %s --check-prefix=PANELS-PTX
# RUN: %{gemm} -D M=192 -D N=192 -D K=64 -D ALONG_N=0 --num-warps 8 --emit ptx -o - | FileCheck %s --check-prefix=EIGHTS-PTX
# RUN: %{gemm} -D M=80 -D N=128 -D K=64 -D ALONG_N=1 --num-warps 8 --emit pipeline -o - | FileCheck %s --check-prefix=TURNED
# RUN: %{gemm} -D M=80 -D N=96 -D K=64 -D ALONG_N=1 --num-warps 8 --emit layout --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=NEITHER
import pantile as triton
import pantile.language as tl

# PANELS: nv.channel via tma : <{{[0-9]}} x[64, 192] x f16, <[1, 0], 64>>
# PANELS: nv.producer
# PANELS: nv.wgmma {{.*}} mma<wgmma, 64 x 96 x 16, warps = 4 x 2 in runs of 32>

# NARROW: nv.channel via tma : <{{[0-9]}} x[64, 96] x f16, <[1, 0], 32>>
# NARROW: nv.wgmma {{.*}} mma<wgmma, 64 x 48 x 16, warps = 4 x 2 in runs of 16>

# EIGHTS: nv.channel via tma : <{{[0-9]}} x[64, 192] x f16, <[0, 1], 128>>
# EIGHTS: nv.producer
# EIGHTS: nv.wgmma {{.*}} mma<wgmma, 64 x 96 x 16, warps = 4 x 2 in runs of 8>

# REPEATS: nv.wgmma {{.*}} mma<wgmma, 64 x 160 x 16, warps = 4 x 1 in runs of 32>

# TALL: nv.tensor_map {base = 0 {{.*}}box = array<i32: 64, 160>
# TALL: nv.producer

# ODD: nv.channel via tma : <{{[0-9]}} x[64, 88] x f16, <[0, 1], 128>>
# ODD: nv.producer
# ODD: nv.wgmma {{.*}} mma<wgmma, 64 x 88 x 16, warps = 8 x 1>

# The loop sums up the transposed tile.
# TURNED: nv.producer
# TURNED: scf.for {{.*}}tensor<128x80xf32
# TURNED-NOT: tile.trans
# TURNED: nv.wgmma {{.*}} mma<wgmma, 64 x 80 x 16, warps = 8 x 1>
# TURNED: scf.yield
# TURNED: tile.trans
# NEITHER: mma.sync {{.*}} not on wgmma: wgmma needs M in multiples of 64

# NO-SWIZZLE: mma.sync {{.*}} not on wgmma: rows of the right operand, which is contiguous along N, fill no swizzle of each warp group's columns
# UNEVEN: mma.sync {{.*}} not on wgmma: the columns cannot be divided evenly among the warp groups

# Panels of 32 columns, of 4096 bytes, every second one: the upper word of a descriptor has the swizzle and 8 rows of 64 bytes, the lower
# one has 8192 bytes in units of 16.
# PANELS-PTX: or.b32 {{.*}}, 33554432;
# PANELS-PTX: {{{.*}}, 2147483680}
# PANELS-PTX: wgmma.mma_async.sync.aligned.m64n96k16

# Eight rows of 128 bytes, every second eight: 2048 bytes in units of 16.
# EIGHTS-PTX: {{{.*}}, 1073741952}
# EIGHTS-PTX: wgmma.mma_async.sync.aligned.m64n96k16


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ALONG_N: tl.constexpr):
    rows, columns, at = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros([M, N], tl.float32)
    for i in range(0, k, K):
        a = tl.load(a_ptr + rows[:, None] * k + (i + at)[None, :])
        if ALONG_N:
            b = tl.load(b_ptr + (i + at)[:, None] * n + columns[None, :])
        else:
            b = tl.load(b_ptr + (i + at)[:, None] + columns[None, :] * k)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(tl.float16))
