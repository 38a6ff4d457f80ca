# The odd factor of the warps divides rows or, if that is impossible, columns, each part a power of two; else warps repeat what others do.
# DEFINE: %{gemm} = pantilec %s --kernel gemm --no-cache --num-stages 3 --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16"
# RUN: %{gemm} -D M=192 -D N=128 -D K=64 --num-warps 12 --emit mma -o - | FileCheck %s --check-prefix=ROWS
# RUN: %{gemm} -D M=128 -D N=192 -D K=64 --num-warps 12 --emit pipeline -o - | FileCheck %s --check-prefix=COLUMNS
# RUN: %{gemm} -D M=192 -D N=128 -D K=32 --num-warps 24 --emit pipeline -o - | FileCheck %s --check-prefix=BOTH
# RUN: %{gemm} -D M=192 -D N=256 -D K=64 --num-warps 12 --emit mma -o - | FileCheck %s --check-prefix=LARGE
# RUN: %{gemm} -D M=128 -D N=128 -D K=64 --num-warps 12 --emit layout --remarks -o - 2>&1 | FileCheck %s --check-prefix=REPEATED
# RUN: %{gemm} -D M=96 -D N=64 -D K=64 --num-warps 6 --emit layout --remarks -o - 2>&1 | FileCheck %s --check-prefix=SYNC
# RUN: %{gemm} -D M=192 -D N=128 -D K=64 --num-warps 12 --emit ptx -o - | FileCheck %s --check-prefix=ROWS-PTX
# RUN: %{gemm} -D M=192 -D N=256 -D K=64 --num-warps 12 --emit ptx -o - | FileCheck %s --check-prefix=LARGE-PTX
import pantile as triton
import pantile.language as tl

# Warp 8 begins with row 128; each consumer warp releases a stage.
# ROWS: #layout{{.*}} = #tile.layout<[192, 128], {{.*}} warp = {{\[\[}}16, 0], [32, 0], [64, 0], [128, 0]], warps = 12>
# ROWS: nv.mbarrier_init {{.*}}12
# ROWS: nv.wgmma {{.*}} mma<wgmma, 64 x 128 x 16, warps = 12 x 1>

# COLUMNS: warp = {{\[\[}}16, 0], [32, 0], [0, 64], [0, 128]], warps = 12>
# COLUMNS: nv.wgmma {{.*}} mma<wgmma, 64 x 64 x 16, warps = 4 x 3>

# BOTH: warp = {{\[\[}}16, 0], [32, 0], [0, 64], [64, 0], [128, 0]], warps = 24>
# BOTH: nv.wgmma {{.*}} mma<wgmma, 64 x 64 x 16, warps = 12 x 2>

# 128 registers at launch, a producer included, are too few for n256.
# LARGE: registers = [128, 24, 160]
# LARGE: nv.wgmma {{.*}} mma<wgmma, 64 x 128 x 16, warps = 12 x 1>

# REPEATED: remark: 4 of 12 warps repeat the work of others: to use all of them, M or N of this dot must be 3 times a power of two of instruction tiles
# REPEATED: warp = {{\[\[}}16, 0], [32, 0], [64, 0], [0, 0]], warps = 12>

# SYNC: remark: this dot runs on mma.sync m16n8k16, {{[36]}} x {{[12]}} warps; not on wgmma: wgmma needs warp groups of 4 warps
# SYNC: warps = 6>

# 12 warps of consumers and one of the producer.
# ROWS-PTX: .reqntid 416
# ROWS-PTX: mov.b32 [[ARRIVALS:%r[0-9]+]], 12;
# ROWS-PTX: mbarrier.init.shared{{.*}}, [[ARRIVALS]];
# LARGE-PTX: .reqntid 512
# LARGE-PTX: .maxnreg 128
# LARGE-PTX-DAG: setmaxnreg.dec.sync.aligned.u32 {{.*}}24;
# LARGE-PTX-DAG: setmaxnreg.inc.sync.aligned.u32 {{.*}}160;


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, at = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros([M, N], tl.float32)
    for i in range(0, k, K):
        a = tl.load(a_ptr + rows[:, None] * k + (i + at)[None, :])
        b = tl.load(b_ptr + (i + at)[:, None] * n + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(tl.float16))
