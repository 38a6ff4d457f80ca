// RUN: pantile-opt %s --tile-remove-unreachable | FileCheck %s
// RUN: pantile-opt %s --tile-remove-unreachable --remove-dead-values | FileCheck %s --check-prefix=LATER

// Example. The condition is tested once; the loop gives what it hands on.
// CHECK-LABEL: func.func @while_without_iteration
// CHECK-NOT: scf.while
// CHECK: tile.store %{{.*}}, %c0_i32
// LATER-LABEL: func.func @while_without_iteration
func.func @while_without_iteration(%p: !tile.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %false = arith.constant false
  %last = scf.while (%i = %zero, %stop = %false) : (i32, i1) -> i32 {
    %next = scf.if %stop -> (i1) {
      scf.yield %false : i1
    } else {
      %less = arith.cmpi slt, %i, %zero : i32
      scf.yield %less : i1
    }
    scf.condition(%next) %i : i32
  } do {
  ^body(%i: i32):
    %stop = arith.cmpi eq, %i, %n : i32
    %step = scf.if %stop -> (i32) {
      scf.yield %i : i32
    } else {
      tile.store %p, %i : !tile.ptr<i32>, i32
      %sum = arith.addi %i, %n : i32
      scf.yield %sum : i32
    }
    scf.yield %step, %stop : i32, i1
  }
  tile.store %p, %last : !tile.ptr<i32>, i32
  return
}

// The carried value stays true, which one iteration alone does not tell.
// CHECK-LABEL: func.func @branches
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: tile.store
// CHECK-NOT: tile.store
// CHECK: return
func.func @branches(%p: !tile.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  %kept = scf.for %i = %zero to %n step %one iter_args(%first = %true) -> i1 : i32 {
    %next = scf.if %first -> i1 {
      tile.store %p, %i : !tile.ptr<i32>, i32
      scf.yield %true : i1
    } else {
      tile.store %p, %n : !tile.ptr<i32>, i32
      %same = arith.cmpi eq, %i, %n : i32
      scf.yield %same : i1
    }
    scf.yield %next : i1
  }
  return
}

// CHECK-LABEL: func.func @reached
// CHECK: scf.for
// CHECK: scf.if
// CHECK: scf.while
func.func @reached(%p: !tile.ptr<i32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    scf.if %c {
      tile.store %p, %i : !tile.ptr<i32>, i32
    }
  }
  %end = scf.while (%i = %zero) : (i32) -> i32 {
    %less = arith.cmpi slt, %i, %n : i32
    scf.condition(%less) %i : i32
  } do {
  ^body(%i: i32):
    %sum = arith.addi %i, %one : i32
    scf.yield %sum : i32
  }
  tile.store %p, %end : !tile.ptr<i32>, i32
  return
}
