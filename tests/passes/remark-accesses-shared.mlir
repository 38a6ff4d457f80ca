// RUN: pantile-opt %s -nv-remark-accesses -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// A swizzle keeps the rows of a matrix in different banks; without one, eight rows of 128 bytes
// begin in the same.
// CHECK: remark: storing a tile to shared memory has 8-way bank conflicts
#layout = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [32, 0]], lane = [[1, 0], [2, 0], [4, 0], [0, 8], [0, 16]], warp = [[8, 0], [16, 0], [0, 32]]>
module attributes {tile.target = "sm_80", tile.num_warps = 8 : i32} {
  func.func @buffers(%tile: tensor<64x64xf16, #layout>) attributes {tile.kernel} {
    %swizzled = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
    nv.local_store %tile, %swizzled : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
    %plain = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 0>>
    nv.local_store %tile, %plain : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 0>>
    return
  }
}
