// The next stage of a circular buffer is counted, not divided for, where the number of stages is no power of two.
// RUN: pantile-opt %s -nv-count-stages | FileCheck %s
!circular = !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>
!barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>

// CHECK-LABEL: @three_stages
// CHECK: %[[FIRST:.*]] = arith.remui
// CHECK: %[[ROUND:.*]] = arith.divui
// CHECK: scf.for {{.*}}%[[STAGE:.*]] = %[[FIRST]], %{{.*}} = %[[ROUND]])
// CHECK-NOT: ui
// CHECK: %[[NEXT:.*]] = arith.addi %[[STAGE]]
// CHECK: %[[END:.*]] = arith.cmpi eq, %[[NEXT]]
// CHECK: arith.select %[[END]], %{{.*}}, %[[NEXT]]
func.func @three_stages(%full: !circular, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%count = %c0) -> (i32) : i32 {
    %stage = arith.remui %count, %c3 : i32
    %wraps = arith.divui %count, %c3 : i32
    %phase = arith.andi %wraps, %c1 : i32
    %barrier = nv.select_stage %full[%stage] : !circular -> !barrier
    nv.mbarrier_wait %barrier, false, %phase : !barrier
    %next = arith.addi %count, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// A mask and a shift take no division.
// CHECK-LABEL: @four_stages
// CHECK: scf.for
// CHECK-NEXT: arith.remui
// CHECK-NEXT: arith.divui
func.func @four_stages(%full: !nv.buffer<4 x [2] x i64, #nv.swizzle<[0], 0>>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%count = %c0) -> (i32) : i32 {
    %stage = arith.remui %count, %c4 : i32
    %wraps = arith.divui %count, %c4 : i32
    %phase = arith.andi %wraps, %c1 : i32
    %barrier = nv.select_stage %full[%stage] : !nv.buffer<4 x [2] x i64, #nv.swizzle<[0], 0>> -> !barrier
    nv.mbarrier_wait %barrier, false, %phase : !barrier
    %next = arith.addi %count, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// What else reads the count needs it as it is.
// CHECK-LABEL: @count_is_used
// CHECK: scf.for
// CHECK-NEXT: arith.remui
func.func @count_is_used(%n: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %sum:2 = scf.for %i = %c0 to %n step %c1 iter_args(%count = %c0, %all = %c0) -> (i32, i32) : i32 {
    %stage = arith.remui %count, %c3 : i32
    %both = arith.addi %stage, %count : i32
    %more = arith.addi %all, %both : i32
    %next = arith.addi %count, %c1 : i32
    scf.yield %next, %more : i32, i32
  }
  return %sum#1 : i32
}

// In a loop that is unrolled by two the count grows by two: the stage after the first copy is counted from that of the first.
// CHECK-LABEL: @unrolled
// CHECK: scf.for {{.*}}%[[STAGE:.*]] = %{{.*}}, %[[WRAPS:.*]] = %{{.*}})
// CHECK-NOT: ui
// CHECK: %[[NEXT:.*]] = arith.addi %[[STAGE]]
// CHECK: %[[SECOND:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NEXT]]
// CHECK: nv.select_stage %{{.*}}[%[[STAGE]]]
// CHECK: nv.select_stage %{{.*}}[%[[SECOND]]]
func.func @unrolled(%full: !circular, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%count = %c0) -> (i32) : i32 {
    %stage = arith.remui %count, %c3 : i32
    %barrier = nv.select_stage %full[%stage] : !circular -> !barrier
    nv.mbarrier_wait %barrier, false, %c0 : !barrier
    %after = arith.addi %count, %c1 : i32
    %second = arith.remui %after, %c3 : i32
    %wraps = arith.divui %after, %c3 : i32
    %phase = arith.andi %wraps, %c1 : i32
    %other = nv.select_stage %full[%second] : !circular -> !barrier
    nv.mbarrier_wait %other, false, %phase : !barrier
    %next = arith.addi %after, %c1 : i32
    scf.yield %next : i32
  }
  return
}
