// Load-dot loops get a producer where the rules of TmaAccess allow it (specialise-warps-refused.mlir: where not).
// Each input is a kernel as `nv-stage-operands` leaves it.
// RUN: pantile-opt %s -split-input-file -nv-specialise-warps 2>/dev/null >%t
// RUN: FileCheck %s --input-file %t
// RUN: FileCheck %s --input-file %t --check-prefix=PRODUCER
// RUN: FileCheck %s --input-file %t --check-prefix=CONSUMER
// RUN: FileCheck %s --input-file %t --check-prefix=RELEASED

// Example.
// The producer loads both operands by TMA and runs ahead; the others wait for a full stage, and release it once the MMA that reads it is complete.
// CHECK-LABEL: @even
// CHECK: nv.producer {
// CHECK: nv.mbarrier_wait %{{.*}}, true
// CHECK: nv.expect %{{.*}}, 16384
// CHECK-COUNT-2: nv.tma_load
// CHECK: nv.mbarrier_wait %{{.*}}, false
// CHECK: nv.wgmma
// CHECK: nv.release
#layout = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#layout1 = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#layout2 = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#layout3 = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout4 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#layout5 = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @even(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: i32, %stride_a: i32 {tile.divisibility = 16 : i32}, %stride_b: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
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
// Extents come from masks and from the remainder; the wrapped rows reach only masked-off stores.
// CHECK: affine_map<()[{{.*}}] -> (s5, s3)>
// CHECK: affine_map<()[{{.*}}] -> (s4, s5)>
// CHECK: producer_warps = 1
// CHECK-LABEL: @plain
// CHECK: nv.channel via tma : <4 x[64, 64] x f16
// CHECK: nv.mbarrier_init %{{.*}}, 4
// CHECK: nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>

// The producer waits for a free stage, and both loads arrive on its mbarrier.
// PRODUCER-LABEL: @plain
// PRODUCER: nv.producer {
// PRODUCER: scf.for
// PRODUCER: nv.mbarrier_wait %[[BARRIER:.*]], true
// PRODUCER: nv.expect %[[BARRIER]], 16384
// PRODUCER-NEXT: nv.select_stage
// PRODUCER-NEXT: nv.tma_load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}, %[[BARRIER]]
// PRODUCER-NEXT: nv.select_stage
// PRODUCER-NEXT: nv.tma_load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}, %[[BARRIER]]
// PRODUCER-NOT: nv.tma_load
// PRODUCER: nv.wgmma %

// Consumers load nothing: they wait for a full stage before its MMA.
// CONSUMER-LABEL: @plain
// CONSUMER: nv.tma_load
// CONSUMER: scf.for
// CONSUMER-NOT: tile.load
// CONSUMER-NOT: nv.wgmma %
// CONSUMER: nv.mbarrier_wait %{{.*}}, false
// CONSUMER: nv.wgmma %

// The wait is deferred by one iteration, and so is the release; the last stage is released after the loop.
// RELEASED-LABEL: @plain
// RELEASED: nv.wgmma %
// RELEASED-NEXT: nv.wgmma_wait done
// RELEASED: nv.release %{{.*}} if
// RELEASED: scf.yield
// RELEASED: nv.wgmma_wait %
// RELEASED: nv.release %{{.*}} if
// RELEASED: tile.store
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
  func.func @plain(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %m: i32, %n: i32 {tile.divisibility = 16 : i32}, %k: i32, %stride_a: i32 {tile.divisibility = 16 : i32}, %stride_b: i32 {tile.divisibility = 16 : i32}, %stride_c: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %fill = arith.constant dense<64> : tensor<64x64xi32, #layout>
    %zeros = arith.constant dense<0.000000e+00> : tensor<64x64xf16, #layout>
    %zeros2 = arith.constant dense<0.000000e+00> : tensor<64x64xf16, #layout1>
    %zeros3 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout2>
    %c1 = arith.constant 1 : i32
    %c0 = arith.constant 0 : i32
    %c63 = arith.constant 63 : i32
    %c64 = arith.constant 64 : i32
    %program = tile.program_id 0
    %program2 = tile.program_id 1
    %offset = arith.muli %program, %c64 : i32
    %range = tile.arange 0, 64 : tensor<64xi32, #layout3>
    %range2 = tile.arange 0, 64 : tensor<64xi32, #layout4>
    %range3 = tile.arange 0, 64 : tensor<64xi32, #layout5>
    %range4 = tile.arange 0, 64 : tensor<64xi32, #layout6>
    %offset_all = tile.splat %offset : tensor<64xi32, #layout3>
    %offset_all2 = tile.splat %offset : tensor<64xi32, #layout5>
    %index = arith.addi %offset_all, %range : tensor<64xi32, #layout3>
    %index2 = arith.addi %offset_all2, %range3 : tensor<64xi32, #layout5>
    %m_all = tile.splat %m : tensor<64xi32, #layout3>
    %wrapped = arith.remsi %index, %m_all : tensor<64xi32, #layout3>
    %offset2 = arith.muli %program2, %c64 : i32
    %offset2_all = tile.splat %offset2 : tensor<64xi32, #layout6>
    %index3 = arith.addi %offset2_all, %range4 : tensor<64xi32, #layout6>
    %wrapped_wide = tile.expand_dims %wrapped, 1 : tensor<64xi32, #layout3> -> tensor<64x1xi32, #layout7>
    %stride_a_all = tile.splat %stride_a : tensor<64x1xi32, #layout7>
    %offset3 = arith.muli %wrapped_wide, %stride_a_all : tensor<64x1xi32, #layout7>
    %a_all = tile.splat %a : tensor<64x1x!tile.ptr<f16>, #layout7>
    %at = tile.addptr %a_all, %offset3 : tensor<64x1x!tile.ptr<f16>, #layout7>, tensor<64x1xi32, #layout7>
    %range2_wide = tile.expand_dims %range2, 0 : tensor<64xi32, #layout4> -> tensor<1x64xi32, #layout8>
    %at_tile = tile.broadcast %at : tensor<64x1x!tile.ptr<f16>, #layout7> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %range2_tile = tile.broadcast %range2_wide : tensor<1x64xi32, #layout8> -> tensor<64x64xi32, #layout>
    %at2 = tile.addptr %at_tile, %range2_tile : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %range3_wide = tile.expand_dims %range3, 1 : tensor<64xi32, #layout5> -> tensor<64x1xi32, #layout9>
    %stride_b_all = tile.splat %stride_b : tensor<64x1xi32, #layout9>
    %offset4 = arith.muli %range3_wide, %stride_b_all : tensor<64x1xi32, #layout9>
    %b_all = tile.splat %b : tensor<64x1x!tile.ptr<f16>, #layout9>
    %at3 = tile.addptr %b_all, %offset4 : tensor<64x1x!tile.ptr<f16>, #layout9>, tensor<64x1xi32, #layout9>
    %index3_wide = tile.expand_dims %index3, 0 : tensor<64xi32, #layout6> -> tensor<1x64xi32, #layout10>
    %at3_tile = tile.broadcast %at3 : tensor<64x1x!tile.ptr<f16>, #layout9> -> tensor<64x64x!tile.ptr<f16>, #layout1>
    %index3_tile = tile.broadcast %index3_wide : tensor<1x64xi32, #layout10> -> tensor<64x64xi32, #layout1>
    %at4 = tile.addptr %at3_tile, %index3_tile : tensor<64x64x!tile.ptr<f16>, #layout1>, tensor<64x64xi32, #layout1>
    %index4 = arith.addi %k, %c63 : i32
    %steps = arith.divsi %index4, %c64 : i32
    %n_all = tile.splat %n : tensor<1x64xi32, #layout10>
    %mask = arith.cmpi slt, %index3_wide, %n_all : tensor<1x64xi32, #layout10>
    %mask_tile = tile.broadcast %mask : tensor<1x64xi1, #layout10> -> tensor<64x64xi1, #layout1>
    %offset5 = arith.muli %stride_b, %c64 : i32
    %offset5_all = tile.splat %offset5 : tensor<64x64xi32, #layout1>
    %out:3 = scf.for %next_c = %c0 to %steps step %c1 iter_args(%acc = %zeros3, %next_at = %at2, %next_at2 = %at4) -> (tensor<64x64xf32, #layout2>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout1>)  : i32 {
      %offset6 = arith.muli %next_c, %c64 : i32
      %left = arith.subi %k, %offset6 : i32
      %left_all = tile.splat %left : tensor<1x64xi32, #layout8>
      %mask2 = arith.cmpi slt, %range2_wide, %left_all : tensor<1x64xi32, #layout8>
      %mask2_tile = tile.broadcast %mask2 : tensor<1x64xi1, #layout8> -> tensor<64x64xi1, #layout>
      %loaded = tile.load %next_at mask %mask2_tile : tensor<64x64xi1, #layout> other %zeros : tensor<64x64xf16, #layout> : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %left_all2 = tile.splat %left : tensor<64x1xi32, #layout9>
      %mask3 = arith.cmpi slt, %range3_wide, %left_all2 : tensor<64x1xi32, #layout9>
      %mask3_tile = tile.broadcast %mask3 : tensor<64x1xi1, #layout9> -> tensor<64x64xi1, #layout1>
      %mask4 = arith.andi %mask3_tile, %mask_tile : tensor<64x64xi1, #layout1>
      %loaded2 = tile.load %next_at2 mask %mask4 : tensor<64x64xi1, #layout1> other %zeros2 : tensor<64x64xf16, #layout1> : tensor<64x64x!tile.ptr<f16>, #layout1> -> tensor<64x64xf16, #layout1>
      %buffer = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %loaded, %buffer : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %buffer2 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %loaded2, %buffer2 : tensor<64x64xf16, #layout1>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %mma = nv.wgmma %buffer, %buffer2, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout2>
      %done = nv.wgmma_wait 0, %mma : (tensor<64x64xf32, #layout2>) -> tensor<64x64xf32, #layout2>
      nv.dealloc %buffer : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %buffer2 : <1 x[64, 64] x f16, <[1, 0], 128>>
      %at5 = tile.addptr %next_at, %fill : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      %at6 = tile.addptr %next_at2, %offset5_all : tensor<64x64x!tile.ptr<f16>, #layout1>, tensor<64x64xi32, #layout1>
      scf.yield %done, %at5, %at6 : tensor<64x64xf32, #layout2>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout1>
    }
    %index2_wide = tile.expand_dims %index2, 1 : tensor<64xi32, #layout5> -> tensor<64x1xi32, #layout9>
    %stride_c_all = tile.splat %stride_c : tensor<64x1xi32, #layout9>
    %offset7 = arith.muli %index2_wide, %stride_c_all : tensor<64x1xi32, #layout9>
    %c_all = tile.splat %c : tensor<64x1x!tile.ptr<f16>, #layout9>
    %at7 = tile.addptr %c_all, %offset7 : tensor<64x1x!tile.ptr<f16>, #layout9>, tensor<64x1xi32, #layout9>
    %at7_tile = tile.broadcast %at7 : tensor<64x1x!tile.ptr<f16>, #layout9> -> tensor<64x64x!tile.ptr<f16>, #layout1>
    %at8 = tile.addptr %at7_tile, %index3_tile : tensor<64x64x!tile.ptr<f16>, #layout1>, tensor<64x64xi32, #layout1>
    %narrowed = arith.truncf %out#0 : tensor<64x64xf32, #layout2> to tensor<64x64xf16, #layout2>
    %converted = tile.convert_layout %narrowed : tensor<64x64xf16, #layout2> -> tensor<64x64xf16, #layout1>
    %m_all2 = tile.splat %m : tensor<64x1xi32, #layout9>
    %mask5 = arith.cmpi slt, %index2_wide, %m_all2 : tensor<64x1xi32, #layout9>
    %mask5_tile = tile.broadcast %mask5 : tensor<64x1xi1, #layout9> -> tensor<64x64xi1, #layout1>
    %mask6 = arith.andi %mask5_tile, %mask_tile : tensor<64x64xi1, #layout1>
    tile.store %at8, %converted mask %mask6 : tensor<64x64xi1, #layout1> : tensor<64x64x!tile.ptr<f16>, #layout1>, tensor<64x64xf16, #layout1>
    return
  }
}

// -----

// An offset of the program in addition to rows and columns is a further dimension.
// CHECK-LABEL: @batched
// PRODUCER-LABEL: @batched
// CONSUMER-LABEL: @batched
// RELEASED-LABEL: @batched
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
  func.func @batched(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %m: i32 {tile.divisibility = 16 : i32}, %n: i32 {tile.divisibility = 16 : i32}, %k: i32 {tile.divisibility = 16 : i32}, %stride_a: i32 {tile.divisibility = 16 : i32}, %stride_b: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %fill = arith.constant dense<64> : tensor<64x64xi32, #layout>
    %zeros = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout1>
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %program = tile.program_id 1
    %program2 = tile.program_id 0
    %offset = arith.muli %program2, %c64 : i32
    %range = tile.arange 0, 64 : tensor<64xi32, #layout2>
    %range2 = tile.arange 0, 64 : tensor<64xi32, #layout3>
    %offset_all = tile.splat %offset : tensor<64xi32, #layout2>
    %index = arith.addi %offset_all, %range : tensor<64xi32, #layout2>
    %offset2 = arith.muli %program, %n : i32
    %at = tile.addptr %a, %offset2 : !tile.ptr<f16>, i32
    %index_wide = tile.expand_dims %index, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %k_all = tile.splat %k : tensor<64x1xi32, #layout4>
    %offset3 = arith.muli %index_wide, %k_all : tensor<64x1xi32, #layout4>
    %at_all = tile.splat %at : tensor<64x1x!tile.ptr<f16>, #layout4>
    %at2 = tile.addptr %at_all, %offset3 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %range2_wide = tile.expand_dims %range2, 0 : tensor<64xi32, #layout3> -> tensor<1x64xi32, #layout5>
    %at2_tile = tile.broadcast %at2 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %range2_tile = tile.broadcast %range2_wide : tensor<1x64xi32, #layout5> -> tensor<64x64xi32, #layout>
    %at3 = tile.addptr %at2_tile, %range2_tile : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %range_wide = tile.expand_dims %range, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout4>
    %stride_a_all = tile.splat %stride_a : tensor<64x1xi32, #layout4>
    %offset4 = arith.muli %range_wide, %stride_a_all : tensor<64x1xi32, #layout4>
    %b_all = tile.splat %b : tensor<64x1x!tile.ptr<f16>, #layout4>
    %at4 = tile.addptr %b_all, %offset4 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %at4_tile = tile.broadcast %at4 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %at5 = tile.addptr %at4_tile, %range2_tile : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %offset5 = arith.muli %stride_a, %c64 : i32
    %offset5_all = tile.splat %offset5 : tensor<64x64xi32, #layout>
    %out:3 = scf.for %next_c = %c0 to %m step %c64 iter_args(%acc = %zeros, %next_at = %at3, %next_at2 = %at5) -> (tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>)  : i32 {
      %loaded = tile.load %next_at : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %loaded2 = tile.load %next_at2 : tensor<64x64x!tile.ptr<f16>, #layout> -> tensor<64x64xf16, #layout>
      %buffer = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %loaded, %buffer : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      %buffer2 = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.local_store %loaded2, %buffer2 : tensor<64x64xf16, #layout>, <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.fence_async
      %mma = nv.wgmma %buffer, %buffer2, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>, <1 x[64, 64] x f16, <[1, 0], 128>>, tensor<64x64xf32, #layout1>
      %done = nv.wgmma_wait 0, %mma : (tensor<64x64xf32, #layout1>) -> tensor<64x64xf32, #layout1>
      nv.dealloc %buffer : <1 x[64, 64] x f16, <[1, 0], 128>>
      nv.dealloc %buffer2 : <1 x[64, 64] x f16, <[1, 0], 128>>
      %at6 = tile.addptr %next_at, %fill : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      %at7 = tile.addptr %next_at2, %offset5_all : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
      scf.yield %done, %at6, %at7 : tensor<64x64xf32, #layout1>, tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64x!tile.ptr<f16>, #layout>
    }
    %stride_b_all = tile.splat %stride_b : tensor<64x1xi32, #layout4>
    %offset6 = arith.muli %index_wide, %stride_b_all : tensor<64x1xi32, #layout4>
    %c_all = tile.splat %c : tensor<64x1x!tile.ptr<f16>, #layout4>
    %at8 = tile.addptr %c_all, %offset6 : tensor<64x1x!tile.ptr<f16>, #layout4>, tensor<64x1xi32, #layout4>
    %at8_tile = tile.broadcast %at8 : tensor<64x1x!tile.ptr<f16>, #layout4> -> tensor<64x64x!tile.ptr<f16>, #layout>
    %at9 = tile.addptr %at8_tile, %range2_tile : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xi32, #layout>
    %narrowed = arith.truncf %out#0 : tensor<64x64xf32, #layout1> to tensor<64x64xf16, #layout1>
    %converted = tile.convert_layout %narrowed : tensor<64x64xf16, #layout1> -> tensor<64x64xf16, #layout>
    tile.store %at9, %converted : tensor<64x64x!tile.ptr<f16>, #layout>, tensor<64x64xf16, #layout>
    return
  }
}
