// A persistent kernel's output tiles are visited in raster order, group by group, so that tiles which are computed together read the same rows and columns.
// The input is a kernel as `nv-make-persistent` leaves it.
// RUN: pantile-opt %s -split-input-file -nv-order-raster | FileCheck %s
// CHECK-LABEL: @rows_and_columns
// CHECK-DAG: %[[HEIGHT:.*]] = tile.num_programs 1
// CHECK-DAG: %[[WIDTH:.*]] = tile.num_programs 0
// CHECK: scf.for %[[POSITION:.*]] = %{{.*}} to
// CHECK-NEXT: %[[PROGRAM:.*]] = nv.raster_program %[[POSITION]], %[[WIDTH]] x %[[HEIGHT]] by 16
// CHECK-NEXT: nv.program_at %[[PROGRAM]], 0
// CHECK-NEXT: nv.program_at %[[PROGRAM]], 1
#layout = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout1 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout2 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout3 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout4 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {nv.launch = #nv.launch<persistent = true>, tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @rows_and_columns(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: i32, %stride_a: i32 {tile.divisibility = 16 : i32}, %stride_b: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %c64 = arith.constant 64 : i32
    %c0 = arith.constant 0 : i32
    %ctas = nv.num_ctas
    %programs = nv.program_count
    %cta = nv.cta_id
    scf.for %program = %cta to %programs step %ctas : i32 {
      %row_tile = nv.program_at %program, 0
      %column_tile = nv.program_at %program, 1
      %row_range = tile.arange 0, 64 : tensor<64xi32, #layout1>
      %column_range = tile.arange 0, 64 : tensor<64xi32, #layout2>
      %first_row = arith.muli %row_tile, %c64 : i32
      %first_rows = tile.splat %first_row : tensor<64xi32, #layout1>
      %row_at = arith.addi %first_rows, %row_range : tensor<64xi32, #layout1>
      %rows = tile.expand_dims %row_at, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
      %a_strides = tile.splat %stride_a : tensor<64x1xi32, #layout3>
      %a_starts = arith.muli %rows, %a_strides : tensor<64x1xi32, #layout3>
      %a_base = tile.splat %a : tensor<64x1x!tile.ptr<f16>, #layout3>
      %a_rows = tile.addptr %a_base, %a_starts : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %a_tiles = tile.broadcast %a_rows : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %b_strides = tile.splat %stride_b : tensor<64x1xi32, #layout3>
      %b_base = tile.splat %b : tensor<64x1x!tile.ptr<f16>, #layout3>
      %first_column = arith.muli %column_tile, %c64 : i32
      %first_columns = tile.splat %first_column : tensor<64xi32, #layout2>
      %column_at = arith.addi %first_columns, %column_range : tensor<64xi32, #layout2>
      %columns = tile.expand_dims %column_at, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
      %column_tiles = tile.broadcast %columns : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
      %out = scf.for %at = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32, #layout>) : i32 {
        %steps = tile.splat %at : tensor<64xi32, #layout2>
        %b_steps = tile.splat %at : tensor<64xi32, #layout1>
        %depth = arith.addi %steps, %column_range : tensor<64xi32, #layout2>
        %b_depth = arith.addi %b_steps, %row_range : tensor<64xi32, #layout1>
        %depths = tile.expand_dims %depth, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
        %depth_tiles = tile.broadcast %depths : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
        %a_at = tile.addptr %a_tiles, %depth_tiles : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
        %x = tile.load %a_at : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
        %b_depths = tile.expand_dims %b_depth, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
        %b_starts = arith.muli %b_depths, %b_strides : tensor<64x1xi32, #layout3>
        %b_rows = tile.addptr %b_base, %b_starts : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
        %b_tiles = tile.broadcast %b_rows : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
        %b_at = tile.addptr %b_tiles, %column_tiles : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
        %y = tile.load %b_at : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
        %a_stage = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
        nv.local_store %x, %a_stage : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
        %b_stage = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
        nv.local_store %y, %b_stage : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
        nv.fence_async
        %sum = nv.wgmma %a_stage, %b_stage, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout>
        %next = nv.wgmma_wait 0, %sum : (tensor<64x64xf32, #layout>) -> tensor<64x64xf32, #layout>
        nv.dealloc %a_stage : <1 x[64, 64] x f16, <[1, 0], 128>>
        nv.dealloc %b_stage : <1 x[64, 64] x f16, <[1, 0], 128>>
        scf.yield %next : tensor<64x64xf32, #layout>
      }
      %c_starts = arith.muli %rows, %b_strides : tensor<64x1xi32, #layout3>
      %c_base = tile.splat %c : tensor<64x1x!tile.ptr<f16>, #layout3>
      %c_rows = tile.addptr %c_base, %c_starts : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %c_tiles = tile.broadcast %c_rows : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %c_at = tile.addptr %c_tiles, %column_tiles : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %half = arith.truncf %out : tensor<64x64xf32, #layout> to tensor<64x64xf16, #layout>
      %stored = tile.convert_layout %half : tensor<64x64xf16, #layout> -> tensor<64x64xf16, #layout4>
      tile.store %c_at, %stored : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xf16, #layout4>
    } {nv.programs}
    return
  }
}

// -----
// Both operands take the same axis of the grid: no order is better.
// CHECK-LABEL: @rows_alone
// CHECK-NOT: nv.raster_program
// CHECK: return
#layout = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout1 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout2 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout3 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout4 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {nv.launch = #nv.launch<persistent = true>, tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @rows_alone(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: i32, %stride_a: i32 {tile.divisibility = 16 : i32}, %stride_b: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %c64 = arith.constant 64 : i32
    %c0 = arith.constant 0 : i32
    %ctas = nv.num_ctas
    %programs = nv.program_count
    %cta = nv.cta_id
    scf.for %program = %cta to %programs step %ctas : i32 {
      %row_tile = nv.program_at %program, 0
      %column_tile = nv.program_at %program, 0
      %row_range = tile.arange 0, 64 : tensor<64xi32, #layout1>
      %column_range = tile.arange 0, 64 : tensor<64xi32, #layout2>
      %first_row = arith.muli %row_tile, %c64 : i32
      %first_rows = tile.splat %first_row : tensor<64xi32, #layout1>
      %row_at = arith.addi %first_rows, %row_range : tensor<64xi32, #layout1>
      %rows = tile.expand_dims %row_at, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
      %a_strides = tile.splat %stride_a : tensor<64x1xi32, #layout3>
      %a_starts = arith.muli %rows, %a_strides : tensor<64x1xi32, #layout3>
      %a_base = tile.splat %a : tensor<64x1x!tile.ptr<f16>, #layout3>
      %a_rows = tile.addptr %a_base, %a_starts : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %a_tiles = tile.broadcast %a_rows : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %b_strides = tile.splat %stride_b : tensor<64x1xi32, #layout3>
      %b_base = tile.splat %b : tensor<64x1x!tile.ptr<f16>, #layout3>
      %first_column = arith.muli %column_tile, %c64 : i32
      %first_columns = tile.splat %first_column : tensor<64xi32, #layout2>
      %column_at = arith.addi %first_columns, %column_range : tensor<64xi32, #layout2>
      %columns = tile.expand_dims %column_at, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
      %column_tiles = tile.broadcast %columns : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
      %out = scf.for %at = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32, #layout>) : i32 {
        %steps = tile.splat %at : tensor<64xi32, #layout2>
        %b_steps = tile.splat %at : tensor<64xi32, #layout1>
        %depth = arith.addi %steps, %column_range : tensor<64xi32, #layout2>
        %b_depth = arith.addi %b_steps, %row_range : tensor<64xi32, #layout1>
        %depths = tile.expand_dims %depth, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
        %depth_tiles = tile.broadcast %depths : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
        %a_at = tile.addptr %a_tiles, %depth_tiles : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
        %x = tile.load %a_at : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
        %b_depths = tile.expand_dims %b_depth, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
        %b_starts = arith.muli %b_depths, %b_strides : tensor<64x1xi32, #layout3>
        %b_rows = tile.addptr %b_base, %b_starts : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
        %b_tiles = tile.broadcast %b_rows : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
        %b_at = tile.addptr %b_tiles, %column_tiles : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
        %y = tile.load %b_at : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
        %a_stage = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
        nv.local_store %x, %a_stage : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
        %b_stage = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
        nv.local_store %y, %b_stage : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
        nv.fence_async
        %sum = nv.wgmma %a_stage, %b_stage, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout>
        %next = nv.wgmma_wait 0, %sum : (tensor<64x64xf32, #layout>) -> tensor<64x64xf32, #layout>
        nv.dealloc %a_stage : <1 x[64, 64] x f16, <[1, 0], 128>>
        nv.dealloc %b_stage : <1 x[64, 64] x f16, <[1, 0], 128>>
        scf.yield %next : tensor<64x64xf32, #layout>
      }
      %c_starts = arith.muli %rows, %b_strides : tensor<64x1xi32, #layout3>
      %c_base = tile.splat %c : tensor<64x1x!tile.ptr<f16>, #layout3>
      %c_rows = tile.addptr %c_base, %c_starts : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %c_tiles = tile.broadcast %c_rows : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %c_at = tile.addptr %c_tiles, %column_tiles : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %half = arith.truncf %out : tensor<64x64xf32, #layout> to tensor<64x64xf16, #layout>
      %stored = tile.convert_layout %half : tensor<64x64xf16, #layout> -> tensor<64x64xf16, #layout4>
      tile.store %c_at, %stored : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xf16, #layout4>
    } {nv.programs}
    return
  }
}
