// RUN: pantile-opt %s --canonicalize | FileCheck %s
// What is widened before it is joined moves as narrow elements.

// CHECK-LABEL: func.func @weights
// CHECK: %[[BOTH:.*]] = tile.join %arg0, %arg1 : tensor<16xi8> -> tensor<16x2xi8>
// CHECK: arith.sitofp %[[BOTH]] : tensor<16x2xi8> to tensor<16x2xbf16>
// CHECK-NOT: tile.join
func.func @weights(%low: tensor<16xi8>, %high: tensor<16xi8>) -> tensor<16x2xbf16> {
  %l = arith.sitofp %low : tensor<16xi8> to tensor<16xbf16>
  %h = arith.sitofp %high : tensor<16xi8> to tensor<16xbf16>
  %both = tile.join %l, %h : tensor<16xbf16> -> tensor<16x2xbf16>
  return %both : tensor<16x2xbf16>
}

// Signed and unsigned numbers, other types, what is narrowed, and what is read twice stay as they are.
// CHECK-LABEL: func.func @unlike
// CHECK-COUNT-4: tile.join {{.*}}xbf16> ->
func.func @unlike(%a: tensor<16xi8>, %b: tensor<16xi8>, %c: tensor<16xi32>, %d: tensor<16xi32>) -> (tensor<16x2xbf16>, tensor<16x2xbf16>, tensor<16x2xbf16>, tensor<16x2xbf16>, tensor<16xbf16>) {
  %s = arith.sitofp %a : tensor<16xi8> to tensor<16xbf16>
  %u = arith.uitofp %b : tensor<16xi8> to tensor<16xbf16>
  %first = tile.join %s, %u : tensor<16xbf16> -> tensor<16x2xbf16>
  %s2 = arith.sitofp %b : tensor<16xi8> to tensor<16xbf16>
  %w = arith.sitofp %c : tensor<16xi32> to tensor<16xbf16>
  %second = tile.join %s2, %w : tensor<16xbf16> -> tensor<16x2xbf16>
  %v = arith.sitofp %c : tensor<16xi32> to tensor<16xbf16>
  %x = arith.sitofp %d : tensor<16xi32> to tensor<16xbf16>
  %third = tile.join %v, %x : tensor<16xbf16> -> tensor<16x2xbf16>
  %y = arith.uitofp %a : tensor<16xi8> to tensor<16xbf16>
  %fourth = tile.join %y, %y : tensor<16xbf16> -> tensor<16x2xbf16>
  return %first, %second, %third, %fourth, %y : tensor<16x2xbf16>, tensor<16x2xbf16>, tensor<16x2xbf16>, tensor<16x2xbf16>, tensor<16xbf16>
}
