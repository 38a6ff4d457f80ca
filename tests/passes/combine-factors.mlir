// Factors that are repeated along rows or columns are multiplied with each other before the tile is.
// RUN: pantile-opt %s -tile-combine-factors | FileCheck %s
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @scaled(
  // CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<64x32xf32>
  // CHECK: %[[OF_ROWS:.*]] = tile.broadcast %{{.*}} : tensor<64x1xf32>
  // CHECK: %[[OF_COLUMNS:.*]] = tile.broadcast %{{.*}} : tensor<1x32xf32>
  // CHECK: %[[FACTOR:.*]] = arith.mulf %[[OF_ROWS]], %[[OF_COLUMNS]]
  // CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[SUM]], %[[FACTOR]]
  // CHECK-NEXT: return %[[SCALED]]
  func.func @scaled(%sum: tensor<64x32xf32>, %rows: tensor<64x1xf32>, %columns: tensor<1x32xf32>) -> tensor<64x32xf32> {
    %of_rows = tile.broadcast %rows : tensor<64x1xf32> -> tensor<64x32xf32>
    %of_columns = tile.broadcast %columns : tensor<1x32xf32> -> tensor<64x32xf32>
    %half = arith.mulf %of_rows, %sum : tensor<64x32xf32>
    %scaled = arith.mulf %half, %of_columns : tensor<64x32xf32>
    return %scaled : tensor<64x32xf32>
  }

  // Three factors, one of them a scalar.
  // CHECK-LABEL: @thrice(
  // CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<64x32xf32>
  // CHECK-COUNT-2: arith.mulf
  // CHECK-NEXT: arith.mulf %[[SUM]], %
  // CHECK-NEXT: return
  func.func @thrice(%sum: tensor<64x32xf32>, %rows: tensor<64x1xf32>, %columns: tensor<1x32xf32>, %scalar: f32) -> tensor<64x32xf32> {
    %of_rows = tile.broadcast %rows : tensor<64x1xf32> -> tensor<64x32xf32>
    %of_columns = tile.broadcast %columns : tensor<1x32xf32> -> tensor<64x32xf32>
    %of_all = tile.splat %scalar : tensor<64x32xf32>
    %one = arith.mulf %sum, %of_rows : tensor<64x32xf32>
    %two = arith.mulf %one, %of_columns : tensor<64x32xf32>
    %three = arith.mulf %of_all, %two : tensor<64x32xf32>
    return %three : tensor<64x32xf32>
  }

  // What has a use of its own is computed, too, and halves are rounded after each factor.
  // CHECK-LABEL: @used_twice(
  // CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<64x32xf32>
  // CHECK: %[[HALF:.*]] = arith.mulf %[[SUM]], %
  // CHECK-NEXT: arith.mulf %[[HALF]], %
  func.func @used_twice(%sum: tensor<64x32xf32>, %rows: tensor<64x1xf32>, %columns: tensor<1x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
    %of_rows = tile.broadcast %rows : tensor<64x1xf32> -> tensor<64x32xf32>
    %of_columns = tile.broadcast %columns : tensor<1x32xf32> -> tensor<64x32xf32>
    %half = arith.mulf %sum, %of_rows : tensor<64x32xf32>
    %scaled = arith.mulf %half, %of_columns : tensor<64x32xf32>
    return %half, %scaled : tensor<64x32xf32>, tensor<64x32xf32>
  }

  // CHECK-LABEL: @of_halves(
  // CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<64x32xf16>
  // CHECK: arith.mulf %[[SUM]], %
  func.func @of_halves(%sum: tensor<64x32xf16>, %rows: tensor<64x1xf16>, %columns: tensor<1x32xf16>) -> tensor<64x32xf16> {
    %of_rows = tile.broadcast %rows : tensor<64x1xf16> -> tensor<64x32xf16>
    %of_columns = tile.broadcast %columns : tensor<1x32xf16> -> tensor<64x32xf16>
    %half = arith.mulf %sum, %of_rows : tensor<64x32xf16>
    %scaled = arith.mulf %half, %of_columns : tensor<64x32xf16>
    return %scaled : tensor<64x32xf16>
  }
}
