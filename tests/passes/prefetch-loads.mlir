// A loop that was given `num_stages` loads the next row into registers while this one is computed with.
// RUN: pantile-opt %s -nv-prefetch-loads | FileCheck %s
#row = #tile.layout<[512], reg = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
!row = tensor<512xf32, #row>
!pointers = tensor<512x!tile.ptr<f32>, #row>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @two_stages
  // CHECK: %[[FIRST:.*]] = tile.load {{.*}} mask
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[NOW:.*]] = %[[FIRST]])
  // CHECK: %[[NEXT:.*]] = tile.load {{.*}} mask
  // CHECK: %[[ADDED:.*]] = arith.addf %[[SUM]], %[[NOW]]
  // CHECK: scf.yield %[[ADDED]], %[[NEXT]]
  func.func @two_stages(%x: !tile.ptr<f32>, %offsets: tensor<512xi32, #row>, %zero: !row, %n: i32) -> !row attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c512 = arith.constant 512 : i32
    %out = scf.for %i = %c0 to %n step %c512 iter_args(%sum = %zero) -> (!row) : i32 {
      %start = tile.addptr %x, %i : !tile.ptr<f32>, i32
      %starts = tile.splat %start : !pointers
      %from = tile.addptr %starts, %offsets : !pointers, tensor<512xi32, #row>
      %now = tile.load %from : !pointers -> !row
      %added = arith.addf %sum, %now : !row
      scf.yield %added : !row
    } {tile.num_stages = 2 : i32}
    return %out : !row
  }

  // What is read may be what the iteration before wrote.
  // CHECK-LABEL: @stores_to_what_it_loads
  // CHECK-NOT: mask
  // CHECK: return
  func.func @stores_to_what_it_loads(%x: !tile.ptr<f32>, %offsets: tensor<512xi32, #row>, %n: i32) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c512 = arith.constant 512 : i32
    scf.for %i = %c0 to %n step %c512 : i32 {
      %start = tile.addptr %x, %i : !tile.ptr<f32>, i32
      %starts = tile.splat %start : !pointers
      %from = tile.addptr %starts, %offsets : !pointers, tensor<512xi32, #row>
      %now = tile.load %from : !pointers -> !row
      %twice = arith.addf %now, %now : !row
      tile.store %from, %twice : !pointers, !row
    } {tile.num_stages = 2 : i32}
    return
  }
}
