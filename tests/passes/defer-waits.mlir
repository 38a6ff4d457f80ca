// MMAs of an iteration start as soon as their operands are there, and are waited for where their results are used.
// RUN: pantile-opt %s -nv-defer-waits | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @two_in_flight
  // CHECK: scf.for
  // CHECK-NEXT: %[[SCORES:.*]] = nv.wgmma
  // CHECK-NEXT: %[[SLOPES:.*]] = nv.wgmma
  // CHECK-NEXT: %[[SCORED:.*]] = nv.wgmma_wait %[[SCORES]]
  // CHECK-NEXT: math.exp2 %[[SCORED]]
  // CHECK-NEXT: %[[SLOPED:.*]] = nv.wgmma_wait %[[SLOPES]]
  // CHECK-NEXT: arith.mulf %{{.*}}, %[[SLOPED]]
  func.func @two_in_flight(%query: !stage, %key: !stage, %value: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = math.exp2 %scored : !tile
      %slopes = nv.wgmma %query, %value, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %sloped = nv.wgmma_wait %slopes : (!tile) -> !tile
      %scaled = arith.mulf %weights, %sloped : !tile
      %more = arith.addf %all, %scaled : !tile
      scf.yield %more : !tile
    }
    return %out : !tile
  }

  // The operand of the second is stored by all threads after the first.
  // CHECK-LABEL: @barrier_in_between
  // CHECK: scf.for
  // CHECK-NEXT: %[[SCORES:.*]] = nv.wgmma
  // CHECK-NEXT: nv.wgmma_wait %[[SCORES]]
  func.func @barrier_in_between(%query: !stage, %key: !stage, %value: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = arith.truncf %scored : !tile to !left
      nv.local_store %weights, %value : !left, !stage
      nv.fence_async
      %slopes = nv.wgmma %query, %value, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %sloped = nv.wgmma_wait %slopes : (!tile) -> !tile
      %scaled = arith.mulf %scored, %sloped : !tile
      %more = arith.addf %all, %scaled : !tile
      scf.yield %more : !tile
    }
    return %out : !tile
  }
}
