// Kernels whose loads must not be converted to TMA: a remark says which rule each breaks.
// RUN: pantile-opt %s -split-input-file -nv-specialise-warps 2>/dev/null | FileCheck %s
// RUN: pantile-opt %s -split-input-file -nv-specialise-warps -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY


// WHY: warps are not specialised: a modulo in its address wraps rows that are used
// CHECK-LABEL: @wraps_into_used_rows
// CHECK-NOT: nv.producer
#layout = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout1 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout2 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout3 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout4 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @wraps_into_used_rows(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: i32, %arg4: i32 {tile.divisibility = 16 : i32}, %arg5: i32 {tile.divisibility = 16 : i32}, %arg6: i32 {tile.divisibility = 16 : i32}, %arg7: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x64xi32, #layout>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout1>
    %c0_i32 = arith.constant 0 : i32
    %c64_i32 = arith.constant 64 : i32
    %c56_i32 = arith.constant 56 : i32
    %0 = tile.program_id 0
    %1 = arith.muli %0, %c56_i32 : i32
    %2 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %3 = tile.arange 0, 64 : tensor<64xi32, #layout3>
    %4 = tile.splat %1 : tensor<64xi32, #layout2>
    %5 = arith.addi %4, %2 : tensor<64xi32, #layout2>
    %6 = tile.splat %arg3 : tensor<64xi32, #layout2>
    %7 = arith.remsi %5, %6 : tensor<64xi32, #layout2>
    %8 = tile.expand_dims %7, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %9 = tile.splat %arg5 : tensor<64x1xi32, #layout4>
    %10 = arith.muli %8, %9 : tensor<64x1xi32, #layout4>
    %11 = tile.splat %arg0 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %12 = tile.addptr %11, %10 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %13 = tile.expand_dims %3, 0 : tensor<64xi32, #layout3> -> tensor<1x64xi32, #layout5>
    %14 = tile.broadcast %12 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %15 = tile.broadcast %13 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout>
    %16 = tile.addptr %14, %15 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %17 = tile.expand_dims %2, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %18 = tile.splat %arg6 : tensor<64x1xi32, #layout4>
    %19 = arith.muli %17, %18 : tensor<64x1xi32, #layout4>
    %20 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %21 = tile.addptr %20, %19 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %22 = tile.broadcast %21 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %23 = tile.addptr %22, %15 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %24 = arith.muli %arg6, %c64_i32 : i32
    %25 = tile.splat %24 : tensor<64x64xi32, #layout>
    %26:3 = scf.for %arg8 = %c0_i32 to %arg4 step %c64_i32 iter_args(%arg9 = %cst_0, %arg10 = %16, %arg11 = %23) -> (tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>)  : i32 {
      %36 = tile.load %arg10 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %37 = tile.load %arg11 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %38 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %36, %38 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %39 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %37, %39 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %40 = nv.wgmma %38, %39, %arg9 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout1>
      %41 = nv.wgmma_wait 0, %40 : (tensor<64x64xf32, #layout1>) -> tensor<64x64xf32, #layout1>
      nv.dealloc %38 : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %39 : <1 x[64, 64] x f16, <[1, 0], 128>>
      %42 = tile.addptr %arg10, %cst : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      %43 = tile.addptr %arg11, %25 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      scf.yield %41, %42, %43 : tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>
    }
    %27 = tile.expand_dims %5, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %28 = tile.splat %arg7 : tensor<64x1xi32, #layout4>
    %29 = arith.muli %27, %28 : tensor<64x1xi32, #layout4>
    %30 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %31 = tile.addptr %30, %29 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %32 = tile.broadcast %31 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %33 = tile.addptr %32, %15 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %34 = arith.truncf %26#0 : tensor<64x64xf32, #layout1> to tensor<64x64xf16, #layout1>
    %35 = tile.convert_layout %34 : tensor<64x64xf16, #layout1> -> tensor<64x64xf16, #layout>
    tile.store %33, %35 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xf16, #layout>
    return
  }
}

// -----

// WHY: warps are not specialised: `other` is not zero
// CHECK-LABEL: @other_is_not_zero
// CHECK-NOT: nv.producer
#layout = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout1 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout2 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout3 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout4 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @other_is_not_zero(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: i32 {tile.divisibility = 16 : i32}, %arg4: i32 {tile.divisibility = 16 : i32}, %arg5: i32 {tile.divisibility = 16 : i32}, %arg6: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x64xi32, #layout>
    %cst_0 = arith.constant dense<1.000000e+00> : tensor<64x64xf16, #layout>
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout1>
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %1 = tile.arange 0, 64 : tensor<64xi32, #layout3>
    %2 = tile.expand_dims %0, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %3 = tile.splat %arg4 : tensor<64x1xi32, #layout4>
    %4 = arith.muli %2, %3 : tensor<64x1xi32, #layout4>
    %5 = tile.splat %arg0 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %6 = tile.addptr %5, %4 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %7 = tile.expand_dims %1, 0 : tensor<64xi32, #layout3> -> tensor<1x64xi32, #layout5>
    %8 = tile.broadcast %6 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %9 = tile.broadcast %7 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout>
    %10 = tile.addptr %8, %9 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %11 = tile.splat %arg5 : tensor<64x1xi32, #layout4>
    %12 = arith.muli %2, %11 : tensor<64x1xi32, #layout4>
    %13 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %14 = tile.addptr %13, %12 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %15 = tile.broadcast %14 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %16 = tile.addptr %15, %9 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %17 = arith.muli %arg5, %c64_i32 : i32
    %18 = tile.splat %17 : tensor<64x64xi32, #layout>
    %19:3 = scf.for %arg7 = %c0_i32 to %arg3 step %c64_i32 iter_args(%arg8 = %cst_1, %arg9 = %10, %arg10 = %16) -> (tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>)  : i32 {
      %28 = arith.subi %arg3, %arg7 : i32
      %29 = tile.splat %28 : tensor<1x64xi32, #layout5>
      %30 = arith.cmpi slt, %7, %29 : tensor<1x64xi32, #layout5>
      %31 = tile.broadcast %30 : tensor<1x64xi1, #layout5> -> tensor<64x64xi1, #layout>
      %32 = tile.load %arg9 mask %31 : tensor<64x64xi1, #layout> other %cst_0 : tensor<64x64xf16, #layout> : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %33 = tile.load %arg10 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %34 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %32, %34 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %35 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %33, %35 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %36 = nv.wgmma %34, %35, %arg8 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout1>
      %37 = nv.wgmma_wait 0, %36 : (tensor<64x64xf32, #layout1>) -> tensor<64x64xf32, #layout1>
      nv.dealloc %34 : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %35 : <1 x[64, 64] x f16, <[1, 0], 128>>
      %38 = tile.addptr %arg9, %cst : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      %39 = tile.addptr %arg10, %18 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      scf.yield %37, %38, %39 : tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>
    }
    %20 = tile.splat %arg6 : tensor<64x1xi32, #layout4>
    %21 = arith.muli %2, %20 : tensor<64x1xi32, #layout4>
    %22 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %23 = tile.addptr %22, %21 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %24 = tile.broadcast %23 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %25 = tile.addptr %24, %9 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %26 = arith.truncf %19#0 : tensor<64x64xf32, #layout1> to tensor<64x64xf16, #layout1>
    %27 = tile.convert_layout %26 : tensor<64x64xf16, #layout1> -> tensor<64x64xf16, #layout>
    tile.store %25, %27 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xf16, #layout>
    return
  }
}

// -----

// WHY: warps are not specialised: memory that it loads may have been written before
// CHECK-LABEL: @stores_before
// CHECK-NOT: nv.producer
#layout = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout1 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout2 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout3 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout4 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @stores_before(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: i32 {tile.divisibility = 16 : i32}, %arg4: i32 {tile.divisibility = 16 : i32}, %arg5: i32 {tile.divisibility = 16 : i32}, %arg6: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x64xi32, #layout>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout1>
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst_1 = arith.constant 1.000000e+00 : f16
    %0 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %1 = tile.arange 0, 64 : tensor<64xi32, #layout3>
    tile.store %arg2, %cst_1 : !tile.ptr<f16>, f16
    %2 = tile.expand_dims %0, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %3 = tile.splat %arg4 : tensor<64x1xi32, #layout4>
    %4 = arith.muli %2, %3 : tensor<64x1xi32, #layout4>
    %5 = tile.splat %arg0 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %6 = tile.addptr %5, %4 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %7 = tile.expand_dims %1, 0 : tensor<64xi32, #layout3> -> tensor<1x64xi32, #layout5>
    %8 = tile.broadcast %6 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %9 = tile.broadcast %7 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout>
    %10 = tile.addptr %8, %9 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %11 = tile.splat %arg5 : tensor<64x1xi32, #layout4>
    %12 = arith.muli %2, %11 : tensor<64x1xi32, #layout4>
    %13 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %14 = tile.addptr %13, %12 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %15 = tile.broadcast %14 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %16 = tile.addptr %15, %9 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %17 = arith.muli %arg5, %c64_i32 : i32
    %18 = tile.splat %17 : tensor<64x64xi32, #layout>
    %19:3 = scf.for %arg7 = %c0_i32 to %arg3 step %c64_i32 iter_args(%arg8 = %cst_0, %arg9 = %10, %arg10 = %16) -> (tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>)  : i32 {
      %28 = tile.load %arg9 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %29 = tile.load %arg10 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %30 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %28, %30 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %31 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %29, %31 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %32 = nv.wgmma %30, %31, %arg8 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout1>
      %33 = nv.wgmma_wait 0, %32 : (tensor<64x64xf32, #layout1>) -> tensor<64x64xf32, #layout1>
      nv.dealloc %30 : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %31 : <1 x[64, 64] x f16, <[1, 0], 128>>
      %34 = tile.addptr %arg9, %cst : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      %35 = tile.addptr %arg10, %18 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      scf.yield %33, %34, %35 : tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>
    }
    %20 = tile.splat %arg6 : tensor<64x1xi32, #layout4>
    %21 = arith.muli %2, %20 : tensor<64x1xi32, #layout4>
    %22 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %23 = tile.addptr %22, %21 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %24 = tile.broadcast %23 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %25 = tile.addptr %24, %9 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %26 = arith.truncf %19#0 : tensor<64x64xf32, #layout1> to tensor<64x64xf16, #layout1>
    %27 = tile.convert_layout %26 : tensor<64x64xf16, #layout1> -> tensor<64x64xf16, #layout>
    tile.store %25, %27 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xf16, #layout>
    return
  }
}

// -----

// WHY: warps are not specialised: a coordinate may be negative
// CHECK-LABEL: @before_the_tensor
// CHECK-NOT: nv.producer
#layout = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout1 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout2 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout3 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout4 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @before_the_tensor(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: i32 {tile.divisibility = 16 : i32}, %arg4: i32 {tile.divisibility = 16 : i32}, %arg5: i32 {tile.divisibility = 16 : i32}, %arg6: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x64xi32, #layout>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout1>
    %c0_i32 = arith.constant 0 : i32
    %c64_i32 = arith.constant 64 : i32
    %c1_i32 = arith.constant 1 : i32
    %0 = tile.program_id 0
    %1 = arith.subi %0, %c1_i32 : i32
    %2 = arith.muli %1, %c64_i32 : i32
    %3 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %4 = tile.arange 0, 64 : tensor<64xi32, #layout3>
    %5 = tile.splat %2 : tensor<64xi32, #layout2>
    %6 = arith.addi %5, %3 : tensor<64xi32, #layout2>
    %7 = tile.expand_dims %6, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %8 = tile.splat %arg4 : tensor<64x1xi32, #layout4>
    %9 = arith.muli %7, %8 : tensor<64x1xi32, #layout4>
    %10 = tile.splat %arg0 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %11 = tile.addptr %10, %9 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %12 = tile.expand_dims %4, 0 : tensor<64xi32, #layout3> -> tensor<1x64xi32, #layout5>
    %13 = tile.broadcast %11 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %14 = tile.broadcast %12 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout>
    %15 = tile.addptr %13, %14 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %16 = tile.expand_dims %3, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %17 = tile.splat %arg5 : tensor<64x1xi32, #layout4>
    %18 = arith.muli %16, %17 : tensor<64x1xi32, #layout4>
    %19 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %20 = tile.addptr %19, %18 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %21 = tile.broadcast %20 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %22 = tile.addptr %21, %14 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %23 = arith.muli %arg5, %c64_i32 : i32
    %24 = tile.splat %23 : tensor<64x64xi32, #layout>
    %25:3 = scf.for %arg7 = %c0_i32 to %arg3 step %c64_i32 iter_args(%arg8 = %cst_0, %arg9 = %15, %arg10 = %22) -> (tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>)  : i32 {
      %34 = tile.load %arg9 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %35 = tile.load %arg10 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %36 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %34, %36 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %37 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %35, %37 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %38 = nv.wgmma %36, %37, %arg8 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout1>
      %39 = nv.wgmma_wait 0, %38 : (tensor<64x64xf32, #layout1>) -> tensor<64x64xf32, #layout1>
      nv.dealloc %36 : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %37 : <1 x[64, 64] x f16, <[1, 0], 128>>
      %40 = tile.addptr %arg9, %cst : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      %41 = tile.addptr %arg10, %24 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      scf.yield %39, %40, %41 : tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>
    }
    %26 = tile.splat %arg6 : tensor<64x1xi32, #layout4>
    %27 = arith.muli %16, %26 : tensor<64x1xi32, #layout4>
    %28 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %29 = tile.addptr %28, %27 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %30 = tile.broadcast %29 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %31 = tile.addptr %30, %14 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %32 = arith.truncf %25#0 : tensor<64x64xf32, #layout1> to tensor<64x64xf16, #layout1>
    %33 = tile.convert_layout %32 : tensor<64x64xf16, #layout1> -> tensor<64x64xf16, #layout>
    tile.store %31, %33 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xf16, #layout>
    return
  }
}

// -----

// WHY: warps are not specialised: a stride is not known on the host to be a multiple of 16 bytes
// CHECK-LABEL: @odd_stride
// CHECK-NOT: nv.producer
#layout = #tile.layout<[64, 64], reg = [[0, 32], [4, 0], [8, 0], [16, 0], [32, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[1, 0], [2, 0]]>
#layout1 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout2 = #tile.layout<[64], reg = [[4], [8], [16], [32]], lane = [[0], [0], [0], [0], [0]], warp = [[1], [2]]>
#layout3 = #tile.layout<[64], reg = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]]>
#layout4 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout5 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout6 = #tile.layout<[64, 1], reg = [[4, 0], [8, 0], [16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[1, 0], [2, 0]]>
#layout7 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout8 = #tile.layout<[1, 64], reg = [[0, 32]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[0, 0], [0, 0]]>
#layout9 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
#layout10 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @odd_stride(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: i32 {tile.divisibility = 16 : i32}, %arg4: i32, %arg5: i32 {tile.divisibility = 16 : i32}, %arg6: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x64xi32, #layout>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout1>
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %1 = tile.arange 0, 64 : tensor<64xi32, #layout3>
    %2 = tile.arange 0, 64 : tensor<64xi32, #layout4>
    %3 = tile.arange 0, 64 : tensor<64xi32, #layout5>
    %4 = tile.expand_dims %0, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout6>
    %5 = tile.expand_dims %2, 1 : tensor<64xi32, #layout4> -> tensor<64x1xi32, #layout7>
    %6 = tile.splat %arg4 : tensor<64x1xi32, #layout6>
    %7 = arith.muli %4, %6 : tensor<64x1xi32, #layout6>
    %8 = tile.splat %arg0 : tensor<64x1x!tile.ptr<f16>, #layout6>
    %9 = tile.addptr %8, %7 : tensor<64x1x!tile.ptr<f16>, #layout6>, tensor<64x1xi32, #layout6>
    %10 = tile.expand_dims %1, 0 : tensor<64xi32, #layout3> -> tensor<1x64xi32, #layout8>
    %11 = tile.expand_dims %3, 0 : tensor<64xi32, #layout5> -> tensor<1x64xi32, #layout9>
    %12 = tile.broadcast %9 : tensor<64x1x!tile.ptr<f16>, #layout6> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %13 = tile.broadcast %10 : tensor<1x64xi32, #layout8> -> tensor<64x64xi32, #layout>
    %14 = tile.broadcast %11 : tensor<1x64xi32, #layout9> -> tensor<64x64xi32, #layout10>
    %15 = tile.addptr %12, %13 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %16 = tile.splat %arg5 : tensor<64x1xi32, #layout7>
    %17 = arith.muli %5, %16 : tensor<64x1xi32, #layout7>
    %18 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout7>
    %19 = tile.addptr %18, %17 : tensor<64x1x!tile.ptr<f16>, #layout7>, tensor<64x1xi32, #layout7>
    %20 = tile.broadcast %19 : tensor<64x1x!tile.ptr<f16>, #layout7> -> tensor<64x64x!tile.ptr<f16>, #layout10>
    %21 = tile.addptr %20, %14 : tensor<64x64x!tile.ptr<f16>, #layout10>, tensor<64x64xi32, #layout10>
    %22 = arith.muli %arg5, %c64_i32 : i32
    %23 = tile.splat %22 : tensor<64x64xi32, #layout10>
    %24:3 = scf.for %arg7 = %c0_i32 to %arg3 step %c64_i32 iter_args(%arg8 = %cst_0, %arg9 = %15, %arg10 = %21) -> (tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout10>)  : i32 {
      %33 = tile.load %arg9 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %34 = tile.load %arg10 : tensor<64x64x!tile.ptr<f16>, #layout10> -> tensor<64x64xf16, #layout10>
      %35 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %33, %35 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %36 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %34, %36 : tensor<64x64xf16, #layout10>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %37 = nv.wgmma %35, %36, %arg8 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout1>
      %38 = nv.wgmma_wait 0, %37 : (tensor<64x64xf32, #layout1>) -> tensor<64x64xf32, #layout1>
      nv.dealloc %35 : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %36 : <1 x[64, 64] x f16, <[1, 0], 128>>
      %39 = tile.addptr %arg9, %cst : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      %40 = tile.addptr %arg10, %23 : tensor<64x64x!tile.ptr<f16>, #layout10>, tensor<64x64xi32, #layout10>
      scf.yield %38, %39, %40 : tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout10>
    }
    %25 = tile.splat %arg6 : tensor<64x1xi32, #layout7>
    %26 = arith.muli %5, %25 : tensor<64x1xi32, #layout7>
    %27 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout7>
    %28 = tile.addptr %27, %26 : tensor<64x1x!tile.ptr<f16>, #layout7>, tensor<64x1xi32, #layout7>
    %29 = tile.broadcast %28 : tensor<64x1x!tile.ptr<f16>, #layout7> -> tensor<64x64x!tile.ptr<f16>, #layout10>
    %30 = tile.addptr %29, %14 : tensor<64x64x!tile.ptr<f16>, #layout10>, tensor<64x64xi32, #layout10>
    %31 = arith.truncf %24#0 : tensor<64x64xf32, #layout1> to tensor<64x64xf16, #layout1>
    %32 = tile.convert_layout %31 : tensor<64x64xf16, #layout1> -> tensor<64x64xf16, #layout10>
    tile.store %30, %32 : tensor<64x64x!tile.ptr<f16>, #layout10>, tensor<64x64xf16, #layout10>
    return
  }
}

// -----

// WHY: warps are not specialised: its addresses are not affine in the indices
// CHECK-LABEL: @rows_by_index
// CHECK-NOT: nv.producer
#layout = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout1 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout2 = #tile.layout<[64], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0]]>
#layout3 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout4 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout5 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout6 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @rows_by_index(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: !tile.ptr<i32> {tile.divisibility = 16 : i32}, %arg4: i32 {tile.divisibility = 16 : i32}, %arg5: i32 {tile.divisibility = 16 : i32}, %arg6: i32 {tile.divisibility = 16 : i32}, %arg7: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x64xi32, #layout>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout1>
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %1 = tile.arange 0, 64 : tensor<64xi32, #layout3>
    %2 = tile.arange 0, 64 : tensor<64xi32, #layout4>
    %3 = tile.splat %arg3 : tensor<64x!tile.ptr<i32>, #layout2>
    %4 = tile.addptr %3, %0 : tensor<64x!tile.ptr<i32>, #layout2>, tensor<64xi32, #layout2>
    %5 = tile.load %4 : tensor<64x!tile.ptr<i32>, #layout2> -> tensor<64xi32, #layout2>
    %6 = tile.convert_layout %5 : tensor<64xi32, #layout2> -> tensor<64xi32, #layout4>
    %7 = tile.expand_dims %6, 1 : tensor<64xi32, #layout4> -> tensor<64x1xi32, #layout5>
    %8 = tile.splat %arg5 : tensor<64x1xi32, #layout5>
    %9 = arith.muli %7, %8 : tensor<64x1xi32, #layout5>
    %10 = tile.splat %arg0 : tensor<64x1x!tile.ptr<f16>, #layout5>
    %11 = tile.addptr %10, %9 : tensor<64x1x!tile.ptr<f16>, #layout5>, tensor<64x1xi32, #layout5>
    %12 = tile.expand_dims %1, 0 : tensor<64xi32, #layout3> -> tensor<1x64xi32, #layout6>
    %13 = tile.broadcast %11 : tensor<64x1x!tile.ptr<f16>, #layout5> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %14 = tile.broadcast %12 : tensor<1x64xi32, #layout6> -> tensor<64x64xi32, #layout>
    %15 = tile.addptr %13, %14 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %16 = tile.expand_dims %2, 1 : tensor<64xi32, #layout4> -> tensor<64x1xi32, #layout5>
    %17 = tile.splat %arg6 : tensor<64x1xi32, #layout5>
    %18 = arith.muli %16, %17 : tensor<64x1xi32, #layout5>
    %19 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout5>
    %20 = tile.addptr %19, %18 : tensor<64x1x!tile.ptr<f16>, #layout5>, tensor<64x1xi32, #layout5>
    %21 = tile.broadcast %20 : tensor<64x1x!tile.ptr<f16>, #layout5> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %22 = tile.addptr %21, %14 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %23 = arith.muli %arg6, %c64_i32 : i32
    %24 = tile.splat %23 : tensor<64x64xi32, #layout>
    %25:3 = scf.for %arg8 = %c0_i32 to %arg4 step %c64_i32 iter_args(%arg9 = %cst_0, %arg10 = %15, %arg11 = %22) -> (tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>)  : i32 {
      %34 = tile.load %arg10 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %35 = tile.load %arg11 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %36 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %34, %36 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %37 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %35, %37 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %38 = nv.wgmma %36, %37, %arg9 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout1>
      %39 = nv.wgmma_wait 0, %38 : (tensor<64x64xf32, #layout1>) -> tensor<64x64xf32, #layout1>
      nv.dealloc %36 : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %37 : <1 x[64, 64] x f16, <[1, 0], 128>>
      %40 = tile.addptr %arg10, %cst : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      %41 = tile.addptr %arg11, %24 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      scf.yield %39, %40, %41 : tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>
    }
    %26 = tile.splat %arg7 : tensor<64x1xi32, #layout5>
    %27 = arith.muli %16, %26 : tensor<64x1xi32, #layout5>
    %28 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout5>
    %29 = tile.addptr %28, %27 : tensor<64x1x!tile.ptr<f16>, #layout5>, tensor<64x1xi32, #layout5>
    %30 = tile.broadcast %29 : tensor<64x1x!tile.ptr<f16>, #layout5> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %31 = tile.addptr %30, %14 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %32 = arith.truncf %25#0 : tensor<64x64xf32, #layout1> to tensor<64x64xf16, #layout1>
    %33 = tile.convert_layout %32 : tensor<64x64xf16, #layout1> -> tensor<64x64xf16, #layout>
    tile.store %31, %33 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xf16, #layout>
    return
  }
}
