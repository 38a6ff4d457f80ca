// RUN: pantile-opt %s --tile-count-iterations | FileCheck %s

// The condition runs in the counting loop; the dot runs as often as that.
// Example.
// CHECK-LABEL: func.func @ends_at_the_end
// CHECK: %[[C:.*]]:3 = scf.while ({{.*}}) : (i1, i32, i64) -> (i1, i32, i64)
// CHECK-NOT: tile.dot
// CHECK: scf.for {{.*}} to %[[C]]#2 step
// CHECK: tile.dot
func.func @ends_at_the_end(%x: tensor<32x32xf16>, %zeros: tensor<32x32xf32>, %n: i32) -> tensor<32x32xf32> {
  %zero = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %false = arith.constant false
  %true = arith.constant true
  %r:2 = scf.while (%sum = %zeros, %left = %false, %k = %zero) : (tensor<32x32xf32>, i1, i32) -> (tensor<32x32xf32>, i32) {
    %stays = arith.xori %left, %true : i1
    scf.condition(%stays) %sum, %k : tensor<32x32xf32>, i32
  } do {
  ^bb0(%sum: tensor<32x32xf32>, %k: i32):
    %d = tile.dot %x, %x, %sum : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32>
    %next = arith.addi %k, %step : i32
    %ends = arith.cmpi sge, %next, %n : i32
    scf.yield %d, %ends, %next : tensor<32x32xf32>, i1, i32
  }
  return %r#0 : tensor<32x32xf32>
}

// Nothing in the loop is under a condition; the last iteration has no dot.
// CHECK-LABEL: func.func @ends_at_the_start
// CHECK: %[[C:.*]]:3 = scf.while
// CHECK: %[[FEWER:.*]] = arith.subi %[[C]]#2
// CHECK: %[[COUNT:.*]] = arith.select %[[C]]#{{[01]}}, %[[FEWER]], %[[C]]#2
// CHECK: scf.for {{.*}} to %[[COUNT]] step
// CHECK-NOT: scf.if
// CHECK: tile.dot
// CHECK: scf.if %[[C]]#{{[01]}}
// CHECK-NOT: tile.dot
func.func @ends_at_the_start(%x: tensor<32x32xf16>, %zeros: tensor<32x32xf32>, %n: i32) -> tensor<32x32xf32> {
  %zero = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %false = arith.constant false
  %true = arith.constant true
  %r:2 = scf.while (%sum = %zeros, %left = %false, %k = %zero) : (tensor<32x32xf32>, i1, i32) -> (tensor<32x32xf32>, i32) {
    %stays = arith.xori %left, %true : i1
    scf.condition(%stays) %sum, %k : tensor<32x32xf32>, i32
  } do {
  ^bb0(%sum: tensor<32x32xf32>, %k: i32):
    %ends = arith.cmpi sge, %k, %n : i32
    %more = scf.if %ends -> (tensor<32x32xf32>) {
      scf.yield %sum : tensor<32x32xf32>
    } else {
      %d = tile.dot %x, %x, %sum : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32>
      scf.yield %d : tensor<32x32xf32>
    }
    %next = arith.addi %k, %step : i32
    scf.yield %more, %ends, %next : tensor<32x32xf32>, i1, i32
  }
  return %r#0 : tensor<32x32xf32>
}

// The flag is set without ending the loop: it says nothing of the iterations before.
// CHECK-LABEL: func.func @a_flag_that_stays
// CHECK: %[[C:.*]]:{{[0-9]}} = scf.while
// CHECK-NOT: arith.select
// CHECK: scf.for {{.*}} to %[[C]]#
// CHECK: scf.if
// CHECK: tile.dot
func.func @a_flag_that_stays(%x: tensor<32x32xf16>, %zeros: tensor<32x32xf32>, %n: i32) -> tensor<32x32xf32> {
  %zero = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %false = arith.constant false
  %r:3 = scf.while (%sum = %zeros, %seen = %false, %k = %zero) : (tensor<32x32xf32>, i1, i32) -> (tensor<32x32xf32>, i1, i32) {
    %below = arith.cmpi slt, %k, %n : i32
    %stays = arith.ori %below, %seen : i1
    scf.condition(%stays) %sum, %seen, %k : tensor<32x32xf32>, i1, i32
  } do {
  ^bb0(%sum: tensor<32x32xf32>, %seen: i1, %k: i32):
    %now = arith.cmpi eq, %k, %n : i32
    %more = scf.if %now -> (tensor<32x32xf32>) {
      scf.yield %sum : tensor<32x32xf32>
    } else {
      %d = tile.dot %x, %x, %sum : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32>
      scf.yield %d : tensor<32x32xf32>
    }
    %next = arith.addi %k, %step : i32
    scf.yield %more, %now, %next : tensor<32x32xf32>, i1, i32
  }
  return %r#0 : tensor<32x32xf32>
}

// CHECK-LABEL: func.func @memory_decides
// CHECK: scf.while
// CHECK: tile.dot
// CHECK-NOT: scf.for
func.func @memory_decides(%p: !tile.ptr<i1>, %x: tensor<32x32xf16>, %zeros: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %false = arith.constant false
  %true = arith.constant true
  %r = scf.while (%sum = %zeros, %left = %false) : (tensor<32x32xf32>, i1) -> tensor<32x32xf32> {
    %stays = arith.xori %left, %true : i1
    scf.condition(%stays) %sum : tensor<32x32xf32>
  } do {
  ^bb0(%sum: tensor<32x32xf32>):
    %d = tile.dot %x, %x, %sum : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32>
    %ends = tile.load %p : !tile.ptr<i1> -> i1
    scf.yield %d, %ends : tensor<32x32xf32>, i1
  }
  return %r : tensor<32x32xf32>
}

// Nothing gains from a count.
// CHECK-LABEL: func.func @without_dots
// CHECK: scf.while
// CHECK-NOT: scf.while
// CHECK-NOT: scf.for
func.func @without_dots(%p: !tile.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 3 : i32
  %r = scf.while (%k = %zero) : (i32) -> i32 {
    %goes_on = arith.cmpi slt, %k, %n : i32
    scf.condition(%goes_on) %k : i32
  } do {
  ^bb0(%k: i32):
    tile.store %p, %k : !tile.ptr<i32>, i32
    %next = arith.addi %k, %step : i32
    scf.yield %next : i32
  }
  return
}
