// A row that is held over a reduction and fills the registers waits in shared memory, half of it.
// RUN: pantile-opt %s -split-input-file -nv-spill-to-shared | FileCheck %s
#row = #tile.layout<[65536], reg = [[1], [2], [4096], [8192], [16384], [32768]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256], [512], [1024], [2048]]>
// 64 registers per thread: 32 of them, of 1024 threads, are 131072 bytes after those of the kernel's own.
// CHECK: module attributes {nv.launch = #nv.launch<shared_bytes = 131200, spills = [128, 32]
// CHECK-LABEL: @held_over_a_reduction
module attributes {nv.launch = #nv.launch<shared_bytes = 128>, tile.num_warps = 32 : i32, tile.target = "sm_90a"} {
  func.func @held_over_a_reduction(%from: tensor<65536x!tile.ptr<f32>, #row>) -> tensor<65536xf32, #row> {
    %x = tile.load %from : tensor<65536x!tile.ptr<f32>, #row> -> tensor<65536xf32, #row>
    %most = tile.reduce (%x), 0 {
    ^bb0(%a: f32, %b: f32):
      %max = arith.maxnumf %a, %b : f32
      tile.yield %max : f32
    } : (tensor<65536xf32, #row>) -> f32
    %all = tile.splat %most : tensor<65536xf32, #row>
    %shifted = arith.subf %x, %all : tensor<65536xf32, #row>
    return %shifted : tensor<65536xf32, #row>
  }
}

// -----
// Nothing is held: only the result of the reduction is used afterwards.
#row = #tile.layout<[65536], reg = [[1], [2], [4096], [8192], [16384], [32768]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256], [512], [1024], [2048]]>
// CHECK-NOT: spills = [
// CHECK-LABEL: @not_held
module attributes {nv.launch = #nv.launch<shared_bytes = 128>, tile.num_warps = 32 : i32, tile.target = "sm_90a"} {
  func.func @not_held(%from: tensor<65536x!tile.ptr<f32>, #row>) -> f32 {
    %x = tile.load %from : tensor<65536x!tile.ptr<f32>, #row> -> tensor<65536xf32, #row>
    %most = tile.reduce (%x), 0 {
    ^bb0(%a: f32, %b: f32):
      %max = arith.maxnumf %a, %b : f32
      tile.yield %max : f32
    } : (tensor<65536xf32, #row>) -> f32
    return %most : f32
  }
}
