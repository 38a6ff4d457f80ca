// MMAs of an iteration start as soon as their operands are there, and are waited for where their results are used.
// RUN: pantile-opt %s -nv-defer-waits | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#spread = #tile.layout<[64], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0]]>
#whole = #tile.layout<[64], reg = [[1], [2], [4], [8], [16], [32]], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!left = tensor<64x64xf16, #acc>
!barriers = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
!tile = tensor<64x64xf32, #acc>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @two_in_flight
  // CHECK: scf.for
  // CHECK: %[[SCORES:.*]] = nv.wgmma
  // CHECK-NEXT: %[[SLOPES:.*]] = nv.wgmma
  // CHECK-NEXT: %[[SCORED:.*]] = nv.wgmma_wait %[[SCORES]]
  // CHECK-NEXT: math.exp2 %[[SCORED]]
  // CHECK: %[[SLOPED:.*]] = nv.wgmma_wait %[[SLOPES]]
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

  // One adds to the result of another, after a wait for its own stage: there is one wait for both, and the stage of the
  // first is released after it.
  // CHECK-LABEL: @adds_in_flight
  // CHECK: scf.for
  // CHECK-NEXT: %[[HALF:.*]] = nv.wgmma
  // CHECK-NOT: nv.wgmma_wait
  // CHECK: nv.mbarrier_wait
  // CHECK-NEXT: %[[WHOLE:.*]] = nv.wgmma %{{.*}}, %{{.*}}, %[[HALF]] mma
  // CHECK-NEXT: %[[SCORED:.*]] = nv.wgmma_wait %[[WHOLE]]
  // CHECK-DAG: nv.release %{{.*}} : <1 x[2] x i64
  // CHECK: math.exp2 %[[SCORED]]
  func.func @adds_in_flight(%query: !stage, %key: !stage, %more: !stage, %ready: !barriers, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      nv.release %ready : !barriers
      nv.mbarrier_wait %ready, false, %i : !barriers
      %both = nv.wgmma %query, %more, %scored mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %whole = nv.wgmma_wait %both : (!tile) -> !tile
      %weights = math.exp2 %whole : !tile
      %sum = arith.addf %all, %weights : !tile
      scf.yield %sum : !tile
    }
    return %out : !tile
  }

  // Something else reads the first result, too.
  // CHECK-LABEL: @read_before_it_is_added_to
  // CHECK: %[[HALF:.*]] = nv.wgmma %
  // CHECK: %[[DONE:.*]] = nv.wgmma_wait %[[HALF]]
  // CHECK: nv.wgmma %{{.*}}, %{{.*}}, %[[DONE]] mma
  func.func @read_before_it_is_added_to(%query: !stage, %key: !stage, %more: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %both = nv.wgmma %query, %more, %scored mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %whole = nv.wgmma_wait %both : (!tile) -> !tile
      %scaled = arith.mulf %whole, %scored : !tile
      %sum = arith.addf %all, %scaled : !tile
      scf.yield %sum : !tile
    }
    return %out : !tile
  }

  // What is stored between the two waits for the first: its operand may lie there.
  // CHECK-LABEL: @stored_before_it_is_added_to
  // CHECK: %[[HALF:.*]] = nv.wgmma %
  // CHECK-NEXT: %[[DONE:.*]] = nv.wgmma_wait %[[HALF]]
  // CHECK: nv.local_store
  // CHECK: nv.wgmma %{{.*}}, %{{.*}}, %[[DONE]] mma
  func.func @stored_before_it_is_added_to(%query: !stage, %key: !stage, %more: !stage, %left: !left, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      nv.local_store %left, %more : !left, !stage
      nv.fence_async
      %both = nv.wgmma %query, %more, %scored mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %whole = nv.wgmma_wait %both : (!tile) -> !tile
      %sum = arith.addf %all, %whole : !tile
      scf.yield %sum : !tile
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

  // Scales of the result are exchanged while the MMA is in flight.
  // CHECK-LABEL: @scales
  // CHECK: scf.for
  // CHECK-NEXT: %[[SUMS:.*]] = nv.wgmma
  // CHECK-NEXT: %[[SCALES:.*]] = tile.convert_layout
  // CHECK-NEXT: arith.mulf %[[SCALES]], %[[SCALES]]
  // CHECK-NEXT: nv.wgmma_wait %[[SUMS]]
  func.func @scales(%query: !stage, %key: !stage, %zero: !tile, %scales: tensor<64xf32, #spread>, %none: tensor<64xf32, #whole>, %n: i32) -> (!tile, tensor<64xf32, #whole>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out, %last = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero, %old = %none) -> (!tile, tensor<64xf32, #whole>) : i32 {
      %each = tile.convert_layout %scales : tensor<64xf32, #spread> -> tensor<64xf32, #whole>
      %squares = arith.mulf %each, %each : tensor<64xf32, #whole>
      %sums = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %summed = nv.wgmma_wait %sums : (!tile) -> !tile
      %more = arith.addf %all, %summed : !tile
      scf.yield %more, %squares : !tile, tensor<64xf32, #whole>
    }
    return %out, %last : !tile, tensor<64xf32, #whole>
  }

  // What is stored before the MMA stays there.
  // CHECK-LABEL: @stored_before
  // CHECK: scf.for
  // CHECK-NEXT: tile.convert_layout
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: nv.wgmma
  func.func @stored_before(%query: !stage, %key: !stage, %zero: !tile, %scales: tensor<64xf32, #spread>, %to: tensor<64x!tile.ptr<f32>, #whole>, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %each = tile.convert_layout %scales : tensor<64xf32, #spread> -> tensor<64xf32, #whole>
      tile.store %to, %each : tensor<64x!tile.ptr<f32>, #whole>, tensor<64xf32, #whole>
      %sums = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %summed = nv.wgmma_wait %sums : (!tile) -> !tile
      %more = arith.addf %all, %summed : !tile
      scf.yield %more : !tile
    }
    return %out : !tile
  }

  // The second is in flight while the result of the first is stored, and the buffer of the first is freed.
  // CHECK-LABEL: @stores_meanwhile
  // CHECK: scf.for
  // CHECK: nv.local_store
  // CHECK: %[[SUMS:.*]] = nv.wgmma
  // CHECK-NEXT: %[[WHOLE:.*]] = nv.wgmma
  // CHECK-NEXT: %[[SUMMED:.*]] = nv.wgmma_wait %[[SUMS]]
  // CHECK-NEXT: nv.dealloc
  // CHECK-NEXT: tile.store %{{.*}}, %[[SUMMED]]
  // CHECK-NEXT: tile.atomic_rmw
  // CHECK-NEXT: nv.wgmma_wait %[[WHOLE]]
  func.func @stores_meanwhile(%left: !left, %key: !stage, %value: !stage, %zero: !tile, %to: tensor<64x64x!tile.ptr<f32>, #acc>, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %query = nv.alloc : !stage
      nv.local_store %left, %query : !left, !stage
      %sums = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %summed = nv.wgmma_wait %sums : (!tile) -> !tile
      nv.dealloc %query : !stage
      %more = nv.wgmma %left, %value, %all mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %whole = nv.wgmma_wait %more : (!tile) -> !tile
      tile.store %to, %summed : tensor<64x64x!tile.ptr<f32>, #acc>, !tile
      %old = tile.atomic_rmw fadd, relaxed, gpu, %to, %summed : tensor<64x64x!tile.ptr<f32>, #acc> -> !tile
      scf.yield %whole : !tile
    }
    return %out : !tile
  }

  // An atomic that releases what was written before stays after all of it.
  // CHECK-LABEL: @before_a_signal
  // CHECK: scf.for
  // CHECK: %[[WHOLE:.*]] = nv.wgmma {{.*}} tensor<64x64xf16
  // CHECK: nv.wgmma_wait %[[WHOLE]]
  // CHECK: tile.atomic_rmw
  func.func @before_a_signal(%left: !left, %query: !stage, %key: !stage, %value: !stage, %zero: !tile, %to: tensor<64x64x!tile.ptr<f32>, #acc>, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %sums = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %summed = nv.wgmma_wait %sums : (!tile) -> !tile
      %more = nv.wgmma %left, %value, %all mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %whole = nv.wgmma_wait %more : (!tile) -> !tile
      %old = tile.atomic_rmw fadd, acq_rel, gpu, %to, %summed : tensor<64x64x!tile.ptr<f32>, #acc> -> !tile
      scf.yield %whole : !tile
    }
    return %out : !tile
  }

  // The first is complete before the second, whose result is stored: its stage is released there.
  // CHECK-LABEL: @complete_with_a_later_one
  // CHECK: scf.for
  // CHECK: %[[WHOLE:.*]] = nv.wgmma
  // CHECK: %[[SUMS:.*]] = nv.wgmma
  // CHECK: nv.wgmma_wait %[[WHOLE]]
  // CHECK-NEXT: nv.release
  // CHECK-NEXT: nv.wgmma_wait %[[SUMS]]
  // CHECK-NEXT: tile.store
  func.func @complete_with_a_later_one(%query: !stage, %key: !stage, %value: !stage, %ready: !barriers, %zero: !tile, %to: tensor<64x64x!tile.ptr<f32>, #acc>, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %more = nv.wgmma %query, %value, %all mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %whole = nv.wgmma_wait %more : (!tile) -> !tile
      nv.release %ready : !barriers
      %sums = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %summed = nv.wgmma_wait %sums : (!tile) -> !tile
      tile.store %to, %summed : tensor<64x64x!tile.ptr<f32>, #acc>, !tile
      scf.yield %whole : !tile
    }
    return %out : !tile
  }

  // The second has an operand of its own, stored while the first is in flight, after a conversion through scratch and a store of its
  // result. The operands of both stay where they are until both are complete.
  // CHECK-LABEL: @other_operands_in_flight
  // CHECK: %[[X:.*]] = nv.alloc
  // CHECK: %[[HALF:.*]] = nv.wgmma %{{.*}}, %[[X]],
  // CHECK-NEXT: tile.convert_layout
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: %[[Y:.*]] = nv.alloc
  // CHECK-NEXT: nv.local_store %{{.*}}, %[[Y]]
  // CHECK-NEXT: nv.fence_async
  // CHECK-NEXT: %[[BOTH:.*]] = nv.wgmma %{{.*}}, %[[Y]], %[[HALF]] mma
  // CHECK-NEXT: nv.wgmma_wait %[[BOTH]]
  // CHECK-NEXT: nv.dealloc %[[X]]
  // CHECK-NEXT: nv.dealloc %[[Y]]
  func.func @other_operands_in_flight(%query: !stage, %left: !left, %rest: !left, %zero: !tile, %n: i32, %scales: tensor<64xf32, #spread>, %to: tensor<64x!tile.ptr<f32>, #whole>) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %first = nv.alloc : !stage
      nv.local_store %left, %first : !left, !stage
      nv.fence_async
      %half = nv.wgmma %query, %first, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %half : (!tile) -> !tile
      nv.dealloc %first : !stage
      %each = tile.convert_layout %scales : tensor<64xf32, #spread> -> tensor<64xf32, #whole>
      tile.store %to, %each : tensor<64x!tile.ptr<f32>, #whole>, tensor<64xf32, #whole>
      %second = nv.alloc : !stage
      nv.local_store %rest, %second : !left, !stage
      nv.fence_async
      %both = nv.wgmma %query, %second, %done mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %whole = nv.wgmma_wait %both : (!tile) -> !tile
      nv.dealloc %second : !stage
      %sum = arith.addf %all, %whole : !tile
      scf.yield %sum : !tile
    }
    return %out : !tile
  }

  // The operand of the first is overwritten by that of the second.
  // CHECK-LABEL: @stored_again
  // CHECK: %[[HALF:.*]] = nv.wgmma %
  // CHECK-NEXT: %[[DONE:.*]] = nv.wgmma_wait %[[HALF]]
  // CHECK-NEXT: nv.local_store
  // CHECK: nv.wgmma %{{.*}}, %{{.*}}, %[[DONE]] mma
  func.func @stored_again(%query: !stage, %left: !left, %rest: !left, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %first = nv.alloc : !stage
      nv.local_store %left, %first : !left, !stage
      nv.fence_async
      %half = nv.wgmma %query, %first, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %half : (!tile) -> !tile
      nv.local_store %rest, %first : !left, !stage
      nv.fence_async
      %both = nv.wgmma %query, %first, %done mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %whole = nv.wgmma_wait %both : (!tile) -> !tile
      nv.dealloc %first : !stage
      %sum = arith.addf %all, %whole : !tile
      scf.yield %sum : !tile
    }
    return %out : !tile
  }

  // Of three, the operand of the first is freed after the second.
  // CHECK-LABEL: @freed_between_later_ones
  // CHECK: %[[X:.*]] = nv.alloc
  // CHECK: %[[A:.*]] = nv.wgmma %{{.*}}, %[[X]],
  // CHECK-NEXT: %[[B:.*]] = nv.wgmma %{{.*}}, %{{.*}}, %[[A]] mma
  // CHECK-NEXT: %[[C:.*]] = nv.wgmma %{{.*}}, %{{.*}}, %[[B]] mma
  // CHECK-NEXT: nv.wgmma_wait %[[C]]
  // CHECK-NEXT: nv.dealloc %[[X]]
  func.func @freed_between_later_ones(%query: !stage, %key: !stage, %left: !left, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %first = nv.alloc : !stage
      nv.local_store %left, %first : !left, !stage
      nv.fence_async
      %half = nv.wgmma %query, %first, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %half : (!tile) -> !tile
      %more = nv.wgmma %query, %key, %done mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %ready = nv.wgmma_wait %more : (!tile) -> !tile
      nv.dealloc %first : !stage
      %both = nv.wgmma %key, %key, %ready mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %whole = nv.wgmma_wait %both : (!tile) -> !tile
      %sum = arith.addf %all, %whole : !tile
      scf.yield %sum : !tile
    }
    return %out : !tile
  }

  // A wait moves down with the end of a buffer that its MMA reads.
  // CHECK-LABEL: @freed_after_the_wait
  // CHECK: nv.wgmma %{{.*}}, %[[X:.*]], %
  // CHECK: math.exp2
  // CHECK-NEXT: nv.wgmma_wait
  // CHECK-NEXT: nv.dealloc
  // CHECK-NEXT: arith.addf
  func.func @freed_after_the_wait(%query: !stage, %key: !stage, %left: !left, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %first = nv.alloc : !stage
      nv.local_store %left, %first : !left, !stage
      nv.fence_async
      %half = nv.wgmma %query, %first, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %half : (!tile) -> !tile
      nv.dealloc %first : !stage
      %weights = math.exp2 %scored : !tile
      %sum = arith.addf %weights, %done : !tile
      scf.yield %sum : !tile
    }
    return %out : !tile
  }
}
