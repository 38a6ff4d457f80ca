// RUN: pantile-opt %s --canonicalize --split-input-file --verify-diagnostics | FileCheck %s
// Parts of tiles: what is refused, and what becomes simpler.

// CHECK-LABEL: func @kept
// CHECK-SAME: %[[X:[^:]*]]: tensor<16x32xf32>, %[[I:[^:]*]]: i64
func.func @kept(%x: tensor<16x32xf32>, %i: i64) -> (tensor<16x32xf32>, tensor<1x8xf32>) {
  // CHECK: %[[P:.*]] = tile.extract_slice %[[X]] [4, 1] step [1, 4] : tensor<16x32xf32> -> tensor<8x8xf32>
  // CHECK: %[[W:.*]] = tile.insert_slice %[[P]] into %[[X]] [0, 0] step [2, 1] : tensor<8x8xf32> into tensor<16x32xf32>
  // CHECK: %[[N:.*]] = tile.wrap_index %[[I]] in 8 : i64
  // CHECK: %[[R:.*]] = tile.extract %[[P]], %[[N]], 0 : tensor<8x8xf32> -> tensor<1x8xf32>
  // CHECK: return %[[W]], %[[R]]
  %p = tile.extract_slice %x [4, 1] step [1, 4] : tensor<16x32xf32> -> tensor<8x8xf32>
  %w = tile.insert_slice %p into %x [0, 0] step [2, 1] : tensor<8x8xf32> into tensor<16x32xf32>
  %n = tile.wrap_index %i in 8 : i64
  %r = tile.extract %p, %n, 0 : tensor<8x8xf32> -> tensor<1x8xf32>
  return %w, %r : tensor<16x32xf32>, tensor<1x8xf32>
}

// -----
// A part of a part is one part, a part of a range a range, and a part of what was inserted apart from it is one of the old tile.
// CHECK-LABEL: func @simpler
// CHECK-SAME: %[[X:[^:]*]]: tensor<16xf32>, %[[Y:[^:]*]]: tensor<4xf32>
func.func @simpler(%x: tensor<16xf32>, %y: tensor<4xf32>) -> (tensor<2xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[A:.*]] = tile.extract_slice %[[X]] [9] step [4] : tensor<16xf32> -> tensor<2xf32>
  // CHECK-DAG: %[[B:.*]] = tile.arange 6, 10
  // CHECK-DAG: %[[C:.*]] = tile.extract_slice %[[X]] [8] step [1] : tensor<16xf32> -> tensor<4xf32>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[Y]]
  %p = tile.extract_slice %x [1] step [2] : tensor<16xf32> -> tensor<8xf32>
  %a = tile.extract_slice %p [4] step [2] : tensor<8xf32> -> tensor<2xf32>
  %range = tile.arange 4, 12 : tensor<8xi32>
  %b = tile.extract_slice %range [2] step [1] : tensor<8xi32> -> tensor<4xi32>
  %w = tile.insert_slice %y into %x [4] step [1] : tensor<4xf32> into tensor<16xf32>
  %c = tile.extract_slice %w [8] step [1] : tensor<16xf32> -> tensor<4xf32>
  %d = tile.extract_slice %w [4] step [1] : tensor<16xf32> -> tensor<4xf32>
  return %a, %b, %c, %d : tensor<2xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>
}

// -----
// Of a constant index outside of the dimension nothing is said: it is reported where it runs.
// CHECK-LABEL: func @constants
func.func @constants(%x: tensor<16xf32>) -> (tensor<1xf32>, i32) {
  // CHECK: %[[A:.*]] = tile.extract_slice %{{.*}} [14] step [1] : tensor<16xf32> -> tensor<1xf32>
  // CHECK: %[[N:.*]] = tile.wrap_index %{{.*}} in 16
  // CHECK: return %[[A]], %[[N]]
  %c = arith.constant -2 : i32
  %n = tile.wrap_index %c in 16 : i32
  %a = tile.extract %x, %n, 0 : tensor<16xf32> -> tensor<1xf32>
  %far = arith.constant 16 : i32
  %m = tile.wrap_index %far in 16 : i32
  return %a, %m : tensor<1xf32>, i32
}

// -----
func.func @ranks(%x: tensor<16xf32>) {
  // expected-error @+1 {{extract_slice_c1}}
  %p = tile.extract_slice %x [0, 0] step [1, 1] : tensor<16xf32> -> tensor<8xf32>
  return
}

// -----
func.func @strides(%x: tensor<16xf32>) {
  // expected-error @+1 {{extract_slice_c1}}
  %p = tile.extract_slice %x [15] step [-1] : tensor<16xf32> -> tensor<8xf32>
  return
}

// -----
func.func @beyond(%x: tensor<16xf32>) {
  // expected-error @+1 {{extract_slice_c2: elements 2 to 16 of dimension 0}}
  %p = tile.extract_slice %x [2] step [2] : tensor<16xf32> -> tensor<8xf32>
  return
}

// -----
func.func @types(%x: tensor<16xf32>, %y: tensor<8xf16>) {
  // expected-error @+1 {{insert_slice_c1}}
  %p = tile.insert_slice %y into %x [2] step [1] : tensor<8xf16> into tensor<16xf32>
  return
}

// -----
func.func @outside(%x: tensor<16xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{insert_slice_c2: elements 9 to 16 of dimension 0}}
  %p = tile.insert_slice %y into %x [9] step [1] : tensor<8xf32> into tensor<16xf32>
  return
}

// -----
func.func @shape(%x: tensor<16x8xf32>, %i: i32) {
  // expected-error @+1 {{extract_c1}}
  %p = tile.extract %x, %i, 0 : tensor<16x8xf32> -> tensor<16x1xf32>
  return
}

// -----
func.func @extent(%i: i32) {
  // expected-error @+1 {{wrap_index_c1: extent is 0}}
  %n = tile.wrap_index %i in 0 : i32
  return
}
