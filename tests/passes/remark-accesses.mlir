// Accesses that use memory badly get a remark that says how, and why.
// RUN: pantile-opt %s -nv-remark-accesses -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
#rows = #tile.layout<[32, 4], reg = [], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [16, 0]]>
#line = #tile.layout<[512], reg = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  // Rows of 4 elements: half of each sector is another row's.
  // CHECK: remark: load is not coalesced: a warp touches 8 sectors of 32 bytes for 128 bytes; no more than 4 elements are known to be contiguous in memory
  func.func @short_rows(%x: tensor<32x4x!tile.ptr<f32>, #rows>, %offsets: tensor<32x4xi32, #rows>) -> tensor<32x4xf32, #rows> attributes {tile.kernel} {
    %from = tile.addptr %x, %offsets {tile.contiguity = array<i32: 1, 4>, tile.divisibility = array<i32: 16, 16>} : tensor<32x4x!tile.ptr<f32>, #rows>, tensor<32x4xi32, #rows>
    %value = tile.load %from : tensor<32x4x!tile.ptr<f32>, #rows> -> tensor<32x4xf32, #rows>
    return %value : tensor<32x4xf32, #rows>
  }

  // Vectors of 16 bytes: nothing to say.
  func.func @contiguous(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}) -> tensor<512xf32, #line> attributes {tile.kernel} {
    %at = tile.arange 0, 512 : tensor<512xi32, #line>
    %start = tile.splat %x : tensor<512x!tile.ptr<f32>, #line>
    %from = tile.addptr %start, %at : tensor<512x!tile.ptr<f32>, #line>, tensor<512xi32, #line>
    %value = tile.load %from : tensor<512x!tile.ptr<f32>, #line> -> tensor<512xf32, #line>
    return %value : tensor<512xf32, #line>
  }
}
