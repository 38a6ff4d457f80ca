// The first of two chained MMAs starts one iteration earlier: it is in flight together with the second one of the iteration before, while the elements between them are computed.
// RUN: pantile-opt %s -nv-overlap-iterations -nv-expand-loops | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!circular = !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!barriers = !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>
!barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
module attributes {nv.launch = #nv.launch<producer_warps = 1>, tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @attention
  // CHECK: scf.if
  // CHECK: %[[FIRST:.*]] = nv.wgmma %arg0
  // CHECK: %[[WEIGHTS:.*]] = math.exp2
  // CHECK: %[[LEFT:.*]] = arith.truncf %[[WEIGHTS]]
  // CHECK: scf.for {{.*}} = %[[LEFT]]
  // CHECK: %[[SCORES:.*]] = nv.wgmma %arg0
  // CHECK: %[[SUM:.*]] = nv.wgmma %{{.*}} : tensor
  // CHECK: nv.wgmma_wait %[[SCORES]]
  // CHECK: math.exp2
  // CHECK: nv.wgmma_wait %[[SUM]]
  // CHECK: scf.yield
  // CHECK: }
  // CHECK: nv.wgmma %{{.*}} : tensor
  // CHECK: nv.wgmma_wait
  func.func @attention(%query: !stage, %keys: !circular, %values: !circular, %full: !barriers, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %count = %c0) -> (!tile, i32) : i32 {
      %stage = arith.remui %count, %c3 : i32
      %wraps = arith.divui %count, %c3 : i32
      %phase = arith.andi %wraps, %c1 : i32
      %ready = nv.select_stage %full[%stage] : !barriers -> !barrier
      %key = nv.select_stage %keys[%stage] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %phase : !barrier
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = math.exp2 %scored : !tile
      %left = arith.truncf %weights : !tile to !left
      %value = nv.select_stage %values[%stage] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %phase : !barrier
      %sum = nv.wgmma %left, %value, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      nv.release %ready : !barrier
      %later = arith.addi %count, %c1 : i32
      scf.yield %next, %later : !tile, i32
    }
    return %out#0 : !tile
  }

  // A left operand that the first MMA reads as well is computed before it.
  // CHECK-LABEL: @one_left_operand
  // CHECK: scf.for
  // CHECK: %[[LEFT:.*]] = arith.truncf
  // CHECK: nv.wgmma %[[LEFT]]
  // CHECK: nv.wgmma %{{arg.*}} : tensor
  // CHECK: scf.yield {{.*}}%[[LEFT]]
  func.func @one_left_operand(%seed: !tile, %keys: !circular, %values: !circular, %full: !barriers, %zero: !tile, %n: i32) -> (!tile, !tile) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %out:4 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %x = %seed, %last = %zero, %count = %c0) -> (!tile, !tile, !tile, i32) : i32 {
      %stage = arith.remui %count, %c3 : i32
      %wraps = arith.divui %count, %c3 : i32
      %phase = arith.andi %wraps, %c1 : i32
      %ready = nv.select_stage %full[%stage] : !barriers -> !barrier
      %key = nv.select_stage %keys[%stage] : !circular -> !stage
      %y = math.exp2 %x : !tile
      %left = arith.truncf %y : !tile to !left
      nv.mbarrier_wait %ready, false, %phase : !barrier
      %scores = nv.wgmma %left, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %most = arith.maximumf %last, %scored : !tile
      %value = nv.select_stage %values[%stage] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %phase : !barrier
      %sum = nv.wgmma %left, %value, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      nv.release %ready : !barrier
      %later = arith.addi %count, %c1 : i32
      scf.yield %next, %y, %most, %later : !tile, !tile, !tile, i32
    }
    return %out#0, %out#2 : !tile, !tile
  }
}
