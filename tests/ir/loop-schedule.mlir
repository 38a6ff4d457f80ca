// The stages of operations are checked: each value is computed before it is read, in the order of the expanded loop.
// RUN: pantile-opt %s -split-input-file -verify-diagnostics

func.func @no_loop(%x: f32) -> f32 {
  // expected-error @below {{`nv.stage` is for operations of a loop with `nv.expand`}}
  %y = arith.addf %x, %x {nv.stage = array<i32: 0>, nv.cluster = array<i32: 0>} : f32
  return %y : f32
}

// -----
func.func @three_copies(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{`nv.expand` is the number of copies of the body of an scf.for, 1 or 2}}
  scf.for %i = %c0 to %n step %c1 {
  } {nv.expand = 3 : i32}
  return
}

// -----
func.func @no_stage(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{an operation of a loop with `nv.expand` has no `nv.stage`}}
    %y = arith.addf %x, %x : f32
  } {nv.expand = 1 : i32}
  return
}

// -----
func.func @no_cluster(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{`nv.stage` and `nv.cluster` are lists of the same length}}
    %y = arith.addf %x, %x {nv.stage = array<i32: 0>} : f32
  } {nv.expand = 1 : i32}
  return
}

// -----
func.func @third_stage(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{`nv.stage`: a loop without `nv.predicated` has two stages}}
    %y = arith.addf %x, %x {nv.stage = array<i32: 2>, nv.cluster = array<i32: 0>} : f32
  } {nv.expand = 1 : i32}
  return
}

// -----
func.func @effect_in_both(%n: index, %p: !tile.ptr<f32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{`nv.stage`: an operation with effects runs in one stage}}
    tile.store %p, %x {nv.stage = array<i32: 0, 1>, nv.cluster = array<i32: 0, 0>} : !tile.ptr<f32>, f32
  } {nv.expand = 1 : i32}
  return
}

// -----
func.func @later_stage(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %y = arith.addf %x, %x {nv.stage = array<i32: 1>, nv.cluster = array<i32: 0>} : f32
    // expected-error @below {{`nv.stage`: an operand is computed in a later stage}}
    %z = arith.addf %y, %x {nv.stage = array<i32: 0>, nv.cluster = array<i32: 1>} : f32
  } {nv.expand = 1 : i32}
  return
}

// -----
func.func @later_cluster(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %y = arith.addf %x, %x {nv.stage = array<i32: 0>, nv.cluster = array<i32: 1>} : f32
    // expected-error @below {{`nv.cluster`: an operand is computed after it is read}}
    %z = arith.addf %y, %x {nv.stage = array<i32: 0>, nv.cluster = array<i32: 0>} : f32
  } {nv.expand = 1 : i32}
  return
}

// -----
func.func @carried_from_later(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %x) -> (f32) {
    // expected-error @below {{`nv.cluster`: an operand is computed after it is read}}
    %y = arith.mulf %sum, %x {nv.stage = array<i32: 0>, nv.cluster = array<i32: 0>} : f32
    %next = arith.addf %y, %x {nv.stage = array<i32: 1>, nv.cluster = array<i32: 1>} : f32
    scf.yield %next : f32
  } {nv.expand = 1 : i32}
  return %out : f32
}

// -----
func.func @stages_out_of_order(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{`nv.stage` lists stages in order}}
    %y = arith.addf %x, %x {nv.stage = array<i32: 2, 1>, nv.cluster = array<i32: 0, 0>} : f32
  } {nv.expand = 1 : i32, nv.predicated}
  return
}

// -----
func.func @predicated_copies(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{a loop with `nv.predicated` has one copy of its body}}
  scf.for %i = %c0 to %n step %c1 {
    %y = arith.addf %x, %x {nv.stage = array<i32: 0>, nv.cluster = array<i32: 0>} : f32
  } {nv.expand = 2 : i32, nv.predicated}
  return
}

// -----
func.func @store_without_predicate(%n: index, %p: !tile.ptr<f32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{`nv.predicated`: an operation before the last stage takes no predicate}}
    tile.store %p, %x {nv.stage = array<i32: 0>, nv.cluster = array<i32: 0>} : !tile.ptr<f32>, f32
    %y = arith.addf %x, %x {nv.stage = array<i32: 2>, nv.cluster = array<i32: 0>} : f32
  } {nv.expand = 1 : i32, nv.predicated}
  return
}

// -----
// The prologue runs stage 0 of the second iteration before stage 1 of the first.
func.func @carried_through_the_prologue(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %x) -> (f32) {
    // expected-error @below {{`nv.stage`: a carried value is computed in a later stage}}
    %y = arith.mulf %sum, %x {nv.stage = array<i32: 0>, nv.cluster = array<i32: 1>} : f32
    %next = arith.addf %x, %x {nv.stage = array<i32: 1>, nv.cluster = array<i32: 0>} : f32
    %z = arith.addf %y, %x {nv.stage = array<i32: 2>, nv.cluster = array<i32: 2>} : f32
    scf.yield %next : f32
  } {nv.expand = 1 : i32, nv.predicated}
  return %out : f32
}
