// Descriptors whole, or put together in the asm string, majors and the order of fence, MMAs, commit and wait. The first MMA of a string
// is scaled by `p` (whether the old sum counts), the others by `q` (it does).
// RUN: split-file %s %t
// RUN: pantile-lower --ptx --no-line-info %t/wgmma_kn.mlir | FileCheck %s --check-prefix=WGMMA-KN
// RUN: pantile-lower --ptx --no-line-info %t/wgmma_mk.mlir | FileCheck %s --check-prefix=WGMMA-MK
// RUN: pantile-lower --ptx --no-line-info %t/wgmma_registers.mlir | FileCheck %s --check-prefix=WGMMA-REGISTERS
// RUN: pantile-lower --ptx --no-line-info %t/wgmma_i8.mlir | FileCheck %s --check-prefix=WGMMA-I8

// swizzle of 128 bytes, 8 rows 1024 bytes apart; B is transposed, with panels 8192 bytes apart
// WGMMA-KN: or.b32 %[[FIRST:r[0-9]+]], %r{{[0-9]+}}, 33554432
// WGMMA-KN: add.s32 %[[B:r[0-9]+]], %[[FIRST]], 1024
// WGMMA-KN: or.b64 %[[A:rd[0-9]+]], %rd{{[0-9]+}}, 4611686293305294848
// WGMMA-KN: or.b64 %[[NEXT:rd[0-9]+]], %rd{{[0-9]+}}, 4611686293305360386
// WGMMA-KN: wgmma.fence.sync.aligned
// WGMMA-KN: mov.b64 d, {%[[B]], 1073741888}; mov.b64 b, d; wgmma{{[^}]*}}}, %[[A]], b, p{{.*}} add.s64 b, d, 128; wgmma{{[^}]*}}}, %[[NEXT]], b, q
// WGMMA-KN-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{[^;]*}}, {{[pq]}}, 1, 1, 0, 1;
// WGMMA-KN: wgmma.commit_group.sync.aligned
// WGMMA-KN: wgmma.wait_group.sync.aligned 0

// WGMMA-MK-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{[^;]*}}, {{[pq]}}, 1, 1, 1, 0;

// the left operand has four words, and no major
// WGMMA-REGISTERS-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{[^;]*}}, {%r{{[0-9]+}},%r{{[0-9]+}},%r{{[0-9]+}},%r{{[0-9]+}}}, b, {{[pq]}}, 1, 1, 1;

// WGMMA-I8: wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {{[^;]*}}, p;
//--- wgmma_kn.mlir
#l0 = #tile.layout<[8192], reg = [[1], [2], [4], [1024], [2048], [4096]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512]]>
#l1 = #tile.layout<[128, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0], [64, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#l2 = #tile.layout<[8192], reg = [[1], [2], [4], [64], [2048], [4096]], lane = [[8], [16], [32], [128], [256]], warp = [[512], [1024]]>
#l3 = #tile.layout<[64, 128], reg = [[0, 1], [0, 2], [0, 4], [0, 64], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#l4 = #tile.layout<[128, 128], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64], [64, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#l5 = #tile.layout<[16384], reg = [[1], [1024], [8], [16], [32], [64], [8192]], lane = [[2], [4], [128], [256], [512]], warp = [[2048], [4096]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @wgmma_kn(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = nv.alloc at 0 : !nv.buffer<1 x [128, 64] x f16, #nv.swizzle<[1, 0], 128>>
    %v2 = tile.arange 0, 8192 : tensor<8192xi32, #l0>
    %v3 = tile.splat %a : tensor<8192x!tile.ptr<f16>, #l0>
    %v4 = tile.addptr %v3, %v2 : tensor<8192x!tile.ptr<f16>, #l0>, tensor<8192xi32, #l0>
    %v5 = tile.load %v4 : tensor<8192x!tile.ptr<f16>, #l0> -> tensor<8192xf16, #l0>
    %v6 = tile.reshape %v5 : tensor<8192xf16, #l0> -> tensor<128x64xf16, #l1>
    nv.local_store %v6, %v1 : tensor<128x64xf16, #l1>, !nv.buffer<1 x [128, 64] x f16, #nv.swizzle<[1, 0], 128>>
    %v7 = nv.alloc at 16384 : !nv.buffer<1 x [64, 128] x f16, #nv.swizzle<[1, 0], 128>>
    %v8 = tile.arange 0, 8192 : tensor<8192xi32, #l2>
    %v9 = tile.splat %b : tensor<8192x!tile.ptr<f16>, #l2>
    %v10 = tile.addptr %v9, %v8 : tensor<8192x!tile.ptr<f16>, #l2>, tensor<8192xi32, #l2>
    %v11 = tile.load %v10 : tensor<8192x!tile.ptr<f16>, #l2> -> tensor<8192xf16, #l2>
    %v12 = tile.reshape %v11 : tensor<8192xf16, #l2> -> tensor<64x128xf16, #l3>
    nv.local_store %v12, %v7 : tensor<64x128xf16, #l3>, !nv.buffer<1 x [64, 128] x f16, #nv.swizzle<[1, 0], 128>>
    nv.fence_async
    nv.barrier
    %v13 = arith.constant dense<0.0> : tensor<128x128xf32, #l4>
    %v14 = nv.wgmma %v1, %v7, %v13 mma<wgmma, 64 x 128 x 16, warps = 4 x 1> : !nv.buffer<1 x [128, 64] x f16, #nv.swizzle<[1, 0], 128>>, !nv.buffer<1 x [64, 128] x f16, #nv.swizzle<[1, 0], 128>>, tensor<128x128xf32, #l4>
    %v15 = nv.wgmma_wait 0, %v14 : (tensor<128x128xf32, #l4>) -> tensor<128x128xf32, #l4>
    %v16 = tile.arange 0, 16384 : tensor<16384xi32, #l5>
    %v17 = tile.splat %c : tensor<16384x!tile.ptr<f32>, #l5>
    %v18 = tile.addptr %v17, %v16 : tensor<16384x!tile.ptr<f32>, #l5>, tensor<16384xi32, #l5>
    %v19 = tile.reshape %v15 : tensor<128x128xf32, #l4> -> tensor<16384xf32, #l5>
    tile.store %v18, %v19 : tensor<16384x!tile.ptr<f32>, #l5>, tensor<16384xf32, #l5>
    return
  }
}
//--- wgmma_mk.mlir
#l0 = #tile.layout<[8192], reg = [[1], [2], [4], [64], [2048], [4096]], lane = [[8], [16], [32], [128], [256]], warp = [[512], [1024]]>
#l1 = #tile.layout<[64, 128], reg = [[0, 1], [0, 2], [0, 4], [0, 64], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#l2 = #tile.layout<[128, 64], reg = [[1, 0], [2, 0], [4, 0], [64, 0], [0, 16], [0, 32]], lane = [[8, 0], [16, 0], [32, 0], [0, 1], [0, 2]], warp = [[0, 4], [0, 8]]>
#l3 = #tile.layout<[8192], reg = [[1], [2], [4], [1024], [2048], [4096]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512]]>
#l4 = #tile.layout<[128, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0], [64, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#l5 = #tile.layout<[64, 128], reg = [[1, 0], [2, 0], [4, 0], [0, 16], [0, 32], [0, 64]], lane = [[8, 0], [16, 0], [32, 0], [0, 1], [0, 2]], warp = [[0, 4], [0, 8]]>
#l6 = #tile.layout<[128, 128], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64], [64, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#l7 = #tile.layout<[16384], reg = [[1], [1024], [8], [16], [32], [64], [8192]], lane = [[2], [4], [128], [256], [512]], warp = [[2048], [4096]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @wgmma_mk(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = nv.alloc at 0 : !nv.buffer<1 x [128, 64] x f16, #nv.swizzle<[0, 1], 128>>
    %v2 = tile.arange 0, 8192 : tensor<8192xi32, #l0>
    %v3 = tile.splat %a : tensor<8192x!tile.ptr<f16>, #l0>
    %v4 = tile.addptr %v3, %v2 : tensor<8192x!tile.ptr<f16>, #l0>, tensor<8192xi32, #l0>
    %v5 = tile.load %v4 : tensor<8192x!tile.ptr<f16>, #l0> -> tensor<8192xf16, #l0>
    %v6 = tile.reshape %v5 : tensor<8192xf16, #l0> -> tensor<64x128xf16, #l1>
    %v7 = tile.trans %v6 [1, 0] : tensor<64x128xf16, #l1> -> tensor<128x64xf16, #l2>
    nv.local_store %v7, %v1 : tensor<128x64xf16, #l2>, !nv.buffer<1 x [128, 64] x f16, #nv.swizzle<[0, 1], 128>>
    %v8 = nv.alloc at 16384 : !nv.buffer<1 x [64, 128] x f16, #nv.swizzle<[0, 1], 128>>
    %v9 = tile.arange 0, 8192 : tensor<8192xi32, #l3>
    %v10 = tile.splat %b : tensor<8192x!tile.ptr<f16>, #l3>
    %v11 = tile.addptr %v10, %v9 : tensor<8192x!tile.ptr<f16>, #l3>, tensor<8192xi32, #l3>
    %v12 = tile.load %v11 : tensor<8192x!tile.ptr<f16>, #l3> -> tensor<8192xf16, #l3>
    %v13 = tile.reshape %v12 : tensor<8192xf16, #l3> -> tensor<128x64xf16, #l4>
    %v14 = tile.trans %v13 [1, 0] : tensor<128x64xf16, #l4> -> tensor<64x128xf16, #l5>
    nv.local_store %v14, %v8 : tensor<64x128xf16, #l5>, !nv.buffer<1 x [64, 128] x f16, #nv.swizzle<[0, 1], 128>>
    nv.fence_async
    nv.barrier
    %v15 = arith.constant dense<0.0> : tensor<128x128xf32, #l6>
    %v16 = nv.wgmma %v1, %v8, %v15 mma<wgmma, 64 x 128 x 16, warps = 4 x 1> : !nv.buffer<1 x [128, 64] x f16, #nv.swizzle<[0, 1], 128>>, !nv.buffer<1 x [64, 128] x f16, #nv.swizzle<[0, 1], 128>>, tensor<128x128xf32, #l6>
    %v17 = nv.wgmma_wait 0, %v16 : (tensor<128x128xf32, #l6>) -> tensor<128x128xf32, #l6>
    %v18 = tile.arange 0, 16384 : tensor<16384xi32, #l7>
    %v19 = tile.splat %c : tensor<16384x!tile.ptr<f32>, #l7>
    %v20 = tile.addptr %v19, %v18 : tensor<16384x!tile.ptr<f32>, #l7>, tensor<16384xi32, #l7>
    %v21 = tile.reshape %v17 : tensor<128x128xf32, #l6> -> tensor<16384xf32, #l7>
    tile.store %v20, %v21 : tensor<16384x!tile.ptr<f32>, #l7>, tensor<16384xf32, #l7>
    return
  }
}
//--- wgmma_registers.mlir
#l0 = #tile.layout<[8192], reg = [[1], [512], [8], [16], [32], [4096]], lane = [[2], [4], [64], [128], [256]], warp = [[1024], [2048]]>
#l1 = #tile.layout<[128, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [64, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#l2 = #tile.layout<[4096], reg = [[1], [2], [4], [1024], [2048]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512]]>
#l3 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @wgmma_registers(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 8192 : tensor<8192xi32, #l0>
    %v2 = tile.splat %a : tensor<8192x!tile.ptr<f16>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<8192x!tile.ptr<f16>, #l0>, tensor<8192xi32, #l0>
    %v4 = tile.load %v3 : tensor<8192x!tile.ptr<f16>, #l0> -> tensor<8192xf16, #l0>
    %v5 = tile.reshape %v4 : tensor<8192xf16, #l0> -> tensor<128x64xf16, #l1>
    %v6 = nv.alloc at 0 : !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
    %v7 = tile.arange 0, 4096 : tensor<4096xi32, #l2>
    %v8 = tile.splat %b : tensor<4096x!tile.ptr<f16>, #l2>
    %v9 = tile.addptr %v8, %v7 : tensor<4096x!tile.ptr<f16>, #l2>, tensor<4096xi32, #l2>
    %v10 = tile.load %v9 : tensor<4096x!tile.ptr<f16>, #l2> -> tensor<4096xf16, #l2>
    %v11 = tile.reshape %v10 : tensor<4096xf16, #l2> -> tensor<64x64xf16, #l3>
    nv.local_store %v11, %v6 : tensor<64x64xf16, #l3>, !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
    nv.fence_async
    nv.barrier
    %v12 = arith.constant dense<0.0> : tensor<128x64xf32, #l1>
    %v13 = nv.wgmma %v5, %v6, %v12 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : tensor<128x64xf16, #l1>, !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>, tensor<128x64xf32, #l1>
    %v14 = nv.wgmma_wait 0, %v13 holding %v5 : tensor<128x64xf16, #l1> : (tensor<128x64xf32, #l1>) -> tensor<128x64xf32, #l1>
    %v15 = tile.arange 0, 8192 : tensor<8192xi32, #l0>
    %v16 = tile.splat %c : tensor<8192x!tile.ptr<f32>, #l0>
    %v17 = tile.addptr %v16, %v15 : tensor<8192x!tile.ptr<f32>, #l0>, tensor<8192xi32, #l0>
    %v18 = tile.reshape %v14 : tensor<128x64xf32, #l1> -> tensor<8192xf32, #l0>
    tile.store %v17, %v18 : tensor<8192x!tile.ptr<f32>, #l0>, tensor<8192xf32, #l0>
    return
  }
}
//--- wgmma_i8.mlir
#l0 = #tile.layout<[8192], reg = [[1], [2], [4], [8], [2048], [4096]], lane = [[16], [32], [64], [128], [256]], warp = [[512], [1024]]>
#l1 = #tile.layout<[64, 128], reg = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], lane = [[0, 16], [0, 32], [0, 64], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#l2 = #tile.layout<[128, 64], reg = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], lane = [[16, 0], [32, 0], [64, 0], [0, 1], [0, 2]], warp = [[0, 4], [0, 8]]>
#l3 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#l4 = #tile.layout<[4096], reg = [[1], [512], [8], [16], [32]], lane = [[2], [4], [64], [128], [256]], warp = [[1024], [2048]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @wgmma_i8(%a: !tile.ptr<i8> {tile.divisibility = 16 : i32}, %b: !tile.ptr<i8> {tile.divisibility = 16 : i32}, %c: !tile.ptr<i32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = nv.alloc at 0 : !nv.buffer<1 x [64, 128] x i8, #nv.swizzle<[1, 0], 128>>
    %v2 = tile.arange 0, 8192 : tensor<8192xi32, #l0>
    %v3 = tile.splat %a : tensor<8192x!tile.ptr<i8>, #l0>
    %v4 = tile.addptr %v3, %v2 : tensor<8192x!tile.ptr<i8>, #l0>, tensor<8192xi32, #l0>
    %v5 = tile.load %v4 : tensor<8192x!tile.ptr<i8>, #l0> -> tensor<8192xi8, #l0>
    %v6 = tile.reshape %v5 : tensor<8192xi8, #l0> -> tensor<64x128xi8, #l1>
    nv.local_store %v6, %v1 : tensor<64x128xi8, #l1>, !nv.buffer<1 x [64, 128] x i8, #nv.swizzle<[1, 0], 128>>
    %v7 = nv.alloc at 8192 : !nv.buffer<1 x [128, 64] x i8, #nv.swizzle<[0, 1], 128>>
    %v8 = tile.arange 0, 8192 : tensor<8192xi32, #l0>
    %v9 = tile.splat %b : tensor<8192x!tile.ptr<i8>, #l0>
    %v10 = tile.addptr %v9, %v8 : tensor<8192x!tile.ptr<i8>, #l0>, tensor<8192xi32, #l0>
    %v11 = tile.load %v10 : tensor<8192x!tile.ptr<i8>, #l0> -> tensor<8192xi8, #l0>
    %v12 = tile.reshape %v11 : tensor<8192xi8, #l0> -> tensor<64x128xi8, #l1>
    %v13 = tile.trans %v12 [1, 0] : tensor<64x128xi8, #l1> -> tensor<128x64xi8, #l2>
    nv.local_store %v13, %v7 : tensor<128x64xi8, #l2>, !nv.buffer<1 x [128, 64] x i8, #nv.swizzle<[0, 1], 128>>
    nv.fence_async
    nv.barrier
    %v14 = arith.constant dense<0> : tensor<64x64xi32, #l3>
    %v15 = nv.wgmma %v1, %v7, %v14 mma<wgmma, 64 x 64 x 32, warps = 4 x 1> : !nv.buffer<1 x [64, 128] x i8, #nv.swizzle<[1, 0], 128>>, !nv.buffer<1 x [128, 64] x i8, #nv.swizzle<[0, 1], 128>>, tensor<64x64xi32, #l3>
    %v16 = nv.wgmma_wait 0, %v15 : (tensor<64x64xi32, #l3>) -> tensor<64x64xi32, #l3>
    %v17 = tile.arange 0, 4096 : tensor<4096xi32, #l4>
    %v18 = tile.splat %c : tensor<4096x!tile.ptr<i32>, #l4>
    %v19 = tile.addptr %v18, %v17 : tensor<4096x!tile.ptr<i32>, #l4>, tensor<4096xi32, #l4>
    %v20 = tile.reshape %v16 : tensor<64x64xi32, #l3> -> tensor<4096xi32, #l4>
    tile.store %v19, %v20 : tensor<4096x!tile.ptr<i32>, #l4>, tensor<4096xi32, #l4>
    return
  }
}
