// The second of two chained MMAs is waited for after the next iteration has started its first: the tensor cores do not stop between iterations.
// RUN: pantile-opt %s -nv-defer-waits | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @chained
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}})
  // CHECK-NEXT: %[[SCORES:.*]] = nv.wgmma
  // CHECK-NEXT: %[[BOTH:.*]]:2 = nv.wgmma_wait %[[SCORES]], %[[SUM]]
  // CHECK: %[[NEXT:.*]] = nv.wgmma %{{.*}}, %{{.*}}, %[[BOTH]]#1
  // CHECK-NEXT: scf.yield %[[NEXT]]
  // CHECK: nv.wgmma_wait
  func.func @chained(%query: !stage, %key: !stage, %value: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = math.exp2 %scored : !tile
      %left = arith.truncf %weights : !tile to !left
      %sum = nv.wgmma %left, %value, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      scf.yield %next : !tile
    } {nv.carries_accumulator}
    return %out : !tile
  }

  // Something else reads the accumulator in the loop.
  // CHECK-LABEL: @read_in_the_loop
  // CHECK-NOT: :2 = nv.wgmma_wait
  // CHECK: return
  func.func @read_in_the_loop(%query: !stage, %key: !stage, %value: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = math.exp2 %scored : !tile
      %left = arith.truncf %weights : !tile to !left
      %sum = nv.wgmma %left, %value, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      %clamped = arith.maximumf %next, %zero : !tile
      scf.yield %clamped : !tile
    } {nv.carries_accumulator}
    return %out : !tile
  }
}
