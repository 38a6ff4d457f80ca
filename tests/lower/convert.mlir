// A conversion takes the cheapest way: registers, shuffles, shared memory.
// RUN: split-file %s %t
// RUN: pantile-lower --ptx --no-line-info %t/convert_mma_f16.mlir | FileCheck %s --check-prefix=FRAGMENTS
// RUN: sed 's/sm_90a/sm_80/' %t/convert_mma_f16.mlir | pantile-lower --ptx --no-line-info | FileCheck %s --check-prefix=WORDS
// RUN: pantile-lower --ptx --no-line-info %t/convert_shuffled_lanes.mlir | FileCheck %s --check-prefix=CONVERT-SHUFFLED-LANES
// RUN: pantile-lower --ptx --no-line-info %t/convert_shuffled_registers.mlir | FileCheck %s --check-prefix=CONVERT-SHUFFLED-REGISTERS
// RUN: pantile-lower --ptx --no-line-info %t/convert_transposed_f16.mlir | FileCheck %s --check-prefix=CONVERT-TRANSPOSED-F16
// RUN: pantile-lower --ptx --no-line-info %t/convert_in_warps.mlir | FileCheck %s --check-prefix=IN-WARPS
// RUN: pantile-lower --ptx --no-line-info %t/convert_halves.mlir | FileCheck %s --check-prefix=HALVES

// The accumulator of an MMA becomes the left operand of one of 8-bit elements: a shuffle for each word.
// HALVES-COUNT-4: shfl.sync.idx.b32
// HALVES-NOT: shfl.sync
// HALVES-NOT: st.shared
// HALVES-NOT: bar

// CONVERT-SHUFFLED-LANES-COUNT-8: shfl.sync.idx.b32
// CONVERT-SHUFFLED-LANES-NOT: st.shared
// CONVERT-SHUFFLED-LANES-NOT: bar.sync

// lanes disagree on the register: two candidates and a choice
// CONVERT-SHUFFLED-REGISTERS-COUNT-4: shfl.sync.idx.b32
// CONVERT-SHUFFLED-REGISTERS-NOT: st.shared

// a warp waits for itself alone
// IN-WARPS-NOT: bar.sync
// IN-WARPS: bar.warp.sync
// IN-WARPS-COUNT-8: stmatrix.sync.aligned.m8n8.x4.shared.b16
// IN-WARPS: bar.warp.sync
// IN-WARPS-COUNT-4: ld.shared.v4.b32
// IN-WARPS-NOT: bar.sync

// one barrier, between the last write and the first read
// CONVERT-TRANSPOSED-F16-COUNT-4: st.shared
// CONVERT-TRANSPOSED-F16: bar.sync 0
// CONVERT-TRANSPOSED-F16-NOT: bar.sync
// CONVERT-TRANSPOSED-F16-COUNT-8: ld.shared.v{{2.b32|4.b16}}
// CONVERT-TRANSPOSED-F16-NOT: ld.shared
// Tensor-core fragments of 16 bits go out as matrices, where the target stores them.
// FRAGMENTS-COUNT-4: stmatrix.sync.aligned.m8n8.x4.shared.b16
// FRAGMENTS-NOT: stmatrix
// FRAGMENTS: bar.sync 0
// FRAGMENTS-COUNT-8: ld.shared.v2.b32
// WORDS-NOT: stmatrix
// WORDS-COUNT-16: st.shared.b32
// WORDS: bar.sync 0
//--- convert_shuffled_lanes.mlir
#l0 = #tile.layout<[256], reg = [[1], [64], [128]], lane = [[2], [4], [8], [16], [32]], warp = []>
#l1 = #tile.layout<[16, 16], reg = [[0, 1], [4, 0], [8, 0]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = []>
#l2 = #tile.layout<[16, 16], reg = [[0, 1], [4, 0], [8, 0]], lane = [[1, 0], [2, 0], [0, 2], [0, 4], [0, 8]], warp = []>
#l3 = #tile.layout<[256], reg = [[1], [64], [128]], lane = [[16], [32], [2], [4], [8]], warp = []>
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @convert_shuffled_lanes(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 256 : tensor<256xi32, #l0>
    %v2 = tile.splat %x : tensor<256x!tile.ptr<f32>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<256x!tile.ptr<f32>, #l0>, tensor<256xi32, #l0>
    %v4 = tile.load %v3 : tensor<256x!tile.ptr<f32>, #l0> -> tensor<256xf32, #l0>
    %v5 = tile.reshape %v4 : tensor<256xf32, #l0> -> tensor<16x16xf32, #l1>
    %v6 = tile.convert_layout %v5 {nv.scratch = 0 : i32} : tensor<16x16xf32, #l1> -> tensor<16x16xf32, #l2>
    %v7 = tile.arange 0, 256 : tensor<256xi32, #l3>
    %v8 = tile.splat %y : tensor<256x!tile.ptr<f32>, #l3>
    %v9 = tile.addptr %v8, %v7 : tensor<256x!tile.ptr<f32>, #l3>, tensor<256xi32, #l3>
    %v10 = tile.reshape %v6 : tensor<16x16xf32, #l2> -> tensor<256xf32, #l3>
    tile.store %v9, %v10 : tensor<256x!tile.ptr<f32>, #l3>, tensor<256xf32, #l3>
    return
  }
}
//--- convert_shuffled_registers.mlir
#l0 = #tile.layout<[64], reg = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#l1 = #tile.layout<[8, 8], reg = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#l2 = #tile.layout<[8, 8], reg = [[1, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#l3 = #tile.layout<[64], reg = [[8]], lane = [[16], [32], [1], [2], [4]], warp = []>
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @convert_shuffled_registers(%x: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 64 : tensor<64xi32, #l0>
    %v2 = tile.splat %x : tensor<64x!tile.ptr<f16>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<64x!tile.ptr<f16>, #l0>, tensor<64xi32, #l0>
    %v4 = tile.load %v3 : tensor<64x!tile.ptr<f16>, #l0> -> tensor<64xf16, #l0>
    %v5 = tile.reshape %v4 : tensor<64xf16, #l0> -> tensor<8x8xf16, #l1>
    %v6 = tile.convert_layout %v5 {nv.scratch = 0 : i32} : tensor<8x8xf16, #l1> -> tensor<8x8xf16, #l2>
    %v7 = tile.arange 0, 64 : tensor<64xi32, #l3>
    %v8 = tile.splat %y : tensor<64x!tile.ptr<f16>, #l3>
    %v9 = tile.addptr %v8, %v7 : tensor<64x!tile.ptr<f16>, #l3>, tensor<64xi32, #l3>
    %v10 = tile.reshape %v6 : tensor<8x8xf16, #l2> -> tensor<64xf16, #l3>
    tile.store %v9, %v10 : tensor<64x!tile.ptr<f16>, #l3>, tensor<64xf16, #l3>
    return
  }
}
//--- convert_transposed_f16.mlir
#l0 = #tile.layout<[4096], reg = [[1], [2], [512], [1024], [2048]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
#l1 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [8, 0], [16, 0], [32, 0]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp = [[2, 0], [4, 0]]>
#l2 = #tile.layout<[64, 64], reg = [[1, 0], [2, 0], [0, 8], [0, 16], [0, 32]], lane = [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp = [[0, 2], [0, 4]]>
#l3 = #tile.layout<[4096], reg = [[64], [128], [8], [16], [32]], lane = [[256], [512], [1024], [2048], [1]], warp = [[2], [4]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @convert_transposed_f16(%x: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 4096 : tensor<4096xi32, #l0>
    %v2 = tile.splat %x : tensor<4096x!tile.ptr<f16>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<4096x!tile.ptr<f16>, #l0>, tensor<4096xi32, #l0>
    %v4 = tile.load %v3 : tensor<4096x!tile.ptr<f16>, #l0> -> tensor<4096xf16, #l0>
    %v5 = tile.reshape %v4 : tensor<4096xf16, #l0> -> tensor<64x64xf16, #l1>
    %v6 = tile.convert_layout %v5 {nv.scratch = 0 : i32} : tensor<64x64xf16, #l1> -> tensor<64x64xf16, #l2>
    %v7 = tile.arange 0, 4096 : tensor<4096xi32, #l3>
    %v8 = tile.splat %y : tensor<4096x!tile.ptr<f16>, #l3>
    %v9 = tile.addptr %v8, %v7 : tensor<4096x!tile.ptr<f16>, #l3>, tensor<4096xi32, #l3>
    %v10 = tile.reshape %v6 : tensor<64x64xf16, #l2> -> tensor<4096xf16, #l3>
    tile.store %v9, %v10 : tensor<4096x!tile.ptr<f16>, #l3>, tensor<4096xf16, #l3>
    return
  }
}
//--- convert_mma_f16.mlir
#l0 = #tile.layout<[4096], reg = [[1], [512], [16], [32], [2048]], lane = [[2], [4], [64], [128], [256]], warp = [[1024], [8]]>
#l1 = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 16], [0, 32], [32, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [0, 8]]>
#l2 = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [8, 0], [16, 0], [32, 0]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp = [[2, 0], [4, 0]]>
#l3 = #tile.layout<[4096], reg = [[1], [2], [512], [1024], [2048]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @convert_mma_f16(%x: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 4096 : tensor<4096xi32, #l0>
    %v2 = tile.splat %x : tensor<4096x!tile.ptr<f16>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<4096x!tile.ptr<f16>, #l0>, tensor<4096xi32, #l0>
    %v4 = tile.load %v3 : tensor<4096x!tile.ptr<f16>, #l0> -> tensor<4096xf16, #l0>
    %v5 = tile.reshape %v4 : tensor<4096xf16, #l0> -> tensor<64x64xf16, #l1>
    %v6 = tile.convert_layout %v5 {nv.scratch = 0 : i32} : tensor<64x64xf16, #l1> -> tensor<64x64xf16, #l2>
    %v7 = tile.arange 0, 4096 : tensor<4096xi32, #l3>
    %v8 = tile.splat %y : tensor<4096x!tile.ptr<f16>, #l3>
    %v9 = tile.addptr %v8, %v7 : tensor<4096x!tile.ptr<f16>, #l3>, tensor<4096xi32, #l3>
    %v10 = tile.reshape %v6 : tensor<64x64xf16, #l2> -> tensor<4096xf16, #l3>
    tile.store %v9, %v10 : tensor<4096x!tile.ptr<f16>, #l3>, tensor<4096xf16, #l3>
    return
  }
}
//--- convert_in_warps.mlir
#l1 = #tile.layout<[64, 128], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#l2 = #tile.layout<[64, 128], reg = [[0, 1], [0, 2], [0, 4], [0, 64], [4, 0], [8, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[16, 0], [32, 0]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @convert_in_warps(%y: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %value: f16) attributes {tile.kernel} {
    %row = tile.arange 0, 64 : tensor<64xi32, #tile.layout<[64], reg = [[4], [8]], lane = [[0], [0], [0], [1], [2]], warp = [[16], [32]]>>
    %rows = tile.expand_dims %row, 1 : tensor<64xi32, #tile.layout<[64], reg = [[4], [8]], lane = [[0], [0], [0], [1], [2]], warp = [[16], [32]]>> -> tensor<64x1xi32, #tile.layout<[64, 1], reg = [[4, 0], [8, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[16, 0], [32, 0]]>>
    %at = tile.broadcast %rows : tensor<64x1xi32, #tile.layout<[64, 1], reg = [[4, 0], [8, 0]], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[16, 0], [32, 0]]>> -> tensor<64x128xi32, #l2>
    %all = tile.splat %y : tensor<64x128x!tile.ptr<f16>, #l2>
    %ptr = tile.addptr %all, %at : tensor<64x128x!tile.ptr<f16>, #l2>, tensor<64x128xi32, #l2>
    %tile = tile.splat %value : tensor<64x128xf16, #l1>
    %moved = tile.convert_layout %tile {nv.scratch = 0 : i32} : tensor<64x128xf16, #l1> -> tensor<64x128xf16, #l2>
    tile.store %ptr, %moved : tensor<64x128x!tile.ptr<f16>, #l2>, tensor<64x128xf16, #l2>
    return
  }
}
//--- convert_halves.mlir
#l0 = #tile.layout<[2048], reg = [[1], [256], [8], [16]], lane = [[2], [4], [32], [64], [128]], warp = [[512], [1024]]>
#l1 = #tile.layout<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#l2 = #tile.layout<[64, 32], reg = [[0, 1], [0, 2], [8, 0], [0, 16]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#l3 = #tile.layout<[2048], reg = [[1], [2], [256], [16]], lane = [[4], [8], [32], [64], [128]], warp = [[512], [1024]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @convert_halves(%x: !tile.ptr<i8> {tile.divisibility = 16 : i32}, %y: !tile.ptr<i8> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 2048 : tensor<2048xi32, #l0>
    %v2 = tile.splat %x : tensor<2048x!tile.ptr<i8>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<2048x!tile.ptr<i8>, #l0>, tensor<2048xi32, #l0>
    %v4 = tile.load %v3 : tensor<2048x!tile.ptr<i8>, #l0> -> tensor<2048xi8, #l0>
    %v5 = tile.reshape %v4 : tensor<2048xi8, #l0> -> tensor<64x32xi8, #l1>
    %v6 = tile.convert_layout %v5 : tensor<64x32xi8, #l1> -> tensor<64x32xi8, #l2>
    %v7 = tile.arange 0, 2048 : tensor<2048xi32, #l3>
    %v8 = tile.splat %y : tensor<2048x!tile.ptr<i8>, #l3>
    %v9 = tile.addptr %v8, %v7 : tensor<2048x!tile.ptr<i8>, #l3>, tensor<2048xi32, #l3>
    %v10 = tile.reshape %v6 : tensor<64x32xi8, #l2> -> tensor<2048xi8, #l3>
    tile.store %v9, %v10 : tensor<2048x!tile.ptr<i8>, #l3>, tensor<2048xi8, #l3>
    return
  }
}
