// A kernel whose MMAs are waited for in their iteration has no producer where more CTAs then run on an SM: they fill each other's waits.
// RUN: pantile-opt %s -split-input-file -nv-plan-programs | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!pointers = tensor<64x64x!tile.ptr<f16>, #load>
!offsets = tensor<64x64xi32, #load>
!loaded = tensor<64x64xf16, #load>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
// CHECK: module attributes {nv.launch = #nv.launch<ctas_per_sm = {{[0-9]+}}>
// CHECK-LABEL: @waited_for
// CHECK-SAME: #nv.candidate<map = grid, producer = true, shared_bytes = {{[0-9]+}}, ctas_per_sm = {{[0-9]+}}>
// CHECK-SAME: #nv.candidate<map = grid, shared_bytes = {{[0-9]+}}, ctas_per_sm = {{[0-9]+}}, chosen = true>
module attributes {tile.num_stages = 2 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @waited_for(%query: !stage, %rows: !pointers, %offsets: !offsets, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !tile
    %step = arith.constant dense<64> : !offsets
    %from = tile.addptr %rows, %offsets {tile.contiguity = array<i32: 1, 64>, tile.divisibility = array<i32: 16, 16>} : !pointers, !offsets
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %from) -> (!tile, !pointers) : i32 {
      %x = tile.load %at : !pointers -> !loaded
      %key = nv.alloc : !stage
      nv.local_store %x, %key : !loaded, !stage
      nv.fence_async
      %scores = nv.wgmma %query, %key, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %scored = nv.wgmma_wait %scores : (!tile) -> !tile
      %weights = math.exp2 %scored : !tile
      %left = arith.truncf %weights : !tile to !left
      %sum = nv.wgmma %left, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      nv.dealloc %key : !stage
      %further = tile.addptr %at, %step : !pointers, !offsets
      scf.yield %next, %further : !tile, !pointers
    }
    return %out#0 : !tile
  }
}

// -----
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!pointers = tensor<64x64x!tile.ptr<f16>, #load>
!offsets = tensor<64x64xi32, #load>
!loaded = tensor<64x64xf16, #load>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
// The accumulator is read after the loop only: nothing waits in an iteration, so only loads that TMA cannot do exclude a producer.
// CHECK-LABEL: @accumulated
// CHECK-SAME: #nv.candidate<map = grid, producer = true, refused = "{{.*}}">
// CHECK-SAME: #nv.candidate<map = grid, chosen = true>
module attributes {tile.num_stages = 2 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @accumulated(%query: !stage, %rows: !pointers, %offsets: !offsets, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !tile
    %step = arith.constant dense<64> : !offsets
    %from = tile.addptr %rows, %offsets {tile.contiguity = array<i32: 1, 64>, tile.divisibility = array<i32: 16, 16>} : !pointers, !offsets
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %from) -> (!tile, !pointers) : i32 {
      %x = tile.load %at : !pointers -> !loaded
      %key = nv.alloc : !stage
      nv.local_store %x, %key : !loaded, !stage
      nv.fence_async
      %sum = nv.wgmma %query, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      nv.dealloc %key : !stage
      %further = tile.addptr %at, %step : !pointers, !offsets
      scf.yield %next, %further : !tile, !pointers
    }
    return %out#0 : !tile
  }
}
