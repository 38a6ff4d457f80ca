// The threads of a row add up their own elements of its running sum, and exchange them once, after the loop.
// RUN: pantile-opt %s -tile-defer-reductions | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]]>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
!sums = tensor<64xf32, #row>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @running_sum
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<64x64xf32, #{{.*}}>, tensor<[[PART:.*]]>)
  // CHECK: %[[OWN:.*]] = tile.reduce
  // CHECK: arith.addf %[[SUM]], %{{.*}} : tensor<[[PART]]>
  // CHECK: scf.yield
  // CHECK: tile.reduce
  // CHECK: -> tensor<64xf32
  // CHECK: return
  func.func @running_sum(%query: !left, %key: !left, %zero: !tile, %n: i32) -> !sums {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %none = arith.constant dense<0.0> : !sums
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %sum = %none) -> (!tile, !sums) : i32 {
      %scores = tile.dot %query, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !left, !tile
      %weights = math.exp2 %scores : !tile
      %rows = tile.reduce (%weights), 1 {
      ^bb0(%a: f32, %b: f32):
        %both = arith.addf %a, %b : f32
        tile.yield %both : f32
      } : (!tile) -> !sums
      %next = arith.addf %sum, %rows : !sums
      scf.yield %scores, %next : !tile, !sums
    }
    return %out#1 : !sums
  }

  // The sum is read in the loop.
  // CHECK-LABEL: @read_in_the_loop
  // CHECK-NOT: tile.reshape
  // CHECK: return
  func.func @read_in_the_loop(%query: !left, %key: !left, %zero: !tile, %n: i32) -> !sums {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %none = arith.constant dense<0.0> : !sums
    %out:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %sum = %none, %most = %none) -> (!tile, !sums, !sums) : i32 {
      %scores = tile.dot %query, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !left, !tile
      %rows = tile.reduce (%scores), 1 {
      ^bb0(%a: f32, %b: f32):
        %both = arith.addf %a, %b : f32
        tile.yield %both : f32
      } : (!tile) -> !sums
      %next = arith.addf %sum, %rows : !sums
      %larger = arith.maxnumf %most, %next : !sums
      scf.yield %scores, %next, %larger : !tile, !sums, !sums
    }
    return %out#2 : !sums
  }
}
