// The operands of a wgmma dot pass through shared memory. What a thread holds as the instruction reads it stays in registers.
// RUN: pantile-opt %s -nv-stage-operands | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
!loaded = tensor<64x64xf16, #load>
#turned = #tile.layout<[64, 64], reg = [[1, 0], [2, 0], [4, 0], [0, 16], [0, 32]], lane = [[8, 0], [16, 0], [32, 0], [0, 1], [0, 2]], warp = [[0, 4], [0, 8]]>
!turned = tensor<64x64xf16, #turned>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
module attributes {tile.num_warps = 4 : i32, tile.num_stages = 3 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @loaded
  // CHECK: %[[A:.*]] = nv.alloc
  // CHECK: nv.local_store %arg0, %[[A]]
  // CHECK: %[[B:.*]] = nv.alloc
  // CHECK: nv.local_store %arg1, %[[B]]
  // CHECK: nv.fence_async
  // CHECK: %[[MMA:.*]] = nv.wgmma %[[A]], %[[B]], %arg2
  // CHECK: nv.wgmma_wait %[[MMA]]
  // CHECK: nv.dealloc %[[A]]
  // CHECK: nv.dealloc %[[B]]
  func.func @loaded(%a: !loaded, %b: !loaded, %acc: !tile) -> !tile {
    %sum = tile.dot %a, %b, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !loaded, !loaded, !tile
    return %sum : !tile
  }

  // CHECK-LABEL: @left_in_registers
  // CHECK-COUNT-1: nv.local_store
  // CHECK-NOT: nv.local_store
  // CHECK: nv.wgmma %arg0, %{{.*}} : tensor
  func.func @left_in_registers(%a: !left, %b: !loaded, %acc: !tile) -> !tile {
    %sum = tile.dot %a, %b, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !loaded, !tile
    return %sum : !tile
  }
  // Two dots of a loop read one load through one buffer; the second sees it transposed.
  // CHECK-LABEL: @read_twice
  // CHECK: scf.for
  // CHECK: %[[X:.*]] = nv.alloc
  // CHECK-NEXT: nv.local_store %{{.*}}, %[[X]]
  // CHECK-NOT: nv.local_store
  // CHECK: nv.wgmma %{{.*}}, %[[X]]
  // CHECK: %[[T:.*]] = nv.buffer_trans %[[X]]
  // CHECK: nv.wgmma %{{.*}}, %[[T]]
  // CHECK: nv.dealloc %[[X]]
  func.func @read_twice(%x: tensor<64x64x!tile.ptr<f16>, #load>, %a: !left, %zero: !tile, %n: i32) -> (!tile, !tile) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %t = %zero) -> (!tile, !tile) : i32 {
      %tile = tile.load %x : tensor<64x64x!tile.ptr<f16>, #load> -> !loaded
      %first = tile.dot %a, %tile, %s mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !loaded, !tile
      %turned = tile.trans %tile [1, 0] : !loaded -> !turned
      %second = tile.dot %a, %turned, %t mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !left, !turned, !tile
      scf.yield %first, %second : !tile, !tile
    }
    return %sums#0, %sums#1 : !tile, !tile
  }
}
