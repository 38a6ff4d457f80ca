// A load or store after a store through the same pointers waits for it; in a loop, the next store waits too.
// RUN: pantile-opt %s -split-input-file -tile-order-memory | FileCheck %s
module attributes {tile.num_warps = 4 : i32} {
  // CHECK-LABEL: @straight
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load %arg0
  // CHECK-NEXT: tile.load %arg0
  // CHECK-NEXT: tile.load %arg1
  // CHECK-NOT: tile.barrier
  func.func @straight(%p: tensor<64x!tile.ptr<f32>>, %q: tensor<64x!tile.ptr<f32>>, %x: tensor<64xf32>) {
    tile.store %p, %x : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    %a = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    %b = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    %c = tile.load %q : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    return
  }

  // What the user has ordered stays as it is, and so does an update in place.
  // CHECK-LABEL: @ordered
  // CHECK: tile.load
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: return
  func.func @ordered(%p: tensor<64x!tile.ptr<f32>>) {
    %a = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    tile.store %p, %a : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    tile.barrier
    %b = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    return
  }

  // CHECK-LABEL: @around_the_back_edge
  // CHECK: scf.for
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  func.func @around_the_back_edge(%p: tensor<64x!tile.ptr<f32>>, %x: tensor<64xf32>, %n: i32) -> tensor<64xf32> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (tensor<64xf32>) : i32 {
      tile.store %p, %v : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
      %w = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
      scf.yield %w : tensor<64xf32>
    }
    return %r : tensor<64xf32>
  }

  // A warp that holds copies of what is loaded may come late, and another thread may store an element.
  // CHECK-LABEL: @overwrites_few
  // CHECK: tile.load %arg0
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store %arg0
  // CHECK-NEXT: tile.store %arg1
  func.func @overwrites_few(%p: tensor<64x!tile.ptr<f32>>, %q: tensor<64x!tile.ptr<f32>>) {
    %a = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    tile.store %p, %a : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    tile.store %q, %a : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    return
  }

  // CHECK-LABEL: @exchanges
  // CHECK: tile.load %arg0
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store %arg0
  func.func @exchanges(%p: tensor<4096x!tile.ptr<f32>>, %q: tensor<4096x!tile.ptr<f32>>, %x: tensor<4096xf32>) {
    %a = tile.load %p : tensor<4096x!tile.ptr<f32>> -> tensor<4096xf32>
    tile.store %p, %x : tensor<4096x!tile.ptr<f32>>, tensor<4096xf32>
    tile.store %q, %a : tensor<4096x!tile.ptr<f32>>, tensor<4096xf32>
    return
  }

  // CHECK-LABEL: @updates_and_goes_on
  // CHECK-NOT: tile.barrier
  // CHECK: return
  func.func @updates_and_goes_on(%p: tensor<4096x!tile.ptr<f32>>, %q: tensor<4096x!tile.ptr<f32>>) {
    %a = tile.load %p : tensor<4096x!tile.ptr<f32>> -> tensor<4096xf32>
    tile.store %p, %a : tensor<4096x!tile.ptr<f32>>, tensor<4096xf32>
    tile.store %q, %a : tensor<4096x!tile.ptr<f32>>, tensor<4096xf32>
    return
  }

  // Another use before the store is late in a late warp, too.
  // CHECK-LABEL: @overwrites_after_all_uses
  // CHECK: tile.load %arg0
  // CHECK-NEXT: tile.store %arg1
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store %arg0
  func.func @overwrites_after_all_uses(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %x: f32) {
    %a = tile.load %p : !tile.ptr<f32> -> f32
    tile.store %q, %a : !tile.ptr<f32>, f32
    tile.store %p, %x : !tile.ptr<f32>, f32
    return
  }

  // Each store may have threads of its own.
  // CHECK-LABEL: @overwrites_what_it_stored
  // CHECK: tile.store %arg0
  // CHECK-NEXT: tile.store %arg1
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store %arg0
  func.func @overwrites_what_it_stored(%p: tensor<64x!tile.ptr<f32>>, %q: tensor<64x!tile.ptr<f32>>, %x: tensor<64xf32>, %y: tensor<64xf32>) {
    tile.store %p, %x : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    tile.store %q, %x : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    tile.store %p, %y : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    return
  }

  // Threads synchronise once before a loop or a branch for what happened earlier.
  // CHECK-LABEL: @into_regions
  // CHECK-NEXT: tile.store
  // CHECK: tile.barrier
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: tile.load
  // CHECK-NOT: tile.barrier
  // CHECK: }
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: tile.store
  func.func @into_regions(%p: tensor<64x!tile.ptr<f32>>, %x: tensor<64xf32>, %n: i32, %c: i1) -> tensor<64xf32> {
    tile.store %p, %x : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (tensor<64xf32>) : i32 {
      %w = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
      %s = arith.addf %v, %w : tensor<64xf32>
      scf.yield %s : tensor<64xf32>
    }
    scf.if %c {
      tile.store %p, %x : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    }
    return %r : tensor<64xf32>
  }

  // What an iteration stored the next one loads, from a place that is the same in both.
  // CHECK-LABEL: @from_iteration_to_iteration
  // CHECK: scf.for
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  // CHECK-NOT: tile.barrier
  // CHECK: return
  func.func @from_iteration_to_iteration(%p: !tile.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %a = tile.load %p : !tile.ptr<f32> -> f32
      tile.store %p, %a : !tile.ptr<f32>, f32
      %own = tile.addptr %p, %i : !tile.ptr<f32>, i32
      %b = tile.load %own : !tile.ptr<f32> -> f32
      tile.store %own, %b : !tile.ptr<f32>, f32
    }
    return
  }
}

// -----

// Nothing else orders the lanes of one warp, either.
module attributes {tile.num_warps = 1 : i32} {
  // CHECK-LABEL: @of_one_warp
  // CHECK: tile.load
  // CHECK-NEXT: tile.store %arg1
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store %arg0
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store %arg0
  func.func @of_one_warp(%p: tensor<64x!tile.ptr<f32>>, %q: tensor<64x!tile.ptr<f32>>, %x: tensor<64xf32>, %y: tensor<64xf32>) {
    %a = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    tile.store %q, %a : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    tile.store %p, %x : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    tile.store %p, %y : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    return
  }
}

// -----

// Of six warps some may be copies of others, however large the tile is.
module attributes {tile.num_warps = 6 : i32} {
  // CHECK-LABEL: @in_six_warps
  // CHECK: tile.load %arg0
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store %arg0
  func.func @in_six_warps(%p: tensor<4096x!tile.ptr<f32>>, %q: tensor<4096x!tile.ptr<f32>>) {
    %a = tile.load %p : tensor<4096x!tile.ptr<f32>> -> tensor<4096xf32>
    tile.store %p, %a : tensor<4096x!tile.ptr<f32>>, tensor<4096xf32>
    tile.store %q, %a : tensor<4096x!tile.ptr<f32>>, tensor<4096xf32>
    return
  }
}
