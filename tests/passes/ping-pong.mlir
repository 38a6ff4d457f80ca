// Ping-pong: consumer warp groups alternate in starting the MMAs of a loop, so that one group multiplies while another computes elements.
// RUN: pantile-opt %s -nv-ping-pong | FileCheck %s
// RUN: pantile-opt %s -nv-ping-pong=pairs | FileCheck %s --check-prefix=PAIRS
#acc = #tile.layout<[128, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
#thin = #tile.layout<[128, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
!tall = !nv.buffer<1 x [128, 64] x f16, #nv.swizzle<[1, 0], 128>>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
!ones = !nv.buffer<1 x [64, 8] x f16, #nv.swizzle<[0, 1], 128>>
!sums = tensor<128x8xf32, #thin>
!tile = tensor<128x64xf32, #acc>
module attributes {nv.launch = #nv.launch<producer_warps = 1>, tile.num_warps = 8 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @alternates
  // CHECK: nv.ping_pong_arrive first
  // CHECK-NEXT: scf.for
  // CHECK: nv.ping_pong_wait
  // CHECK-NEXT: nv.wgmma
  // CHECK: nv.ping_pong_arrive
  // CHECK-NEXT: nv.wgmma_wait
  // CHECK: nv.ping_pong_wait last
  func.func @alternates(%query: !tall, %key: !stage, %value: !stage, %ready: !barrier, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %phase = arith.andi %i, %c1 : i32
      nv.mbarrier_wait %ready, false, %phase : !barrier
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
      %slopes = nv.wgmma %query, %value, %zero mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
      %sum = nv.wgmma %query, %value, %all mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
      %done:3 = nv.wgmma_wait %scores, %slopes, %sum : (!tile, !tile, !tile) -> (!tile, !tile, !tile)
      %weights = math.exp2 %done#0 : !tile
      %scaled = arith.mulf %weights, %done#1 : !tile
      %next = arith.addf %scaled, %done#2 : !tile
      scf.yield %next : !tile
    }
    return %out : !tile
  }

  // Two loops in another one, as in a persistent kernel, hand the first group's arrival on.
  // CHECK-LABEL: @handed_on
  // CHECK: nv.ping_pong_arrive first
  // CHECK-NEXT: scf.for
  // CHECK-NOT: nv.ping_pong_{{arrive first|wait last}}
  // CHECK: scf.for
  // CHECK: nv.ping_pong_wait
  // CHECK-NOT: nv.ping_pong_{{arrive first|wait last}}
  // CHECK: scf.for
  // CHECK: nv.ping_pong_wait
  // CHECK-NOT: nv.ping_pong_{{arrive first|wait last}}
  // CHECK: scf.yield
  // CHECK: scf.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: nv.ping_pong_wait last
  func.func @handed_on(%query: !tall, %key: !stage, %value: !stage, %ready: !barrier, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %program = %c0 to %n step %c1 iter_args(%total = %zero) -> (!tile) : i32 {
      %first = scf.for %i = %c0 to %program step %c1 iter_args(%all = %total) -> (!tile) : i32 {
        nv.mbarrier_wait %ready, false, %c0 : !barrier
        %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
        %slopes = nv.wgmma %query, %value, %scores mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
        %sum = nv.wgmma %query, %value, %slopes mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
        %done = nv.wgmma_wait %sum : (!tile) -> !tile
        %next = arith.addf %all, %done : !tile
        scf.yield %next : !tile
      }
      %second = scf.for %i = %program to %n step %c1 iter_args(%all = %first) -> (!tile) : i32 {
        nv.mbarrier_wait %ready, false, %c1 : !barrier
        %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
        %slopes = nv.wgmma %query, %value, %scores mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
        %sum = nv.wgmma %query, %value, %slopes mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
        %done = nv.wgmma_wait %sum : (!tile) -> !tile
        %next = arith.addf %all, %done : !tile
        scf.yield %next : !tile
      }
      scf.yield %second : !tile
    }
    return %out : !tile
  }

  // A barrier of all threads in the loop would wait for a group that waits at `nv.ping_pong_wait`.
  // CHECK-LABEL: @barrier_in_the_loop
  // CHECK-NOT: nv.ping_pong_wait
  // CHECK: return
  func.func @barrier_in_the_loop(%query: !tall, %key: !stage, %value: !stage, %ready: !barrier, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %phase = arith.andi %i, %c1 : i32
      nv.mbarrier_wait %ready, false, %phase : !barrier
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
      %slopes = nv.wgmma %query, %value, %zero mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
      %sum = nv.wgmma %query, %value, %all mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
      %done:3 = nv.wgmma_wait %scores, %slopes, %sum : (!tile, !tile, !tile) -> (!tile, !tile, !tile)
      nv.barrier
      scf.yield %done#2 : !tile
    }
    return %out : !tile
  }

  // Two MMAs alternate only on request.
  // CHECK-LABEL: @two
  // CHECK-NOT: nv.ping_pong_wait
  // CHECK: return
  // PAIRS-LABEL: @two
  // PAIRS: scf.for
  // PAIRS: nv.ping_pong_wait
  // PAIRS-NEXT: nv.wgmma
  // PAIRS: nv.ping_pong_arrive
  // PAIRS-NEXT: nv.wgmma_wait
  func.func @two(%query: !tall, %key: !stage, %value: !stage, %ready: !barrier, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %phase = arith.andi %i, %c1 : i32
      nv.mbarrier_wait %ready, false, %phase : !barrier
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
      %sum = nv.wgmma %query, %value, %all mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
      %done:2 = nv.wgmma_wait %scores, %sum : (!tile, !tile) -> (!tile, !tile)
      %weights = math.exp2 %done#0 : !tile
      %next = arith.addf %weights, %done#1 : !tile
      scf.yield %next : !tile
    }
    return %out : !tile
  }
  // Row sums by an MMA with ones are no third one.
  // CHECK-LABEL: @two_and_row_sums
  // CHECK-NOT: nv.ping_pong_wait
  // CHECK: return
  func.func @two_and_row_sums(%query: !tall, %key: !stage, %value: !stage, %ones: !ones, %ready: !barrier, %zero: !tile, %none: !sums, %n: i32) -> (!tile, !sums) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero, %rows = %none) -> (!tile, !sums) : i32 {
      %phase = arith.andi %i, %c1 : i32
      nv.mbarrier_wait %ready, false, %phase : !barrier
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
      %sum = nv.wgmma %query, %value, %all mma<wgmma, 64 x 64 x 16, warps = 8 x 1> : !tall, !stage, !tile
      %own = nv.wgmma %query, %ones, %rows mma<wgmma, 64 x 8 x 16, warps = 8 x 1> : !tall, !ones, !sums
      %done:3 = nv.wgmma_wait %scores, %sum, %own : (!tile, !tile, !sums) -> (!tile, !tile, !sums)
      %weights = math.exp2 %done#0 : !tile
      %next = arith.addf %weights, %done#1 : !tile
      scf.yield %next, %done#2 : !tile, !sums
    }
    return %out#0, %out#1 : !tile, !sums
  }
}
