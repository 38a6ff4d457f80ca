// ldmatrix where the layout is made of 8x8 matrices, cp.async in 16-byte pieces.
// RUN: split-file %s %t
// RUN: pantile-lower --ptx --no-line-info %t/masked_copy.mlir | FileCheck %s --check-prefix=MASKED-COPY
// RUN: pantile-lower --ptx --no-line-info %t/cut_copy.mlir | FileCheck %s --check-prefix=CUT-COPY
// RUN: pantile-lower --ptx --no-line-info %t/ldmatrix_1_1.mlir | FileCheck %s --check-prefix=LDMATRIX-1-1
// RUN: pantile-lower --ptx --no-line-info %t/ldmatrix_0_1.mlir | FileCheck %s --check-prefix=LDMATRIX-0-1
// RUN: pantile-lower --ptx --no-line-info %t/wgmma_big_kn.mlir | FileCheck %s --check-prefix=WGMMA-BIG-KN

// LDMATRIX-1-1-COUNT-8: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// LDMATRIX-1-1-NOT: ldmatrix

// LDMATRIX-0-1-COUNT-8: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// LDMATRIX-0-1-NOT: ldmatrix

// WGMMA-BIG-KN-COUNT-24: cp.async.cg.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 16;
// WGMMA-BIG-KN: cp.async.commit_group
// WGMMA-BIG-KN: cp.async.wait_group 0
// WGMMA-BIG-KN: fence.proxy.async.shared::cta
// WGMMA-BIG-KN: bar.sync 0
// Rows 24 to 31 are always masked off: zeros are stored, since a copy of no bytes may do nothing; rows 0 to 15 never are.
// Copies come first, since the assembler lets a copy wait for the stores before it.
// MASKED-COPY-COUNT-4: @%p[[IN:[0-9]+]] cp.async.ca.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 4;
// MASKED-COPY: @%p[[SOME:[0-9]+]] cp.async.ca.shared.global [%r[[ROW:[0-9]+]]], [%rd{{[0-9]+}}], 4;
// MASKED-COPY: @%p[[SOME]] cp.async.ca.shared.global [%r[[OTHER:[0-9]+]]], [%rd{{[0-9]+}}], 4;
// MASKED-COPY-NOT: cp.async.ca
// MASKED-COPY: @%p[[REST:[0-9]+]] st.shared.b32 [%r[[ROW]]], 0;
// MASKED-COPY: @%p[[REST]] st.shared.b32 [%r[[OTHER]]], 0;
// MASKED-COPY-COUNT-2: @%p{{[0-9]+}} st.shared.b32 [%r{{[0-9]+}}], 0;
// A mask that may end within four elements gives the number of bytes, and the copy zeros after them. Copies of which it
// leaves nothing are masked off as a whole: by the mask of the first element.
// CUT-COPY: @[[FIRST:%p[0-9]+]] cp.async.cg.shared.global [%r[[PLACE:[0-9]+]]], [%rd{{[0-9]+}}], 16, %r{{[0-9]+}};
// CUT-COPY-NOT: cp.async.ca
// CUT-COPY: @%p{{[0-9]+}} st.shared.v4.b32 [%r[[PLACE]]], {0, 0, 0, 0};
//--- cut_copy.mlir
#tile32 = #tile.layout<[1, 128], reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
#line = #tile.layout<[128], reg = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = []>
module attributes {nv.launch = #nv.launch<shared_bytes = 512>, tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @cut_copy(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32) attributes {tile.kernel} {
    %buffer = nv.alloc at 0 : <1 x[1, 128] x f32, <[1, 0], 128>>
    %i = tile.arange 0, 128 : tensor<128xi32, #line>
    %j = tile.expand_dims %i, 0 : tensor<128xi32, #line> -> tensor<1x128xi32, #tile32>
    %end = tile.splat %n : tensor<1x128xi32, #tile32>
    %mask = arith.cmpi slt, %j, %end : tensor<1x128xi32, #tile32>
    %base = tile.splat %x : tensor<1x128x!tile.ptr<f32>, #tile32>
    %p = tile.addptr %base, %j : tensor<1x128x!tile.ptr<f32>, #tile32>, tensor<1x128xi32, #tile32>
    nv.copy_async %p, %buffer mask %mask : tensor<1x128xi1, #tile32> {vectorBytes = 16 : i32} : tensor<1x128x!tile.ptr<f32>, #tile32>, <1 x[1, 128] x f32, <[1, 0], 128>>
    nv.commit
    return
  }
}
//--- masked_copy.mlir
#tile32 = #tile.layout<[32, 32], reg = [[0, 1], [0, 2], [0, 16], [8, 0], [16, 0]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = []>
#row = #tile.layout<[32, 1], reg = [[0, 0], [0, 0], [0, 0], [8, 0], [16, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = []>
#line = #tile.layout<[32], reg = [[0], [0], [0], [8], [16]], lane = [[0], [0], [1], [2], [4]], warp = []>
module attributes {nv.launch = #nv.launch<shared_bytes = 1024>, tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @masked_copy(%x: !tile.ptr<f8E5M2> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %buffer = nv.alloc at 0 : <1 x[32, 32] x f8E5M2, <[1, 0], 32>>
    %c = arith.constant dense<21> : tensor<32x1xi32, #row>
    %i = tile.arange 0, 32 : tensor<32xi32, #line>
    %r = tile.expand_dims %i, 1 : tensor<32xi32, #line> -> tensor<32x1xi32, #row>
    %m = arith.cmpi slt, %r, %c : tensor<32x1xi32, #row>
    %mask = tile.broadcast %m : tensor<32x1xi1, #row> -> tensor<32x32xi1, #tile32>
    %p = tile.splat %x : tensor<32x32x!tile.ptr<f8E5M2>, #tile32>
    nv.copy_async %p, %buffer mask %mask : tensor<32x32xi1, #tile32> {vectorBytes = 4 : i32} : tensor<32x32x!tile.ptr<f8E5M2>, #tile32>, <1 x[32, 32] x f8E5M2, <[1, 0], 32>>
    nv.commit
    return
  }
}
//--- ldmatrix_1_1.mlir
#l0 = #tile.layout<[4096], reg = [[1], [2], [4], [1024], [2048]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512]]>
#l1 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#l2 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [32, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [0, 0]]>
#l3 = #tile.layout<[4096], reg = [[1], [512], [8], [16], [32], [2048]], lane = [[2], [4], [64], [128], [256]], warp = [[1024], [0]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @ldmatrix_1_1(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = nv.alloc at 0 : !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
    %v2 = tile.arange 0, 4096 : tensor<4096xi32, #l0>
    %v3 = tile.splat %a : tensor<4096x!tile.ptr<f16>, #l0>
    %v4 = tile.addptr %v3, %v2 : tensor<4096x!tile.ptr<f16>, #l0>, tensor<4096xi32, #l0>
    %v5 = tile.load %v4 : tensor<4096x!tile.ptr<f16>, #l0> -> tensor<4096xf16, #l0>
    %v6 = tile.reshape %v5 : tensor<4096xf16, #l0> -> tensor<64x64xf16, #l1>
    nv.local_store %v6, %v1 : tensor<64x64xf16, #l1>, !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
    nv.fence_async
    nv.barrier
    %v7 = nv.local_load %v1 : !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>> -> tensor<64x64xf16, #l2>
    %v8 = tile.arange 0, 4096 : tensor<4096xi32, #l3>
    %v9 = tile.splat %c : tensor<4096x!tile.ptr<f16>, #l3>
    %v10 = tile.addptr %v9, %v8 : tensor<4096x!tile.ptr<f16>, #l3>, tensor<4096xi32, #l3>
    %v11 = tile.reshape %v7 : tensor<64x64xf16, #l2> -> tensor<4096xf16, #l3>
    tile.store %v10, %v11 : tensor<4096x!tile.ptr<f16>, #l3>, tensor<4096xf16, #l3>
    return
  }
}
//--- ldmatrix_0_1.mlir
#l0 = #tile.layout<[4096], reg = [[1], [2], [4], [1024], [2048]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512]]>
#l1 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#l2 = #tile.layout<[64, 64], reg = [[1, 0], [8, 0], [16, 0], [32, 0], [0, 16], [0, 32]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 0], [0, 8]]>
#l3 = #tile.layout<[4096], reg = [[64], [512], [1024], [2048], [16], [32]], lane = [[128], [256], [1], [2], [4]], warp = [[0], [8]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @ldmatrix_0_1(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = nv.alloc at 0 : !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
    %v2 = tile.arange 0, 4096 : tensor<4096xi32, #l0>
    %v3 = tile.splat %a : tensor<4096x!tile.ptr<f16>, #l0>
    %v4 = tile.addptr %v3, %v2 : tensor<4096x!tile.ptr<f16>, #l0>, tensor<4096xi32, #l0>
    %v5 = tile.load %v4 : tensor<4096x!tile.ptr<f16>, #l0> -> tensor<4096xf16, #l0>
    %v6 = tile.reshape %v5 : tensor<4096xf16, #l0> -> tensor<64x64xf16, #l1>
    nv.local_store %v6, %v1 : tensor<64x64xf16, #l1>, !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
    nv.fence_async
    nv.barrier
    %v7 = nv.local_load %v1 : !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>> -> tensor<64x64xf16, #l2>
    %v8 = tile.arange 0, 4096 : tensor<4096xi32, #l3>
    %v9 = tile.splat %c : tensor<4096x!tile.ptr<f16>, #l3>
    %v10 = tile.addptr %v9, %v8 : tensor<4096x!tile.ptr<f16>, #l3>, tensor<4096xi32, #l3>
    %v11 = tile.reshape %v7 : tensor<64x64xf16, #l2> -> tensor<4096xf16, #l3>
    tile.store %v10, %v11 : tensor<4096x!tile.ptr<f16>, #l3>, tensor<4096xf16, #l3>
    return
  }
}
//--- wgmma_big_kn.mlir
#l0 = #tile.layout<[16384], reg = [[1], [2], [4], [64], [4096], [8192]], lane = [[8], [16], [32], [128], [256]], warp = [[512], [1024], [2048]]>
#l1 = #tile.layout<[128, 128], reg = [[0, 1], [0, 2], [0, 4], [0, 64], [32, 0], [64, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0], [16, 0]]>
#l2 = #tile.layout<[32768], reg = [[1], [2], [4], [64], [128], [8192], [16384]], lane = [[8], [16], [32], [256], [512]], warp = [[1024], [2048], [4096]]>
#l3 = #tile.layout<[128, 256], reg = [[0, 1], [0, 2], [0, 4], [0, 64], [0, 128], [32, 0], [64, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0], [16, 0]]>
#l4 = #tile.layout<[128, 256], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
#l5 = #tile.layout<[32768], reg = [[1], [2048], [8], [16], [32], [64], [128]], lane = [[2], [4], [256], [512], [1024]], warp = [[4096], [8192], [16384]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 8 : i32} {
  func.func @wgmma_big_kn(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = nv.alloc at 0 : !nv.buffer<1 x [128, 128] x f16, #nv.swizzle<[1, 0], 128>>
    %v2 = tile.arange 0, 16384 : tensor<16384xi32, #l0>
    %v3 = tile.splat %a : tensor<16384x!tile.ptr<f16>, #l0>
    %v4 = tile.addptr %v3, %v2 : tensor<16384x!tile.ptr<f16>, #l0>, tensor<16384xi32, #l0>
    %v5 = tile.reshape %v4 : tensor<16384x!tile.ptr<f16>, #l0> -> tensor<128x128x!tile.ptr<f16>, #l1>
    nv.copy_async %v5, %v1 {vectorBytes = 16 : i32} : tensor<128x128x!tile.ptr<f16>, #l1>, !nv.buffer<1 x [128, 128] x f16, #nv.swizzle<[1, 0], 128>>
    %v6 = nv.alloc at 32768 : !nv.buffer<1 x [128, 256] x f16, #nv.swizzle<[1, 0], 128>>
    %v7 = tile.arange 0, 32768 : tensor<32768xi32, #l2>
    %v8 = tile.splat %b : tensor<32768x!tile.ptr<f16>, #l2>
    %v9 = tile.addptr %v8, %v7 : tensor<32768x!tile.ptr<f16>, #l2>, tensor<32768xi32, #l2>
    %v10 = tile.reshape %v9 : tensor<32768x!tile.ptr<f16>, #l2> -> tensor<128x256x!tile.ptr<f16>, #l3>
    nv.copy_async %v10, %v6 {vectorBytes = 16 : i32} : tensor<128x256x!tile.ptr<f16>, #l3>, !nv.buffer<1 x [128, 256] x f16, #nv.swizzle<[1, 0], 128>>
    nv.commit
    nv.wait 0
    nv.fence_async
    nv.barrier
    %v11 = arith.constant dense<0.0> : tensor<128x256xf32, #l4>
    %v12 = nv.wgmma %v1, %v6, %v11 mma<wgmma, 64 x 256 x 16, warps = 8 x 1> : !nv.buffer<1 x [128, 128] x f16, #nv.swizzle<[1, 0], 128>>, !nv.buffer<1 x [128, 256] x f16, #nv.swizzle<[1, 0], 128>>, tensor<128x256xf32, #l4>
    %v13 = nv.wgmma_wait 0, %v12 : (tensor<128x256xf32, #l4>) -> tensor<128x256xf32, #l4>
    %v14 = tile.arange 0, 32768 : tensor<32768xi32, #l5>
    %v15 = tile.splat %c : tensor<32768x!tile.ptr<f32>, #l5>
    %v16 = tile.addptr %v15, %v14 : tensor<32768x!tile.ptr<f32>, #l5>, tensor<32768xi32, #l5>
    %v17 = tile.reshape %v13 : tensor<128x256xf32, #l4> -> tensor<32768xf32, #l5>
    tile.store %v16, %v17 : tensor<32768x!tile.ptr<f32>, #l5>, tensor<32768xf32, #l5>
    return
  }
}
