// Loads that pass through a buffer are prefetched: their channel has the distance and the number of stages.
// RUN: pantile-opt %s -split-input-file -nv-schedule-loops 2>%t | FileCheck %s
// RUN: FileCheck --check-prefix=REMARK %s < %t
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!pointers = tensor<64x64x!tile.ptr<f16>, #load>
!offsets = tensor<64x64xi32, #load>
!loaded = tensor<64x64xf16, #load>
!tile = tensor<64x64xf32, #acc>
// REMARK: remark: load is prefetched 2 iterations ahead through a circular buffer of 3 stages
// CHECK-LABEL: @prefetched
// CHECK: %[[CHANNEL:.*]] = nv.channel via cp_async ahead 2 by 16 : <3 x
// CHECK: scf.for
// CHECK: %[[STAGE:.*]] = nv.current_stage %[[CHANNEL]]
// CHECK: nv.local_store %{{.*}}, %[[STAGE]]
// CHECK: nv.wgmma %arg0, %[[STAGE]]
// CHECK-NOT: nv.dealloc %[[STAGE]]
// CHECK: nv.dealloc %[[CHANNEL]]
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @prefetched(%a: !stage, %rows: !pointers, %offsets: !offsets, %zero: !tile, %n: i32) -> !tile {
    %step = arith.constant dense<64> : !offsets
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %from = tile.addptr %rows, %offsets {tile.contiguity = array<i32: 1, 64>, tile.divisibility = array<i32: 16, 16>} : !pointers, !offsets
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %from) -> (!tile, !pointers) : i32 {
      %x = tile.load %at : !pointers -> !loaded
      %b = nv.alloc : !stage
      nv.local_store %x, %b : !loaded, !stage
      nv.fence_async
      %sum = nv.wgmma %a, %b, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      nv.dealloc %b : !stage
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
!tile = tensor<64x64xf32, #acc>
// CHECK-LABEL: @one_stage
// CHECK-NOT: nv.channel
// CHECK: return
module attributes {tile.num_stages = 1 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @one_stage(%a: !stage, %rows: !pointers, %offsets: !offsets, %zero: !tile, %n: i32) -> !tile {
    %step = arith.constant dense<64> : !offsets
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %from = tile.addptr %rows, %offsets {tile.contiguity = array<i32: 1, 64>, tile.divisibility = array<i32: 16, 16>} : !pointers, !offsets
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %from) -> (!tile, !pointers) : i32 {
      %x = tile.load %at : !pointers -> !loaded
      %b = nv.alloc : !stage
      nv.local_store %x, %b : !loaded, !stage
      nv.fence_async
      %sum = nv.wgmma %a, %b, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      nv.dealloc %b : !stage
      %further = tile.addptr %at, %step : !pointers, !offsets
      scf.yield %next, %further : !tile, !pointers
    }
    return %out#0 : !tile
  }
}

// -----
// A load is not prefetched past a store that may write what it reads.
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!pointers = tensor<64x64x!tile.ptr<f16>, #load>
!offsets = tensor<64x64xi32, #load>
!loaded = tensor<64x64xf16, #load>
!tile = tensor<64x64xf32, #acc>
// CHECK-LABEL: @store_in_the_loop
// CHECK-NOT: nv.channel
// CHECK: return
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @store_in_the_loop(%a: !stage, %rows: !pointers, %offsets: !offsets, %zero: !tile, %n: i32) -> !tile {
    %step = arith.constant dense<64> : !offsets
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %from = tile.addptr %rows, %offsets {tile.contiguity = array<i32: 1, 64>, tile.divisibility = array<i32: 16, 16>} : !pointers, !offsets
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %from) -> (!tile, !pointers) : i32 {
      %x = tile.load %at : !pointers -> !loaded
      %b = nv.alloc : !stage
      nv.local_store %x, %b : !loaded, !stage
      nv.fence_async
      %sum = nv.wgmma %a, %b, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      nv.dealloc %b : !stage
      tile.store %at, %x : !pointers, !loaded
      %further = tile.addptr %at, %step : !pointers, !offsets
      scf.yield %next, %further : !tile, !pointers
    }
    return %out#0 : !tile
  }
}
