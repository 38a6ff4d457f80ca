// Operations whose operands a loop does not change move before it, unless the loop forbids it.
// RUN: pantile-opt %s --tile-hoist-invariants | FileCheck %s

// Example.
// CHECK-LABEL: func.func @hoisted
// CHECK: arith.muli
// CHECK: scf.for
// CHECK-NOT: arith.muli
func.func @hoisted(%p: !tile.ptr<i32>, %n: i32, %x: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %product = arith.muli %x, %n : i32
    %sum = arith.addi %product, %i : i32
    tile.store %p, %sum : !tile.ptr<i32>, i32
  }
  return
}

// CHECK-LABEL: func.func @kept
// CHECK-NOT: arith.muli
// CHECK: scf.for
// CHECK: arith.muli
// CHECK: } {tile.disable_licm
func.func @kept(%p: !tile.ptr<i32>, %n: i32, %x: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %product = arith.muli %x, %n : i32
    %sum = arith.addi %product, %i : i32
    tile.store %p, %sum : !tile.ptr<i32>, i32
  } {tile.disable_licm = 1 : i32}
  return
}

// The inner loop gives its part to the body of the outer one, which keeps it.
// CHECK-LABEL: func.func @inner_of_kept
// CHECK-NOT: arith.muli
// CHECK: scf.for
// CHECK: arith.muli
// CHECK: scf.for
// CHECK-NOT: arith.muli
func.func @inner_of_kept(%p: !tile.ptr<i32>, %n: i32, %x: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    scf.for %j = %zero to %n step %one : i32 {
      %product = arith.muli %x, %n : i32
      %sum = arith.addi %product, %j : i32
      tile.store %p, %sum : !tile.ptr<i32>, i32
    }
  } {tile.disable_licm = 1 : i32}
  return
}

// CHECK-LABEL: func.func @kept_within
// CHECK: arith.subi
// CHECK: scf.for
// CHECK-NOT: arith.muli
// CHECK: scf.for
// CHECK: arith.muli
func.func @kept_within(%p: !tile.ptr<i32>, %n: i32, %x: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %outside = arith.subi %x, %n : i32
    tile.store %p, %outside : !tile.ptr<i32>, i32
    scf.for %j = %zero to %n step %one : i32 {
      %product = arith.muli %x, %n : i32
      %sum = arith.addi %product, %j : i32
      tile.store %p, %sum : !tile.ptr<i32>, i32
    } {tile.disable_licm = 1 : i32}
  }
  return
}

// CHECK-LABEL: func.func @kept_while
// CHECK-NOT: arith.muli
// CHECK: scf.while
// CHECK: arith.muli
func.func @kept_while(%p: !tile.ptr<i32>, %n: i32, %x: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end = scf.while (%i = %zero) : (i32) -> i32 {
    %goes_on = arith.cmpi slt, %i, %n : i32
    scf.condition(%goes_on) %i : i32
  } do {
  ^bb0(%i: i32):
    %product = arith.muli %x, %n : i32
    %sum = arith.addi %product, %i : i32
    tile.store %p, %sum : !tile.ptr<i32>, i32
    %next = arith.addi %i, %one : i32
    scf.yield %next : i32
  } attributes {tile.disable_licm = 1 : i32}
  return
}
