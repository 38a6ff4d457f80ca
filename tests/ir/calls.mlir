// Operations that call or gather element by element print and parse all their parts; each constraint has its message.
// RUN: pantile-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @round_trip
func.func @round_trip(%x: tensor<16x8xf32>, %i: tensor<16x4xi32>, %n: tensor<16xi32>, %c: i1) {
  // CHECK: tile.gather %{{.*}}, %{{.*}}, 1 : tensor<16x8xf32>, tensor<16x4xi32> -> tensor<16x4xf32>
  %g = tile.gather %x, %i, 1 : tensor<16x8xf32>, tensor<16x4xi32> -> tensor<16x4xf32>
  // CHECK: tile.extern_call "__nv_tanhf"(%{{.*}}) {pure} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %t = tile.extern_call "__nv_tanhf"(%x) {pure} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  // CHECK: tile.inline_asm "shl.b32 $0, $1, 3;", "=r,r"(%{{.*}}) {pure} : (tensor<16xi32>) -> tensor<16xi32>
  %a = tile.inline_asm "shl.b32 $0, $1, 3;", "=r,r"(%n) {pure} : (tensor<16xi32>) -> tensor<16xi32>
  // CHECK: tile.map(%{{.*}}) {
  %m = tile.map(%n) {
  ^bb0(%e: i32):
    %s = arith.addi %e, %e : i32
    tile.yield %s : i32
  } : (tensor<16xi32>) -> tensor<16xi32>
  // CHECK: tile.histogram %{{.*}} : tensor<16xi32> -> tensor<8xi32>
  %h = tile.histogram %n : tensor<16xi32> -> tensor<8xi32>
  // CHECK: tile.assume %{{.*}}
  tile.assume %c
  return
}

// -----
func.func @gather(%x: tensor<16x8xf32>, %i: tensor<8x4xi32>) {
  // expected-error @+1 {{gather_c1}}
  %g = tile.gather %x, %i, 1 : tensor<16x8xf32>, tensor<8x4xi32> -> tensor<8x4xf32>
  return
}

// -----
func.func @map(%n: tensor<16xi32>) {
  // expected-error @+1 {{map_c2}}
  %m = tile.map(%n) {
  ^bb0(%e: i64):
    tile.yield %e : i64
  } : (tensor<16xi32>) -> tensor<16xi32>
  return
}

// -----
func.func @call(%n: tensor<16xi32>) {
  // expected-error @+1 {{extern_call_c1}}
  %m = tile.extern_call "f"(%n) : (tensor<16xi32>) -> tensor<8xi32>
  return
}
