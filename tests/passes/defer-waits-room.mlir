// A dot does not stay in flight while the next one, which adds to it, gets its operand, if shared memory for the operands of both costs
// a CTA per SM.
// RUN: pantile-opt %s -split-input-file -nv-defer-waits | FileCheck %s
// RUN: pantile-opt %s -split-input-file -nv-defer-waits -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY --implicit-check-not=remark:
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // There is no room for both operands.
  // CHECK-LABEL: @no_room
  // CHECK: %[[HALF:.*]] = nv.wgmma %
  // CHECK-NEXT: %[[DONE:.*]] = nv.wgmma_wait %[[HALF]]
  // CHECK: nv.wgmma %{{.*}}, %{{.*}}, %[[DONE]] mma
  // WHY: remark: this dot is complete before what follows it
  func.func @no_room(%left: !left, %rest: !left, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %stages = nv.alloc : !nv.buffer<27 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
    %query = nv.select_stage %stages[%c0] : !nv.buffer<27 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>> -> !stage
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %first = nv.alloc : !stage
      nv.local_store %left, %first : !left, !stage
      nv.fence_async
      %half = nv.wgmma %query, %first, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %half : (!tile) -> !tile
      nv.dealloc %first : !stage
      %second = nv.alloc : !stage
      nv.local_store %rest, %second : !left, !stage
      nv.fence_async
      %both = nv.wgmma %query, %second, %done mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %whole = nv.wgmma_wait %both : (!tile) -> !tile
      nv.dealloc %second : !stage
      %sum = arith.addf %all, %whole : !tile
      scf.yield %sum : !tile
    }
    return %out : !tile
  }
}

// -----

#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // With both, one CTA fits an SM instead of two.
  // CHECK-LABEL: @costs_a_cta
  // CHECK: %[[HALF:.*]] = nv.wgmma %
  // CHECK-NEXT: %[[DONE:.*]] = nv.wgmma_wait %[[HALF]]
  // CHECK: nv.wgmma %{{.*}}, %{{.*}}, %[[DONE]] mma
  // WHY: remark: this dot is complete before what follows it
  func.func @costs_a_cta(%left: !left, %rest: !left, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %stages = nv.alloc : !nv.buffer<13 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
    %query = nv.select_stage %stages[%c0] : !nv.buffer<13 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>> -> !stage
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%all = %zero) -> (!tile) : i32 {
      %first = nv.alloc : !stage
      nv.local_store %left, %first : !left, !stage
      nv.fence_async
      %half = nv.wgmma %query, %first, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %half : (!tile) -> !tile
      nv.dealloc %first : !stage
      %second = nv.alloc : !stage
      nv.local_store %rest, %second : !left, !stage
      nv.fence_async
      %both = nv.wgmma %query, %second, %done mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %whole = nv.wgmma_wait %both : (!tile) -> !tile
      nv.dealloc %second : !stage
      %sum = arith.addf %all, %whole : !tile
      scf.yield %sum : !tile
    }
    return %out : !tile
  }
}
