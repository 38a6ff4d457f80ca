// What an earlier pass should have done is named.
// RUN: split-file %s %t
// RUN: not pantile-lower %t/scratch.mlir 2>&1 | FileCheck %s --check-prefix=SCRATCH
// RUN: not pantile-lower %t/offset.mlir 2>&1 | FileCheck %s --check-prefix=OFFSET
// RUN: not pantile-lower %t/count.mlir 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not pantile-lower %t/layout.mlir 2>&1 | FileCheck %s --check-prefix=LAYOUT
// RUN: not pantile-lower %t/target.mlir 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not pantile-lower %t/threads.mlir 2>&1 | FileCheck %s --check-prefix=THREADS

// SCRATCH: error: `tile.reduce` needs scratch memory, but has no `nv.scratch`
//--- scratch.mlir
#l = #tile.layout<[64], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 2 : i32} {
  func.func @f(%x: !tile.ptr<i32>) attributes {tile.kernel} {
    %i = tile.arange 0, 64 : tensor<64xi32, #l>
    %s = tile.reduce (%i), 0 {
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      tile.yield %c : i32
    } : (tensor<64xi32, #l>) -> i32
    tile.store %x, %s : !tile.ptr<i32>, i32
    return
  }
}
// COUNT: error: a wait without a count: `nv-insert-waits` has not run
//--- count.mlir
#l = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @f() attributes {tile.kernel} {
    %a = nv.alloc at 0 : <1 x [64, 64] x f16, <[1, 0], 128>>
    %c = arith.constant dense<0.0> : tensor<64x64xf32, #l>
    %d = nv.wgmma %a, %a, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>, !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>, tensor<64x64xf32, #l>
    %e = nv.wgmma_wait %d : (tensor<64x64xf32, #l>) -> tensor<64x64xf32, #l>
    return
  }
}
// OFFSET: error: a buffer without an offset: `nv-allocate-shared` has not run
//--- offset.mlir
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @f() attributes {tile.kernel} {
    %b = nv.alloc : <1 x [64, 64] x f16, <[1, 0], 128>>
    return
  }
}
// LAYOUT: error: a tile without a layout cannot be lowered to LLVM IR
//--- layout.mlir
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @f() attributes {tile.kernel} {
    %i = tile.arange 0, 64 : tensor<64xi32>
    return
  }
}
// TARGET: error: no GPU target to lower to: `tile.target` is `cpu`
//--- target.mlir
module attributes {tile.target = "cpu"} {
}
// THREADS: error: layouts of operand and result hold elements in different threads
// THREADS: note: have shape=[1,32] reg=[] lane={{.*}}, want shape=[1,32]
//--- threads.mlir
#a = #tile.layout<[32], reg = [], lane = [[1], [2], [4], [8], [16]], warp = []>
#b = #tile.layout<[1, 32], reg = [], lane = [[0, 16], [0, 8], [0, 4], [0, 2], [0, 1]], warp = []>
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @f() attributes {tile.kernel} {
    %i = tile.arange 0, 32 : tensor<32xi32, #a>
    %j = tile.expand_dims %i, 0 : tensor<32xi32, #a> -> tensor<1x32xi32, #b>
    return
  }
}
