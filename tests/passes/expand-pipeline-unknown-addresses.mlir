// The addresses of copies must be known iterations ahead; those of these depend on an atomic.
// RUN: pantile-opt %s -nv-expand-pipeline -verify-diagnostics -o /dev/null
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!pointers = tensor<64x64x!tile.ptr<f16>, #load>
!loaded = tensor<64x64xf16, #load>
!tile = tensor<64x64xf32, #acc>
!circular = !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @addresses_from_an_atomic(%rows: !pointers, %table: tensor<64x64x!tile.ptr<i32>, #load>, %ones: tensor<64x64xi32, #load>, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %channel = nv.channel via cp_async ahead 2 by 16 : !circular
    // expected-error @below {{the addresses of its copies depend on more than loads of vectors}}
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %offsets = tile.atomic_rmw add, relaxed, gpu, %table, %ones : tensor<64x64x!tile.ptr<i32>, #load> -> tensor<64x64xi32, #load>
      %moved = tile.addptr %rows, %offsets : !pointers, tensor<64x64xi32, #load>
      %x = tile.load %moved : !pointers -> !loaded
      %a = nv.current_stage %channel : !circular -> !stage
      nv.local_store %x, %a : !loaded, !stage
      nv.fence_async
      %sum = nv.wgmma %a, %a, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      scf.yield %next : !tile
    }
    nv.dealloc %channel : !circular
    return %out : !tile
  }
}
