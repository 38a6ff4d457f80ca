// Dots of register tiles, and of buffers by scalar FMA.
// RUN: split-file %s %t
// RUN: pantile-lower --ptx --no-line-info %t/dot_fma_f32.mlir | FileCheck %s --check-prefix=DOT-FMA-F32
// RUN: pantile-lower --ptx --no-line-info %t/mma_sync_f16.mlir | FileCheck %s --check-prefix=MMA-SYNC-F16
// RUN: pantile-lower --ptx --no-line-info %t/mma_sync_tf32.mlir | FileCheck %s --check-prefix=MMA-SYNC-TF32
// RUN: pantile-lower --ptx --no-line-info %t/mma_sync_i8.mlir | FileCheck %s --check-prefix=MMA-SYNC-I8

// Eight steps of K per iteration, whatever the depth: 16 results of a thread take 128 instructions.
// DOT-FMA-F32: ld.shared.v4
// DOT-FMA-F32-COUNT-128: fma.rn.f32
// DOT-FMA-F32-NOT: fma.rn.f32
// DOT-FMA-F32: bra

// MMA-SYNC-F16: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}

// MMA-SYNC-TF32: cvt.rna.tf32.f32
// MMA-SYNC-TF32: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32

// MMA-SYNC-I8: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
//--- dot_fma_f32.mlir
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @dot_fma_f32(%a: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = nv.alloc at 0 : !nv.buffer<1 x [32, 64] x f32, #nv.swizzle<[1, 0], 32>>
    %v2 = tile.arange 0, 2048 : tensor<2048xi32, #tile.layout<[2048], reg = [[1], [2], [32], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>>
    %v3 = tile.splat %a : tensor<2048x!tile.ptr<f32>, #tile.layout<[2048], reg = [[1], [2], [32], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>>
    %v4 = tile.addptr %v3, %v2 : tensor<2048x!tile.ptr<f32>, #tile.layout<[2048], reg = [[1], [2], [32], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>>, tensor<2048xi32, #tile.layout<[2048], reg = [[1], [2], [32], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>>
    %v5 = tile.load %v4 : tensor<2048x!tile.ptr<f32>, #tile.layout<[2048], reg = [[1], [2], [32], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>> -> tensor<2048xf32, #tile.layout<[2048], reg = [[1], [2], [32], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>>
    %v6 = tile.reshape %v5 : tensor<2048xf32, #tile.layout<[2048], reg = [[1], [2], [32], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>> -> tensor<32x64xf32, #tile.layout<[32, 64], reg = [[0, 1], [0, 2], [0, 32], [16, 0]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>>
    nv.local_store %v6, %v1 : tensor<32x64xf32, #tile.layout<[32, 64], reg = [[0, 1], [0, 2], [0, 32], [16, 0]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>>, !nv.buffer<1 x [32, 64] x f32, #nv.swizzle<[1, 0], 32>>
    %v7 = nv.alloc at 8192 : !nv.buffer<1 x [64, 64] x f32, #nv.swizzle<[1, 0], 128>>
    %v8 = tile.arange 0, 4096 : tensor<4096xi32, #tile.layout<[4096], reg = [[1], [2], [32], [1024], [2048]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>>
    %v9 = tile.splat %b : tensor<4096x!tile.ptr<f32>, #tile.layout<[4096], reg = [[1], [2], [32], [1024], [2048]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>>
    %v10 = tile.addptr %v9, %v8 : tensor<4096x!tile.ptr<f32>, #tile.layout<[4096], reg = [[1], [2], [32], [1024], [2048]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>>, tensor<4096xi32, #tile.layout<[4096], reg = [[1], [2], [32], [1024], [2048]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>>
    %v11 = tile.load %v10 : tensor<4096x!tile.ptr<f32>, #tile.layout<[4096], reg = [[1], [2], [32], [1024], [2048]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>> -> tensor<4096xf32, #tile.layout<[4096], reg = [[1], [2], [32], [1024], [2048]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>>
    %v12 = tile.reshape %v11 : tensor<4096xf32, #tile.layout<[4096], reg = [[1], [2], [32], [1024], [2048]], lane = [[4], [8], [16], [64], [128]], warp = [[256], [512]]>> -> tensor<64x64xf32, #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 32], [16, 0], [32, 0]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>>
    nv.local_store %v12, %v7 : tensor<64x64xf32, #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 32], [16, 0], [32, 0]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>>, !nv.buffer<1 x [64, 64] x f32, #nv.swizzle<[1, 0], 128>>
    nv.fence_async
    nv.barrier
    %v13 = arith.constant dense<0.0> : tensor<32x64xf32, #tile.layout<[32, 64], reg = [[0, 1], [0, 2], [8, 0], [16, 0]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[0, 32], [4, 0]]>>
    %v14 = nv.fma %v1, %v7, %v13 : !nv.buffer<1 x [32, 64] x f32, #nv.swizzle<[1, 0], 32>>, !nv.buffer<1 x [64, 64] x f32, #nv.swizzle<[1, 0], 128>>, tensor<32x64xf32, #tile.layout<[32, 64], reg = [[0, 1], [0, 2], [8, 0], [16, 0]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[0, 32], [4, 0]]>>
    %v15 = tile.arange 0, 2048 : tensor<2048xi32, #tile.layout<[2048], reg = [[1], [2], [512], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[32], [256]]>>
    %v16 = tile.splat %c : tensor<2048x!tile.ptr<f32>, #tile.layout<[2048], reg = [[1], [2], [512], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[32], [256]]>>
    %v17 = tile.addptr %v16, %v15 : tensor<2048x!tile.ptr<f32>, #tile.layout<[2048], reg = [[1], [2], [512], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[32], [256]]>>, tensor<2048xi32, #tile.layout<[2048], reg = [[1], [2], [512], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[32], [256]]>>
    %v18 = tile.reshape %v14 : tensor<32x64xf32, #tile.layout<[32, 64], reg = [[0, 1], [0, 2], [8, 0], [16, 0]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[0, 32], [4, 0]]>> -> tensor<2048xf32, #tile.layout<[2048], reg = [[1], [2], [512], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[32], [256]]>>
    tile.store %v17, %v18 : tensor<2048x!tile.ptr<f32>, #tile.layout<[2048], reg = [[1], [2], [512], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[32], [256]]>>, tensor<2048xf32, #tile.layout<[2048], reg = [[1], [2], [512], [1024]], lane = [[4], [8], [16], [64], [128]], warp = [[32], [256]]>>
    return
  }
}
//--- mma_sync_f16.mlir
#l0 = #tile.layout<[2048], reg = [[1], [256], [8], [16], [1024]], lane = [[2], [4], [32], [64], [128]], warp = [[512], [0]]>
#l1 = #tile.layout<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [32, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [0, 0]]>
#l2 = #tile.layout<[2048], reg = [[64], [512], [1024], [16], [32]], lane = [[128], [256], [1], [2], [4]], warp = [[0], [8]]>
#l3 = #tile.layout<[32, 64], reg = [[1, 0], [8, 0], [16, 0], [0, 16], [0, 32]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 0], [0, 8]]>
#l4 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 16], [0, 32], [32, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [0, 8]]>
#l5 = #tile.layout<[4096], reg = [[1], [512], [16], [32], [2048]], lane = [[2], [4], [64], [128], [256]], warp = [[1024], [8]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @mma_sync_f16(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 2048 : tensor<2048xi32, #l0>
    %v2 = tile.splat %a : tensor<2048x!tile.ptr<f16>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<2048x!tile.ptr<f16>, #l0>, tensor<2048xi32, #l0>
    %v4 = tile.load %v3 : tensor<2048x!tile.ptr<f16>, #l0> -> tensor<2048xf16, #l0>
    %v5 = tile.reshape %v4 : tensor<2048xf16, #l0> -> tensor<64x32xf16, #l1>
    %v6 = tile.arange 0, 2048 : tensor<2048xi32, #l2>
    %v7 = tile.splat %b : tensor<2048x!tile.ptr<f16>, #l2>
    %v8 = tile.addptr %v7, %v6 : tensor<2048x!tile.ptr<f16>, #l2>, tensor<2048xi32, #l2>
    %v9 = tile.load %v8 : tensor<2048x!tile.ptr<f16>, #l2> -> tensor<2048xf16, #l2>
    %v10 = tile.reshape %v9 : tensor<2048xf16, #l2> -> tensor<32x64xf16, #l3>
    %v11 = arith.constant dense<0.0> : tensor<64x64xf32, #l4>
    %v12 = tile.dot %v5, %v10, %v11 mma<mma_sync, 16 x 8 x 16, warps = 2 x 2> : tensor<64x32xf16, #l1>, tensor<32x64xf16, #l3>, tensor<64x64xf32, #l4>
    %v13 = tile.arange 0, 4096 : tensor<4096xi32, #l5>
    %v14 = tile.splat %c : tensor<4096x!tile.ptr<f32>, #l5>
    %v15 = tile.addptr %v14, %v13 : tensor<4096x!tile.ptr<f32>, #l5>, tensor<4096xi32, #l5>
    %v16 = tile.reshape %v12 : tensor<64x64xf32, #l4> -> tensor<4096xf32, #l5>
    tile.store %v15, %v16 : tensor<4096x!tile.ptr<f32>, #l5>, tensor<4096xf32, #l5>
    return
  }
}
//--- mma_sync_tf32.mlir
#l0 = #tile.layout<[2048], reg = [[256], [4], [8], [16]], lane = [[1], [2], [32], [64], [128]], warp = [[512], [1024]]>
#l1 = #tile.layout<[64, 32], reg = [[8, 0], [0, 4], [0, 8], [0, 16]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#l2 = #tile.layout<[1024], reg = [[128], [256], [512], [8], [16]], lane = [[32], [64], [1], [2], [4]], warp = [[0], [0]]>
#l3 = #tile.layout<[32, 32], reg = [[4, 0], [8, 0], [16, 0], [0, 8], [0, 16]], lane = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 0], [0, 0]]>
#l4 = #tile.layout<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#l5 = #tile.layout<[2048], reg = [[1], [256], [8], [16]], lane = [[2], [4], [32], [64], [128]], warp = [[512], [1024]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @mma_sync_tf32(%a: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 2048 : tensor<2048xi32, #l0>
    %v2 = tile.splat %a : tensor<2048x!tile.ptr<f32>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<2048x!tile.ptr<f32>, #l0>, tensor<2048xi32, #l0>
    %v4 = tile.load %v3 : tensor<2048x!tile.ptr<f32>, #l0> -> tensor<2048xf32, #l0>
    %v5 = tile.reshape %v4 : tensor<2048xf32, #l0> -> tensor<64x32xf32, #l1>
    %v6 = tile.arange 0, 1024 : tensor<1024xi32, #l2>
    %v7 = tile.splat %b : tensor<1024x!tile.ptr<f32>, #l2>
    %v8 = tile.addptr %v7, %v6 : tensor<1024x!tile.ptr<f32>, #l2>, tensor<1024xi32, #l2>
    %v9 = tile.load %v8 : tensor<1024x!tile.ptr<f32>, #l2> -> tensor<1024xf32, #l2>
    %v10 = tile.reshape %v9 : tensor<1024xf32, #l2> -> tensor<32x32xf32, #l3>
    %v11 = arith.constant dense<0.0> : tensor<64x32xf32, #l4>
    %v12 = tile.dot %v5, %v10, %v11 mma<mma_sync, 16 x 8 x 8, warps = 4 x 1> : tensor<64x32xf32, #l1>, tensor<32x32xf32, #l3>, tensor<64x32xf32, #l4>
    %v13 = tile.arange 0, 2048 : tensor<2048xi32, #l5>
    %v14 = tile.splat %c : tensor<2048x!tile.ptr<f32>, #l5>
    %v15 = tile.addptr %v14, %v13 : tensor<2048x!tile.ptr<f32>, #l5>, tensor<2048xi32, #l5>
    %v16 = tile.reshape %v12 : tensor<64x32xf32, #l4> -> tensor<2048xf32, #l5>
    tile.store %v15, %v16 : tensor<2048x!tile.ptr<f32>, #l5>, tensor<2048xf32, #l5>
    return
  }
}
//--- mma_sync_i8.mlir
#l0 = #tile.layout<[2048], reg = [[1], [2], [512], [16], [32]], lane = [[4], [8], [64], [128], [256]], warp = [[1024], [0]]>
#l1 = #tile.layout<[32, 64], reg = [[0, 1], [0, 2], [8, 0], [0, 16], [0, 32]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [0, 0]]>
#l2 = #tile.layout<[4096], reg = [[64], [128], [1024], [2048], [16], [32]], lane = [[256], [512], [1], [2], [4]], warp = [[0], [8]]>
#l3 = #tile.layout<[64, 64], reg = [[1, 0], [2, 0], [16, 0], [32, 0], [0, 16], [0, 32]], lane = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 0], [0, 8]]>
#l4 = #tile.layout<[32, 64], reg = [[0, 1], [8, 0], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [0, 8]]>
#l5 = #tile.layout<[2048], reg = [[1], [512], [16], [32]], lane = [[2], [4], [64], [128], [256]], warp = [[1024], [8]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @mma_sync_i8(%a: !tile.ptr<i8> {tile.divisibility = 16 : i32}, %b: !tile.ptr<i8> {tile.divisibility = 16 : i32}, %c: !tile.ptr<i32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 2048 : tensor<2048xi32, #l0>
    %v2 = tile.splat %a : tensor<2048x!tile.ptr<i8>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<2048x!tile.ptr<i8>, #l0>, tensor<2048xi32, #l0>
    %v4 = tile.load %v3 : tensor<2048x!tile.ptr<i8>, #l0> -> tensor<2048xi8, #l0>
    %v5 = tile.reshape %v4 : tensor<2048xi8, #l0> -> tensor<32x64xi8, #l1>
    %v6 = tile.arange 0, 4096 : tensor<4096xi32, #l2>
    %v7 = tile.splat %b : tensor<4096x!tile.ptr<i8>, #l2>
    %v8 = tile.addptr %v7, %v6 : tensor<4096x!tile.ptr<i8>, #l2>, tensor<4096xi32, #l2>
    %v9 = tile.load %v8 : tensor<4096x!tile.ptr<i8>, #l2> -> tensor<4096xi8, #l2>
    %v10 = tile.reshape %v9 : tensor<4096xi8, #l2> -> tensor<64x64xi8, #l3>
    %v11 = arith.constant dense<0> : tensor<32x64xi32, #l4>
    %v12 = tile.dot %v5, %v10, %v11 mma<mma_sync, 16 x 8 x 32, warps = 2 x 2> : tensor<32x64xi8, #l1>, tensor<64x64xi8, #l3>, tensor<32x64xi32, #l4>
    %v13 = tile.arange 0, 2048 : tensor<2048xi32, #l5>
    %v14 = tile.splat %c : tensor<2048x!tile.ptr<i32>, #l5>
    %v15 = tile.addptr %v14, %v13 : tensor<2048x!tile.ptr<i32>, #l5>, tensor<2048xi32, #l5>
    %v16 = tile.reshape %v12 : tensor<32x64xi32, #l4> -> tensor<2048xi32, #l5>
    tile.store %v15, %v16 : tensor<2048x!tile.ptr<i32>, #l5>, tensor<2048xi32, #l5>
    return
  }
}
