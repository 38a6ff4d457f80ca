// A `while` that counts by a constant step becomes a `for`, unless its body or its condition forbids it.
// RUN: pantile-opt %s --tile-count-loops | FileCheck %s

// Example.
// CHECK-LABEL: func.func @counts
// CHECK: %[[STEP:.*]] = arith.constant 64 : i32
// CHECK: %[[R:.*]] = scf.for %[[I:.*]] = %arg2 to %arg1 step %[[STEP]] iter_args(%[[S:.*]] = %{{.*}}) -> (i32) : i32 {
// CHECK: arith.addi %[[S]], %[[I]]
// CHECK: } {tile.disable_licm = 1 : i32}
// CHECK: return %[[R]]
func.func @counts(%p: !tile.ptr<i32>, %end: i32, %start: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %r:2 = scf.while (%i = %start, %sum = %zero) : (i32, i32) -> (i32, i32) {
    %goes_on = arith.cmpi slt, %i, %end : i32
    scf.condition(%goes_on) %i, %sum : i32, i32
  } do {
  ^bb0(%i: i32, %sum: i32):
    %more = arith.addi %sum, %i : i32
    %next = arith.addi %i, %step : i32
    tile.store %p, %next : !tile.ptr<i32>, i32
    scf.yield %next, %more : i32, i32
  } attributes {tile.disable_licm = 1 : i32}
  return %r#1 : i32
}

// The counter is read after the loop; its bound is the left operand.
// CHECK-LABEL: func.func @counter_after
// CHECK: %[[R:.*]] = scf.for %[[I:.*]] = %arg2 to %arg1 step %{{.*}} iter_args(%{{.*}} = %arg2) -> (i32)
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %[[I]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: return %[[R]]
func.func @counter_after(%p: !tile.ptr<i32>, %end: i32, %start: i32) -> i32 {
  %step = arith.constant 1 : i32
  %r = scf.while (%i = %start) : (i32) -> (i32) {
    %goes_on = arith.cmpi sgt, %end, %i : i32
    scf.condition(%goes_on) %i : i32
  } do {
  ^bb0(%i: i32):
    %next = arith.addi %step, %i : i32
    tile.store %p, %next : !tile.ptr<i32>, i32
    scf.yield %next : i32
  }
  return %r : i32
}

// After 2^32 it would be somewhere else.
// CHECK-LABEL: func.func @step_of_three
// CHECK: scf.while
func.func @step_of_three(%p: !tile.ptr<i32>, %end: i32, %start: i32) {
  %step = arith.constant 3 : i32
  %r = scf.while (%i = %start) : (i32) -> (i32) {
    %goes_on = arith.cmpi slt, %i, %end : i32
    scf.condition(%goes_on) %i : i32
  } do {
  ^bb0(%i: i32):
    tile.store %p, %i : !tile.ptr<i32>, i32
    %next = arith.addi %i, %step : i32
    scf.yield %next : i32
  }
  return
}

// CHECK-LABEL: func.func @steps_down
// CHECK: scf.while
func.func @steps_down(%p: !tile.ptr<i32>, %end: i32, %start: i32) {
  %step = arith.constant -1 : i32
  %r = scf.while (%i = %start) : (i32) -> (i32) {
    %goes_on = arith.cmpi slt, %i, %end : i32
    scf.condition(%goes_on) %i : i32
  } do {
  ^bb0(%i: i32):
    tile.store %p, %i : !tile.ptr<i32>, i32
    %next = arith.addi %i, %step : i32
    scf.yield %next : i32
  }
  return
}

// CHECK-LABEL: func.func @end_changes
// CHECK: scf.while
func.func @end_changes(%p: !tile.ptr<i32>, %first: i32, %start: i32) {
  %step = arith.constant 1 : i32
  %r:2 = scf.while (%i = %start, %end = %first) : (i32, i32) -> (i32, i32) {
    %goes_on = arith.cmpi slt, %i, %end : i32
    scf.condition(%goes_on) %i, %end : i32, i32
  } do {
  ^bb0(%i: i32, %end: i32):
    %last = tile.load %p : !tile.ptr<i32> -> i32
    %next = arith.addi %i, %step : i32
    scf.yield %next, %last : i32, i32
  }
  return
}

// What is added must be added in each iteration.
// CHECK-LABEL: func.func @waits
// CHECK: scf.while
func.func @waits(%p: !tile.ptr<i32>, %end: i32, %start: i32) {
  %step = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %r = scf.while (%i = %start) : (i32) -> (i32) {
    %goes_on = arith.cmpi slt, %i, %end : i32
    scf.condition(%goes_on) %i : i32
  } do {
  ^bb0(%i: i32):
    %seen = tile.load %p : !tile.ptr<i32> -> i32
    %is_there = arith.cmpi ne, %seen, %zero : i32
    %next = arith.addi %i, %step : i32
    %which = arith.select %is_there, %next, %i : i32
    scf.yield %which : i32
  }
  return
}

// CHECK-LABEL: func.func @another_condition
// CHECK: scf.while
func.func @another_condition(%p: !tile.ptr<i32>, %end: i32, %start: i32) {
  %step = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %r = scf.while (%i = %start) : (i32) -> (i32) {
    %below = arith.cmpi slt, %i, %end : i32
    %seen = tile.load %p : !tile.ptr<i32> -> i32
    %is_there = arith.cmpi ne, %seen, %zero : i32
    %goes_on = arith.andi %below, %is_there : i1
    scf.condition(%goes_on) %i : i32
  } do {
  ^bb0(%i: i32):
    tile.store %p, %i : !tile.ptr<i32>, i32
    %next = arith.addi %i, %step : i32
    scf.yield %next : i32
  }
  return
}

// The distance of these bounds has no sign bit left.
// CHECK-LABEL: func.func @long
// CHECK: scf.while
func.func @long(%p: !tile.ptr<i32>) {
  %start = arith.constant -2147483648 : i32
  %end = arith.constant 2147483647 : i32
  %step = arith.constant 1073741824 : i32
  %r = scf.while (%i = %start) : (i32) -> (i32) {
    %goes_on = arith.cmpi slt, %i, %end : i32
    scf.condition(%goes_on) %i : i32
  } do {
  ^bb0(%i: i32):
    tile.store %p, %i : !tile.ptr<i32>, i32
    %next = arith.addi %i, %step : i32
    scf.yield %next : i32
  }
  return
}
