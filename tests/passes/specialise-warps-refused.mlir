// Kernels whose loads must not be converted to TMA: a remark says which rule each breaks.
// Each is a load-dot loop with one property that forbids it; specialise-warps.mlir has loops without.
// RUN: pantile-opt %s -split-input-file -nv-specialise-warps 2>/dev/null | FileCheck %s
// RUN: pantile-opt %s -split-input-file -nv-specialise-warps -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Tiles of 64 rows start 56 rows apart: the rows of A wrap modulo %height, and those of C, which are stored without a mask, do not.
// WHY: warps are not specialised: a modulo in its address wraps rows that are used
// CHECK-LABEL: @wraps_into_used_rows
// CHECK-NOT: nv.producer
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#rows = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#column = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#columns = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
!row = tensor<64xi32, #row>
!rows = tensor<64x1xi32, #rows>
!column = tensor<64xi32, #column>
!columns = tensor<1x64xi32, #columns>
!offsets = tensor<64x64xi32, #load>
!ptrs = tensor<64x64x!tile.ptr<f16>, #load>
!operand = tensor<64x64xf16, #load>
!half = tensor<64x64xf16, #acc>
!sum = tensor<64x64xf32, #acc>
!stage = !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @wraps_into_used_rows(
      %a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32},
      %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %height: i32, %k: i32,
      %a_stride: i32 {tile.divisibility = 16 : i32}, %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zeros = arith.constant dense<0.000000e+00> : !sum
    %step = arith.constant dense<64> : !offsets
    %c56 = arith.constant 56 : i32
    %row = tile.arange 0, 64 : !row
    %column = tile.arange 0, 64 : !column
    %rows = tile.expand_dims %row, 1 : !row -> !rows
    %columns = tile.expand_dims %column, 0 : !column -> !columns
    %column_tiles = tile.broadcast %columns : !columns -> !offsets
    %strides = tile.splat %stride : !rows
    %starts = arith.muli %rows, %strides : !rows
    %start_tiles = tile.broadcast %starts : !rows -> !offsets
    %offsets = arith.addi %start_tiles, %column_tiles : !offsets
    %program = tile.program_id 0
    %first = arith.muli %program, %c56 : i32
    %firsts = tile.splat %first : !row
    %tile_row = arith.addi %firsts, %row : !row
    %heights = tile.splat %height : !row
    %wrapped = arith.remsi %tile_row, %heights : !row
    %a_rows = tile.expand_dims %wrapped, 1 : !row -> !rows
    %a_strides = tile.splat %a_stride : !rows
    %a_starts = arith.muli %a_rows, %a_strides : !rows
    %a_start_tiles = tile.broadcast %a_starts : !rows -> !offsets
    %a_offsets = arith.addi %a_start_tiles, %column_tiles : !offsets
    %a_tiles = tile.splat %a : !ptrs
    %b_tiles = tile.splat %b : !ptrs
    %x_first = tile.addptr %a_tiles, %a_offsets : !ptrs, !offsets
    %y_first = tile.addptr %b_tiles, %offsets : !ptrs, !offsets
    %out:3 = scf.for %at = %c0 to %k step %c64
        iter_args(%acc = %zeros, %x_at = %x_first, %y_at = %y_first) -> (!sum, !ptrs, !ptrs) : i32 {
      %x = tile.load %x_at : !ptrs -> !operand
      %y = tile.load %y_at : !ptrs -> !operand
      %x_stage = nv.alloc : !stage
      nv.local_store %x, %x_stage : !operand, !stage
      %y_stage = nv.alloc : !stage
      nv.local_store %y, %y_stage : !operand, !stage
      nv.fence_async
      %sum = nv.wgmma %x_stage, %y_stage, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !sum
      %complete = nv.wgmma_wait 0, %sum : (!sum) -> !sum
      nv.dealloc %x_stage : !stage
      nv.dealloc %y_stage : !stage
      %x_next = tile.addptr %x_at, %step : !ptrs, !offsets
      %y_next = tile.addptr %y_at, %step : !ptrs, !offsets
      scf.yield %complete, %x_next, %y_next : !sum, !ptrs, !ptrs
    }
    %c_rows = tile.expand_dims %tile_row, 1 : !row -> !rows
    %c_starts = arith.muli %c_rows, %strides : !rows
    %c_start_tiles = tile.broadcast %c_starts : !rows -> !offsets
    %c_offsets = arith.addi %c_start_tiles, %column_tiles : !offsets
    %c_tiles = tile.splat %c : !ptrs
    %c_at = tile.addptr %c_tiles, %c_offsets : !ptrs, !offsets
    %rounded = arith.truncf %out#0 : !sum to !half
    %stored = tile.convert_layout %rounded : !half -> !operand
    tile.store %c_at, %stored : !ptrs, !operand
    return
  }
}

// -----

// Where TMA writes zeros past the end of A, the kernel needs ones.
// WHY: warps are not specialised: `other` is not zero
// CHECK-LABEL: @other_is_not_zero
// CHECK-NOT: nv.producer
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#rows = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#column = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#columns = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
!row = tensor<64xi32, #row>
!rows = tensor<64x1xi32, #rows>
!column = tensor<64xi32, #column>
!columns = tensor<1x64xi32, #columns>
!offsets = tensor<64x64xi32, #load>
!ptrs = tensor<64x64x!tile.ptr<f16>, #load>
!operand = tensor<64x64xf16, #load>
!half = tensor<64x64xf16, #acc>
!sum = tensor<64x64xf32, #acc>
!stage = !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>
!mask = tensor<64x64xi1, #load>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @other_is_not_zero(
      %a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32},
      %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: i32 {tile.divisibility = 16 : i32},
      %a_stride: i32 {tile.divisibility = 16 : i32}, %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zeros = arith.constant dense<0.000000e+00> : !sum
    %step = arith.constant dense<64> : !offsets
    %other = arith.constant dense<1.000000e+00> : !operand
    %row = tile.arange 0, 64 : !row
    %column = tile.arange 0, 64 : !column
    %rows = tile.expand_dims %row, 1 : !row -> !rows
    %columns = tile.expand_dims %column, 0 : !column -> !columns
    %column_tiles = tile.broadcast %columns : !columns -> !offsets
    %strides = tile.splat %stride : !rows
    %starts = arith.muli %rows, %strides : !rows
    %start_tiles = tile.broadcast %starts : !rows -> !offsets
    %offsets = arith.addi %start_tiles, %column_tiles : !offsets
    %a_strides = tile.splat %a_stride : !rows
    %a_starts = arith.muli %rows, %a_strides : !rows
    %a_start_tiles = tile.broadcast %a_starts : !rows -> !offsets
    %a_offsets = arith.addi %a_start_tiles, %column_tiles : !offsets
    %a_tiles = tile.splat %a : !ptrs
    %b_tiles = tile.splat %b : !ptrs
    %x_first = tile.addptr %a_tiles, %a_offsets : !ptrs, !offsets
    %y_first = tile.addptr %b_tiles, %offsets : !ptrs, !offsets
    %out:3 = scf.for %at = %c0 to %k step %c64
        iter_args(%acc = %zeros, %x_at = %x_first, %y_at = %y_first) -> (!sum, !ptrs, !ptrs) : i32 {
      %left = arith.subi %k, %at : i32
      %lefts = tile.splat %left : !columns
      %within = arith.cmpi slt, %columns, %lefts : !columns
      %mask = tile.broadcast %within : tensor<1x64xi1, #columns> -> !mask
      %x = tile.load %x_at mask %mask : !mask other %other : !operand : !ptrs -> !operand
      %y = tile.load %y_at : !ptrs -> !operand
      %x_stage = nv.alloc : !stage
      nv.local_store %x, %x_stage : !operand, !stage
      %y_stage = nv.alloc : !stage
      nv.local_store %y, %y_stage : !operand, !stage
      nv.fence_async
      %sum = nv.wgmma %x_stage, %y_stage, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !sum
      %complete = nv.wgmma_wait 0, %sum : (!sum) -> !sum
      nv.dealloc %x_stage : !stage
      nv.dealloc %y_stage : !stage
      %x_next = tile.addptr %x_at, %step : !ptrs, !offsets
      %y_next = tile.addptr %y_at, %step : !ptrs, !offsets
      scf.yield %complete, %x_next, %y_next : !sum, !ptrs, !ptrs
    }
    %c_tiles = tile.splat %c : !ptrs
    %c_at = tile.addptr %c_tiles, %offsets : !ptrs, !offsets
    %rounded = arith.truncf %out#0 : !sum to !half
    %stored = tile.convert_layout %rounded : !half -> !operand
    tile.store %c_at, %stored : !ptrs, !operand
    return
  }
}

// -----

// The loop stores to A: TMA might not see what a thread of this kernel has stored.
// WHY: warps are not specialised: memory that it loads may have been written before
// CHECK-LABEL: @stores_before
// CHECK-NOT: nv.producer
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#rows = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#column = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#columns = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
!row = tensor<64xi32, #row>
!rows = tensor<64x1xi32, #rows>
!column = tensor<64xi32, #column>
!columns = tensor<1x64xi32, #columns>
!offsets = tensor<64x64xi32, #load>
!ptrs = tensor<64x64x!tile.ptr<f16>, #load>
!operand = tensor<64x64xf16, #load>
!half = tensor<64x64xf16, #acc>
!sum = tensor<64x64xf32, #acc>
!stage = !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @stores_before(
      %a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32},
      %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: i32,
      %a_stride: i32 {tile.divisibility = 16 : i32}, %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zeros = arith.constant dense<0.000000e+00> : !sum
    %step = arith.constant dense<64> : !offsets
    %one = arith.constant 1.000000e+00 : f16
    %row = tile.arange 0, 64 : !row
    %column = tile.arange 0, 64 : !column
    %rows = tile.expand_dims %row, 1 : !row -> !rows
    %columns = tile.expand_dims %column, 0 : !column -> !columns
    %column_tiles = tile.broadcast %columns : !columns -> !offsets
    %strides = tile.splat %stride : !rows
    %starts = arith.muli %rows, %strides : !rows
    %start_tiles = tile.broadcast %starts : !rows -> !offsets
    %offsets = arith.addi %start_tiles, %column_tiles : !offsets
    %a_strides = tile.splat %a_stride : !rows
    %a_starts = arith.muli %rows, %a_strides : !rows
    %a_start_tiles = tile.broadcast %a_starts : !rows -> !offsets
    %a_offsets = arith.addi %a_start_tiles, %column_tiles : !offsets
    %a_tiles = tile.splat %a : !ptrs
    %b_tiles = tile.splat %b : !ptrs
    %x_first = tile.addptr %a_tiles, %a_offsets : !ptrs, !offsets
    %y_first = tile.addptr %b_tiles, %offsets : !ptrs, !offsets
    %out:3 = scf.for %at = %c0 to %k step %c64
        iter_args(%acc = %zeros, %x_at = %x_first, %y_at = %y_first) -> (!sum, !ptrs, !ptrs) : i32 {
      tile.store %a, %one : !tile.ptr<f16>, f16
      %x = tile.load %x_at : !ptrs -> !operand
      %y = tile.load %y_at : !ptrs -> !operand
      %x_stage = nv.alloc : !stage
      nv.local_store %x, %x_stage : !operand, !stage
      %y_stage = nv.alloc : !stage
      nv.local_store %y, %y_stage : !operand, !stage
      nv.fence_async
      %sum = nv.wgmma %x_stage, %y_stage, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !sum
      %complete = nv.wgmma_wait 0, %sum : (!sum) -> !sum
      nv.dealloc %x_stage : !stage
      nv.dealloc %y_stage : !stage
      %x_next = tile.addptr %x_at, %step : !ptrs, !offsets
      %y_next = tile.addptr %y_at, %step : !ptrs, !offsets
      scf.yield %complete, %x_next, %y_next : !sum, !ptrs, !ptrs
    }
    %c_tiles = tile.splat %c : !ptrs
    %c_at = tile.addptr %c_tiles, %offsets : !ptrs, !offsets
    %rounded = arith.truncf %out#0 : !sum to !half
    %stored = tile.convert_layout %rounded : !half -> !operand
    tile.store %c_at, %stored : !ptrs, !operand
    return
  }
}

// -----

// The first program reads rows -64 to -1 of A.
// WHY: warps are not specialised: a coordinate may be negative
// CHECK-LABEL: @before_the_tensor
// CHECK-NOT: nv.producer
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#rows = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#column = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#columns = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
!row = tensor<64xi32, #row>
!rows = tensor<64x1xi32, #rows>
!column = tensor<64xi32, #column>
!columns = tensor<1x64xi32, #columns>
!offsets = tensor<64x64xi32, #load>
!ptrs = tensor<64x64x!tile.ptr<f16>, #load>
!operand = tensor<64x64xf16, #load>
!half = tensor<64x64xf16, #acc>
!sum = tensor<64x64xf32, #acc>
!stage = !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @before_the_tensor(
      %a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32},
      %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: i32,
      %a_stride: i32 {tile.divisibility = 16 : i32}, %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zeros = arith.constant dense<0.000000e+00> : !sum
    %step = arith.constant dense<64> : !offsets
    %c1 = arith.constant 1 : i32
    %row = tile.arange 0, 64 : !row
    %column = tile.arange 0, 64 : !column
    %rows = tile.expand_dims %row, 1 : !row -> !rows
    %columns = tile.expand_dims %column, 0 : !column -> !columns
    %column_tiles = tile.broadcast %columns : !columns -> !offsets
    %strides = tile.splat %stride : !rows
    %starts = arith.muli %rows, %strides : !rows
    %start_tiles = tile.broadcast %starts : !rows -> !offsets
    %offsets = arith.addi %start_tiles, %column_tiles : !offsets
    %program = tile.program_id 0
    %before = arith.subi %program, %c1 : i32
    %first = arith.muli %before, %c64 : i32
    %firsts = tile.splat %first : !row
    %tile_row = arith.addi %firsts, %row : !row
    %a_rows = tile.expand_dims %tile_row, 1 : !row -> !rows
    %a_strides = tile.splat %a_stride : !rows
    %a_starts = arith.muli %a_rows, %a_strides : !rows
    %a_start_tiles = tile.broadcast %a_starts : !rows -> !offsets
    %a_offsets = arith.addi %a_start_tiles, %column_tiles : !offsets
    %a_tiles = tile.splat %a : !ptrs
    %b_tiles = tile.splat %b : !ptrs
    %x_first = tile.addptr %a_tiles, %a_offsets : !ptrs, !offsets
    %y_first = tile.addptr %b_tiles, %offsets : !ptrs, !offsets
    %out:3 = scf.for %at = %c0 to %k step %c64
        iter_args(%acc = %zeros, %x_at = %x_first, %y_at = %y_first) -> (!sum, !ptrs, !ptrs) : i32 {
      %x = tile.load %x_at : !ptrs -> !operand
      %y = tile.load %y_at : !ptrs -> !operand
      %x_stage = nv.alloc : !stage
      nv.local_store %x, %x_stage : !operand, !stage
      %y_stage = nv.alloc : !stage
      nv.local_store %y, %y_stage : !operand, !stage
      nv.fence_async
      %sum = nv.wgmma %x_stage, %y_stage, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !sum
      %complete = nv.wgmma_wait 0, %sum : (!sum) -> !sum
      nv.dealloc %x_stage : !stage
      nv.dealloc %y_stage : !stage
      %x_next = tile.addptr %x_at, %step : !ptrs, !offsets
      %y_next = tile.addptr %y_at, %step : !ptrs, !offsets
      scf.yield %complete, %x_next, %y_next : !sum, !ptrs, !ptrs
    }
    %c_tiles = tile.splat %c : !ptrs
    %c_at = tile.addptr %c_tiles, %offsets : !ptrs, !offsets
    %rounded = arith.truncf %out#0 : !sum to !half
    %stored = tile.convert_layout %rounded : !half -> !operand
    tile.store %c_at, %stored : !ptrs, !operand
    return
  }
}

// -----

// The stride of A is odd.
// WHY: warps are not specialised: a stride is not known on the host to be a multiple of 16 bytes
// CHECK-LABEL: @odd_stride
// CHECK-NOT: nv.producer
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#rows = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#column = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#columns = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
!row = tensor<64xi32, #row>
!rows = tensor<64x1xi32, #rows>
!column = tensor<64xi32, #column>
!columns = tensor<1x64xi32, #columns>
!offsets = tensor<64x64xi32, #load>
!ptrs = tensor<64x64x!tile.ptr<f16>, #load>
!operand = tensor<64x64xf16, #load>
!half = tensor<64x64xf16, #acc>
!sum = tensor<64x64xf32, #acc>
!stage = !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @odd_stride(
      %a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32},
      %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: i32,
      %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %a_stride = arith.constant 1001 : i32
    %c64 = arith.constant 64 : i32
    %zeros = arith.constant dense<0.000000e+00> : !sum
    %step = arith.constant dense<64> : !offsets
    %row = tile.arange 0, 64 : !row
    %column = tile.arange 0, 64 : !column
    %rows = tile.expand_dims %row, 1 : !row -> !rows
    %columns = tile.expand_dims %column, 0 : !column -> !columns
    %column_tiles = tile.broadcast %columns : !columns -> !offsets
    %strides = tile.splat %stride : !rows
    %starts = arith.muli %rows, %strides : !rows
    %start_tiles = tile.broadcast %starts : !rows -> !offsets
    %offsets = arith.addi %start_tiles, %column_tiles : !offsets
    %a_strides = tile.splat %a_stride : !rows
    %a_starts = arith.muli %rows, %a_strides : !rows
    %a_start_tiles = tile.broadcast %a_starts : !rows -> !offsets
    %a_offsets = arith.addi %a_start_tiles, %column_tiles : !offsets
    %a_tiles = tile.splat %a : !ptrs
    %b_tiles = tile.splat %b : !ptrs
    %x_first = tile.addptr %a_tiles, %a_offsets : !ptrs, !offsets
    %y_first = tile.addptr %b_tiles, %offsets : !ptrs, !offsets
    %out:3 = scf.for %at = %c0 to %k step %c64
        iter_args(%acc = %zeros, %x_at = %x_first, %y_at = %y_first) -> (!sum, !ptrs, !ptrs) : i32 {
      %x = tile.load %x_at : !ptrs -> !operand
      %y = tile.load %y_at : !ptrs -> !operand
      %x_stage = nv.alloc : !stage
      nv.local_store %x, %x_stage : !operand, !stage
      %y_stage = nv.alloc : !stage
      nv.local_store %y, %y_stage : !operand, !stage
      nv.fence_async
      %sum = nv.wgmma %x_stage, %y_stage, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !sum
      %complete = nv.wgmma_wait 0, %sum : (!sum) -> !sum
      nv.dealloc %x_stage : !stage
      nv.dealloc %y_stage : !stage
      %x_next = tile.addptr %x_at, %step : !ptrs, !offsets
      %y_next = tile.addptr %y_at, %step : !ptrs, !offsets
      scf.yield %complete, %x_next, %y_next : !sum, !ptrs, !ptrs
    }
    %c_tiles = tile.splat %c : !ptrs
    %c_at = tile.addptr %c_tiles, %offsets : !ptrs, !offsets
    %rounded = arith.truncf %out#0 : !sum to !half
    %stored = tile.convert_layout %rounded : !half -> !operand
    tile.store %c_at, %stored : !ptrs, !operand
    return
  }
}

// -----

// The row of A that a row of the tile is loaded from is in memory.
// WHY: warps are not specialised: its addresses are not affine in the indices
// CHECK-LABEL: @rows_by_index
// CHECK-NOT: nv.producer
#load = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [[16], [32]], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>
#rows = #tile.layout<[64, 1], reg = [[16, 0], [32, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#column = #tile.layout<[64], reg = [[1], [2], [4]], lane = [[8], [16], [32], [0], [0]], warp = [[0], [0]]>
#columns = #tile.layout<[1, 64], reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
!row = tensor<64xi32, #row>
!rows = tensor<64x1xi32, #rows>
!column = tensor<64xi32, #column>
!columns = tensor<1x64xi32, #columns>
!offsets = tensor<64x64xi32, #load>
!ptrs = tensor<64x64x!tile.ptr<f16>, #load>
!operand = tensor<64x64xf16, #load>
!half = tensor<64x64xf16, #acc>
!sum = tensor<64x64xf32, #acc>
!stage = !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>
!index_ptrs = tensor<64x!tile.ptr<i32>, #row>
module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @rows_by_index(
      %a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32},
      %c: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %index: !tile.ptr<i32> {tile.divisibility = 16 : i32}, %k: i32,
      %a_stride: i32 {tile.divisibility = 16 : i32}, %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zeros = arith.constant dense<0.000000e+00> : !sum
    %step = arith.constant dense<64> : !offsets
    %row = tile.arange 0, 64 : !row
    %column = tile.arange 0, 64 : !column
    %rows = tile.expand_dims %row, 1 : !row -> !rows
    %columns = tile.expand_dims %column, 0 : !column -> !columns
    %column_tiles = tile.broadcast %columns : !columns -> !offsets
    %strides = tile.splat %stride : !rows
    %starts = arith.muli %rows, %strides : !rows
    %start_tiles = tile.broadcast %starts : !rows -> !offsets
    %offsets = arith.addi %start_tiles, %column_tiles : !offsets
    %index_ptrs = tile.splat %index : !index_ptrs
    %index_at = tile.addptr %index_ptrs, %row : !index_ptrs, !row
    %indirect_row = tile.load %index_at : !index_ptrs -> !row
    %a_rows = tile.expand_dims %indirect_row, 1 : !row -> !rows
    %a_strides = tile.splat %a_stride : !rows
    %a_starts = arith.muli %a_rows, %a_strides : !rows
    %a_start_tiles = tile.broadcast %a_starts : !rows -> !offsets
    %a_offsets = arith.addi %a_start_tiles, %column_tiles : !offsets
    %a_tiles = tile.splat %a : !ptrs
    %b_tiles = tile.splat %b : !ptrs
    %x_first = tile.addptr %a_tiles, %a_offsets : !ptrs, !offsets
    %y_first = tile.addptr %b_tiles, %offsets : !ptrs, !offsets
    %out:3 = scf.for %at = %c0 to %k step %c64
        iter_args(%acc = %zeros, %x_at = %x_first, %y_at = %y_first) -> (!sum, !ptrs, !ptrs) : i32 {
      %x = tile.load %x_at : !ptrs -> !operand
      %y = tile.load %y_at : !ptrs -> !operand
      %x_stage = nv.alloc : !stage
      nv.local_store %x, %x_stage : !operand, !stage
      %y_stage = nv.alloc : !stage
      nv.local_store %y, %y_stage : !operand, !stage
      nv.fence_async
      %sum = nv.wgmma %x_stage, %y_stage, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !sum
      %complete = nv.wgmma_wait 0, %sum : (!sum) -> !sum
      nv.dealloc %x_stage : !stage
      nv.dealloc %y_stage : !stage
      %x_next = tile.addptr %x_at, %step : !ptrs, !offsets
      %y_next = tile.addptr %y_at, %step : !ptrs, !offsets
      scf.yield %complete, %x_next, %y_next : !sum, !ptrs, !ptrs
    }
    %c_tiles = tile.splat %c : !ptrs
    %c_at = tile.addptr %c_tiles, %offsets : !ptrs, !offsets
    %rounded = arith.truncf %out#0 : !sum to !half
    %stored = tile.convert_layout %rounded : !half -> !operand
    tile.store %c_at, %stored : !ptrs, !operand
    return
  }
}
