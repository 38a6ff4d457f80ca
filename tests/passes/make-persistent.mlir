// Programs that stand alone are run one after the other by the blocks that there are.
// RUN: pantile-opt %s -split-input-file -nv-make-persistent | FileCheck %s
// RUN: pantile-opt %s -split-input-file -nv-make-persistent -nv-specialise-warps | FileCheck %s --check-prefix=ROLES

// CHECK: module attributes {nv.persistent
// CHECK-LABEL: @plain
// CHECK-DAG: %[[FIRST:.*]] = nv.block_id
// CHECK-DAG: %[[COUNT:.*]] = nv.program_count
// CHECK-DAG: %[[BLOCKS:.*]] = nv.num_blocks
// CHECK: scf.for %[[PROGRAM:.*]] = %[[FIRST]] to %[[COUNT]] step %[[BLOCKS]]
// CHECK-DAG: nv.program_at %[[PROGRAM]], 0
// CHECK-DAG: nv.program_at %[[PROGRAM]], 1
// CHECK-NOT: tile.program_id
// CHECK: tile.store
// CHECK: } {nv.programs}
// CHECK-NEXT: return

// The rings live until the last program has ended, and turns are counted over all of them.
// ROLES-LABEL: @plain
// ROLES: nv.producer {
// ROLES: %[[TURN:.*]] = arith.constant 0 : i32
// ROLES: scf.for {{.*}} iter_args(%[[OUTER:.*]] = %{{.*}}) -> (i32)
// ROLES: scf.for {{.*}} iter_args(%{{.*}} = %[[OUTER]])
// ROLES: nv.tma_load
// ROLES: {nv.programs}
// ROLES: }
// ROLES: scf.for
// ROLES: tile.store
// ROLES: {nv.programs}
// ROLES-NEXT: nv.dealloc
#layout = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout1 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout2 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout3 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout4 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @plain(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: i32, %arg4: i32 {tile.divisibility = 16 : i32}, %arg5: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tile.program_id 0
    %1 = tile.program_id 1
    %2 = tile.arange 0, 64 : tensor<64xi32, #layout1>
    %3 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %4 = arith.muli %0, %c64_i32 : i32
    %5 = tile.splat %4 : tensor<64xi32, #layout1>
    %6 = arith.addi %5, %2 : tensor<64xi32, #layout1>
    %7 = tile.expand_dims %6, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
    %8 = tile.splat %arg4 : tensor<64x1xi32, #layout3>
    %9 = arith.muli %7, %8 : tensor<64x1xi32, #layout3>
    %10 = tile.splat %arg0 : tensor<64x1x!tile.ptr<f16>, #layout3>
    %11 = tile.addptr %10, %9 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
    %12 = tile.broadcast %11 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
    %13 = tile.splat %arg5 : tensor<64x1xi32, #layout3>
    %14 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout3>
    %15 = arith.muli %1, %c64_i32 : i32
    %16 = tile.splat %15 : tensor<64xi32, #layout2>
    %17 = arith.addi %16, %3 : tensor<64xi32, #layout2>
    %18 = tile.expand_dims %17, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
    %19 = tile.broadcast %18 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
    %20 = scf.for %arg6 = %c0_i32 to %arg3 step %c64_i32 iter_args(%arg7 = %cst) -> (tensor<64x64xf32, #layout>)  : i32 {
      %28 = tile.splat %arg6 : tensor<64xi32, #layout2>
      %29 = tile.splat %arg6 : tensor<64xi32, #layout1>
      %30 = arith.addi %28, %3 : tensor<64xi32, #layout2>
      %31 = arith.addi %29, %2 : tensor<64xi32, #layout1>
      %32 = tile.expand_dims %30, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
      %33 = tile.broadcast %32 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
      %34 = tile.addptr %12, %33 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %35 = tile.load %34 : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
      %36 = tile.expand_dims %31, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
      %37 = arith.muli %36, %13 : tensor<64x1xi32, #layout3>
      %38 = tile.addptr %14, %37 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %39 = tile.broadcast %38 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %40 = tile.addptr %39, %19 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %41 = tile.load %40 : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
      %42 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %35, %42 : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %43 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %41, %43 : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %44 = nv.wgmma %42, %43, %arg7 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout>
      %45 = nv.wgmma_wait 0, %44 : (tensor<64x64xf32, #layout>) -> tensor<64x64xf32, #layout>
      nv.dealloc %42 : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %43 : <1 x[64, 64] x f16, <[1, 0], 128>>
      scf.yield %45 : tensor<64x64xf32, #layout>
    }
    %21 = arith.muli %7, %13 : tensor<64x1xi32, #layout3>
    %22 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout3>
    %23 = tile.addptr %22, %21 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
    %24 = tile.broadcast %23 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
    %25 = tile.addptr %24, %19 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
    %26 = arith.truncf %20 : tensor<64x64xf32, #layout> to tensor<64x64xf16, #layout>
    %27 = tile.convert_layout %26 : tensor<64x64xf16, #layout> -> tensor<64x64xf16, #layout4>
    tile.store %25, %27 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xf16, #layout4>
    return
  }
}

// -----

// The grid stays the user's, and so does its order: a program of the third axis.
// CHECK-LABEL: @asks_the_grid
// CHECK: scf.for %[[PROGRAM:.*]] =
// CHECK-DAG: nv.program_at %[[PROGRAM]], 2
// CHECK-DAG: tile.num_programs 1
#layout = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout1 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout2 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout3 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout4 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @asks_the_grid(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: i32, %arg4: i32 {tile.divisibility = 16 : i32}, %arg5: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tile.program_id 2
    %1 = tile.num_programs 1
    %2 = tile.arange 0, 64 : tensor<64xi32, #layout1>
    %3 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %4 = arith.muli %0, %c64_i32 : i32
    %5 = tile.splat %4 : tensor<64xi32, #layout1>
    %6 = arith.addi %5, %2 : tensor<64xi32, #layout1>
    %7 = tile.expand_dims %6, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
    %8 = tile.splat %arg4 : tensor<64x1xi32, #layout3>
    %9 = arith.muli %7, %8 : tensor<64x1xi32, #layout3>
    %10 = tile.splat %arg0 : tensor<64x1x!tile.ptr<f16>, #layout3>
    %11 = tile.addptr %10, %9 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
    %12 = tile.broadcast %11 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
    %13 = tile.splat %arg5 : tensor<64x1xi32, #layout3>
    %14 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout3>
    %15 = arith.muli %1, %c64_i32 : i32
    %16 = tile.splat %15 : tensor<64xi32, #layout2>
    %17 = arith.addi %16, %3 : tensor<64xi32, #layout2>
    %18 = tile.expand_dims %17, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
    %19 = tile.broadcast %18 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
    %20 = scf.for %arg6 = %c0_i32 to %arg3 step %c64_i32 iter_args(%arg7 = %cst) -> (tensor<64x64xf32, #layout>)  : i32 {
      %28 = tile.splat %arg6 : tensor<64xi32, #layout2>
      %29 = tile.splat %arg6 : tensor<64xi32, #layout1>
      %30 = arith.addi %28, %3 : tensor<64xi32, #layout2>
      %31 = arith.addi %29, %2 : tensor<64xi32, #layout1>
      %32 = tile.expand_dims %30, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
      %33 = tile.broadcast %32 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
      %34 = tile.addptr %12, %33 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %35 = tile.load %34 : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
      %36 = tile.expand_dims %31, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
      %37 = arith.muli %36, %13 : tensor<64x1xi32, #layout3>
      %38 = tile.addptr %14, %37 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %39 = tile.broadcast %38 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %40 = tile.addptr %39, %19 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %41 = tile.load %40 : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
      %42 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %35, %42 : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %43 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %41, %43 : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %44 = nv.wgmma %42, %43, %arg7 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout>
      %45 = nv.wgmma_wait 0, %44 : (tensor<64x64xf32, #layout>) -> tensor<64x64xf32, #layout>
      nv.dealloc %42 : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %43 : <1 x[64, 64] x f16, <[1, 0], 128>>
      scf.yield %45 : tensor<64x64xf32, #layout>
    }
    %21 = arith.muli %7, %13 : tensor<64x1xi32, #layout3>
    %22 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout3>
    %23 = tile.addptr %22, %21 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
    %24 = tile.broadcast %23 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
    %25 = tile.addptr %24, %19 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
    %26 = arith.truncf %20 : tensor<64x64xf32, #layout> to tensor<64x64xf16, #layout>
    %27 = tile.convert_layout %26 : tensor<64x64xf16, #layout> -> tensor<64x64xf16, #layout4>
    tile.store %25, %27 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xf16, #layout4>
    return
  }
}

// -----

// A return ends a program, not the block.
// CHECK-LABEL: @returns_early
// CHECK: scf.for
// CHECK: scf.if
// CHECK: tile.store
// CHECK: } {nv.programs}
// CHECK-NEXT: return
#layout = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout1 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout2 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout3 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout4 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @returns_early(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: i32, %arg4: i32 {tile.divisibility = 16 : i32}, %arg5: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tile.program_id 0
    %1 = tile.program_id 1
    %2 = tile.arange 0, 64 : tensor<64xi32, #layout1>
    %3 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %4 = arith.muli %0, %c64_i32 : i32
    %5 = tile.splat %4 : tensor<64xi32, #layout1>
    %6 = arith.addi %5, %2 : tensor<64xi32, #layout1>
    %7 = tile.expand_dims %6, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
    %8 = tile.splat %arg4 : tensor<64x1xi32, #layout3>
    %9 = arith.muli %7, %8 : tensor<64x1xi32, #layout3>
    %10 = tile.splat %arg0 : tensor<64x1x!tile.ptr<f16>, #layout3>
    %11 = tile.addptr %10, %9 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
    %12 = tile.broadcast %11 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
    %13 = tile.splat %arg5 : tensor<64x1xi32, #layout3>
    %14 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout3>
    %15 = arith.muli %1, %c64_i32 : i32
    %16 = tile.splat %15 : tensor<64xi32, #layout2>
    %17 = arith.addi %16, %3 : tensor<64xi32, #layout2>
    %18 = tile.expand_dims %17, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
    %19 = tile.broadcast %18 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
    %20 = scf.for %arg6 = %c0_i32 to %arg3 step %c64_i32 iter_args(%arg7 = %cst) -> (tensor<64x64xf32, #layout>)  : i32 {
      %22 = tile.splat %arg6 : tensor<64xi32, #layout2>
      %23 = tile.splat %arg6 : tensor<64xi32, #layout1>
      %24 = arith.addi %22, %3 : tensor<64xi32, #layout2>
      %25 = arith.addi %23, %2 : tensor<64xi32, #layout1>
      %26 = tile.expand_dims %24, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
      %27 = tile.broadcast %26 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
      %28 = tile.addptr %12, %27 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %29 = tile.load %28 : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
      %30 = tile.expand_dims %25, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
      %31 = arith.muli %30, %13 : tensor<64x1xi32, #layout3>
      %32 = tile.addptr %14, %31 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %33 = tile.broadcast %32 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %34 = tile.addptr %33, %19 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %35 = tile.load %34 : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
      %36 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %29, %36 : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %37 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %35, %37 : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %38 = nv.wgmma %36, %37, %arg7 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout>
      %39 = nv.wgmma_wait 0, %38 : (tensor<64x64xf32, #layout>) -> tensor<64x64xf32, #layout>
      nv.dealloc %36 : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %37 : <1 x[64, 64] x f16, <[1, 0], 128>>
      scf.yield %39 : tensor<64x64xf32, #layout>
    }
    %21 = arith.cmpi slt, %0, %1 : i32
    scf.if %21 {
    } else {
      %22 = arith.muli %7, %13 : tensor<64x1xi32, #layout3>
      %23 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout3>
      %24 = tile.addptr %23, %22 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %25 = tile.broadcast %24 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %26 = tile.addptr %25, %19 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %27 = arith.truncf %20 : tensor<64x64xf32, #layout> to tensor<64x64xf16, #layout>
      %28 = tile.convert_layout %27 : tensor<64x64xf16, #layout> -> tensor<64x64xf16, #layout4>
      tile.store %26, %28 : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xf16, #layout4>
    }
    return
  }
}
