# wgmma reads fp32 from shared memory along K alone, and A also from registers. B that lies otherwise becomes the A of the
# transposed dot; where A lies otherwise, too, the smaller of both is transposed between two buffers.
# Orders are (sam, sak, sbk, sbn): "nn" is A by rows, which is along K, and B by rows, which is along N.
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16" -D M=128 -D N=64 -D TA=0 -D TB=0 --emit layout --no-cache -o - | FileCheck %s --check-prefix=NN
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16" -D M=128 -D N=64 -D TA=0 -D TB=1 --emit layout --no-cache -o - | FileCheck %s --check-prefix=NT
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16" -D M=128 -D N=64 -D TA=1 -D TB=0 --emit layout --no-cache -o - | FileCheck %s --check-prefix=TN
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16" -D M=64 -D N=128 -D TA=1 -D TB=0 --emit layout --no-cache -o - | FileCheck %s --check-prefix=WIDE
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16" -D M=128 -D N=64 -D TA=1 -D TB=1 --emit layout --no-cache -o - | FileCheck %s --check-prefix=TT
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16" -D M=64 -D N=32 -D TA=0 -D TB=0 --emit layout --no-cache -o - | FileCheck %s --check-prefix=NARROW
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16" -D M=32 -D N=32 -D TA=0 -D TB=0 --emit layout --no-cache --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SMALL
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16" -D M=128 -D N=64 -D TA=0 -D TB=0 --emit pipeline --no-cache -o - | FileCheck %s --check-prefix=NN-COPIES
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16" -D M=128 -D N=64 -D TA=1 -D TB=0 --emit pipeline --no-cache -o - | FileCheck %s --check-prefix=TN-COPIES
import pantile as triton
import pantile.language as tl

# NT: tile.dot {{.*}} mma<wgmma, 64 x 64 x 8, warps = 4 x 1>
# TT: tile.dot {{.*}} mma<wgmma, 64 x 64 x 8, warps = 4 x 1, adjacent_rows = 2>
# TN: tile.dot {{.*}} mma<wgmma, 64 x 64 x 8, warps = 4 x 1, adjacent_rows = 2>{{.*}}tensor<128x64xf32
# WIDE: tile.dot {{.*}} mma<wgmma, 64 x 64 x 8, warps = 4 x 1, adjacent_rows = 2>{{.*}}tensor<128x64xf32
# NARROW: tile.dot {{.*}} mma<wgmma, 64 x 32 x 8, warps = 4 x 1>{{.*}}tensor<64x32xf32
# SMALL: this dot runs on mma.sync {{.*}}; not on wgmma: wgmma needs M in multiples of 64

# The loop carries the transposed accumulator.
# NN: scf.for {{.*}} iter_args
# NN-NOT: tile.trans {{.*}}tensor<64x128xf32
# NN: tile.dot {{.*}} mma<wgmma, 64 x 128 x 8, warps = 4 x 1, adjacent_rows = 2>{{.*}}tensor<64x128xf32
# NN: scf.yield
# NN: tile.trans

# Both tiles come by TMA: that of the instruction's buffer is rounded on its way, the other one in registers.
# NN-COPIES-DAG: nv.tensor_map {{.*}}element = tf32
# NN-COPIES-DAG: nv.tensor_map {{.*}}element = f32
# NN-COPIES: nv.local_load
# NN-COPIES: nv.round_tf32
# NN-COPIES: nv.wgmma

# TN-COPIES-NOT: element = tf32
# TN-COPIES: nv.local_load
# TN-COPIES: nv.local_store
# TN-COPIES: nv.wgmma


@triton.jit
def matmul(a, b, c, depth, stride, M: tl.constexpr, N: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, 32)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, 32):
        if TA:
            x = tl.load(a + rm[:, None] + (k + rk)[None, :] * stride)
        else:
            x = tl.load(a + rm[:, None] * stride + (k + rk)[None, :])
        if TB:
            y = tl.load(b + (k + rk)[:, None] + rn[None, :] * stride)
        else:
            y = tl.load(b + (k + rk)[:, None] * stride + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * stride + rn[None, :], acc)
