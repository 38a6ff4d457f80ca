// Each numbered constraint of the `nv` dialect has its message. Those of MMAs in flight and of plans: mma-in-flight.mlir, plan.mlir.
// RUN: pantile-opt %s -split-input-file -verify-diagnostics -o /dev/null

// expected-error @below {{swizzle_c1: `order` is no permutation}}
func.func @order_of_a_swizzle() attributes {s = #nv.swizzle<[0, 0], 128>} { return }

// -----
// expected-error @below {{swizzle_c1: a span of 48 bytes}}
func.func @span_of_a_swizzle() attributes {s = #nv.swizzle<[1, 0], 48>} { return }

// -----
// expected-error @below {{buffer_c1: there is no stage}}
func.func private @no_stage(!nv.buffer<0 x [64] x f16, #nv.swizzle<[0], 0>>)

// -----
// expected-error @below {{buffer_c1: an extent is not positive}}
func.func private @no_extent(!nv.buffer<1 x [64, 0] x f16, #nv.swizzle<[1, 0], 0>>)

// -----
// expected-error @below {{buffer_c2: #nv.swizzle<[0], 0> orders 1 of 2 dimensions}}
func.func private @other_rank(!nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[0], 0>>)

// -----
func.func @negative_offset() {
  // expected-error @below {{alloc_c1: `offset` is negative}}
  %b = nv.alloc at -16 : !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @channel_of_threads() {
  // expected-error @below {{channel_c4: `shared` fills no circular buffer}}
  %k = nv.channel via shared : !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @copies_of_this_iteration() {
  // expected-error @below {{channel_c5: copies of 16 bytes, 0 iterations ahead, into '!nv.buffer<3 x[64] x f16, <[0], 0>>'}}
  %k = nv.channel via cp_async ahead 0 by 16 : !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @copies_of_a_producer() {
  // expected-error @below {{channel_c5: copies of 2 bytes, 0 iterations ahead}}
  %k = nv.channel via cp_async by 2 : !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @copies_further_than_there_are_stages() {
  // expected-error @below {{channel_c5: copies of 16 bytes, 4 iterations ahead}}
  %k = nv.channel via cp_async ahead 4 by 16 : !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @copies_of_two_bytes() {
  // expected-error @below {{channel_c5: copies of 2 bytes}}
  %k = nv.channel via cp_async ahead 2 by 2 : !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @distance_of_a_producer() {
  // expected-error @below {{channel_c5: copies of 0 bytes, 2 iterations ahead}}
  %k = nv.channel via tma ahead 2 : !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @negative_offset_of_a_channel() {
  // expected-error @below {{channel_c6: `offset` is negative}}
  %k = nv.channel at -16 via tma : !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @current_stage_of_another_shape(%n: index, %k: !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    // expected-error @below {{current_stage_c1: '!nv.buffer<1 x[32] x f16, <[0], 0>>' is no stage of '!nv.buffer<3 x[64] x f16, <[0], 0>>'}}
    %s = nv.current_stage %k : !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>> -> !nv.buffer<1 x [32] x f16, #nv.swizzle<[0], 0>>
  }
  return
}

// -----
func.func @current_stage_without_a_loop(%k: !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{current_stage_c2: no loop has its channel before it}}
  %s = nv.current_stage %k : !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>> -> !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @stage_of_another_shape(%circular: !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>, %i: i32) {
  // expected-error @below {{select_stage_c1: '!nv.buffer<1 x[32] x f16, <[0], 0>>' is no stage of '!nv.buffer<3 x[64] x f16, <[0], 0>>'}}
  %s = nv.select_stage %circular[%i] : !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>> -> !nv.buffer<1 x [32] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @extents_exchanged_alone(%b: !nv.buffer<1 x [64, 32] x f16, #nv.swizzle<[1, 0], 64>>) {
  // expected-error @below {{buffer_trans_c1: '!nv.buffer<1 x[32, 64] x f16, <[1, 0], 64>>' is not '!nv.buffer<1 x[64, 32] x f16, <[1, 0], 64>>' transposed}}
  %t = nv.buffer_trans %b : !nv.buffer<1 x [64, 32] x f16, #nv.swizzle<[1, 0], 64>> -> !nv.buffer<1 x [32, 64] x f16, #nv.swizzle<[1, 0], 64>>
  return
}

// -----
func.func @order_exchanged_alone(%b: !nv.buffer<1 x [64, 32] x f16, #nv.swizzle<[1, 0], 64>>) {
  // expected-error @below {{buffer_trans_c1: }}
  %t = nv.buffer_trans %b : !nv.buffer<1 x [64, 32] x f16, #nv.swizzle<[1, 0], 64>> -> !nv.buffer<1 x [64, 32] x f16, #nv.swizzle<[0, 1], 64>>
  return
}

// -----
func.func @copy_of_a_longer_row(%p: tensor<128x!tile.ptr<f16>>, %b: !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{copy_async_c1: '!nv.buffer<1 x[64] x f16, <[0], 0>>' does not hold 'tensor<128x!tile.ptr<f16>>'}}
  nv.copy_async %p, %b {vectorBytes = 16 : i32} : tensor<128x!tile.ptr<f16>>, !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @copy_to_a_circular_buffer(%p: tensor<64x!tile.ptr<f16>>, %b: !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{async_c1: '!nv.buffer<3 x[64] x f16, <[0], 0>>' has several stages}}
  nv.copy_async %p, %b {vectorBytes = 16 : i32} : tensor<64x!tile.ptr<f16>>, !nv.buffer<3 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @copy_with_a_shorter_mask(%p: tensor<64x!tile.ptr<f16>>, %m: tensor<32xi1>, %b: !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{copy_async_c2: `mask` is 'tensor<32xi1>', pointers are 'tensor<64x!tile.ptr<f16>>'}}
  nv.copy_async %p, %b mask %m : tensor<32xi1> {vectorBytes = 16 : i32} : tensor<64x!tile.ptr<f16>>, !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @copy_of_two_bytes(%p: tensor<64x!tile.ptr<f16>>, %b: !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{copy_async_c3: cp.async does not copy 2 bytes}}
  nv.copy_async %p, %b {vectorBytes = 2 : i32} : tensor<64x!tile.ptr<f16>>, !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @copy_on_single_barriers(%p: tensor<64x!tile.ptr<f32>>, %b: !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>, %full: !nv.buffer<1 x [1] x i64, #nv.swizzle<[0], 0>>) {
  nv.producer {
    // expected-error @below {{copy_async_c4: '!nv.buffer<1 x[1] x i64, <[0], 0>>' is no pair of barriers}}
    nv.copy_async %p, %b on %full : !nv.buffer<1 x [1] x i64, #nv.swizzle<[0], 0>> {vectorBytes = 4 : i32} : tensor<64x!tile.ptr<f32>>, !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>
  }
  return
}

// -----
#warps = #tile.layout<[64], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]]>
func.func @copy_by_two_warps(%p: tensor<64x!tile.ptr<f32>, #warps>, %b: !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>, %full: !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>) {
  nv.producer {
    // expected-error @below {{is held by several warps}}
    nv.copy_async %p, %b on %full : !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>> {vectorBytes = 4 : i32} : tensor<64x!tile.ptr<f32>, #warps>, !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>
  }
  return
}

// -----
func.func @copy_of_a_producer_in_a_group(%p: tensor<64x!tile.ptr<f32>>, %b: !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>) {
  nv.producer {
    // expected-error @below {{copy_async_c5: a producer needs a barrier}}
    nv.copy_async %p, %b {vectorBytes = 4 : i32} : tensor<64x!tile.ptr<f32>>, !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>
  }
  return
}

// -----
func.func @copy_of_odd_runs(%p: tensor<64x!tile.ptr<f32>>, %b: !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>, %full: !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>) {
  nv.producer {
    // expected-error @below {{copy_async_c6: 'tensor<64x!tile.ptr<f32>>' has runs of 12}}
    nv.copy_async %p, %b on %full : !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>> {run = 12 : i64, vectorBytes = 4 : i32} : tensor<64x!tile.ptr<f32>>, !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>
  }
  return
}

// -----
func.func @copy_of_runs_in_a_group(%p: tensor<64x!tile.ptr<f32>>, %b: !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{copy_async_c6: 'tensor<64x!tile.ptr<f32>>' has runs of 16 without a barrier}}
  nv.copy_async %p, %b {run = 16 : i64, vectorBytes = 4 : i32} : tensor<64x!tile.ptr<f32>>, !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @producer_of_both_kinds(%p: tensor<64x!tile.ptr<f32>>, %b: !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>, %full: !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>, %map: !nv.tensor_map, %x: i32) {
  // expected-error @below {{producer_c3: it copies by cp.async, and has operations of one thread}}
  nv.producer {
    nv.tma_load %map[%x], %b, %full : !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>, !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
    nv.copy_async %p, %b on %full : !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>> {vectorBytes = 4 : i32} : tensor<64x!tile.ptr<f32>>, !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>
  }
  return
}

// -----
func.func @copy_of_consumers_on_a_barrier(%p: tensor<64x!tile.ptr<f32>>, %b: !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>, %full: !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{copy_async_c5: consumers complete copies in groups}}
  nv.copy_async %p, %b on %full : !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>> {vectorBytes = 4 : i32} : tensor<64x!tile.ptr<f32>>, !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @negative_wait() {
  // expected-error @below {{wait_c1: `pending` is negative}}
  nv.wait -1
  return
}

// -----
func.func @load_of_another_type(%b: !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{local_load_c1: '!nv.buffer<1 x[64] x f16, <[0], 0>>' does not hold 'tensor<64xf32>'}}
  %x = nv.local_load %b : !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>> -> tensor<64xf32>
  return
}

// -----
func.func @runs_of_another_rank(%b: !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{local_load_c2: `runs` is no power of two for each dimension}}
  %x = nv.local_load %b {runs = array<i64: 16, 1>} : !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>> -> tensor<64xf16>
  return
}

// -----
func.func @runs_of_twelve(%b: !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{local_load_c2: `runs` is no power of two for each dimension}}
  %x = nv.local_load %b {runs = array<i64: 12>} : !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>> -> tensor<64xf16>
  return
}

// -----
func.func @store_of_another_shape(%x: tensor<32xf16>, %b: !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{local_store_c1: '!nv.buffer<1 x[64] x f16, <[0], 0>>' does not hold 'tensor<32xf16>'}}
  nv.local_store %x, %b : tensor<32xf16>, !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
func.func @depths_differ(%a: !nv.buffer<1 x [64, 32] x f16, #nv.swizzle<[1, 0], 64>>, %b: !stage, %c: tensor<64x64xf32>) {
  // expected-error @below {{wgmma_c1: shapes do not match}}
  %d = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !nv.buffer<1 x [64, 32] x f16, #nv.swizzle<[1, 0], 64>>, !stage, tensor<64x64xf32>
  return
}

// -----
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
func.func @no_operand(%a: i32, %b: !stage, %c: tensor<64x64xf32>) {
  // expected-error @below {{wgmma_c1: `lhs` is neither a buffer nor a tile}}
  %d = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : i32, !stage, tensor<64x64xf32>
  return
}

// -----
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
func.func @another_family(%a: !stage, %b: !stage, %c: tensor<64x64xf32>) {
  // expected-error @below {{wgmma_c2: `mma` is of another family}}
  %d = nv.wgmma %a, %b, %c mma<mma_sync, 16 x 8 x 16, warps = 4 x 1> : !stage, !stage, tensor<64x64xf32>
  return
}

// -----
!stage = !nv.buffer<1 x [64, 64] x f32, #nv.swizzle<[1, 0], 128>>
func.func @right_operand_along_n(%a: !stage, %b: !stage, %c: tensor<64x64xf32>) {
  // expected-error @below {{wgmma_c3: a buffer of other than 16 bits does not lie along K}}
  %d = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 8, warps = 4 x 1> : !stage, !stage, tensor<64x64xf32>
  return
}

// -----
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!circular = !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
func.func @mma_of_a_circular_buffer(%a: !circular, %b: !stage, %c: tensor<64x64xf32>) {
  // expected-error @below {{async_c1: '!nv.buffer<3 x[64, 64] x f16, <[1, 0], 128>>' has several stages}}
  %d = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !circular, !stage, tensor<64x64xf32>
  return
}

// -----
func.func @rounds_another_type(%b: !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{round_buffer_c1: `buffer` is not one stage of fp32}}
  nv.round_buffer %b : !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
!stage = !nv.buffer<1 x [64, 64] x f32, #nv.swizzle<[1, 0], 0>>
func.func @fma_into_another_shape(%a: !stage, %b: !stage, %c: tensor<64x32xf32>) {
  // expected-error @below {{fma_c1: shapes do not match}}
  %d = nv.fma %a, %b, %c : !stage, !stage, tensor<64x32xf32>
  return
}

// -----
!stage = !nv.buffer<1 x [64, 64] x f32, #nv.swizzle<[1, 0], 0>>
func.func @fma_into_another_type(%a: !stage, %b: !stage, %c: tensor<64x64xf64>) {
  // expected-error @below {{fma_c1: element types differ}}
  %d = nv.fma %a, %b, %c : !stage, !stage, tensor<64x64xf64>
  return
}

// -----
func.func @negative_count_of_mmas(%x: tensor<64x64xf32>) {
  // expected-error @below {{wgmma_wait_c3: `pending` is negative}}
  %y = nv.wgmma_wait -1, %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return
}

// -----
func.func @prefetch_with_a_shorter_mask(%p: tensor<64x!tile.ptr<f16>>, %m: tensor<32xi1>) {
  // expected-error @below {{prefetch_c1: `mask` is 'tensor<32xi1>', pointers are 'tensor<64x!tile.ptr<f16>>'}}
  nv.prefetch %p mask %m : tensor<32xi1> : tensor<64x!tile.ptr<f16>>
  return
}

// -----
func.func @gathered_into_a_matrix(%x: f32) {
  // expected-error @below {{cluster_gather_c1: the result is 'tensor<2x2xf32>'}}
  %y = nv.cluster_gather %x : tensor<2x2xf32>
  return
}

// -----
func.func @partial_tile_of_fp16(%x: tensor<64x64xf16>) {
  // expected-error @below {{store_partial_c1: elements are 'f16'}}
  nv.store_partial %x : tensor<64x64xf16>
  return
}

// -----
func.func @partial_tile_of_fp64(%from: i32) {
  // expected-error @below {{load_partial_c1: elements are 'f64'}}
  %x = nv.load_partial %from : tensor<64x64xf64>
  return
}

// -----
func.func @stride_for_each_dimension() {
  // expected-error @below {{tensor_map_c1: a box of 2 dimensions with 2 extents and 2 strides}}
  %map = nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>, element = f16, extents = affine_map<()[s0] -> (s0, s0)>, non_negative = array<i32>, offset = affine_map<()[s0] -> (0)>, span = 128 : i32, strides = affine_map<()[s0] -> (s0, s0)>} : !nv.tensor_map
  return
}

// -----
func.func @span_of_a_map() {
  // expected-error @below {{tensor_map_c2: a span of 16 bytes}}
  %map = nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>, element = f16, extents = affine_map<()[s0] -> (s0, s0)>, non_negative = array<i32>, offset = affine_map<()[s0] -> (0)>, span = 16 : i32, strides = affine_map<()[s0] -> (s0)>} : !nv.tensor_map
  return
}

// -----
func.func @multiples_without_divisors() {
  // expected-error @below {{tensor_map_c3: 1 multiples and 0 positive divisors}}
  %map = nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>, element = f16, extents = affine_map<()[s0] -> (s0, s0)>, multiples = affine_map<()[s0] -> (s0)>, non_negative = array<i32>, offset = affine_map<()[s0] -> (0)>, span = 128 : i32, strides = affine_map<()[s0] -> (s0)>} : !nv.tensor_map
  return
}

// -----
func.func @empty_map_without_a_test(%c: i32, %tile: tensor<16x64xf16>) {
  // expected-error @below {{tensor_map_c4: nothing tells whether the map is empty where it is used}}
  %map = nv.tensor_map {base = 0 : i32, box = array<i32: 64, 16>, divisors = array<i64: 8>, element = f16, extents = affine_map<()[s0] -> (s0, s0)>, may_be_empty, multiples = affine_map<()[s0] -> (s0)>, non_negative = array<i32>, offset = affine_map<()[s0] -> (0)>, span = 128 : i32, strides = affine_map<()[s0] -> (s0)>} : !nv.tensor_map
  nv.tma_store %map[%c, %c], %tile {fast = 1 : i32, pieces = 1 : i32} : tensor<16x64xf16>
  return
}

// -----
func.func @single_barriers(%b: !nv.buffer<3 x [1] x i64, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{mbarrier_init_c1: '!nv.buffer<3 x[1] x i64, <[0], 0>>' has no pairs of barriers}}
  nv.mbarrier_init %b, 4 : !nv.buffer<3 x [1] x i64, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @no_consumer(%b: !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{mbarrier_init_c2: `consumers` is not positive}}
  nv.mbarrier_init %b, 0 : !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @no_arrival(%b: !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{mbarrier_init_c2: `arrivals` is not positive}}
  nv.mbarrier_init %b, 4 {arrivals = 0 : i32} : !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @producer_in_a_loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{producer_c1: it is not in the function itself}}
    nv.producer {
    }
  }
  return
}

// -----
func.func @a_producer_in_a_branch(%b: i1) {
  scf.if %b {
    // expected-error @below {{producer_c1: it is not in the function itself}}
    nv.producer {
    }
  }
  return
}

// -----
func.func @a_fork_in_a_branch(%b: i1) {
  scf.if %b {
    // expected-error @below {{fork_producer_c1: it is not in the function itself}}
    nv.fork_producer
  }
  return
}

// -----
func.func @nothing_to_dismiss(%b: i1) {
  nv.fork_producer
  scf.if %b {
    // expected-error @below {{dismiss_producer_c1: it is in no branch of a kernel with `nv.producer`}}
    nv.dismiss_producer
  }
  return
}

// -----
func.func @producer_adds(%p: !tile.ptr<i32>, %one: i32) {
  nv.producer {
    // expected-error @below {{producer_c2: it is no poll of a scalar whose result is unused}}
    %old = tile.atomic_rmw add, relaxed, gpu, %p, %one : !tile.ptr<i32> -> i32
  }
  return
}

// -----
func.func @producer_uses_what_it_polled(%p: !tile.ptr<i32>, %one: i32) {
  nv.producer {
    // expected-error @below {{producer_c2: it is no poll of a scalar whose result is unused}}
    %seen = tile.atomic_rmw poll, acquire, gpu, %p, %one : !tile.ptr<i32> -> i32
    %sum = arith.addi %seen, %one : i32
  }
  return
}

// -----
func.func @acquires_of_a_circular_buffer(%b: !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>, %parity: i32) {
  // expected-error @below {{acquire_c1: '!nv.buffer<3 x[2] x i64, <[0], 0>>' is no pair of barriers}}
  nv.acquire %b, %parity : !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @bytes_for_a_circular_buffer(%b: !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{expect_c1: '!nv.buffer<3 x[2] x i64, <[0], 0>>' is no pair of barriers}}
  nv.expect %b, 8192 : !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @negative_bytes(%b: !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{expect_c2: `bytes` is negative}}
  nv.expect %b, -1 : !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
  return
}

// -----
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
func.func @coordinate_missing(%b: !stage, %full: !barrier, %x: i32) {
  %map = nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>, element = f16, extents = affine_map<()[s0] -> (s0, s0)>, non_negative = array<i32>, offset = affine_map<()[s0] -> (0)>, span = 128 : i32, strides = affine_map<()[s0] -> (s0)>} : !nv.tensor_map
  // expected-error @below {{tma_load_c1: 1 coordinates for a map of 2 dimensions}}
  nv.tma_load %map[%x], %b, %full : !stage, !barrier
  return
}

// -----
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
func.func @loaded_without_a_barrier(%map: !nv.tensor_map, %b: !stage, %x: i32) {
  // expected-error @below {{tma_load_c2: '!nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>' is no pair of barriers}}
  nv.tma_load %map[%x, %x], %b, %b : !stage, !stage
  return
}

// -----
!circular = !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
func.func @loaded_into_a_circular_buffer(%map: !nv.tensor_map, %b: !circular, %full: !barrier, %x: i32) {
  // expected-error @below {{async_c1: '!nv.buffer<3 x[64, 64] x f16, <[1, 0], 128>>' has several stages}}
  nv.tma_load %map[%x, %x], %b, %full : !circular, !barrier
  return
}

// -----
func.func @stored_with_a_coordinate_too_many(%value: tensor<64x64xf16>, %x: i32) {
  %map = nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>, element = f16, extents = affine_map<()[s0] -> (s0, s0)>, non_negative = array<i32>, offset = affine_map<()[s0] -> (0)>, span = 128 : i32, strides = affine_map<()[s0] -> (s0)>} : !nv.tensor_map
  // expected-error @below {{tma_store_c1: 3 coordinates for a map of 2 dimensions}}
  nv.tma_store %map[%x, %x, %x], %value {fast = 1 : i32, pieces = 1 : i32} : tensor<64x64xf16>
  return
}

// -----
func.func @rows_along_no_dimension(%map: !nv.tensor_map, %value: tensor<64x64xf16>, %x: i32) {
  // expected-error @below {{tma_store_c2: 1 pieces with rows along dimension 2 of 'tensor<64x64xf16>'}}
  nv.tma_store %map[%x, %x], %value {fast = 2 : i32, pieces = 1 : i32} : tensor<64x64xf16>
  return
}

// -----
func.func @no_piece(%map: !nv.tensor_map, %value: tensor<64x64xf16>, %x: i32) {
  // expected-error @below {{tma_store_c2: 0 pieces with rows along dimension 1 of 'tensor<64x64xf16>'}}
  nv.tma_store %map[%x, %x], %value {fast = 1 : i32, pieces = 0 : i32} : tensor<64x64xf16>
  return
}

// -----
func.func @fp16_is_not_added(%map: !nv.tensor_map, %value: tensor<64x64xf16>, %x: i32) {
  // expected-error @below {{tma_store_c3: elements are 'f16'}}
  nv.tma_store adding %map[%x, %x], %value {fast = 1 : i32, pieces = 1 : i32} : tensor<64x64xf16>
  return
}

// -----
func.func @wait_for_a_circular_buffer(%b: !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>, %phase: i32) {
  // expected-error @below {{mbarrier_wait_c1: '!nv.buffer<3 x[2] x i64, <[0], 0>>' is no pair of barriers}}
  nv.mbarrier_wait %b, false, %phase : !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>
  return
}

// -----
func.func @release_of_data(%b: !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>) {
  // expected-error @below {{release_c1: '!nv.buffer<1 x[64] x f16, <[0], 0>>' is no pair of barriers}}
  nv.release %b : !nv.buffer<1 x [64] x f16, #nv.swizzle<[0], 0>>
  return
}

// -----
// expected-error @below {{launch_c1: a number is negative}}
module attributes {nv.launch = #nv.launch<shared_bytes = -16>} {}

// -----
// expected-error @below {{launch_c1: 3 programs per CTA, and 1 CTAs per program}}
module attributes {nv.launch = #nv.launch<programs_per_cta = 3>} {}

// -----
// expected-error @below {{launch_c1: 4 programs per CTA, and 4 CTAs per program}}
module attributes {nv.launch = #nv.launch<programs_per_cta = 4, ctas_per_program = 4>} {}

// -----
// expected-error @below {{launch_c2: tiles are split, but CTAs are not persistent}}
module attributes {nv.launch = #nv.launch<partial_bytes = 4096>} {}

// -----
// expected-error @below {{launch_c3: array<i32: 168, 20, 240> with 4 warps of a producer}}
module attributes {nv.launch = #nv.launch<producer_warps = 4, registers = [168, 20, 240]>} {}

// -----
// expected-error @below {{launch_c4: array<i32: 2048, 8> in 1024 bytes}}
module attributes {nv.launch = #nv.launch<shared_bytes = 1024, spills = [2048, 8]>} {}

// -----
// expected-error @below {{`nv.launch` is a `#nv.launch` of a module}}
func.func private @other() attributes {nv.launch = #nv.launch<persistent = true>}

// -----
// expected-error @below {{candidate_c1: a number is negative}}
func.func private @weighed() attributes {nv.candidates = [#nv.candidate<map = grid, ctas_per_sm = -1>]}

// -----
// expected-error @below {{candidate_c2: what was refused is chosen}}
func.func private @weighed() attributes {nv.candidates = [#nv.candidate<map = grid, refused = "of something", chosen = true>]}

// -----
// expected-error @below {{`nv.candidates` lists `#nv.candidate`s of a kernel}}
func.func private @weighed() attributes {nv.candidates = #nv.candidate<map = grid>}
