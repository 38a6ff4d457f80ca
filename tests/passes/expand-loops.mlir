// Stage 1 of an iteration runs together with stage 0 of the next, in loops whose operations have stages.
// RUN: pantile-opt %s -nv-expand-loops | FileCheck %s

// Example.
// The first stage 0 comes before the loop, the last stage 1 follows it, and the loop carries what stage 1 reads.
// CHECK-LABEL: @one_copy
// CHECK: scf.if
// CHECK: %[[FIRST:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}}(%[[SUM:.*]] = %arg1, %[[BEFORE:.*]] = %[[FIRST]])
// CHECK-NEXT: %[[NOW:.*]] = arith.sitofp
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[BEFORE]], %[[BEFORE]] : f32
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[SQUARE]] : f32
// CHECK-NEXT: scf.yield %[[NEXT]], %[[NOW]]
// CHECK: %[[LAST:.*]] = arith.mulf %[[LOOP]]#1, %[[LOOP]]#1
// CHECK: %[[OUT:.*]] = arith.addf %[[LOOP]]#0, %[[LAST]]
// CHECK: scf.yield %[[OUT]]
// CHECK: scf.yield %arg1
func.func @one_copy(%n: i32, %start: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %start) -> (f32) : i32 {
    %now = arith.sitofp %i {nv.stage = array<i32: 0>, nv.cluster = array<i32: 0>} : i32 to f32
    %square = arith.mulf %now, %now {nv.stage = array<i32: 1>, nv.cluster = array<i32: 1>} : f32
    %next = arith.addf %sum, %square {nv.stage = array<i32: 1>, nv.cluster = array<i32: 1>} : f32
    scf.yield %next : f32
  } {nv.expand = 1 : i32}
  return %out : f32
}

// With two copies the value of the first is read in the second, and the other way round over the back edge; an iteration that remains has a
// branch of its own.
// CHECK-LABEL: @two_copies
// CHECK: scf.if
// CHECK: arith.divui
// CHECK: %[[PAIRS:.*]] = arith.shrui
// CHECK: scf.for {{.*}} to %[[PAIRS]] {{.*}}(%[[SUM:.*]] = %arg1, %[[BEFORE:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: %[[FIRST:.*]] = arith.sitofp
// CHECK-NEXT: arith.mulf %[[BEFORE]], %[[BEFORE]]
// CHECK: %[[SECOND:.*]] = arith.sitofp
// CHECK-NEXT: arith.mulf %[[FIRST]], %[[FIRST]]
// CHECK: scf.yield %{{.*}}, %[[SECOND]], %{{.*}} : f32, f32, i32
// CHECK: scf.if
// CHECK: arith.sitofp
// CHECK-COUNT-2: arith.mulf
// CHECK: } else {
// CHECK: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @two_copies(%n: i32, %start: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %start) -> (f32) : i32 {
    %now = arith.sitofp %i {nv.stage = array<i32: 0>, nv.cluster = array<i32: 0>} : i32 to f32
    %square = arith.mulf %now, %now {nv.stage = array<i32: 1>, nv.cluster = array<i32: 1>} : f32
    %next = arith.addf %sum, %square {nv.stage = array<i32: 1>, nv.cluster = array<i32: 1>} : f32
    scf.yield %next : f32
  } {nv.expand = 2 : i32}
  return %out : f32
}

// A carried value that stage 1 computes is read by stage 0 of the next iteration in the same iteration of the loop, if the cluster is a later one.
// Without stage 1 before it, the first stage 0 reads the initial value.
// CHECK-LABEL: @later_cluster
// CHECK: scf.if
// CHECK-NEXT: %[[HALF:.*]] = arith.mulf %arg1, %arg2
// CHECK: scf.for {{.*}}(%[[BEFORE:.*]] = %[[HALF]])
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[BEFORE]], %arg1
// CHECK-NEXT: %[[NOW:.*]] = arith.mulf %[[NEXT]], %arg2
// CHECK-NEXT: scf.yield %[[NOW]]
func.func @later_cluster(%n: i32, %start: f32, %scale: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %start) -> (f32) : i32 {
    %scaled = arith.mulf %sum, %scale {nv.stage = array<i32: 0>, nv.cluster = array<i32: 1>} : f32
    %next = arith.addf %scaled, %start {nv.stage = array<i32: 1>, nv.cluster = array<i32: 0>} : f32
    scf.yield %next : f32
  } {nv.expand = 1 : i32}
  return %out : f32
}

// What two stages compute is not carried; what it is computed from is, and the older of two values of a count takes two carried values.
// CHECK-LABEL: @both_stages
// CHECK: scf.for {{.*}}(%[[COUNT:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[OLD:.*]] = %c0{{.*}})
// CHECK-NEXT: arith.muli %[[COUNT]], %arg2
// CHECK: %[[AGAIN:.*]] = arith.muli %[[OLD]], %arg2
// CHECK: arith.sitofp %[[AGAIN]]
func.func @both_stages(%n: i32, %start: f32, %width: i32) -> (i32, f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%count = %c0, %sum = %start) -> (i32, f32) : i32 {
    %at = arith.muli %count, %width {nv.stage = array<i32: 0, 1>, nv.cluster = array<i32: 0, 1>} : i32
    %next = arith.addi %count, %c1 {nv.stage = array<i32: 0>, nv.cluster = array<i32: 0>} : i32
    %first = arith.uitofp %at {nv.stage = array<i32: 0>, nv.cluster = array<i32: 0>} : i32 to f32
    %second = arith.sitofp %at {nv.stage = array<i32: 1>, nv.cluster = array<i32: 1>} : i32 to f32
    %both = arith.addf %first, %second {nv.stage = array<i32: 1>, nv.cluster = array<i32: 1>} : f32
    %added = arith.addf %sum, %both {nv.stage = array<i32: 1>, nv.cluster = array<i32: 1>} : f32
    scf.yield %next, %added : i32, f32
  } {nv.expand = 1 : i32}
  return %out#0, %out#1 : i32, f32
}

// Without peeling, stages before the last run for later iterations where these exist. Their loads are masked, and those of the first iterations
// come before the loop, one stage after another. A pointer that both stages advance is carried by each.
// CHECK-LABEL: @predicated
// CHECK: %[[ONE:.*]] = arith.cmpi sgt, %arg0, %c0
// CHECK: %[[FIRST:.*]] = tile.load %arg1 mask %[[ONE]]
// CHECK: %[[SECOND_AT:.*]] = tile.addptr %arg1
// CHECK: %[[TWO:.*]] = arith.cmpi sgt, %arg0, %c1
// CHECK: %[[SECOND:.*]] = tile.load %[[SECOND_AT]] mask %[[TWO]]
// CHECK: %[[THIRD_AT:.*]] = tile.addptr %[[SECOND_AT]]
// CHECK: %[[OUT:.*]]:5 = scf.for %[[I:.*]] = {{.*}}(%[[AT:.*]] = %arg1, %[[SUM:.*]] = %arg2, %[[LATER:.*]] = %[[THIRD_AT]], %[[NOW:.*]] = %[[FIRST]], %[[NEXT:.*]] = %[[SECOND]])
// CHECK: %[[LEFT:.*]] = arith.subi %arg0, %[[I]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi sgt, %[[LEFT]], %c2
// CHECK: %[[LOADED:.*]] = tile.load %[[LATER]] mask %[[EXISTS]]
// CHECK: %[[LATEST:.*]] = tile.addptr %[[LATER]]
// CHECK: tile.store %[[AT]], %[[NOW]]
// CHECK: %[[ADDED:.*]] = arith.addf %[[SUM]], %[[NOW]]
// CHECK: %[[AHEAD:.*]] = tile.addptr %[[AT]]
// CHECK: scf.yield %[[AHEAD]], %[[ADDED]], %[[LATEST]], %[[NEXT]], %[[LOADED]]
// CHECK: return %[[OUT]]#1
func.func @predicated(%n: i32, %from: !tile.ptr<f32>, %start: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%at = %from, %sum = %start) -> (!tile.ptr<f32>, f32) : i32 {
    %now = tile.load %at {nv.stage = array<i32: 0>, nv.cluster = array<i32: 0>} : !tile.ptr<f32> -> f32
    tile.store %at, %now {nv.stage = array<i32: 2>, nv.cluster = array<i32: 1>} : !tile.ptr<f32>, f32
    %added = arith.addf %sum, %now {nv.stage = array<i32: 2>, nv.cluster = array<i32: 1>} : f32
    %next = tile.addptr %at, %c1 {nv.stage = array<i32: 0, 2>, nv.cluster = array<i32: 0, 1>} : !tile.ptr<f32>, i32
    scf.yield %next, %added : !tile.ptr<f32>, f32
  } {nv.expand = 1 : i32, nv.predicated}
  return %out#1 : f32
}

// A load that repeats has no mask in the loop: where no iteration follows, it reads from the address of this one. A count that the last stage
// computes is read in the same iteration.
// CHECK-LABEL: @repeats
// CHECK: tile.load %{{.*}} mask
// CHECK: scf.for %[[I:.*]] = {{.*}}(%[[COUNT:.*]] = %arg3, %[[SUM:.*]] = %arg2, %{{.*}} = %{{.*}})
// CHECK: %[[NEXT:.*]] = arith.muli %[[COUNT]], %arg3
// CHECK: %[[EXISTS:.*]] = arith.cmpi sgt, %{{.*}}, %c1
// CHECK: %[[CHOSEN:.*]] = arith.select %[[EXISTS]], %[[NEXT]], %[[COUNT]]
// CHECK: %[[AT:.*]] = tile.addptr %arg1, %[[CHOSEN]]
// CHECK: tile.load %[[AT]] :
func.func @repeats(%n: i32, %from: !tile.ptr<f32>, %start: f32, %first: i32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%count = %first, %sum = %start) -> (i32, f32) : i32 {
    %at = tile.addptr %from, %count {nv.stage = array<i32: 0>, nv.cluster = array<i32: 1>} : !tile.ptr<f32>, i32
    %now = tile.load %at {nv.repeats, nv.stage = array<i32: 0>, nv.cluster = array<i32: 1>} : !tile.ptr<f32> -> f32
    %added = arith.addf %sum, %now {nv.stage = array<i32: 1>, nv.cluster = array<i32: 0>} : f32
    %next = arith.muli %count, %first {nv.stage = array<i32: 1>, nv.cluster = array<i32: 0>} : i32
    scf.yield %next, %added : i32, f32
  } {nv.expand = 1 : i32, nv.predicated}
  return %out#1 : f32
}
