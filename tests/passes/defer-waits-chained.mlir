// The second of two chained MMAs is waited for after the next iteration has started its first: the tensor cores do not stop between iterations.
// RUN: pantile-opt %s -nv-defer-waits -nv-insert-waits | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @chained
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}})
  // CHECK-NEXT: %[[SCORES:.*]] = nv.wgmma
  // CHECK-NEXT: nv.wgmma_wait 0, %[[SCORES]] :
  // CHECK: %[[NEXT:.*]] = nv.wgmma %{{.*}}, %{{.*}}, %[[SUM]]
  // CHECK-NEXT: scf.yield %[[NEXT]]
  // CHECK: nv.wgmma_wait 0
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

  // Its accumulator is read before: the wait for the first one returns it, too.
  // CHECK-LABEL: @rescaled
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}})
  // CHECK-NEXT: %[[SCORES:.*]] = nv.wgmma
  // CHECK-NEXT: %[[BOTH:.*]]:2 = nv.wgmma_wait 0, %[[SCORES]], %[[SUM]]
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[BOTH]]#1
  // CHECK: %[[NEXT:.*]] = nv.wgmma %{{.*}}, %{{.*}}, %[[SCALED]]
  // CHECK-NEXT: scf.yield %[[NEXT]]
  // CHECK: nv.wgmma_wait 0
  func.func @rescaled(%query: !stage, %key: !stage, %value: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = math.exp2 %scored : !tile
      %left = arith.truncf %weights : !tile to !left
      %scaled = arith.mulf %acc, %weights : !tile
      %sum = nv.wgmma %left, %value, %scaled mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      scf.yield %next : !tile
    } {nv.carries_accumulator}
    return %out : !tile
  }

  // So are several that only accumulate, after one that does not.
  // CHECK-LABEL: @several
  // CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}})
  // CHECK-NEXT: %[[SCORES:.*]] = nv.wgmma
  // CHECK-NEXT: nv.wgmma_wait 0, %[[SCORES]] :
  // CHECK: %[[X1:.*]] = nv.wgmma %{{.*}}, %{{.*}}, %[[X]]
  // CHECK-NEXT: %[[Y1:.*]] = nv.wgmma %{{.*}}, %{{.*}}, %[[Y]]
  // CHECK-NEXT: scf.yield %[[X1]], %[[Y1]]
  // CHECK: :2 = nv.wgmma_wait 0
  func.func @several(%query: !stage, %key: !stage, %value: !stage, %zero: !tile, %n: i32) -> (!tile, !tile) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero) -> (!tile, !tile) : i32 {
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %left = arith.truncf %scored : !tile to !left
      %sum = nv.wgmma %left, %value, %x mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      %other = nv.wgmma %left, %key, %y mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %later = nv.wgmma_wait %other : (!tile) -> !tile
      scf.yield %next, %later : !tile, !tile
    } {nv.carries_accumulator}
    return %out#0, %out#1 : !tile, !tile
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
