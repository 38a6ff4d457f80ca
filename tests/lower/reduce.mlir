// Registers, then lanes, then warps through scratch.
// RUN: split-file %s %t
// RUN: pantile-lower --ptx --no-line-info %t/reduce_blocked_1.mlir | FileCheck %s --check-prefix=REDUCE-BLOCKED-1
// RUN: pantile-lower --ptx --no-line-info %t/reduce_long.mlir | FileCheck %s --check-prefix=REDUCE-LONG
// RUN: pantile-lower --ptx --no-line-info %t/reduce_replicas.mlir | FileCheck %s --check-prefix=REDUCE-REPLICAS

// 16 lanes share a row: four steps for each of eight rows, and no scratch
// REDUCE-BLOCKED-1-COUNT-32: shfl.sync.bfly.b32
// REDUCE-BLOCKED-1-NOT: shfl
// REDUCE-BLOCKED-1-NOT: bar.sync

// REDUCE-LONG-COUNT-5: shfl.sync.bfly.b32
// REDUCE-LONG-NOT: shfl
// REDUCE-LONG: st.shared.b32
// REDUCE-LONG: bar.sync 0
// REDUCE-LONG-COUNT-4: ld.shared.b32
// one thread among all stores the scalar
// REDUCE-LONG: @%p{{[0-9]+}} st.global.b32
// of the threads that hold the same total only one stores its part: lane bits, and the free bit of the warp
// REDUCE-REPLICAS: and.b32 %[[FREE:r[0-9]+]], %{{.*}}, 95;
// REDUCE-REPLICAS: setp.{{eq|ne}}.b32 %[[P:p[0-9]+]], %[[FREE]], 0;
// REDUCE-REPLICAS: @%[[P]] bra
// REDUCE-REPLICAS: st.shared.b32
// REDUCE-REPLICAS: bar.sync 0
//--- reduce_blocked_1.mlir
#l0 = #tile.layout<[4096], reg = [[1], [2], [512], [1024], [2048]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
#l1 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [8, 0], [16, 0], [32, 0]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp = [[2, 0], [4, 0]]>
#l2 = #tile.layout<[64], reg = [[8], [16], [32]], lane = [[0], [0], [0], [0], [1]], warp = [[2], [4]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @reduce_blocked_1(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 4096 : tensor<4096xi32, #l0>
    %v2 = tile.splat %x : tensor<4096x!tile.ptr<f32>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<4096x!tile.ptr<f32>, #l0>, tensor<4096xi32, #l0>
    %v4 = tile.load %v3 : tensor<4096x!tile.ptr<f32>, #l0> -> tensor<4096xf32, #l0>
    %v5 = tile.reshape %v4 : tensor<4096xf32, #l0> -> tensor<64x64xf32, #l1>
    %v6 = tile.reduce (%v5), 1 {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tile.yield %s : f32
    } {nv.scratch = 131072 : i32} : (tensor<64x64xf32, #l1>) -> tensor<64xf32, #l2>
    %v7 = tile.arange 0, 64 : tensor<64xi32, #l2>
    %v8 = tile.splat %y : tensor<64x!tile.ptr<f32>, #l2>
    %v9 = tile.addptr %v8, %v7 : tensor<64x!tile.ptr<f32>, #l2>, tensor<64xi32, #l2>
    tile.store %v9, %v6 : tensor<64x!tile.ptr<f32>, #l2>, tensor<64xf32, #l2>
    return
  }
}
//--- reduce_long.mlir
#l0 = #tile.layout<[4096], reg = [[1], [2], [512], [1024], [2048]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @reduce_long(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 4096 : tensor<4096xi32, #l0>
    %v2 = tile.splat %x : tensor<4096x!tile.ptr<f32>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<4096x!tile.ptr<f32>, #l0>, tensor<4096xi32, #l0>
    %v4 = tile.load %v3 : tensor<4096x!tile.ptr<f32>, #l0> -> tensor<4096xf32, #l0>
    %v5 = tile.reduce (%v4), 0 {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tile.yield %s : f32
    } {nv.scratch = 131072 : i32} : (tensor<4096xf32, #l0>) -> f32
    tile.store %y, %v5 : !tile.ptr<f32>, f32
    return
  }
}
//--- reduce_replicas.mlir
#l = #tile.layout<[64], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @reduce_replicas(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %i = tile.arange 0, 64 : tensor<64xi32, #l>
    %p = tile.splat %x : tensor<64x!tile.ptr<f32>, #l>
    %q = tile.addptr %p, %i : tensor<64x!tile.ptr<f32>, #l>, tensor<64xi32, #l>
    %v = tile.load %q : tensor<64x!tile.ptr<f32>, #l> -> tensor<64xf32, #l>
    %s = tile.reduce (%v), 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    } {nv.scratch = 0 : i32} : (tensor<64xf32, #l>) -> f32
    tile.store %y, %s : !tile.ptr<f32>, f32
    return
  }
}
