// Where that was chosen, a CTA runs one program after the other.
// RUN: pantile-opt %s -split-input-file -nv-make-persistent | FileCheck %s
// RUN: pantile-opt %s -split-input-file -nv-make-persistent -nv-specialise-warps | FileCheck %s --check-prefix=ROLES

// CHECK: module attributes {nv.launch = #nv.launch<persistent = true
// CHECK-LABEL: @plain
// CHECK-DAG: %[[FIRST:.*]] = nv.cta_id
// CHECK-DAG: %[[COUNT:.*]] = nv.program_count
// CHECK-DAG: %[[BLOCKS:.*]] = nv.num_ctas
// CHECK: scf.for %[[PROGRAM:.*]] = %[[FIRST]] to %[[COUNT]] step %[[BLOCKS]]
// CHECK-DAG: nv.program_at %[[PROGRAM]], 0
// CHECK-DAG: nv.program_at %[[PROGRAM]], 1
// CHECK-NOT: tile.program_id
// CHECK: tile.store
// CHECK: } {nv.programs}
// CHECK-NEXT: return

// The circular buffers live until the last program has ended, and stage indices are counted over all of them.
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
  func.func @plain(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: i32, %stride_a: i32 {tile.divisibility = 16 : i32}, %stride_b: i32 {tile.divisibility = 16 : i32}) attributes {nv.candidates = [#nv.candidate<map = persistent, producer = true, chosen = true>], tile.kernel} {
    %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %c64 = arith.constant 64 : i32
    %c0 = arith.constant 0 : i32
    %row_tile = tile.program_id 0
    %column_tile = tile.program_id 1
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
    %out = scf.for %at = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32, #layout>)  : i32 {
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
    return
  }
}

// -----

// The grid stays the user's, and so does its order: a program of the third axis. What all programs compute alike precedes them.
// CHECK-LABEL: @asks_the_grid
// CHECK: tile.num_programs 1
// CHECK: scf.for %[[PROGRAM:.*]] =
// CHECK: nv.program_at %[[PROGRAM]], 2
#layout = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout1 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout2 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout3 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout4 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @asks_the_grid(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %m: i32, %n: i32 {tile.divisibility = 16 : i32}, %k: i32 {tile.divisibility = 16 : i32}) attributes {nv.candidates = [#nv.candidate<map = persistent, producer = true, chosen = true>], tile.kernel} {
    %zeros = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %c64 = arith.constant 64 : i32
    %c0 = arith.constant 0 : i32
    %program = tile.program_id 2
    %programs = tile.num_programs 1
    %range = tile.arange 0, 64 : tensor<64xi32, #layout1>
    %range2 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %offset = arith.muli %program, %c64 : i32
    %offset_all = tile.splat %offset : tensor<64xi32, #layout1>
    %index = arith.addi %offset_all, %range : tensor<64xi32, #layout1>
    %index_wide = tile.expand_dims %index, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
    %n_all = tile.splat %n : tensor<64x1xi32, #layout3>
    %offset2 = arith.muli %index_wide, %n_all : tensor<64x1xi32, #layout3>
    %a_all = tile.splat %a : tensor<64x1x!tile.ptr<f16>, #layout3>
    %at = tile.addptr %a_all, %offset2 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
    %at_tile = tile.broadcast %at : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
    %k_all = tile.splat %k : tensor<64x1xi32, #layout3>
    %b_all = tile.splat %b : tensor<64x1x!tile.ptr<f16>, #layout3>
    %offset3 = arith.muli %programs, %c64 : i32
    %offset3_all = tile.splat %offset3 : tensor<64xi32, #layout2>
    %index2 = arith.addi %offset3_all, %range2 : tensor<64xi32, #layout2>
    %index2_wide = tile.expand_dims %index2, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
    %index2_tile = tile.broadcast %index2_wide : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
    %out = scf.for %next_c = %c0 to %m step %c64 iter_args(%acc = %zeros) -> (tensor<64x64xf32, #layout>)  : i32 {
      %next_c_all = tile.splat %next_c : tensor<64xi32, #layout2>
      %next_c_all2 = tile.splat %next_c : tensor<64xi32, #layout1>
      %index3 = arith.addi %next_c_all, %range2 : tensor<64xi32, #layout2>
      %index4 = arith.addi %next_c_all2, %range : tensor<64xi32, #layout1>
      %index3_wide = tile.expand_dims %index3, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
      %index3_tile = tile.broadcast %index3_wide : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
      %at2 = tile.addptr %at_tile, %index3_tile : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %loaded = tile.load %at2 : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
      %index4_wide = tile.expand_dims %index4, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
      %offset4 = arith.muli %index4_wide, %k_all : tensor<64x1xi32, #layout3>
      %at3 = tile.addptr %b_all, %offset4 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %at3_tile = tile.broadcast %at3 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %at4 = tile.addptr %at3_tile, %index2_tile : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %loaded2 = tile.load %at4 : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
      %buffer = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %loaded, %buffer : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %buffer2 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %loaded2, %buffer2 : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %mma = nv.wgmma %buffer, %buffer2, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout>
      %done = nv.wgmma_wait 0, %mma : (tensor<64x64xf32, #layout>) -> tensor<64x64xf32, #layout>
      nv.dealloc %buffer : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %buffer2 : <1 x[64, 64] x f16, <[1, 0], 128>>
      scf.yield %done : tensor<64x64xf32, #layout>
    }
    %offset5 = arith.muli %index_wide, %k_all : tensor<64x1xi32, #layout3>
    %c_all = tile.splat %c : tensor<64x1x!tile.ptr<f16>, #layout3>
    %at5 = tile.addptr %c_all, %offset5 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
    %at5_tile = tile.broadcast %at5 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
    %at6 = tile.addptr %at5_tile, %index2_tile : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
    %narrowed = arith.truncf %out : tensor<64x64xf32, #layout> to tensor<64x64xf16, #layout>
    %converted = tile.convert_layout %narrowed : tensor<64x64xf16, #layout> -> tensor<64x64xf16, #layout4>
    tile.store %at6, %converted : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xf16, #layout4>
    return
  }
}

// -----

// A return ends a program, not the CTA.
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
  func.func @returns_early(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %m: i32, %n: i32 {tile.divisibility = 16 : i32}, %k: i32 {tile.divisibility = 16 : i32}) attributes {nv.candidates = [#nv.candidate<map = persistent, producer = true, chosen = true>], tile.kernel} {
    %zeros = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %c64 = arith.constant 64 : i32
    %c0 = arith.constant 0 : i32
    %program = tile.program_id 0
    %program2 = tile.program_id 1
    %range = tile.arange 0, 64 : tensor<64xi32, #layout1>
    %range2 = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %offset = arith.muli %program, %c64 : i32
    %offset_all = tile.splat %offset : tensor<64xi32, #layout1>
    %index = arith.addi %offset_all, %range : tensor<64xi32, #layout1>
    %index_wide = tile.expand_dims %index, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
    %n_all = tile.splat %n : tensor<64x1xi32, #layout3>
    %offset2 = arith.muli %index_wide, %n_all : tensor<64x1xi32, #layout3>
    %a_all = tile.splat %a : tensor<64x1x!tile.ptr<f16>, #layout3>
    %at = tile.addptr %a_all, %offset2 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
    %at_tile = tile.broadcast %at : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
    %k_all = tile.splat %k : tensor<64x1xi32, #layout3>
    %b_all = tile.splat %b : tensor<64x1x!tile.ptr<f16>, #layout3>
    %offset3 = arith.muli %program2, %c64 : i32
    %offset3_all = tile.splat %offset3 : tensor<64xi32, #layout2>
    %index2 = arith.addi %offset3_all, %range2 : tensor<64xi32, #layout2>
    %index2_wide = tile.expand_dims %index2, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
    %index2_tile = tile.broadcast %index2_wide : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
    %out = scf.for %next_c = %c0 to %m step %c64 iter_args(%acc = %zeros) -> (tensor<64x64xf32, #layout>)  : i32 {
      %offset5 = tile.splat %next_c : tensor<64xi32, #layout2>
      %c_all = tile.splat %next_c : tensor<64xi32, #layout1>
      %at5 = arith.addi %offset5, %range2 : tensor<64xi32, #layout2>
      %at5_tile = arith.addi %c_all, %range : tensor<64xi32, #layout1>
      %at6 = tile.expand_dims %at5, 0 : tensor<64xi32, #layout2> -> tensor<1x64xi32, #layout5>
      %narrowed = tile.broadcast %at6 : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout4>
      %converted = tile.addptr %at_tile, %narrowed : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %loaded = tile.load %converted : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
      %index4_wide = tile.expand_dims %at5_tile, 1 : tensor<64xi32, #layout1> -> tensor<64x1xi32, #layout3>
      %offset4 = arith.muli %index4_wide, %k_all : tensor<64x1xi32, #layout3>
      %at3 = tile.addptr %b_all, %offset4 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %at3_tile = tile.broadcast %at3 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %at4 = tile.addptr %at3_tile, %index2_tile : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %loaded2 = tile.load %at4 : tensor<64x64x!tile.ptr<f16>, #layout4> -> tensor<64x64xf16, #layout4>
      %buffer = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %loaded, %buffer : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %buffer2 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %loaded2, %buffer2 : tensor<64x64xf16, #layout4>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %mma = nv.wgmma %buffer, %buffer2, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout>
      %done = nv.wgmma_wait 0, %mma : (tensor<64x64xf32, #layout>) -> tensor<64x64xf32, #layout>
      nv.dealloc %buffer : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %buffer2 : <1 x[64, 64] x f16, <[1, 0], 128>>
      scf.yield %done : tensor<64x64xf32, #layout>
    }
    %mask = arith.cmpi slt, %program, %program2 : i32
    scf.if %mask {
    } else {
      %offset5 = arith.muli %index_wide, %k_all : tensor<64x1xi32, #layout3>
      %c_all = tile.splat %c : tensor<64x1x!tile.ptr<f16>, #layout3>
      %at5 = tile.addptr %c_all, %offset5 : tensor<64x1x!tile.ptr<f16>, #layout3>, tensor<64x1xi32, #layout3>
      %at5_tile = tile.broadcast %at5 : tensor<64x1x!tile.ptr<f16>, #layout3> -> tensor<64x64x!tile.ptr<f16>, #layout4>
      %at6 = tile.addptr %at5_tile, %index2_tile : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xi32, #layout4>
      %narrowed = arith.truncf %out : tensor<64x64xf32, #layout> to tensor<64x64xf16, #layout>
      %converted = tile.convert_layout %narrowed : tensor<64x64xf16, #layout> -> tensor<64x64xf16, #layout4>
      tile.store %at6, %converted : tensor<64x64x!tile.ptr<f16>, #layout4>, tensor<64x64xf16, #layout4>
    }
    return
  }
}
