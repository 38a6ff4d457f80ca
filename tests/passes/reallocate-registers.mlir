// The warps that multiply take registers of the producer where a loop needs more than all warps can have at launch.
// RUN: pantile-opt %s -split-input-file -nv-reallocate-registers | FileCheck %s
#acc = #tile.layout<[128, 256], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
!a = !nv.buffer<1 x [128, 64] x f16, #nv.swizzle<[1, 0], 128>>
!b = !nv.buffer<1 x [64, 256] x f16, #nv.swizzle<[1, 0], 128>>
!tile = tensor<128x256xf32, #acc>
// CHECK: producer_warps = 4, {{.*}}registers = [{{[0-9]+}}, 24, {{[0-9]+}}]
// CHECK-LABEL: @large_accumulator
module attributes {nv.launch = #nv.launch<producer_warps = 1, shared_bytes = 196608>, tile.num_warps = 8 : i32, tile.target = "sm_90a"} {
  func.func @large_accumulator(%a: !a, %b: !b, %zero: !tile, %other: tensor<128x256xf16, #acc>, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %carried = %other) -> (!tile, tensor<128x256xf16, #acc>) : i32 {
      %sum = nv.wgmma %a, %b, %acc mma<wgmma, 64 x 256 x 16, warps = 8 x 1> : !a, !b, !tile
      %next = nv.wgmma_wait 0, %sum : (!tile) -> !tile
      scf.yield %next, %carried : !tile, tensor<128x256xf16, #acc>
    }
    return %out#0 : !tile
  }
}

// -----
// What all can have suffices.
#acc = #tile.layout<[128, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
!a = !nv.buffer<1 x [128, 64] x f16, #nv.swizzle<[1, 0], 128>>
!b = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!tile = tensor<128x64xf32, #acc>
// CHECK: module attributes {nv.launch = #nv.launch<producer_warps = 1
// CHECK-NOT: registers = [
// CHECK-LABEL: @small_accumulator
module attributes {nv.launch = #nv.launch<producer_warps = 1, shared_bytes = 196608>, tile.num_warps = 8 : i32, tile.target = "sm_90a"} {
  func.func @small_accumulator(%a: !a, %b: !b, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %sum = nv.wgmma %a, %b, %acc mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !a, !b, !tile
      %next = nv.wgmma_wait 0, %sum : (!tile) -> !tile
      scf.yield %next : !tile
    }
    return %out : !tile
  }
}
