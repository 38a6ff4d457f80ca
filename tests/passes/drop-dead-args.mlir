// RUN: pantile-opt %s -tile-drop-dead-args | FileCheck %s

// CHECK-LABEL: @pointer_that_only_advances
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
// CHECK-NOT: tile.addptr
// CHECK: scf.yield %{{[^,]*}} : f32
func.func @pointer_that_only_advances(%p: !tile.ptr<f32>, %n: i32, %x: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %x, %q = %p) -> (f32, !tile.ptr<f32>) : i32 {
    %s = arith.addf %sum, %x : f32
    %next = tile.addptr %q, %c1 : !tile.ptr<f32>, i32
    scf.yield %s, %next : f32, !tile.ptr<f32>
  }
  return %r#0 : f32
}

// CHECK-LABEL: @read_by_an_effect
// CHECK: scf.for {{.*}} -> (f32, !tile.ptr<f32>)
func.func @read_by_an_effect(%p: !tile.ptr<f32>, %n: i32, %x: f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %x, %q = %p) -> (f32, !tile.ptr<f32>) : i32 {
    tile.store %q, %sum : !tile.ptr<f32>, f32
    %s = arith.addf %sum, %x : f32
    %next = tile.addptr %q, %c1 : !tile.ptr<f32>, i32
    scf.yield %s, %next : f32, !tile.ptr<f32>
  }
  return
}

// A value that only reaches a live arg through another one is live too.
// CHECK-LABEL: @live_through_another
// CHECK: scf.for {{.*}} -> (f32, f32)
func.func @live_through_another(%n: i32, %x: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (f32, f32) : i32 {
    %s = arith.addf %b, %x : f32
    scf.yield %b, %s : f32, f32
  }
  return %r#0 : f32
}

// The loop's own counter may be what is yielded.
// CHECK-LABEL: @yields_the_counter
// CHECK: %[[R:.*]] = scf.for %[[I:[a-z0-9_]+]] = {{.*}} -> (i32)
// CHECK-NEXT: scf.yield %[[I]] : i32
func.func @yields_the_counter(%n: i32, %x: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%dead = %x, %last = %x) -> (i32, i32) : i32 {
    %next = arith.addi %dead, %c1 : i32
    scf.yield %next, %i : i32, i32
  }
  return %r#1 : i32
}
