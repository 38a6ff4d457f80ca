// A row that no SM holds is split over a thread-block cluster: each CTA has a part, and results of reductions are exchanged.
// RUN: pantile-opt %s -split-input-file -nv-split-over-cluster | FileCheck %s
!row = tensor<131072xf32>
!pointers = tensor<131072x!tile.ptr<f32>>
// CHECK: module attributes {nv.launch = #nv.launch<ctas_per_program = 4
// CHECK-LABEL: @reduced
// CHECK: %[[RANK:.*]] = nv.cluster_rank
// CHECK: tile.arange 0, 32768 : tensor<32768xi32>
// CHECK: %[[PART:.*]] = tile.reduce
// CHECK: %[[ALL:.*]] = nv.cluster_gather %[[PART]] : tensor<4xf32>
// CHECK: tile.reduce(%[[ALL]])
// CHECK: tile.store
// CHECK: nv.cluster_wait
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @reduced(%x: !tile.ptr<f32>) attributes {tile.kernel} {
    %columns = tile.arange 0, 131072 : tensor<131072xi32>
    %starts = tile.splat %x : !pointers
    %at = tile.addptr %starts, %columns : !pointers, tensor<131072xi32>
    %row = tile.load %at : !pointers -> !row
    %most = tile.reduce (%row), 0 {
    ^bb0(%a: f32, %b: f32):
      %max = arith.maxnumf %a, %b : f32
      tile.yield %max : f32
    } : (!row) -> f32
    %all = tile.splat %most : !row
    %shifted = arith.subf %row, %all : !row
    tile.store %at, %shifted : !pointers, !row
    return
  }
}

// -----
// One CTA holds the row.
// CHECK-NOT: ctas_per_program
// CHECK-LABEL: @short
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @short(%x: !tile.ptr<f32>) attributes {tile.kernel} {
    %columns = tile.arange 0, 4096 : tensor<4096xi32>
    %starts = tile.splat %x : tensor<4096x!tile.ptr<f32>>
    %at = tile.addptr %starts, %columns : tensor<4096x!tile.ptr<f32>>, tensor<4096xi32>
    %row = tile.load %at : tensor<4096x!tile.ptr<f32>> -> tensor<4096xf32>
    %most = tile.reduce (%row), 0 {
    ^bb0(%a: f32, %b: f32):
      %max = arith.maxnumf %a, %b : f32
      tile.yield %max : f32
    } : (tensor<4096xf32>) -> f32
    tile.store %x, %most : !tile.ptr<f32>, f32
    return
  }
}

// -----
// There are no clusters before sm_90.
// CHECK-NOT: ctas_per_program
// CHECK-LABEL: @ampere
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_80"} {
  func.func @ampere(%x: !tile.ptr<f32>) attributes {tile.kernel} {
    %columns = tile.arange 0, 131072 : tensor<131072xi32>
    %starts = tile.splat %x : tensor<131072x!tile.ptr<f32>>
    %at = tile.addptr %starts, %columns : tensor<131072x!tile.ptr<f32>>, tensor<131072xi32>
    %row = tile.load %at : tensor<131072x!tile.ptr<f32>> -> tensor<131072xf32>
    %most = tile.reduce (%row), 0 {
    ^bb0(%a: f32, %b: f32):
      %max = arith.maxnumf %a, %b : f32
      tile.yield %max : f32
    } : (tensor<131072xf32>) -> f32
    tile.store %x, %most : !tile.ptr<f32>, f32
    return
  }
}
