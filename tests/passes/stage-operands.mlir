// The operands of a wgmma dot pass through shared memory. What a thread holds as the instruction reads it stays in registers.
// RUN: pantile-opt %s -nv-stage-operands | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#wide = #tile.layout<[64, 128], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#turned = #tile.layout<[128, 64], reg = [[1, 0], [0, 8], [8, 0], [16, 0], [32, 0], [64, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 16], [0, 32]]>
#tall = #tile.layout<[128, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [64, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!loaded = tensor<64x64xf16, #load>
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

  // Lanes exchange the two elements that they have of an accumulator for the four that wgmma reads.
  // CHECK-LABEL: @left_exchanged
  // CHECK: %[[LEFT:.*]] = tile.convert_layout %arg0
  // CHECK-COUNT-1: nv.local_store
  // CHECK-NOT: nv.local_store
  // CHECK: nv.wgmma %[[LEFT]], %{{.*}} : tensor
  func.func @left_exchanged(%a: tensor<64x64xi8, #acc>, %b: tensor<64x64xi8, #load>, %acc: tensor<64x64xi32, #acc>) -> tensor<64x64xi32, #acc> {
    %sum = tile.dot %a, %b, %acc mma<wgmma, 64 x 64 x 32, warps = 4 x 1> : tensor<64x64xi8, #acc>, tensor<64x64xi8, #load>, tensor<64x64xi32, #acc>
    return %sum : tensor<64x64xi32, #acc>
  }

  // What is transposed goes through shared memory.
  // CHECK-LABEL: @left_turned
  // CHECK-NOT: tile.convert_layout
  // CHECK-COUNT-2: nv.local_store
  // CHECK: nv.wgmma %{{[^:]*}} : !nv.buffer
  func.func @left_turned(%a: tensor<64x128xi8, #wide>, %b: tensor<64x64xi8, #load>, %acc: tensor<128x64xi32, #tall>) -> tensor<128x64xi32, #tall> {
    %left = tile.trans %a [1, 0] : tensor<64x128xi8, #wide> -> tensor<128x64xi8, #turned>
    %sum = tile.dot %left, %b, %acc mma<wgmma, 64 x 64 x 32, warps = 4 x 1> : tensor<128x64xi8, #turned>, tensor<64x64xi8, #load>, tensor<128x64xi32, #tall>
    return %sum : tensor<128x64xi32, #tall>
  }

  // Bytes in the threads of no accumulator would go through shared memory either way.
  // CHECK-LABEL: @left_bytes_elsewhere
  // CHECK-NOT: tile.convert_layout
  // CHECK-COUNT-2: nv.local_store
  // CHECK: nv.wgmma %{{[^:]*}} : !nv.buffer
  func.func @left_bytes_elsewhere(%a: tensor<64x64xi8, #load>, %b: tensor<64x64xi8, #load>, %acc: tensor<64x64xi32, #acc>) -> tensor<64x64xi32, #acc> {
    %sum = tile.dot %a, %b, %acc mma<wgmma, 64 x 64 x 32, warps = 4 x 1> : tensor<64x64xi8, #load>, tensor<64x64xi8, #load>, tensor<64x64xi32, #acc>
    return %sum : tensor<64x64xi32, #acc>
  }
}
