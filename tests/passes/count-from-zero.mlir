// A loop is numbered from 0 where a pointer or an index advances by no multiple of its step; others stay as they are.
// RUN: pantile-opt %s --tile-count-from-zero | FileCheck %s

// Example.
// CHECK-LABEL: func.func @packed_weights
// CHECK-SAME: %[[END:[^ ]+]]: i32
// CHECK: %[[LAST:.*]] = arith.maxsi %[[END]], %[[BEGIN:.*]] : i32
// CHECK: %[[LENGTH:.*]] = arith.subi %[[LAST]], %[[BEGIN]]
// CHECK: %[[MORE:.*]] = arith.addi %[[LENGTH]], %{{.*}}
// CHECK: %[[COUNT:.*]] = arith.divui %[[MORE]], %[[STEP:.*]] : i32
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %[[COUNT]] step %c1
// CHECK: %[[PASSED:.*]] = arith.muli %[[I]], %[[STEP]]
// CHECK: %[[COUNTER:.*]] = arith.addi %[[PASSED]], %[[BEGIN]]
// CHECK: tile.store %{{.*}}, %[[COUNTER]]
// CHECK: } {tile.num_stages = 3 : i32}
func.func @packed_weights(%p: !tile.ptr<i32>, %end: i32) {
  %begin = arith.constant 128 : i32
  %step = arith.constant 128 : i32
  %bytes = arith.constant 64 : i32
  scf.for %i = %begin to %end step %step iter_args(%q = %p) -> (!tile.ptr<i32>) : i32 {
    tile.store %q, %i : !tile.ptr<i32>, i32
    %next = tile.addptr %q, %bytes : !tile.ptr<i32>, i32
    scf.yield %next : !tile.ptr<i32>
  } {tile.index_divisibility = 64 : i32, tile.num_stages = 3 : i32}
  return
}

// What advances by a multiple of the step is affine in the counter as it is.
// CHECK-LABEL: func.func @same_pace
// CHECK-NOT: arith.divui
// CHECK: scf.for %{{.*}} = %{{.*}} to %arg1 step
func.func @same_pace(%p: !tile.ptr<i32>, %end: i32, %stride: i32) {
  %begin = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %twice = arith.constant 128 : i32
  %rows = arith.muli %twice, %stride : i32
  scf.for %i = %begin to %end step %step iter_args(%q = %p) -> (!tile.ptr<i32>) : i32 {
    tile.store %q, %i : !tile.ptr<i32>, i32
    %next = tile.addptr %q, %rows : !tile.ptr<i32>, i32
    scf.yield %next : !tile.ptr<i32>
  }
  return
}

// The length of a loop that begins below zero may be 2^32 - 1, and the step of an unsigned one is another.
// CHECK-LABEL: func.func @too_long
// CHECK-NOT: arith.divui
func.func @too_long(%p: !tile.ptr<i32>, %end: i32, %first: i32) {
  %below = arith.constant -128 : i32
  %begin = arith.constant 0 : i32
  %step = arith.constant 128 : i32
  %bytes = arith.constant 64 : i32
  scf.for %i = %below to %end step %step iter_args(%q = %p) -> (!tile.ptr<i32>) : i32 {
    tile.store %q, %i : !tile.ptr<i32>, i32
    %next = tile.addptr %q, %bytes : !tile.ptr<i32>, i32
    scf.yield %next : !tile.ptr<i32>
  }
  scf.for %i = %first to %end step %step iter_args(%q = %p) -> (!tile.ptr<i32>) : i32 {
    tile.store %q, %i : !tile.ptr<i32>, i32
    %next = tile.addptr %q, %bytes : !tile.ptr<i32>, i32
    scf.yield %next : !tile.ptr<i32>
  }
  scf.for unsigned %i = %begin to %end step %step iter_args(%q = %p) -> (!tile.ptr<i32>) : i32 {
    tile.store %q, %i : !tile.ptr<i32>, i32
    %next = tile.addptr %q, %bytes : !tile.ptr<i32>, i32
    scf.yield %next : !tile.ptr<i32>
  }
  return
}
