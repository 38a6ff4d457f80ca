// Load-dot loops get a producer where the rules of TmaAccess allow it (specialise-warps-refused.mlir: where not).
// Each input is a kernel as `nv-stage-operands` leaves it.
// RUN: pantile-opt %s -split-input-file -nv-specialise-warps 2>/dev/null | FileCheck %s

// Extents come from masks and from the remainder; the wrapped rows reach only masked-off stores.
// CHECK: affine_map<()[{{.*}}] -> (s5, s3)>
// CHECK: affine_map<()[{{.*}}] -> (s4, s5)>
// CHECK: nv.producer_warps = 1
// CHECK-LABEL: @plain
// CHECK: %[[RING:.*]] = nv.alloc {nv.ring} : <4 x[64, 64] x f16
// CHECK: nv.mbarrier_init %{{.*}}, 4
// CHECK: nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>
// CHECK: nv.producer {
// CHECK:   scf.for
// CHECK:     nv.mbarrier_wait %[[FULL:.*]], true, %{{.*}}
// CHECK:     nv.expect %[[FULL]], 16384
// CHECK:     nv.tma_load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}, %[[FULL]]
// CHECK:     nv.tma_load
// CHECK-NOT: nv.tma_load
// CHECK: scf.for
// CHECK-NOT: tile.load
// CHECK:   nv.mbarrier_wait %{{.*}}, false
// CHECK:   nv.wgmma
// CHECK:   nv.wgmma_wait done
// CHECK:   nv.release %{{.*}} if
// CHECK: nv.wgmma_wait %
// CHECK: nv.release %{{.*}} if
// CHECK: tile.store
#layout = #tile.layout<[64, 64], reg = [[0, 32], [4, 0], [8, 0], [16, 0], [32, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[1, 0], [2, 0]]>
#layout1 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout2 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout3 = #tile.layout<[64], reg = [[4], [8], [16], [32]], lane = [[0], [0], [0], [0], [0]], warp = [[1], [2]]>
#layout4 = #tile.layout<[64], reg = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]]>
#layout5 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout6 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout7 = #tile.layout<[64, 1], reg = [[4, 0], [8, 0], [16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[1, 0], [2, 0]]>
#layout8 = #tile.layout<[1, 64], reg = [[0, 32]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[0, 0], [0, 0]]>
#layout9 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout10 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @plain(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: i32, %arg4: i32 {tile.divisibility = 16 : i32}, %arg5: i32, %arg6: i32 {tile.divisibility = 16 : i32}, %arg7: i32 {tile.divisibility = 16 : i32}, %arg8: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x64xi32, #layout>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf16, #layout>
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<64x64xf16, #layout1>
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout2>
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %c63_i32 = arith.constant 63 : i32
    %c64_i32 = arith.constant 64 : i32
    %0 = tile.program_id 0
    %1 = tile.program_id 1
    %2 = arith.muli %0, %c64_i32 : i32
    %3 = tile.arange 0, 64 : tensor<64xi32, #layout3>
    %4 = tile.arange 0, 64 : tensor<64xi32, #layout4>
    %5 = tile.arange 0, 64 : tensor<64xi32, #layout5>
    %6 = tile.arange 0, 64 : tensor<64xi32, #layout6>
    %7 = tile.splat %2 : tensor<64xi32, #layout3>
    %8 = tile.splat %2 : tensor<64xi32, #layout5>
    %9 = arith.addi %7, %3 : tensor<64xi32, #layout3>
    %10 = arith.addi %8, %5 : tensor<64xi32, #layout5>
    %11 = tile.splat %arg3 : tensor<64xi32, #layout3>
    %12 = arith.remsi %9, %11 : tensor<64xi32, #layout3>
    %13 = arith.muli %1, %c64_i32 : i32
    %14 = tile.splat %13 : tensor<64xi32, #layout6>
    %15 = arith.addi %14, %6 : tensor<64xi32, #layout6>
    %16 = tile.expand_dims %12, 1 : tensor<64xi32, #layout3> -> tensor<64x1xi32, #layout7>
    %17 = tile.splat %arg6 : tensor<64x1xi32, #layout7>
    %18 = arith.muli %16, %17 : tensor<64x1xi32, #layout7>
    %19 = tile.splat %arg0 : tensor<64x1x!tile.ptr<f16>, #layout7>
    %20 = tile.addptr %19, %18 : tensor<64x1x!tile.ptr<f16>, #layout7>, tensor<64x1xi32, #layout7>
    %21 = tile.expand_dims %4, 0 : tensor<64xi32, #layout4> -> tensor<1x64xi32, #layout8>
    %22 = tile.broadcast %20 : tensor<64x1x!tile.ptr<f16>, #layout7> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %23 = tile.broadcast %21 : tensor<1x64xi32, #layout8> -> tensor<64x64xi32, #layout>
    %24 = tile.addptr %22, %23 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %25 = tile.expand_dims %5, 1 : tensor<64xi32, #layout5> -> tensor<64x1xi32, #layout9>
    %26 = tile.splat %arg7 : tensor<64x1xi32, #layout9>
    %27 = arith.muli %25, %26 : tensor<64x1xi32, #layout9>
    %28 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout9>
    %29 = tile.addptr %28, %27 : tensor<64x1x!tile.ptr<f16>, #layout9>, tensor<64x1xi32, #layout9>
    %30 = tile.expand_dims %15, 0 : tensor<64xi32, #layout6> -> tensor<1x64xi32, #layout10>
    %31 = tile.broadcast %29 : tensor<64x1x!tile.ptr<f16>, #layout9> -> tensor<64x64x!tile.ptr<f16>, #layout1>
    %32 = tile.broadcast %30 : tensor<1x64xi32, #layout10> -> tensor<64x64xi32, #layout1>
    %33 = tile.addptr %31, %32 : tensor<64x64x!tile.ptr<f16>, #layout1>, tensor<64x64xi32, #layout1>
    %34 = arith.addi %arg5, %c63_i32 : i32
    %35 = arith.divsi %34, %c64_i32 : i32
    %36 = tile.splat %arg4 : tensor<1x64xi32, #layout10>
    %37 = arith.cmpi slt, %30, %36 : tensor<1x64xi32, #layout10>
    %38 = tile.broadcast %37 : tensor<1x64xi1, #layout10> -> tensor<64x64xi1, #layout1>
    %39 = arith.muli %arg7, %c64_i32 : i32
    %40 = tile.splat %39 : tensor<64x64xi32, #layout1>
    %41:3 = scf.for %arg9 = %c0_i32 to %35 step %c1_i32 iter_args(%arg10 = %cst_2, %arg11 = %24, %arg12 = %33) -> (tensor<64x64xf32, #layout2>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout1>)  : i32 {
      %55 = arith.muli %arg9, %c64_i32 : i32
      %56 = arith.subi %arg5, %55 : i32
      %57 = tile.splat %56 : tensor<1x64xi32, #layout8>
      %58 = arith.cmpi slt, %21, %57 : tensor<1x64xi32, #layout8>
      %59 = tile.broadcast %58 : tensor<1x64xi1, #layout8> -> tensor<64x64xi1, #layout>
      %60 = tile.load %arg11 mask %59 : tensor<64x64xi1, #layout> other %cst_0 : tensor<64x64xf16, #layout> : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %61 = tile.splat %56 : tensor<64x1xi32, #layout9>
      %62 = arith.cmpi slt, %25, %61 : tensor<64x1xi32, #layout9>
      %63 = tile.broadcast %62 : tensor<64x1xi1, #layout9> -> tensor<64x64xi1, #layout1>
      %64 = arith.andi %63, %38 : tensor<64x64xi1, #layout1>
      %65 = tile.load %arg12 mask %64 : tensor<64x64xi1, #layout1> other %cst_1 : tensor<64x64xf16, #layout1> : tensor<64x64x!tile.ptr<f16>, #layout1> -> tensor<64x64xf16, #layout1>
      %66 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %60, %66 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %67 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %65, %67 : tensor<64x64xf16, #layout1>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %68 = nv.wgmma %66, %67, %arg10 mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout2>
      %69 = nv.wgmma_wait 0, %68 : (tensor<64x64xf32, #layout2>) -> tensor<64x64xf32, #layout2>
      nv.dealloc %66 : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %67 : <1 x[64, 64] x f16, <[1, 0], 128>>
      %70 = tile.addptr %arg11, %cst : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      %71 = tile.addptr %arg12, %40 : tensor<64x64x!tile.ptr<f16>, #layout1>, tensor<64x64xi32, #layout1>
      scf.yield %69, %70, %71 : tensor<64x64xf32, #layout2>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout1>
    }
    %42 = tile.expand_dims %10, 1 : tensor<64xi32, #layout5> -> tensor<64x1xi32, #layout9>
    %43 = tile.splat %arg8 : tensor<64x1xi32, #layout9>
    %44 = arith.muli %42, %43 : tensor<64x1xi32, #layout9>
    %45 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout9>
    %46 = tile.addptr %45, %44 : tensor<64x1x!tile.ptr<f16>, #layout9>, tensor<64x1xi32, #layout9>
    %47 = tile.broadcast %46 : tensor<64x1x!tile.ptr<f16>, #layout9> -> tensor<64x64x!tile.ptr<f16>, #layout1>
    %48 = tile.addptr %47, %32 : tensor<64x64x!tile.ptr<f16>, #layout1>, tensor<64x64xi32, #layout1>
    %49 = arith.truncf %41#0 : tensor<64x64xf32, #layout2> to tensor<64x64xf16, #layout2>
    %50 = tile.convert_layout %49 : tensor<64x64xf16, #layout2> -> tensor<64x64xf16, #layout1>
    %51 = tile.splat %arg3 : tensor<64x1xi32, #layout9>
    %52 = arith.cmpi slt, %42, %51 : tensor<64x1xi32, #layout9>
    %53 = tile.broadcast %52 : tensor<64x1xi1, #layout9> -> tensor<64x64xi1, #layout1>
    %54 = arith.andi %53, %38 : tensor<64x64xi1, #layout1>
    tile.store %48, %50 mask %54 : tensor<64x64xi1, #layout1> : tensor<64x64x!tile.ptr<f16>, #layout1>, tensor<64x64xf16, #layout1>
    return
  }
}

// -----

// An offset of the program beside rows and columns is a further dimension.
// CHECK-LABEL: @batched
// CHECK: box = array<i32: 64, 64, 1>
// CHECK: nv.producer {
// CHECK: nv.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}]
#layout = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout1 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout2 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout3 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout4 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @batched(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %arg3: i32 {tile.divisibility = 16 : i32}, %arg4: i32 {tile.divisibility = 16 : i32}, %arg5: i32 {tile.divisibility = 16 : i32}, %arg6: i32 {tile.divisibility = 16 : i32}, %arg7: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x64xi32, #layout>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout1>
    %c0_i32 = arith.constant 0 : i32
    %c64_i32 = arith.constant 64 : i32
    %0 = tile.program_id 1
    %1 = tile.program_id 0
    %2 = arith.muli %1, %c64_i32 : i32
    %3 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %4 = tile.arange 0, 64 : tensor<64xi32, #layout3>
    %5 = tile.splat %2 : tensor<64xi32, #layout2>
    %6 = arith.addi %5, %3 : tensor<64xi32, #layout2>
    %7 = arith.muli %0, %arg4 : i32
    %8 = tile.addptr %arg0, %7 : !tile.ptr<f16>, i32
    %9 = tile.expand_dims %6, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %10 = tile.splat %arg5 : tensor<64x1xi32, #layout4>
    %11 = arith.muli %9, %10 : tensor<64x1xi32, #layout4>
    %12 = tile.splat %8 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %13 = tile.addptr %12, %11 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %14 = tile.expand_dims %4, 0 : tensor<64xi32, #layout3> -> tensor<1x64xi32, #layout5>
    %15 = tile.broadcast %13 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %16 = tile.broadcast %14 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout>
    %17 = tile.addptr %15, %16 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %18 = tile.expand_dims %3, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %19 = tile.splat %arg6 : tensor<64x1xi32, #layout4>
    %20 = arith.muli %18, %19 : tensor<64x1xi32, #layout4>
    %21 = tile.splat %arg1 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %22 = tile.addptr %21, %20 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %23 = tile.broadcast %22 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %24 = tile.addptr %23, %16 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %25 = arith.muli %arg6, %c64_i32 : i32
    %26 = tile.splat %25 : tensor<64x64xi32, #layout>
    %27:3 = scf.for %arg8 = %c0_i32 to %arg3 step %c64_i32 iter_args(%arg9 = %cst_0, %arg10 = %17, %arg11 = %24) -> (tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>)  : i32 {
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
      %43 = tile.addptr %arg11, %26 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      scf.yield %41, %42, %43 : tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>
    }
    %28 = tile.splat %arg7 : tensor<64x1xi32, #layout4>
    %29 = arith.muli %9, %28 : tensor<64x1xi32, #layout4>
    %30 = tile.splat %arg2 : tensor<64x1x!tile.ptr<f16>, #layout4>
    %31 = tile.addptr %30, %29 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %32 = tile.broadcast %31 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %33 = tile.addptr %32, %16 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %34 = arith.truncf %27#0 : tensor<64x64xf32, #layout1> to tensor<64x64xf16, #layout1>
    %35 = tile.convert_layout %34 : tensor<64x64xf16, #layout1> -> tensor<64x64xf16, #layout>
    tile.store %33, %35 : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xf16, #layout>
    return
  }
}
