// Each numbered constraint of the `tile` dialect has its message. Those of calls: calls.mlir.
// RUN: pantile-opt %s -split-input-file -verify-diagnostics -o /dev/null

func.func @fourth_axis() {
  // expected-error @below {{program_id_c1: axis is 3}}
  %x = tile.program_id 3
  return
}

// -----
func.func @negative_axis() {
  // expected-error @below {{num_programs_c1: axis is}}
  %x = tile.num_programs -1
  return
}

// -----
func.func @empty_range() {
  // expected-error @below {{arange_c1: 0 elements in a result of type 'tensor<0xi32>'}}
  %x = tile.arange 3, 3 : tensor<0xi32>
  return
}

// -----
func.func @range_of_another_length() {
  // expected-error @below {{arange_c1: 8 elements in a result of type 'tensor<4xi32>'}}
  %x = tile.arange 0, 8 : tensor<4xi32>
  return
}

// -----
func.func @two_elements(%x: tensor<2xf32>) {
  // expected-error @below {{unsplat_c1: the tile has more than one element}}
  %y = tile.unsplat %x : tensor<2xf32>
  return
}

// -----
func.func @axis_beyond_the_rank(%x: tensor<8xf32>) {
  // expected-error @below {{expand_dims_c1: axis is beyond the rank}}
  %y = tile.expand_dims %x, 2 : tensor<8xf32> -> tensor<8x1xf32>
  return
}

// -----
func.func @dimension_elsewhere(%x: tensor<8xf32>) {
  // expected-error @below {{expand_dims_c1: result shape does not follow}}
  %y = tile.expand_dims %x, 0 : tensor<8xf32> -> tensor<8x1xf32>
  return
}

// -----
func.func @broadcast_to_another_rank(%x: tensor<8xf32>) {
  // expected-error @below {{broadcast_c1: ranks differ}}
  %y = tile.broadcast %x : tensor<8xf32> -> tensor<8x8xf32>
  return
}

// -----
func.func @broadcast_of_two(%x: tensor<2x8xf32>) {
  // expected-error @below {{broadcast_c1: dimension 2 does not broadcast to 8}}
  %y = tile.broadcast %x : tensor<2x8xf32> -> tensor<8x8xf32>
  return
}

// -----
func.func @other_count(%x: tensor<8x8xf32>) {
  // expected-error @below {{reshape_c1: element counts differ}}
  %y = tile.reshape %x : tensor<8x8xf32> -> tensor<32xf32>
  return
}

// -----
func.func @dimension_twice(%x: tensor<8x8xf32>) {
  // expected-error @below {{trans_c1: `order` is no permutation}}
  %y = tile.trans %x [0, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----
func.func @shape_not_permuted(%x: tensor<8x4xf32>) {
  // expected-error @below {{trans_c1: result shape does not follow}}
  %y = tile.trans %x [1, 0] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----
func.func @joined_before(%x: tensor<8xf32>) {
  // expected-error @below {{join_c1: 'tensor<8xf32>' is no half of 'tensor<2x8xf32>'}}
  %y = tile.join %x, %x : tensor<8xf32> -> tensor<2x8xf32>
  return
}

// -----
func.func @three_parts(%x: tensor<8x4xf32>) {
  // expected-error @below {{split_c1: 'tensor<8xf32>' is no half of 'tensor<8x4xf32>'}}
  %y, %z = tile.split %x : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----
func.func @gather_of_other_rows(%x: tensor<8x4xf32>, %i: tensor<4x4xi32>) {
  // expected-error @below {{gather_c1: cannot take 'tensor<4x4xi32>' along dimension 1 of 'tensor<8x4xf32>'}}
  %y = tile.gather %x, %i, 1 : tensor<8x4xf32>, tensor<4x4xi32> -> tensor<4x4xf32>
  return
}

// -----
func.func @gather_into_another_shape(%x: tensor<8x4xf32>, %i: tensor<4x4xi32>) {
  // expected-error @below {{gather_c1: 'tensor<8x4xf32>' does not follow}}
  %y = tile.gather %x, %i, 0 : tensor<8x4xf32>, tensor<4x4xi32> -> tensor<8x4xf32>
  return
}

// -----
func.func @distance_of_the_size(%x: tensor<8xf32>) {
  // expected-error @below {{exchange_c1: no distance 8 along dimension 0 of 'tensor<8xf32>'}}
  %y = tile.exchange %x, 0, 8 : tensor<8xf32>
  return
}

// -----
func.func @load_of_another_shape(%p: tensor<8x!tile.ptr<f32>>) {
  // expected-error @below {{load_c1: `result` is 'tensor<4xf32>', pointers are 'tensor<8x!tile.ptr<f32>>'}}
  %x = tile.load %p : tensor<8x!tile.ptr<f32>> -> tensor<4xf32>
  return
}

// -----
func.func @load_of_another_type(%p: tensor<8x!tile.ptr<f32>>) {
  // expected-error @below {{load_c1: `result` has elements 'f16', pointers are to 'f32'}}
  %x = tile.load %p : tensor<8x!tile.ptr<f32>> -> tensor<8xf16>
  return
}

// -----
func.func @store_with_another_mask(%p: tensor<8x!tile.ptr<f32>>, %x: tensor<8xf32>, %m: tensor<4xi1>) {
  // expected-error @below {{store_c1: `mask` is 'tensor<4xi1>', pointers are 'tensor<8x!tile.ptr<f32>>'}}
  tile.store %p, %x mask %m : tensor<4xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
  return
}

// -----
func.func @atomic_of_another_shape(%p: tensor<8x!tile.ptr<i32>>, %x: tensor<4xi32>) {
  // expected-error @below {{atomic_rmw_c1: }}
  %y = tile.atomic_rmw add, relaxed, gpu, %p, %x : tensor<8x!tile.ptr<i32>> -> tensor<4xi32>
  return
}

// -----
func.func @float_is_not_polled(%p: !tile.ptr<f32>, %x: f32) {
  // expected-error @below {{atomic_rmw_c2: `poll` takes integers, got 'f32'}}
  %y = tile.atomic_rmw poll, acquire, gpu, %p, %x : !tile.ptr<f32> -> f32
  return
}

// -----
func.func @exchange_of_another_type(%p: tensor<8x!tile.ptr<i32>>, %x: tensor<8xi64>) {
  // expected-error @below {{atomic_cas_c1: `value` has elements 'i64', pointers are to 'i32'}}
  %y = tile.atomic_cas relaxed, gpu, %p, %x, %x : tensor<8x!tile.ptr<i32>>, tensor<8xi64>
  return
}

// -----
func.func @depths_differ(%a: tensor<16x32xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{dot_c1: cannot multiply 'tensor<16x32xf16>' by 'tensor<16x16xf16>' into 'tensor<16x16xf32>'}}
  %d = tile.dot %a, %b, %c : tensor<16x32xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  return
}

// -----
func.func @operands_differ(%a: tensor<16x16xf16>, %b: tensor<16x16xbf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{dot_c2: operands have elements 'f16' and 'bf16'}}
  %d = tile.dot %a, %b, %c : tensor<16x16xf16>, tensor<16x16xbf16>, tensor<16x16xf32>
  return
}

// -----
func.func @assembly_of_two_shapes(%x: tensor<8xi32>, %y: tensor<4xi32>) {
  // expected-error @below {{inline_asm_c1: 'tensor<4xi32>' and 'tensor<8xi32>'}}
  %z = tile.inline_asm "add.s32 $0, $1, $2;", "=r,r,r"(%x, %y) : (tensor<8xi32>, tensor<4xi32>) -> tensor<8xi32>
  return
}

// -----
func.func @map_to_another_shape(%x: tensor<8xf32>) {
  // expected-error @below {{map_c1: 'tensor<4xf32>' and 'tensor<8xf32>'}}
  %y = tile.map (%x) {
  ^bb0(%a: f32):
    tile.yield %a : f32
  } : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----
func.func @map_of_pairs(%x: tensor<8xf32>) {
  // expected-error @below {{map_c2: the region's arguments or yields do not follow from the types}}
  %y = tile.map (%x) {
  ^bb0(%a: f32):
    tile.yield %a : f32
  } {pack = 2 : i32} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----
func.func @reduced_along_the_other_axis(%x: tensor<8x4xf32>) {
  // expected-error @below {{reduce_c1: 'tensor<8xf32>' does not follow from 'tensor<8x4xf32>'}}
  %y = tile.reduce (%x), 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  } : (tensor<8x4xf32>) -> tensor<8xf32>
  return
}

// -----
func.func @reduced_in_another_type(%x: tensor<8xf32>) {
  // expected-error @below {{reduce_c2: value 0 of the region is not of type 'f32'}}
  %y = tile.reduce (%x), 0 {
  ^bb0(%a: f16, %b: f16):
    %c = arith.addf %a, %b : f16
    tile.yield %c : f16
  } : (tensor<8xf32>) -> f32
  return
}

// -----
func.func @scanned_into_another_type(%x: tensor<8xf32>) {
  // expected-error @below {{scan_c1: result types differ from operand types}}
  %y = tile.scan (%x), 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  } : (tensor<8xf32>) -> tensor<8xf64>
  return
}

// -----
func.func @scanned_by_one_value(%x: tensor<8xf32>) {
  // expected-error @below {{scan_c2: the region takes 1 values, not 2}}
  %y = tile.scan (%x), 0 {
  ^bb0(%a: f32):
    tile.yield %a : f32
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----
func.func @histogram_of_a_matrix(%x: tensor<8x8xi32>) {
  // expected-error @below {{histogram_c1: a rank is not 1}}
  %y = tile.histogram %x : tensor<8x8xi32> -> tensor<16xi32>
  return
}

// -----
func.func @clock_of_32_bits() {
  // expected-error @below {{special_c1: no `globaltimer` with this result}}
  %x = tile.special "globaltimer" : i32
  return
}

// -----
// Warp 3, which is absent, would hold 96 to 127.
// expected-error @below {{layout_c1: an element belongs to a warp beyond the 3}}
func.func private @element_of_an_absent_warp(tensor<128xf32, #tile.layout<[128], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], warps = 3>>)

// -----
// expected-error @below {{layout_c1: 2 warps, but bases for 4}}
func.func private @fewer_warps_than_bits(tensor<96xf32, #tile.layout<[96], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], warps = 2>>)
