// Row sums of what a dot's left operand has in 16 bits are an MMA of that operand and ones, which starts from zero.
// RUN: pantile-opt %s -tile-reduce-by-mma | FileCheck %s
!left = tensor<128x32xf16>
!wide = tensor<128x32xf32>
!right = tensor<32x32xf16>
!sums = tensor<128xf32>
module attributes {tile.num_warps = 8 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @running_sum
  // CHECK: scf.for {{.*}} iter_args(%{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<128x32xf32>, tensor<128xf32>, tensor<128x8xf32>)
  // CHECK: %[[LEFT:.*]] = arith.truncf
  // CHECK-NOT: tile.reduce
  // CHECK: tile.dot %[[LEFT]], %arg1
  // CHECK-DAG: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<32x8xf16>
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<128x8xf32>
  // CHECK: %[[OWN:.*]] = tile.dot %[[LEFT]], %[[ONES]], %[[ZERO]] mma<wgmma, 64 x 8 x 16, warps = 8 x 1>
  // CHECK: arith.addf %{{.*}}, %[[OWN]] : tensor<128x8xf32>
  // CHECK: scf.yield
  // CHECK: tile.reduce
  // CHECK: arith.maximumf
  // CHECK: (tensor<128x8xf32>) -> tensor<128xf32>
  func.func @running_sum(%x: !wide, %right: !right, %zero: !wide, %none: !sums, %n: i32) -> (!wide, !sums) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %sum = %none) -> (!wide, !sums) : i32 {
      %weights = math.exp2 %x : !wide
      %left = arith.truncf %weights : !wide to !left
      %again = arith.extf %left : !left to !wide
      %rows = tile.reduce (%again), 1 {
      ^bb0(%a: f32, %b: f32):
        %both = arith.addf %a, %b : f32
        tile.yield %both : f32
      } : (!wide) -> !sums
      %next = arith.addf %sum, %rows : !sums
      %more = tile.dot %left, %right, %acc mma<wgmma, 64 x 32 x 16, warps = 8 x 1> : !left, !right, !wide
      scf.yield %more, %next : !wide, !sums
    }
    return %out#0, %out#1 : !wide, !sums
  }

  // The weights are summed before they are rounded.
  // CHECK-LABEL: @not_rounded
  // CHECK-NOT: 64 x 8 x 16
  // CHECK: return
  func.func @not_rounded(%x: !wide, %right: !right, %zero: !wide, %none: !sums, %n: i32) -> (!wide, !sums) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %sum = %none) -> (!wide, !sums) : i32 {
      %weights = math.exp2 %x : !wide
      %left = arith.truncf %weights : !wide to !left
      %rows = tile.reduce (%weights), 1 {
      ^bb0(%a: f32, %b: f32):
        %both = arith.addf %a, %b : f32
        tile.yield %both : f32
      } : (!wide) -> !sums
      %next = arith.addf %sum, %rows : !sums
      %more = tile.dot %left, %right, %acc mma<wgmma, 64 x 32 x 16, warps = 8 x 1> : !left, !right, !wide
      scf.yield %more, %next : !wide, !sums
    }
    return %out#0, %out#1 : !wide, !sums
  }

  // The dot runs on mma.sync, for which threads would wait at once.
  // CHECK-LABEL: @synchronous
  // CHECK-NOT: 64 x 8 x 16
  // CHECK: return
  func.func @synchronous(%x: !wide, %right: !right, %zero: !wide, %none: !sums, %n: i32) -> (!wide, !sums) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %sum = %none) -> (!wide, !sums) : i32 {
      %weights = math.exp2 %x : !wide
      %left = arith.truncf %weights : !wide to !left
      %again = arith.extf %left : !left to !wide
      %rows = tile.reduce (%again), 1 {
      ^bb0(%a: f32, %b: f32):
        %both = arith.addf %a, %b : f32
        tile.yield %both : f32
      } : (!wide) -> !sums
      %next = arith.addf %sum, %rows : !sums
      %more = tile.dot %left, %right, %acc mma<mma_sync, 16 x 8 x 16, warps = 8 x 1> : !left, !right, !wide
      scf.yield %more, %next : !wide, !sums
    }
    return %out#0, %out#1 : !wide, !sums
  }

  // One warp group would wait for the MMA with ones.
  // CHECK-LABEL: @one_group
  // CHECK-NOT: 64 x 8 x 16
  // CHECK: return
  func.func @one_group(%x: !wide, %right: !right, %zero: !wide, %none: !sums, %n: i32) -> (!wide, !sums) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %sum = %none) -> (!wide, !sums) : i32 {
      %weights = math.exp2 %x : !wide
      %left = arith.truncf %weights : !wide to !left
      %again = arith.extf %left : !left to !wide
      %rows = tile.reduce (%again), 1 {
      ^bb0(%a: f32, %b: f32):
        %both = arith.addf %a, %b : f32
        tile.yield %both : f32
      } : (!wide) -> !sums
      %next = arith.addf %sum, %rows : !sums
      %more = tile.dot %left, %right, %acc mma<wgmma, 64 x 32 x 16, warps = 4 x 1> : !left, !right, !wide
      scf.yield %more, %next : !wide, !sums
    }
    return %out#0, %out#1 : !wide, !sums
  }
}
