// Threads synchronise between two accesses to the same bytes of shared memory, one of them a write. Places and scratch are as `nv-allocate-shared` leaves them.
// RUN: pantile-opt %s -nv-insert-barriers | FileCheck %s
#s = #nv.swizzle<[1, 0], 0>
#layout = #tile.layout<[16, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#acc = #tile.layout<[16, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#rows = #tile.layout<[16, 64], reg = [[0, 1], [0, 2], [0, 4], [4, 0], [8, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = []>
!tile = tensor<16x8xf32, #layout>
!buffer = !nv.buffer<1 x [16, 8] x f32, #s>
#sum = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!matrix = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!operand = tensor<64x64xf16, #sum>
!sum = tensor<64x64xf32, #sum>
module attributes {tile.num_warps = 1 : i32} {
  // CHECK-LABEL: @read_after_write
  func.func @read_after_write(%x: !tile) -> !tile {
    %b = nv.alloc at 0 : !buffer
    // CHECK: nv.local_store
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: nv.local_load
    nv.local_store %x, %b : !tile, !buffer
    %y = nv.local_load %b : !buffer -> !tile
    return %y : !tile
  }

  // CHECK-LABEL: @reads_need_no_barrier
  func.func @reads_need_no_barrier() -> (!tile, !tile) {
    %b = nv.alloc at 0 : !buffer
    // CHECK-NOT: nv.barrier
    %y = nv.local_load %b : !buffer -> !tile
    %z = nv.local_load %b : !buffer -> !tile
    return %y, %z : !tile, !tile
  }

  // The store of the next iteration must not overtake the load of this one.
  // CHECK-LABEL: @around_the_back_edge
  func.func @around_the_back_edge(%x: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %b = nv.alloc at 0 : !buffer
    // CHECK: scf.for
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: nv.local_store
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: nv.local_load
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (!tile) : i32 {
      nv.local_store %v, %b : !tile, !buffer
      %w = nv.local_load %b : !buffer -> !tile
      scf.yield %w : !tile
    }
    return %r : !tile
  }

  // What is stored for the whole loop is waited for once.
  // CHECK-LABEL: @before_a_loop
  func.func @before_a_loop(%x: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %b = nv.alloc at 0 : !buffer
    // CHECK: nv.local_store
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: scf.for
    // CHECK-NEXT: nv.local_load
    nv.local_store %x, %b : !tile, !buffer
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (!tile) : i32 {
      %w = nv.local_load %b : !buffer -> !tile
      %s = arith.addf %v, %w : !tile
      scf.yield %s : !tile
    }
    return %r : !tile
  }

  // Where the threads synchronise in each iteration anyway, no barrier is needed before the loop.
  // CHECK-LABEL: @synchronised_in_the_loop
  func.func @synchronised_in_the_loop(%x: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = nv.alloc at 0 : !buffer
    %b = nv.alloc at 512 : !buffer
    // CHECK: nv.local_store
    // CHECK-NEXT: scf.for
    // CHECK-NEXT: nv.barrier
    // CHECK: nv.local_store
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: nv.local_load
    // CHECK-NOT: nv.barrier
    // CHECK: return
    nv.local_store %x, %a : !tile, !buffer
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (!tile) : i32 {
      nv.local_store %v, %b : !tile, !buffer
      %w = nv.local_load %b : !buffer -> !tile
      %u = nv.local_load %a : !buffer -> !tile
      %s = arith.addf %u, %w : !tile
      scf.yield %s : !tile
    }
    return %r : !tile
  }

  // It needs one there for its own accesses, which is at a later place.
  // CHECK-LABEL: @synchronised_later_in_the_loop
  func.func @synchronised_later_in_the_loop(%x: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = nv.alloc at 0 : !buffer
    %b = nv.alloc at 512 : !buffer
    // CHECK: nv.local_store
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: scf.for
    // CHECK-NEXT: nv.local_load
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: nv.local_store
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: nv.local_load
    // CHECK-NOT: nv.barrier
    // CHECK: return
    nv.local_store %x, %a : !tile, !buffer
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (!tile) : i32 {
      %u = nv.local_load %a : !buffer -> !tile
      nv.local_store %v, %b : !tile, !buffer
      %w = nv.local_load %b : !buffer -> !tile
      %s = arith.addf %u, %w : !tile
      scf.yield %s : !tile
    }
    return %r : !tile
  }

  // A write in one branch is still open after the `if`.
  // CHECK-LABEL: @after_a_branch
  func.func @after_a_branch(%x: !tile, %c: i1) -> !tile {
    %b = nv.alloc at 0 : !buffer
    // CHECK: scf.if
    scf.if %c {
      nv.local_store %x, %b : !tile, !buffer
    }
    // CHECK: }
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: nv.local_load
    %y = nv.local_load %b : !buffer -> !tile
    return %y : !tile
  }

  // CHECK-LABEL: @a_barrier_of_the_program_counts
  func.func @a_barrier_of_the_program_counts(%x: !tile) -> !tile {
    %b = nv.alloc at 0 : !buffer
    // CHECK: nv.local_store
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: nv.local_load
    nv.local_store %x, %b : !tile, !buffer
    tile.barrier
    %y = nv.local_load %b : !buffer -> !tile
    return %y : !tile
  }

  // A `while` is left from its condition: the barrier of its body does not order what comes after it.
  // CHECK-LABEL: @after_a_condition
  func.func @after_a_condition(%x: !tile, %c: i1) -> !tile {
    %b = nv.alloc at 0 : !buffer
    // CHECK: scf.while
    %r = scf.while (%v = %x) : (!tile) -> !tile {
      // CHECK: nv.local_store
      nv.local_store %v, %b : !tile, !buffer
      scf.condition(%c) %v : !tile
    } do {
    // CHECK: do
    ^bb0(%v: !tile):
      // CHECK: tile.barrier
      tile.barrier
      scf.yield %v : !tile
    }
    // CHECK: nv.barrier
    // CHECK-NEXT: nv.local_load
    %y = nv.local_load %b : !buffer -> !tile
    return %y : !tile
  }

  // Each warp works in its own part of the scratch, in every iteration.
  // CHECK-LABEL: @own_parts
  func.func @own_parts(%x: tensor<16x64xf16, #acc>, %n: i32) -> tensor<16x64xf16, #rows> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %first = tile.convert_layout %x {nv.scratch = 0 : i32} : tensor<16x64xf16, #acc> -> tensor<16x64xf16, #rows>
    // CHECK-NOT: nv.barrier
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %first) -> tensor<16x64xf16, #rows> : i32 {
      %z = tile.convert_layout %x {nv.scratch = 16384 : i32} : tensor<16x64xf16, #acc> -> tensor<16x64xf16, #rows>
      %sum = arith.addf %y, %z : tensor<16x64xf16, #rows>
      scf.yield %sum : tensor<16x64xf16, #rows>
    }
    // CHECK: return
    return %r : tensor<16x64xf16, #rows>
  }

  // An MMA reads until it is waited for, whatever barriers are between; then all threads synchronise.
  // CHECK-LABEL: @mma_in_flight
  func.func @mma_in_flight(%x: !operand, %y: !operand, %acc: !sum) -> (!sum, !operand) {
    %a = nv.alloc at 0 : !matrix
    %b = nv.alloc at 8192 : !matrix
    nv.local_store %x, %a : !operand, !matrix
    nv.local_store %y, %b : !operand, !matrix
    nv.fence_async
    // CHECK: %[[MMA:.*]] = nv.wgmma
    %mma = nv.wgmma %a, %b, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !matrix, !matrix, !sum
    tile.barrier
    // CHECK: tile.barrier
    // CHECK-NEXT: nv.wgmma_wait 0
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: nv.local_store
    nv.local_store %y, %a : !operand, !matrix
    %done = nv.wgmma_wait 0, %mma : (!sum) -> !sum
    // CHECK: nv.barrier
    // CHECK-NEXT: nv.local_load
    %again = nv.local_load %a : !matrix -> !operand
    return %done, %again : !sum, !operand
  }

  // Both buffers were stored before a barrier that is there for another reason, with no fence before it.
  // CHECK-LABEL: @fence_before_a_barrier
  func.func @fence_before_a_barrier(%x: !operand, %y: !operand, %acc: !sum) -> !sum {
    %a = nv.alloc at 0 : !matrix
    %b = nv.alloc at 8192 : !matrix
    // CHECK-COUNT-2: nv.local_store
    nv.local_store %x, %a : !operand, !matrix
    nv.local_store %y, %b : !operand, !matrix
    // CHECK: nv.fence_async
    // CHECK-NEXT: nv.barrier
    // CHECK-NEXT: nv.local_load
    %z = nv.local_load %a : !matrix -> !operand
    // CHECK-NOT: nv.barrier
    // CHECK: nv.wgmma
    %mma = nv.wgmma %a, %b, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !matrix, !matrix, !sum
    %done = nv.wgmma_wait 0, %mma : (!sum) -> !sum
    return %done : !sum
  }
}
