// A row of 16 bits that fills the registers once it is fp32 is widened again after a reduction, not kept wide over it.
// RUN: pantile-opt %s -split-input-file -nv-rematerialise | FileCheck %s
#row = #tile.layout<[65536], reg = [[1], [2], [4], [8192], [16384], [32768]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512], [1024], [2048], [4096]]>
module attributes {tile.num_warps = 32 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @used_after_a_reduction
  // CHECK: %[[X:.*]] = tile.load
  // CHECK: %[[WIDE:.*]] = arith.extf %[[X]]
  // CHECK: tile.reduce(%[[WIDE]])
  // CHECK: %[[COPY:.*]] = tile.inline_asm {{.*}}(%[[X]])
  // CHECK: %[[AGAIN:.*]] = arith.extf %[[COPY]]
  // CHECK: arith.subf %[[AGAIN]]
  func.func @used_after_a_reduction(%from: tensor<65536x!tile.ptr<bf16>, #row>) -> tensor<65536xf32, #row> {
    %x = tile.load %from : tensor<65536x!tile.ptr<bf16>, #row> -> tensor<65536xbf16, #row>
    %wide = arith.extf %x : tensor<65536xbf16, #row> to tensor<65536xf32, #row>
    %most = tile.reduce (%wide), 0 {
    ^bb0(%a: f32, %b: f32):
      %max = arith.maxnumf %a, %b : f32
      tile.yield %max : f32
    } : (tensor<65536xf32, #row>) -> f32
    %all = tile.splat %most : tensor<65536xf32, #row>
    %shifted = arith.subf %wide, %all : tensor<65536xf32, #row>
    return %shifted : tensor<65536xf32, #row>
  }
}

// -----
// Registers suffice for the wide row.
#row = #tile.layout<[4096], reg = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256], [512], [1024], [2048]]>
module attributes {tile.num_warps = 32 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @short_row
  // CHECK-NOT: tile.inline_asm
  // CHECK: return
  func.func @short_row(%from: tensor<4096x!tile.ptr<bf16>, #row>) -> tensor<4096xf32, #row> {
    %x = tile.load %from : tensor<4096x!tile.ptr<bf16>, #row> -> tensor<4096xbf16, #row>
    %wide = arith.extf %x : tensor<4096xbf16, #row> to tensor<4096xf32, #row>
    %most = tile.reduce (%wide), 0 {
    ^bb0(%a: f32, %b: f32):
      %max = arith.maxnumf %a, %b : f32
      tile.yield %max : f32
    } : (tensor<4096xf32, #row>) -> f32
    %all = tile.splat %most : tensor<4096xf32, #row>
    %shifted = arith.subf %wide, %all : tensor<4096xf32, #row>
    return %shifted : tensor<4096xf32, #row>
  }
}
