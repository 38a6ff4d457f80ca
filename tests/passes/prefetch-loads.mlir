// A loop that was given `num_stages` loads the next row into registers while this one is computed with.
// RUN: pantile-opt %s -nv-prefetch-loads | FileCheck %s --check-prefix=STAGES
// RUN: pantile-opt %s -nv-prefetch-loads -nv-expand-loops | FileCheck %s
#row = #tile.layout<[512], reg = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!tile = tensor<64x64xf32, #acc>
!row = tensor<512xf32, #row>
!pointers = tensor<512x!tile.ptr<f32>, #row>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // STAGES-LABEL: @two_stages
  // STAGES: tile.addptr {{.*}}nv.stage = array<i32: 0, 1>
  // STAGES: tile.load {{.*}}nv.stage = array<i32: 0>
  // STAGES: arith.addf {{.*}}nv.stage = array<i32: 1>
  // STAGES: {nv.expand = 1 : i32, nv.predicated
  // CHECK-LABEL: @two_stages
  // CHECK: %[[FIRST:.*]] = tile.load {{.*}} mask
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[NOW:.*]] = %[[FIRST]])
  // CHECK: %[[NEXT:.*]] = tile.load {{.*}} mask
  // CHECK: %[[ADDED:.*]] = arith.addf %[[SUM]], %[[NOW]]
  // CHECK: scf.yield %[[ADDED]], %[[NEXT]]
  func.func @two_stages(%x: !tile.ptr<f32>, %offsets: tensor<512xi32, #row>, %zero: !row, %n: i32) -> !row attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c512 = arith.constant 512 : i32
    %out = scf.for %i = %c0 to %n step %c512 iter_args(%sum = %zero) -> (!row) : i32 {
      %start = tile.addptr %x, %i : !tile.ptr<f32>, i32
      %starts = tile.splat %start : !pointers
      %from = tile.addptr %starts, %offsets : !pointers, tensor<512xi32, #row>
      %now = tile.load %from : !pointers -> !row
      %added = arith.addf %sum, %now : !row
      scf.yield %added : !row
    } {tile.num_stages = 2 : i32}
    return %out : !row
  }

  // What is read may be what the iteration before wrote.
  // STAGES-LABEL: @stores_to_what_it_loads
  // STAGES-NOT: nv.stage
  // STAGES: return
  // CHECK-LABEL: @stores_to_what_it_loads
  // CHECK-NOT: mask
  // CHECK: return
  func.func @stores_to_what_it_loads(%x: !tile.ptr<f32>, %offsets: tensor<512xi32, #row>, %n: i32) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c512 = arith.constant 512 : i32
    scf.for %i = %c0 to %n step %c512 : i32 {
      %start = tile.addptr %x, %i : !tile.ptr<f32>, i32
      %starts = tile.splat %start : !pointers
      %from = tile.addptr %starts, %offsets : !pointers, tensor<512xi32, #row>
      %now = tile.load %from : !pointers -> !row
      %twice = arith.addf %now, %now : !row
      tile.store %from, %twice : !pointers, !row
    } {tile.num_stages = 2 : i32}
    return
  }

  // Next to an MMA each scale of the next iteration is loaded after the last use of its own.
  // CHECK-LABEL: @scales_of_mmas
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[EARLY:.*]] = %{{.*}}, %[[LATE:.*]] = %{{.*}})
  // CHECK: math.exp2 %[[EARLY]]
  // CHECK: %[[NEXT_EARLY:.*]] = tile.load
  // CHECK: nv.wgmma_wait
  // CHECK: tile.splat %[[LATE]]
  // CHECK: %[[NEXT_LATE:.*]] = tile.load
  // CHECK: scf.yield %{{.*}}, %[[NEXT_EARLY]], %[[NEXT_LATE]]
  func.func @scales_of_mmas(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %left: !stage, %right: !stage, %zero: !tile, %n: i32) -> !tile attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %at_x = tile.addptr %x, %i : !tile.ptr<f32>, i32
      %at_y = tile.addptr %y, %i : !tile.ptr<f32>, i32
      %early = tile.load %at_x : !tile.ptr<f32> -> f32
      %late = tile.load %at_y : !tile.ptr<f32> -> f32
      %power = math.exp2 %early : f32
      %sums = nv.wgmma %left, %right, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %summed = nv.wgmma_wait %sums : (!tile) -> !tile
      %late_scales = tile.splat %late : !tile
      %powers = tile.splat %power : !tile
      %scaled = arith.mulf %summed, %late_scales : !tile
      %twice = arith.mulf %scaled, %powers : !tile
      %more = arith.addf %all, %twice : !tile
      scf.yield %more : !tile
    }
    return %out : !tile
  }
}
