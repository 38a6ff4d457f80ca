// A program that holds a row over a reduction prefetches the row of a later program to L2.
// RUN: pantile-opt %s -split-input-file -nv-prefetch-rows | FileCheck %s
#row = #tile.layout<[4096], reg = [[1], [2], [512], [1024], [2048]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
!row = tensor<4096xf32, #row>
!pointers = tensor<4096x!tile.ptr<f32>, #row>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @reduced
  // CHECK: tile.load
  // CHECK: %[[PROGRAM:.*]] = tile.program_id 0
  // CHECK: %[[LATER:.*]] = arith.addi %[[PROGRAM]], %c256_i32
  // CHECK: arith.muli %[[LATER]]
  // CHECK: nv.prefetch {{.*}} mask
  // CHECK: tile.reduce
  func.func @reduced(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32>, %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %program = tile.program_id 0
    %first = arith.muli %program, %stride : i32
    %start = tile.addptr %x, %first : !tile.ptr<f32>, i32
    %starts = tile.splat %start : !pointers
    %columns = tile.arange 0, 4096 : tensor<4096xi32, #row>
    %from = tile.addptr %starts, %columns : !pointers, tensor<4096xi32, #row>
    %row = tile.load %from : !pointers -> !row
    %most = tile.reduce (%row), 0 {
    ^bb0(%a: f32, %b: f32):
      %max = arith.maxnumf %a, %b : f32
      tile.yield %max : f32
    } : (!row) -> f32
    %to = tile.addptr %y, %program : !tile.ptr<f32>, i32
    tile.store %to, %most : !tile.ptr<f32>, f32
    return
  }

  // Nothing waits for the whole row.
  // CHECK-LABEL: @not_reduced
  // CHECK-NOT: nv.prefetch
  // CHECK: return
  func.func @not_reduced(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %program = tile.program_id 0
    %first = arith.muli %program, %stride : i32
    %start = tile.addptr %x, %first : !tile.ptr<f32>, i32
    %starts = tile.splat %start : !pointers
    %columns = tile.arange 0, 4096 : tensor<4096xi32, #row>
    %from = tile.addptr %starts, %columns : !pointers, tensor<4096xi32, #row>
    %row = tile.load %from : !pointers -> !row
    %twice = arith.addf %row, %row : !row
    tile.store %from, %twice : !pointers, !row
    return
  }
}
