// A scan combines lanes by shuffles of their totals, and warps once through scratch.
// RUN: split-file %s %t
// RUN: pantile-lower --ptx --no-line-info %t/scan_long.mlir | FileCheck %s --check-prefix=SCAN-LONG

// SCAN-LONG-COUNT-5: shfl.sync.idx.b32
// SCAN-LONG: st.shared
// SCAN-LONG: bar.sync 0
// SCAN-LONG-NOT: bar.sync
// SCAN-LONG: ld.shared
//--- scan_long.mlir
#l0 = #tile.layout<[4096], reg = [[1], [2], [512], [1024], [2048]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @scan_long(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 4096 : tensor<4096xi32, #l0>
    %v2 = tile.splat %x : tensor<4096x!tile.ptr<f32>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<4096x!tile.ptr<f32>, #l0>, tensor<4096xi32, #l0>
    %v4 = tile.load %v3 : tensor<4096x!tile.ptr<f32>, #l0> -> tensor<4096xf32, #l0>
    %v5 = tile.scan (%v4), 0 {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tile.yield %s : f32
    } {nv.scratch = 0 : i32} : (tensor<4096xf32, #l0>) -> tensor<4096xf32, #l0>
    %v6 = tile.arange 0, 4096 : tensor<4096xi32, #l0>
    %v7 = tile.splat %y : tensor<4096x!tile.ptr<f32>, #l0>
    %v8 = tile.addptr %v7, %v6 : tensor<4096x!tile.ptr<f32>, #l0>, tensor<4096xi32, #l0>
    tile.store %v8, %v5 : tensor<4096x!tile.ptr<f32>, #l0>, tensor<4096xf32, #l0>
    return
  }
}
