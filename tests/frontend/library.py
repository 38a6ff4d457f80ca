# Operations that are written in the language: reductions, scans and what is made of them.
# RUN: pantilec %s --kernel reductions --signature "*i8, *fp32" --no-cache --emit tile | FileCheck %s --check-prefix=REDUCE
# RUN: pantilec %s --kernel scans --signature "*fp32" --no-cache --emit tile | FileCheck %s --check-prefix=SCAN
# RUN: pantilec %s --kernel shapes --signature "*fp16" --no-cache --emit tile | FileCheck %s --check-prefix=SHAPE
import pantile as triton
import pantile.language as tl


@triton.jit
def wider(a, b):
    return tl.maximum(tl.abs(a), tl.abs(b))


@triton.jit
def reductions(i_ptr, f_ptr):
    rows = tl.arange(0, 16)
    offs = rows[:, None] * 32 + tl.arange(0, 32)[None, :]
    x = tl.load(i_ptr + offs)
    y = tl.load(f_ptr + offs)
    # REDUCE: arith.extsi %{{.*}} : tensor<16x32xi8> to tensor<16x32xi32>
    # REDUCE: tile.reduce(%{{.*}}), 1 {
    # REDUCE: arith.addi
    # REDUCE: } : (tensor<16x32xi32>) -> tensor<16xi32>
    tl.store(f_ptr + rows, tl.sum(x, axis=1))
    # REDUCE: tile.reduce(%{{.*}}), 1 {
    # REDUCE: arith.maxnumf
    # REDUCE: tile.expand_dims %{{.*}}, 1 : tensor<16xf32> -> tensor<16x1xf32>
    tl.store(f_ptr + rows[:, None], tl.max(y, 1, keep_dims=True))
    # REDUCE: tile.reduce(%{{.*}}, %{{.*}}), 1 {
    # REDUCE-NEXT: ^bb0(%[[V:.*]]: f32, %[[I:.*]]: i32, %[[W:.*]]: f32, %[[J:.*]]: i32):
    # REDUCE: arith.cmpf olt, %[[V]], %[[W]]
    # REDUCE: arith.cmpi slt, %[[I]], %[[J]]
    # REDUCE: } : (tensor<16x32xf32>, tensor<16x32xi32>) -> (tensor<16xf32>, tensor<16xi32>)
    tl.store(f_ptr + rows, tl.argmin(y, axis=1))
    # REDUCE: tile.reshape %{{.*}} : tensor<16x32xf32> -> tensor<512xf32>
    # REDUCE: math.absf
    # REDUCE: } : (tensor<512xf32>) -> f32
    tl.store(f_ptr, tl.reduce(y, None, wider))


@triton.jit
def scans(p):
    offs = tl.arange(0, 64)
    x = tl.load(p + offs)
    # SCAN: tile.scan(%{{.*}}), 0 {
    # SCAN: arith.addf
    # SCAN: } {reverse} : (tensor<64xf32>) -> tensor<64xf32>
    tl.store(p + offs, tl.cumsum(x, 0, reverse=True))
    # SCAN: arith.mulf
    tl.store(p + offs, x.cumprod(axis=0))
    # SCAN: arith.maxnumf
    # SCAN: arith.subf
    # SCAN: math.exp
    # SCAN: arith.addf
    # SCAN: arith.divf
    tl.store(p + offs, tl.softmax(x))
    # SCAN: arith.negf
    # SCAN: math.exp
    # SCAN: arith.addf
    # SCAN: arith.divf
    tl.store(p + offs, tl.sigmoid(x))


@triton.jit
def shapes(p):
    offs = tl.arange(0, 64)
    x = tl.load(p + offs)
    # SHAPE: tile.reshape %{{.*}} : tensor<64xf16> -> tensor<4x16xf16>
    # SHAPE: tile.trans %{{.*}} [1, 0] : tensor<4x16xf16> -> tensor<16x4xf16>
    y = tl.reshape(x, (4, 16)).T
    tl.store(p + offs, tl.ravel(y))
    # SHAPE: tile.join %{{.*}} : tensor<64xf16> -> tensor<64x2xf16>
    # SHAPE: tile.reshape %{{.*}} : tensor<64x2xf16> -> tensor<128xf16>
    tl.store(p + tl.arange(0, 128), tl.interleave(x, x + 1))
    # SHAPE: tile.split %{{.*}} : tensor<32x2xf16> -> tensor<32xf16>
    a, b = tl.split(tl.reshape(x, (32, 2)))
    # SHAPE: tile.trans %{{.*}} [1, 0] : tensor<32x2xf16> -> tensor<2x32xf16>
    tl.store(p + offs, tl.cat(b, a, can_reorder=True))
