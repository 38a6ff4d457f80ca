// Loads into channels become asynchronous copies, issued iterations before their use.
// RUN: pantile-opt %s -nv-expand-pipeline | FileCheck %s --check-prefix=STAGES
// RUN: pantile-opt %s -nv-expand-pipeline -nv-expand-loops -canonicalize | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!pointers = tensor<64x64x!tile.ptr<f16>, #load>
!offsets = tensor<64x64xi32, #load>
!loaded = tensor<64x64xf16, #load>
!tile = tensor<64x64xf32, #acc>
// Until it is expanded, an iteration copies into the stage that it reads.
// STAGES-LABEL: @two_iterations_ahead
// STAGES: %[[CIRCULAR:.*]] = nv.channel via cp_async ahead {{.*}} by 16 : <3 x
// STAGES: scf.for {{.*}}, %[[INDEX:[a-z0-9]+]] = %c0
// STAGES: %[[STAGE:.*]] = nv.select_stage %[[CIRCULAR]][%[[INDEX]]]
// STAGES: nv.copy_async %{{.*}}, %[[STAGE]] {{.*}}nv.stage = array<i32: 0>
// STAGES: nv.commit
// STAGES: nv.wait 0 {{.*}}nv.stage = array<i32: 2>
// STAGES: %[[READ:.*]] = nv.select_stage %[[CIRCULAR]][%[[INDEX]]]
// STAGES: nv.wgmma %arg0, %[[READ]]
// CHECK-LABEL: @two_iterations_ahead
// CHECK: %[[CIRCULAR:.*]] = nv.channel via cp_async ahead {{.*}} by 16 : <3 x
// CHECK-COUNT-2: nv.commit
// CHECK: scf.for
// CHECK: nv.wait 1
// CHECK: nv.barrier
// CHECK: %[[STAGE:.*]] = nv.select_stage %[[CIRCULAR]]
// CHECK: nv.wgmma %arg0, %[[STAGE]]
// CHECK: nv.copy_async {{.*}} if %{{.*}} {vectorBytes = 16 : i32}
// CHECK: nv.commit
// CHECK: scf.yield
// CHECK: nv.wait 0
// CHECK: nv.dealloc %[[CIRCULAR]]
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @two_iterations_ahead(%a: !stage, %rows: !pointers, %offsets: !offsets, %zero: !tile, %n: i32) -> !tile {
    %step = arith.constant dense<64> : !offsets
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %circular = nv.channel via cp_async ahead 2 by 16 : !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
    %from = tile.addptr %rows, %offsets {tile.contiguity = array<i32: 1, 64>, tile.divisibility = array<i32: 16, 16>} : !pointers, !offsets
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %from) -> (!tile, !pointers) : i32 {
      %x = tile.load %at : !pointers -> !loaded
      %b = nv.current_stage %circular : !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>> -> !stage
      nv.local_store %x, %b : !loaded, !stage
      nv.fence_async
      %sum = nv.wgmma %a, %b, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      %further = tile.addptr %at, %step : !pointers, !offsets
      scf.yield %next, %further : !tile, !pointers
    }
    nv.dealloc %circular : !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
    return %out#0 : !tile
  }
}
