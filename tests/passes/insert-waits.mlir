// Each wait counts what it leaves in flight; where one is missing it is inserted, as late as the rule allows.
// RUN: pantile-opt %s -nv-insert-waits | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!b = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!circular = !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!barriers = !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>
!barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
!left = tensor<64x64xf16, #acc>
!sum = tensor<64x64xf32, #acc>
module attributes {tile.num_warps = 4 : i32} {
  // CHECK-LABEL: @two_in_flight
  func.func @two_in_flight(%a: !b, %b: !b, %c: !sum, %d: !sum) -> (!sum, !sum) {
    %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %y = nv.wgmma %a, %b, %d mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    // CHECK: nv.wgmma_wait 1, %[[X:.*]] :
    // CHECK-NEXT: nv.wgmma_wait 0, %[[Y:.*]] :
    // CHECK-NEXT: return
    %x1 = nv.wgmma_wait %x : (!sum) -> !sum
    %y1 = nv.wgmma_wait %y : (!sum) -> !sum
    return %x1, %y1 : !sum, !sum
  }

  // MMAs end in the order of their start: the second wait only gives accumulators back.
  // CHECK-LABEL: @waited_for_out_of_order
  func.func @waited_for_out_of_order(%a: !b, %b: !b, %c: !sum, %d: !sum) -> (!sum, !sum) {
    // CHECK: %[[X:.*]] = nv.wgmma
    // CHECK: %[[Y:.*]] = nv.wgmma
    // CHECK: nv.wgmma
    %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %y = nv.wgmma %a, %b, %d mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %z = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    // CHECK: nv.wgmma_wait 1, %[[Y]]
    // CHECK: nv.wgmma_wait 1, %[[X]]
    // CHECK: nv.wgmma_wait 0
    %y1 = nv.wgmma_wait %y : (!sum) -> !sum
    %x1 = nv.wgmma_wait %x : (!sum) -> !sum
    %z1 = nv.wgmma_wait %z : (!sum) -> !sum
    return %x1, %y1 : !sum, !sum
  }

  // CHECK-LABEL: @use_in_between
  func.func @use_in_between(%a: !b, %b: !b, %c: !sum, %d: !sum) -> (!sum, !sum) {
    // CHECK: %[[X:.*]] = nv.wgmma
    // CHECK-NEXT: %[[Y:.*]] = nv.wgmma
    // CHECK-NOT: nv.wgmma_wait
    // CHECK: arith.negf %arg2
    // CHECK-NEXT: %[[X1:.*]] = nv.wgmma_wait 1, %[[X]]
    // CHECK-NEXT: %[[USE:.*]] = arith.addf %[[X1]], %[[X1]]
    // CHECK: %[[Y1:.*]] = nv.wgmma_wait 0, %[[Y]]
    // CHECK-NEXT: return %[[USE]], %[[Y1]]
    %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %y = nv.wgmma %a, %b, %d mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %other = arith.negf %c : !sum
    %use = arith.addf %x, %x : !sum
    return %use, %y : !sum, !sum
  }

  // A wait for a younger MMA ends the older one: it returns both accumulators.
  // CHECK-LABEL: @ended_by_a_younger_one
  func.func @ended_by_a_younger_one(%a: !b, %b: !b, %c: !sum, %d: !sum) -> (!sum, !sum) {
    // CHECK: %[[X:.*]] = nv.wgmma
    // CHECK-NEXT: %[[Y:.*]] = nv.wgmma
    // CHECK-NEXT: %[[BOTH:.*]]:2 = nv.wgmma_wait 0, %[[Y]], %[[X]]
    // CHECK-NEXT: return %[[BOTH]]#1, %[[BOTH]]#0
    %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %y = nv.wgmma %a, %b, %d mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %y1 = nv.wgmma_wait %y : (!sum) -> !sum
    return %x, %y1 : !sum, !sum
  }

  // An MMA adds to accumulators in flight without a wait, unless something else reads them.
  // CHECK-LABEL: @taken_over
  func.func @taken_over(%a: !b, %b: !b, %c: !sum) -> !sum {
    // CHECK: %[[X:.*]] = nv.wgmma
    // CHECK-NEXT: %[[Y:.*]] = nv.wgmma %arg0, %arg1, %[[X]]
    // CHECK-NEXT: %[[Y1:.*]] = nv.wgmma_wait 0, %[[Y]]
    // CHECK-NEXT: return %[[Y1]]
    %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %y = nv.wgmma %a, %b, %x mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    return %y : !sum
  }
  // CHECK-LABEL: @taken_over_and_read
  func.func @taken_over_and_read(%a: !b, %b: !b, %c: !sum) -> (!sum, !sum) {
    // CHECK: %[[X:.*]] = nv.wgmma
    // CHECK-NEXT: %[[X1:.*]] = nv.wgmma_wait 0, %[[X]]
    // CHECK-NEXT: %[[Y:.*]] = nv.wgmma %arg0, %arg1, %[[X1]]
    // CHECK-NEXT: %[[Y1:.*]] = nv.wgmma_wait 0, %[[Y]]
    // CHECK-NEXT: return %[[X1]], %[[Y1]]
    %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %y = nv.wgmma %a, %b, %x mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    return %x, %y : !sum, !sum
  }

  // The summation of a GEMM: in each iteration the MMA of the one before is over.
  // CHECK-LABEL: @carried_in_flight
  func.func @carried_in_flight(%a: !b, %b: !b, %c: !sum, %n: i32) -> !sum {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %arg2)
    // CHECK-NEXT: %[[X:.*]] = nv.wgmma %arg0, %arg1, %[[SUM]]
    // CHECK-NEXT: nv.wgmma_wait 1, done %[[SUM]]
    // CHECK-NEXT: scf.yield %[[X]]
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c) -> (!sum) : i32 {
      %x = nv.wgmma %a, %b, %s mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      nv.wgmma_wait done %s : !sum : () -> ()
      scf.yield %x : !sum
    }
    // CHECK: %[[END:.*]] = nv.wgmma_wait 0, %[[LOOP]]
    // CHECK-NEXT: return %[[END]]
    return %r : !sum
  }

  // CHECK-LABEL: @carried_and_read
  func.func @carried_and_read(%a: !b, %b: !b, %c: !sum, %n: i32) -> !sum {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %arg2)
    // CHECK-NEXT: %[[OTHER:.*]] = nv.wgmma %arg0, %arg1, %arg2
    // CHECK-NEXT: %[[WAITED:.*]] = nv.wgmma_wait 1, %[[SUM]]
    // CHECK-NEXT: %[[SCALED:.*]] = arith.addf %[[WAITED]], %[[WAITED]]
    // CHECK-NEXT: nv.wgmma %arg0, %arg1, %[[SCALED]]
    // CHECK-NEXT: scf.yield
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c) -> (!sum) : i32 {
      %other = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      %scaled = arith.addf %s, %s : !sum
      %x = nv.wgmma %a, %b, %scaled mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      scf.yield %x : !sum
    }
    return %r : !sum
  }

  // Three iterations pass from the MMA to the use.
  // CHECK-LABEL: @carried_on_and_on
  func.func @carried_on_and_on(%a: !b, %b: !b, %c: !sum, %n: i32) -> !sum {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: iter_args(%{{.*}} = %arg2, %{{.*}} = %arg2, %[[OLDEST:.*]] = %arg2, %{{.*}} = %arg2)
    // CHECK-NEXT: nv.wgmma
    // CHECK-NEXT: %[[WAITED:.*]] = nv.wgmma_wait 3, %[[OLDEST]]
    // CHECK-NEXT: arith.negf %[[WAITED]]
    %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c, %t = %c, %u = %c, %v = %c) -> (!sum, !sum, !sum, !sum) : i32 {
      %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      %w = arith.negf %u : !sum
      scf.yield %x, %s, %t, %w : !sum, !sum, !sum, !sum
    }
    return %r#3 : !sum
  }

  // Where paths join, the one with fewer younger MMAs counts.
  // CHECK-LABEL: @younger_on_one_path
  func.func @younger_on_one_path(%a: !b, %b: !b, %c: !sum, %is: i1) -> !sum {
    // CHECK: scf.if
    // CHECK: nv.wgmma
    // CHECK: nv.wgmma_wait 0
    %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    scf.if %is {
      %y = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    }
    %x1 = nv.wgmma_wait %x : (!sum) -> !sum
    return %x1 : !sum
  }

  // CHECK-LABEL: @result_of_a_branch
  func.func @result_of_a_branch(%a: !b, %b: !b, %c: !sum, %is: i1) -> !sum {
    // CHECK: scf.if
    // CHECK-NEXT: %[[X:.*]] = nv.wgmma
    // CHECK-NEXT: %[[X1:.*]] = nv.wgmma_wait 0, %[[X]]
    // CHECK-NEXT: scf.yield %[[X1]]
    // CHECK-NOT: nv.wgmma_wait
    // CHECK: return
    %r = scf.if %is -> (!sum) {
      %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      scf.yield %x : !sum
    } else {
      scf.yield %c : !sum
    }
    return %r : !sum
  }

  // CHECK-LABEL: @read_in_a_branch
  func.func @read_in_a_branch(%a: !b, %b: !b, %c: !sum, %is: i1) -> !sum {
    // CHECK: %[[X:.*]] = nv.wgmma
    // CHECK-NEXT: %[[X1:.*]] = nv.wgmma_wait 0, %[[X]]
    // CHECK-NEXT: scf.if
    // CHECK-NEXT: arith.negf %[[X1]]
    // CHECK-NOT: nv.wgmma_wait
    // CHECK: return
    %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %r = scf.if %is -> (!sum) {
      %y = arith.negf %x : !sum
      scf.yield %y : !sum
    } else {
      scf.yield %c : !sum
    }
    return %r : !sum
  }

  // CHECK-LABEL: @passed_to_a_while
  func.func @passed_to_a_while(%a: !b, %b: !b, %c: !sum, %is: i1) -> !sum {
    // CHECK: %[[X:.*]] = nv.wgmma
    // CHECK-NEXT: %[[X1:.*]] = nv.wgmma_wait 0, %[[X]]
    // CHECK-NEXT: scf.while (%{{.*}} = %[[X1]])
    // CHECK: do
    // CHECK: %[[Y:.*]] = nv.wgmma
    // CHECK-NEXT: %[[Y1:.*]] = nv.wgmma_wait 0, %[[Y]]
    // CHECK-NEXT: scf.yield %[[Y1]]
    %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %r = scf.while (%s = %x) : (!sum) -> !sum {
      scf.condition(%is) %s : !sum
    } do {
    ^bb0(%s: !sum):
      %y = nv.wgmma %a, %b, %s mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      scf.yield %y : !sum
    }
    return %r : !sum
  }

  // A wait holds the registers that its MMAs read, also of other MMAs that it waits for.
  // CHECK-LABEL: @registers_are_held
  func.func @registers_are_held(%p: !left, %q: !left, %b: !b, %c: !sum) -> (!sum, !sum) {
    // CHECK: %[[Y:.*]] = nv.wgmma %arg1
    // CHECK: nv.wgmma_wait 0, %[[Y]] holding %arg1, %arg0
    %x = nv.wgmma %p, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !b, !sum
    %y = nv.wgmma %q, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !b, !sum
    %y1 = nv.wgmma_wait %y : (!sum) -> !sum
    %x1 = nv.wgmma_wait %x : (!sum) -> !sum
    return %x1, %y1 : !sum, !sum
  }

  // The next iteration computes the tile again, into the same registers.
  // CHECK-LABEL: @registers_written_again
  func.func @registers_written_again(%v: !sum, %b: !b, %c: !sum, %n: i32) -> !sum {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: scf.for
    // CHECK-NEXT: arith.negf
    // CHECK-NEXT: nv.wgmma_wait 0, :
    // CHECK-NEXT: %[[P:.*]] = arith.truncf
    // CHECK-NEXT: nv.wgmma %[[P]]
    // CHECK-NEXT: scf.yield
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c) -> (!sum) : i32 {
      %w = arith.negf %v : !sum
      %p = arith.truncf %w : !sum to !left
      %x = nv.wgmma %p, %b, %s mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !b, !sum
      scf.yield %x : !sum
    }
    return %r : !sum
  }

  // The tile of the next iteration takes the place of the carried one.
  // CHECK-LABEL: @carried_registers
  func.func @carried_registers(%p: !left, %b: !b, %c: !sum, %n: i32) -> !sum {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: scf.for
    // CHECK: nv.wgmma %[[P:[a-z0-9_]+]],
    // CHECK-NEXT: %[[NEXT:.*]] = arith.negf %{{.*}}
    // CHECK-NEXT: nv.wgmma_wait 0, holding %[[P]]
    // CHECK-NEXT: scf.yield %[[NEXT]]
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p, %s = %c) -> (!left, !sum) : i32 {
      %x = nv.wgmma %q, %b, %s mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !b, !sum
      %next = arith.negf %p : !left
      scf.yield %next, %x : !left, !sum
    }
    return %r#1 : !sum
  }

  // A stage is released when the MMA that reads it is over; another one of the same iteration may be in flight.
  // CHECK-LABEL: @stage_released
  func.func @stage_released(%map: !nv.tensor_map, %circular: !circular, %barriers: !barriers, %c: !sum, %i: i32, %k: i32) -> !sum {
    nv.producer {
      %stage = nv.select_stage %circular[%i] : !circular -> !b
      %full = nv.select_stage %barriers[%i] : !barriers -> !barrier
      nv.tma_load %map[%i, %i], %stage, %full : !b, !barrier
    }
    // CHECK: nv.wgmma
    // CHECK: nv.wgmma
    // CHECK-NEXT: nv.wgmma_wait 1, :
    // CHECK-NEXT: nv.release
    // CHECK-NEXT: nv.wgmma_wait 0
    %first = nv.select_stage %circular[%i] : !circular -> !b
    %second = nv.select_stage %circular[%k] : !circular -> !b
    %free = nv.select_stage %barriers[%i] : !barriers -> !barrier
    %x = nv.wgmma %first, %first, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %y = nv.wgmma %second, %second, %x mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    nv.release %free : !barrier
    return %y : !sum
  }

  // Which stage an earlier iteration read is not known.
  // CHECK-LABEL: @stage_of_an_earlier_iteration
  func.func @stage_of_an_earlier_iteration(%map: !nv.tensor_map, %circular: !circular, %barriers: !barriers, %c: !sum, %n: i32, %k: i32) -> !sum {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    nv.producer {
      %stage = nv.select_stage %circular[%n] : !circular -> !b
      %full = nv.select_stage %barriers[%n] : !barriers -> !barrier
      nv.tma_load %map[%n, %n], %stage, %full : !b, !barrier
    }
    // CHECK: scf.for
    // CHECK: nv.wgmma
    // CHECK: nv.wgmma_wait 1, :
    // CHECK-NEXT: nv.release
    // CHECK-NEXT: scf.yield
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c) -> (!sum) : i32 {
      %stage = nv.select_stage %circular[%i] : !circular -> !b
      %free = nv.select_stage %barriers[%k] : !barriers -> !barrier
      %x = nv.wgmma %stage, %stage, %s mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      nv.release %free : !barrier
      scf.yield %x : !sum
    }
    return %r : !sum
  }

  // An accumulator of the iteration before is read while an MMA is in flight: ptxas is told that it is complete.
  // CHECK-LABEL: @accumulator_of_the_iteration_before
  func.func @accumulator_of_the_iteration_before(%a: !b, %b: !b, %c: !sum, %zero: !sum, %n: i32) -> !sum {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: scf.for
    // CHECK-NEXT: nv.wgmma_wait 0, :
    // CHECK-NEXT: nv.wgmma %
    // CHECK-NEXT: arith.mulf
    // CHECK-NEXT: nv.wgmma_wait 0, %
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c) -> (!sum) : i32 {
      %x = nv.wgmma %a, %b, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      %scaled = arith.mulf %s, %s : !sum
      %x1 = nv.wgmma_wait %x : (!sum) -> !sum
      %both = arith.addf %scaled, %x1 : !sum
      %y = nv.wgmma %a, %b, %both mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      %y1 = nv.wgmma_wait %y : (!sum) -> !sum
      scf.yield %y1 : !sum
    }
    return %out : !sum
  }

  // It is read before.
  // CHECK-LABEL: @read_before_the_first
  func.func @read_before_the_first(%a: !b, %b: !b, %c: !sum, %zero: !sum, %n: i32) -> !sum {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: scf.for
    // CHECK-NEXT: arith.mulf
    // CHECK-NEXT: nv.wgmma %
    // CHECK-NEXT: nv.wgmma_wait 0, %
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c) -> (!sum) : i32 {
      %scaled = arith.mulf %s, %s : !sum
      %x = nv.wgmma %a, %b, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      %x1 = nv.wgmma_wait %x : (!sum) -> !sum
      %both = arith.addf %scaled, %x1 : !sum
      %y = nv.wgmma %a, %b, %both mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
      %y1 = nv.wgmma_wait %y : (!sum) -> !sum
      scf.yield %y1 : !sum
    }
    return %out : !sum
  }
}
