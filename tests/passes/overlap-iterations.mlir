// The last MMAs of an iteration are in flight together with the first ones of the next, in loops of chained MMAs such as attention's gradients.
// RUN: pantile-opt %s -nv-overlap-iterations | FileCheck %s
// RUN: pantile-opt %s -nv-overlap-iterations -nv-expand-loops | FileCheck %s --check-prefix=EXPANDED
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!circular = !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!barriers = !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>
!barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
module attributes {nv.launch = #nv.launch<producer_warps = 1>, tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // The MMAs that start from zero are stage 0, clusters before the elements; the one that accumulates is stage 1, between the two.
  // CHECK-LABEL: @gradient
  // CHECK-COUNT-2: nv.wgmma %arg{{.*}} {nv.cluster = array<i32: 0>, nv.stage = array<i32: 0>}
  // CHECK: math.exp2 {{.*}} {nv.cluster = array<i32: 4>, nv.stage = array<i32: 0>}
  // CHECK: nv.wgmma %{{[0-9]+}}, {{.*}} {nv.cluster = array<i32: 3>, nv.stage = array<i32: 1>}
  // CHECK-NEXT: nv.wgmma_wait {{.*}} {nv.cluster = array<i32: 5>, nv.stage = array<i32: 1>}
  // CHECK-NEXT: nv.release {{.*}} {nv.cluster = array<i32: 7>, nv.stage = array<i32: 1>}
  // CHECK: nv.expand = 1 : i32

  // EXPANDED-LABEL: @gradient
  // EXPANDED: scf.if
  // EXPANDED-COUNT-2: nv.wgmma %arg
  // EXPANDED: %[[LEFT:.*]] = arith.truncf
  // EXPANDED: scf.for {{.*}} = %[[LEFT]]
  // EXPANDED-COUNT-2: nv.wgmma %arg
  // EXPANDED: %[[TAIL:.*]] = nv.wgmma %{{.*}} : tensor
  // EXPANDED: math.exp2
  // EXPANDED: nv.wgmma_wait %[[TAIL]]
  // EXPANDED-NEXT: nv.release
  // EXPANDED: scf.yield
  // EXPANDED: nv.wgmma %{{.*}} : tensor
  func.func @gradient(%key: !stage, %value: !stage, %queries: !circular, %full: !barriers, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %count = %c0) -> (!tile, i32) : i32 {
      %stage = arith.remui %count, %c3 : i32
      %wraps = arith.divui %count, %c3 : i32
      %phase = arith.andi %wraps, %c1 : i32
      %ready = nv.select_stage %full[%stage] : !barriers -> !barrier
      %query = nv.select_stage %queries[%stage] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %phase : !barrier
      %scores = nv.wgmma %key, %query, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %slopes = nv.wgmma %value, %query, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = math.exp2 %scored : !tile
      %sloped = nv.wgmma_wait %slopes : (!tile) -> !tile
      %scaled = arith.mulf %weights, %sloped : !tile
      %left = arith.truncf %scaled : !tile to !left
      %sum = nv.wgmma %left, %query, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      nv.release %ready : !barrier
      %later = arith.addi %count, %c1 : i32
      scf.yield %next, %later : !tile, i32
    }
    return %out#0 : !tile
  }
}
