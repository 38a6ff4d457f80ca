// A store of a matrix is done by TMA where a tensor map can describe it: each warp hands over its part.
// RUN: pantile-opt %s -split-input-file -nv-tma-stores=all=true | FileCheck %s
#acc = #tile.layout<[64, 128], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#rows = #tile.layout<[64, 1], reg = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]]>
#columns = #tile.layout<[1, 128], reg = [[0, 1], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[0, 2], [0, 4], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
#column = #tile.layout<[128], reg = [[1], [8], [16], [32], [64]], lane = [[2], [4], [0], [0], [0]], warp = [[0], [0]]>
// CHECK-LABEL: @matrix
// CHECK: %[[MAP:.*]] = nv.tensor_map
// CHECK-NOT: tile.store
// CHECK: nv.tma_store %[[MAP]][
// CHECK: nv.tma_store_wait
// CHECK-NEXT: return
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @matrix(%c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %result: tensor<64x128xf16, #acc>, %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %row = tile.arange 0, 64 : tensor<64xi32, #row>
    %column = tile.arange 0, 128 : tensor<128xi32, #column>
    %rows = tile.expand_dims %row, 1 : tensor<64xi32, #row> -> tensor<64x1xi32, #rows>
    %columns = tile.expand_dims %column, 0 : tensor<128xi32, #column> -> tensor<1x128xi32, #columns>
    %strides = tile.splat %stride : tensor<64x1xi32, #rows>
    %starts = arith.muli %rows, %strides : tensor<64x1xi32, #rows>
    %base = tile.splat %c : tensor<64x1x!tile.ptr<f16>, #rows>
    %firsts = tile.addptr %base, %starts : tensor<64x1x!tile.ptr<f16>, #rows>, tensor<64x1xi32, #rows>
    %tiles = tile.broadcast %firsts : tensor<64x1x!tile.ptr<f16>, #rows> -> tensor<64x128x!tile.ptr<f16>, #acc>
    %offsets = tile.broadcast %columns : tensor<1x128xi32, #columns> -> tensor<64x128xi32, #acc>
    %to = tile.addptr %tiles, %offsets : tensor<64x128x!tile.ptr<f16>, #acc>, tensor<64x128xi32, #acc>
    tile.store %to, %result : tensor<64x128x!tile.ptr<f16>, #acc>, tensor<64x128xf16, #acc>
    return
  }
}

// -----
// A later load might read what the store writes: it must be over by then.
#acc = #tile.layout<[64, 128], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
// CHECK-LABEL: @read_afterwards
// CHECK-NOT: nv.tma_store
// CHECK: tile.store
// CHECK-NOT: nv.tma_store
// CHECK: return
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @read_afterwards(%to: tensor<64x128x!tile.ptr<f16>, #acc>, %result: tensor<64x128xf16, #acc>) -> tensor<64x128xf16, #acc> attributes {tile.kernel} {
    tile.store %to, %result : tensor<64x128x!tile.ptr<f16>, #acc>, tensor<64x128xf16, #acc>
    %again = tile.load %to : tensor<64x128x!tile.ptr<f16>, #acc> -> tensor<64x128xf16, #acc>
    return %again : tensor<64x128xf16, #acc>
  }
}

// -----
// Where the kernel finds that rows begin on 16 bytes.
#acc = #tile.layout<[64, 128], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#rows = #tile.layout<[64, 1], reg = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]]>
#columns = #tile.layout<[1, 128], reg = [[0, 1], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[0, 2], [0, 4], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
#column = #tile.layout<[128], reg = [[1], [8], [16], [32], [64]], lane = [[2], [4], [0], [0], [0]], warp = [[0], [0]]>
// CHECK-LABEL: @rows_of_any_length
// CHECK-SAME: %[[STRIDE:[^:]*]]: i32)
// CHECK: nv.tensor_map {{.*}}may_be_empty, multiples
// CHECK: %[[WIDE:.*]] = arith.extsi %[[STRIDE]]
// CHECK: %[[REST:.*]] = arith.remsi %[[WIDE]]
// CHECK: %[[FITS:.*]] = arith.cmpi eq, %[[REST]]
// CHECK: scf.if %[[FITS]]
// CHECK: nv.tma_store
// CHECK: else
// CHECK: tile.store
// CHECK: nv.tma_store_wait
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @rows_of_any_length(%c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %result: tensor<64x128xf16, #acc>, %stride: i32) attributes {tile.kernel} {
    %row = tile.arange 0, 64 : tensor<64xi32, #row>
    %column = tile.arange 0, 128 : tensor<128xi32, #column>
    %rows = tile.expand_dims %row, 1 : tensor<64xi32, #row> -> tensor<64x1xi32, #rows>
    %columns = tile.expand_dims %column, 0 : tensor<128xi32, #column> -> tensor<1x128xi32, #columns>
    %strides = tile.splat %stride : tensor<64x1xi32, #rows>
    %starts = arith.muli %rows, %strides : tensor<64x1xi32, #rows>
    %base = tile.splat %c : tensor<64x1x!tile.ptr<f16>, #rows>
    %firsts = tile.addptr %base, %starts : tensor<64x1x!tile.ptr<f16>, #rows>, tensor<64x1xi32, #rows>
    %tiles = tile.broadcast %firsts : tensor<64x1x!tile.ptr<f16>, #rows> -> tensor<64x128x!tile.ptr<f16>, #acc>
    %offsets = tile.broadcast %columns : tensor<1x128xi32, #columns> -> tensor<64x128xi32, #acc>
    %to = tile.addptr %tiles, %offsets : tensor<64x128x!tile.ptr<f16>, #acc>, tensor<64x128xi32, #acc>
    tile.store %to, %result : tensor<64x128x!tile.ptr<f16>, #acc>, tensor<64x128xf16, #acc>
    return
  }
}
