// Accesses that use memory badly get a remark that says how, and why.
// RUN: pantile-opt %s -split-input-file -tile-assign-layouts -nv-remark-accesses -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// Rows of 4 elements: half of each sector is another row's.
// CHECK: remark: load is not coalesced: a warp touches 8 sectors of 32 bytes for 128 bytes; no more than 4 elements are known to be contiguous in memory
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @short_rows(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %row = tile.arange 0, 32 : tensor<32xi32>
    %column = tile.arange 0, 4 : tensor<4xi32>
    %rows = tile.expand_dims %row, 1 : tensor<32xi32> -> tensor<32x1xi32>
    %columns = tile.expand_dims %column, 0 : tensor<4xi32> -> tensor<1x4xi32>
    %strides = tile.splat %stride : tensor<32x1xi32>
    %starts = arith.muli %rows, %strides : tensor<32x1xi32>
    %a = tile.broadcast %starts : tensor<32x1xi32> -> tensor<32x4xi32>
    %b = tile.broadcast %columns : tensor<1x4xi32> -> tensor<32x4xi32>
    %offsets = arith.addi %a, %b : tensor<32x4xi32>
    %xs = tile.splat %x : tensor<32x4x!tile.ptr<f32>>
    %from = tile.addptr %xs, %offsets : tensor<32x4x!tile.ptr<f32>>, tensor<32x4xi32>
    %value = tile.load %from : tensor<32x4x!tile.ptr<f32>> -> tensor<32x4xf32>
    %linear = tile.reshape %value : tensor<32x4xf32> -> tensor<128xf32>
    %at = tile.arange 0, 128 : tensor<128xi32>
    %ys = tile.splat %y : tensor<128x!tile.ptr<f32>>
    %to = tile.addptr %ys, %at : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    tile.store %to, %linear : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
    return
  }
}

// -----

// All that a sector holds is wanted; a mask that may change anywhere makes vectors impossible.
// CHECK: remark: load moves 4 bytes per thread at once, of 16: its mask may change between adjacent elements
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @holes(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<1024xf32> attributes {tile.kernel} {
    %at = tile.arange 0, 1024 : tensor<1024xi32>
    %ns = tile.splat %n : tensor<1024xi32>
    %mask = arith.cmpi ne, %at, %ns : tensor<1024xi32>
    %xs = tile.splat %x : tensor<1024x!tile.ptr<f32>>
    %from = tile.addptr %xs, %at : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %value = tile.load %from mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
    return %value : tensor<1024xf32>
  }
}

// -----

// Neighbours in one load, a vector that the end of the mask cuts, and a scalar: nothing to say.
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @fine(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32) -> (tensor<1024xf32>, tensor<1024xf32>, f32) attributes {tile.kernel} {
    %at = tile.arange 0, 1024 : tensor<1024xi32>
    %xs = tile.splat %x : tensor<1024x!tile.ptr<f32>>
    %from = tile.addptr %xs, %at : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %value = tile.load %from : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
    %ns = tile.splat %n : tensor<1024xi32>
    %mask = arith.cmpi slt, %at, %ns : tensor<1024xi32>
    %part = tile.load %from mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
    %scalar = tile.load %x : !tile.ptr<f32> -> f32
    return %value, %part, %scalar : tensor<1024xf32>, tensor<1024xf32>, f32
  }
}
