// The last MMAs of an iteration are complete at the first wait of the next one, and the stages that they read are released there.
// RUN: pantile-opt %s -nv-carry-mmas -verify-diagnostics | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#wide = #tile.layout<[64, 256], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!circular = !nv.buffer<2 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!row = !nv.buffer<1 x [64, 256] x f16, #nv.swizzle<[1, 0], 128>>
!barriers = !nv.buffer<2 x [2] x i64, #nv.swizzle<[0], 0>>
!barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
!wide = tensor<64x256xf32, #wide>
module attributes {nv.launch = #nv.launch<producer_warps = 1>, tile.num_stages = 2 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // Example.
  // The second MMA is carried in flight. Its stage is released after the wait for the first one, and after the loop.
  // CHECK-LABEL: @accumulates
  // CHECK: %[[OUT:.*]]:2 = scf.for
  // CHECK: %[[INDEX:.*]] = arith.remui
  // CHECK: %[[SCORES:.*]] = nv.wgmma %
  // CHECK: nv.wgmma_wait %[[SCORES]]
  // CHECK: arith.cmpi eq, %[[INDEX]]
  // CHECK: %[[BEFORE:.*]] = nv.select_stage %[[BARRIERS:.*]][%
  // CHECK-NEXT: nv.release %[[BEFORE]] if %
  // CHECK: %[[MORE:.*]] = nv.wgmma %
  // CHECK-NOT: nv.wgmma_wait
  // CHECK-NOT: nv.release
  // CHECK: scf.yield %[[MORE]]
  // CHECK: nv.wgmma_wait %[[OUT]]#0
  // CHECK: %[[LAST:.*]] = nv.select_stage %[[BARRIERS]][%
  // CHECK: nv.release %[[LAST]] if %
  func.func @accumulates(%query: !stage, %map: !nv.tensor_map, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %keys = nv.channel via tma : !circular
    %full = nv.alloc : !barriers
    nv.mbarrier_init %full, 4 : !barriers
    nv.producer {
      %filled = nv.select_stage %keys[%c0] : !circular -> !stage
      %barrier = nv.select_stage %full[%c0] : !barriers -> !barrier
      nv.tma_load %map[%c0, %c0], %filled, %barrier : !stage, !barrier
    }
    // expected-remark @below {{the last MMAs of an iteration overlap the first of the next iteration}}
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %count = %c0) -> (!tile, i32) : i32 {
      %index = arith.remui %count, %c2 : i32
      %ready = nv.select_stage %full[%index] : !barriers -> !barrier
      %key = nv.select_stage %keys[%index] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %c0 : !barrier
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = arith.truncf %scored : !tile to !left
      %more = nv.wgmma %weights, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %whole = nv.wgmma_wait %more : (!tile) -> !tile
      nv.release %ready : !barrier
      %later = arith.addi %count, %c1 : i32
      scf.yield %whole, %later : !tile, i32
    }
    return %out#0 : !tile
  }

  // The registers of the left operand are computed before the first wait.
  // CHECK-LABEL: @overwritten_registers
  // CHECK: scf.for
  // CHECK: nv.wgmma_wait
  // CHECK: nv.wgmma_wait
  // CHECK: scf.yield
  func.func @overwritten_registers(%query: !stage, %key: !stage, %scales: !tile, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %weights = arith.truncf %scales : !tile to !left
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %more = nv.wgmma %weights, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %whole = nv.wgmma_wait %more : (!tile) -> !tile
      scf.yield %whole : !tile
    }
    return %out : !tile
  }

  // They are a view of what was loaded before it, or of an accumulator that the next iteration writes before it.
  // CHECK-LABEL: @views_of_registers
  // CHECK: scf.for
  // CHECK: nv.wgmma_wait
  // CHECK: nv.wgmma_wait
  // CHECK: scf.yield
  func.func @views_of_registers(%query: !stage, %key: !stage, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %bits = nv.local_load %key : !stage -> !left
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = arith.negf %bits : !left
      %more = nv.wgmma %weights, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %whole = nv.wgmma_wait %more : (!tile) -> !tile
      scf.yield %whole : !tile
    }
    return %out : !tile
  }

  // The left operand goes through a buffer that the next iteration writes again.
  // CHECK-LABEL: @overwritten_buffer
  // CHECK: scf.for
  // CHECK: nv.wgmma_wait
  // CHECK: nv.wgmma_wait
  // CHECK: scf.yield
  func.func @overwritten_buffer(%query: !stage, %key: !stage, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = arith.truncf %scored : !tile to !left
      %buffer = nv.alloc : !stage
      nv.local_store %weights, %buffer : !left, !stage
      %more = nv.wgmma %buffer, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %whole = nv.wgmma_wait %more : (!tile) -> !tile
      nv.dealloc %buffer : !stage
      scf.yield %whole : !tile
    }
    return %out : !tile
  }

  // Something else reads the sum so far.
  // CHECK-LABEL: @read_accumulator
  // CHECK: scf.for
  // CHECK: nv.wgmma_wait
  // CHECK: nv.wgmma_wait
  // CHECK: scf.yield
  func.func @read_accumulator(%query: !stage, %key: !stage, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %scaled = arith.mulf %scored, %acc : !tile
      %weights = arith.truncf %scaled : !tile to !left
      %more = nv.wgmma %weights, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %whole = nv.wgmma_wait %more : (!tile) -> !tile
      scf.yield %whole : !tile
    }
    return %out : !tile
  }

  // The stage is by no count that the loop carries, so that the one before is not known.
  // CHECK-LABEL: @unknown_stage
  // CHECK: scf.for
  // CHECK: nv.wgmma_wait
  // CHECK: nv.wgmma_wait
  // CHECK: nv.release
  // CHECK: scf.yield
  func.func @unknown_stage(%query: !stage, %map: !nv.tensor_map, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %keys = nv.channel via tma : !circular
    %full = nv.alloc : !barriers
    nv.mbarrier_init %full, 4 : !barriers
    nv.producer {
      %filled = nv.select_stage %keys[%c0] : !circular -> !stage
      %barrier = nv.select_stage %full[%c0] : !barriers -> !barrier
      nv.tma_load %map[%c0, %c0], %filled, %barrier : !stage, !barrier
    }
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %index = arith.andi %i, %c1 : i32
      %ready = nv.select_stage %full[%index] : !barriers -> !barrier
      %key = nv.select_stage %keys[%index] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %c0 : !barrier
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = arith.truncf %scored : !tile to !left
      %more = nv.wgmma %weights, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %whole = nv.wgmma_wait %more : (!tile) -> !tile
      nv.release %ready : !barrier
      scf.yield %whole : !tile
    }
    return %out : !tile
  }

  // CHECK-LABEL: @too_many_registers
  // CHECK: scf.for
  // CHECK: nv.wgmma_wait
  // CHECK: nv.wgmma_wait
  // CHECK: scf.yield
  func.func @too_many_registers(%query: !stage, %key: !row, %n: i32) -> (!wide, !wide) {
    %zero = arith.constant dense<0.0> : !wide
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-remark @below {{the last MMAs of an iteration do not overlap the first of the next iteration: accumulators and left operands take too many registers}}
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %most = %zero) -> (!wide, !wide) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 256 x 16, warps = 4 x 1> : !stage, !row, !wide
      %scored = nv.wgmma_wait %scores : (!wide) -> !wide
      %most2 = arith.maximumf %most, %scored : !wide
      %more = nv.wgmma %query, %key, %acc mma<wgmma, 64 x 256 x 16, warps = 4 x 1> : !stage, !row, !wide
      %whole = nv.wgmma_wait %more : (!wide) -> !wide
      scf.yield %whole, %most2 : !wide, !wide
    }
    return %out#0, %out#1 : !wide, !wide
  }
}
