// An exponential whose denormal results change nothing becomes `exp2`, which gives 0 for them.
// RUN: pantile-opt %s -tile-approximate-exp | FileCheck %s
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @added_to_one
  // CHECK: %[[SCALE:.*]] = arith.constant dense<1.44{{.*}}>
  // CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[SCALE]]
  // CHECK: math.exp2 %[[SCALED]]
  // CHECK-NOT: math.exp %
  func.func @added_to_one(%x: tensor<128xf32>) -> tensor<128xf32> {
    %one = arith.constant dense<1.0> : tensor<128xf32>
    %power = math.exp %x : tensor<128xf32>
    %sum = arith.addf %one, %power : tensor<128xf32>
    return %sum : tensor<128xf32>
  }

  // fp16 has no such numbers.
  // CHECK-LABEL: @narrowed
  // CHECK: math.exp2
  func.func @narrowed(%x: tensor<128xf32>) -> tensor<128xf16> {
    %power = math.exp %x : tensor<128xf32>
    %half = arith.truncf %power : tensor<128xf32> to tensor<128xf16>
    return %half : tensor<128xf16>
  }

  // The result is seen as it is.
  // CHECK-LABEL: @returned
  // CHECK: math.exp %
  func.func @returned(%x: tensor<128xf32>) -> tensor<128xf32> {
    %power = math.exp %x : tensor<128xf32>
    return %power : tensor<128xf32>
  }
}
