// Each dot gets the instruction and the arrangement of warps that its shape, its types and the target allow; remarks say why it is not wgmma.
// RUN: pantile-opt %s -split-input-file -tile-select-mma -verify-diagnostics=only-expected | FileCheck %s

module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
// CHECK-LABEL: @one_group_has_256_columns
func.func @one_group_has_256_columns(%a: tensor<128x64xf16>, %b: tensor<64x256xf16>, %c: tensor<128x256xf32>) -> tensor<128x256xf32> {
  // CHECK: tile.dot {{.*}} mma<wgmma, 64 x 256 x 16, warps = 4 x 1>
  %d = tile.dot %a, %b, %c : tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>
  return %d : tensor<128x256xf32>
}
// CHECK-LABEL: @bf16_is_half_too
func.func @bf16_is_half_too(%a: tensor<64x16xbf16>, %b: tensor<16x32xbf16>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  // CHECK: tile.dot {{.*}} mma<wgmma, 64 x 32 x 16, warps = 4 x 1>
  %d = tile.dot %a, %b, %c : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32>
  return %d : tensor<64x32xf32>
}
// CHECK-LABEL: @few_rows_run_on_mma_sync
func.func @few_rows_run_on_mma_sync(%a: tensor<32x64xf16>, %b: tensor<64x64xf16>, %c: tensor<32x64xf32>) -> tensor<32x64xf32> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 2 x 2>
  %d = tile.dot %a, %b, %c : tensor<32x64xf16>, tensor<64x64xf16>, tensor<32x64xf32>
  return %d : tensor<32x64xf32>
}
// What is in registers can be stored along K.
// CHECK-LABEL: @fp32_is_tf32
func.func @fp32_is_tf32(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK-NOT: tile.trans
  // CHECK: tile.dot {{.*}} mma<wgmma, 64 x 64 x 8, warps = 4 x 1>
  %d = tile.dot %a, %b, %c : tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}
// CHECK-LABEL: @fp32_may_be_exact
func.func @fp32_may_be_exact(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: tile.dot {{.*}} mma<fma, 1 x 1 x 1, warps = 2 x 2>
  // expected-remark @+1 {{this dot runs on scalar FMA: no tensor-core instruction for these element types and this precision}}
  %d = tile.dot %a, %b, %c {precision = 1 : i32} : tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}
// One instruction takes 16 of K, or what the tiles have.
// CHECK-LABEL: @fp64
func.func @fp64(%a: tensor<32x32xf64>, %b: tensor<32x32xf64>, %c: tensor<32x32xf64>, %d: tensor<32x8xf64>, %e: tensor<8x32xf64>) -> tensor<32x32xf64> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 2 x 2>
  %f = tile.dot %a, %b, %c : tensor<32x32xf64>, tensor<32x32xf64>, tensor<32x32xf64>
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 8, warps = 2 x 2>
  %g = tile.dot %d, %e, %f : tensor<32x8xf64>, tensor<8x32xf64>, tensor<32x32xf64>
  return %g : tensor<32x32xf64>
}
// The large shapes would be half empty.
// CHECK-LABEL: @fp64_of_eight_rows
func.func @fp64_of_eight_rows(%a: tensor<8x16xf64>, %b: tensor<16x32xf64>, %c: tensor<8x32xf64>) -> tensor<8x32xf64> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 8 x 8 x 4, warps = 1 x 4>
  %d = tile.dot %a, %b, %c : tensor<8x16xf64>, tensor<16x32xf64>, tensor<8x32xf64>
  return %d : tensor<8x32xf64>
}
// CHECK-LABEL: @bytes_sum_to_i32
func.func @bytes_sum_to_i32(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  // CHECK: tile.dot {{.*}} mma<wgmma, 64 x 64 x 32, warps = 4 x 1>
  %d = tile.dot %a, %b, %c : tensor<64x64xi8>, tensor<64x64xi8>, tensor<64x64xi32>
  return %d : tensor<64x64xi32>
}
// CHECK-LABEL: @too_shallow_for_an_instruction
func.func @too_shallow_for_an_instruction(%a: tensor<16x8xf16>, %b: tensor<8x16xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // CHECK: arith.extf {{.*}} : tensor<16x8xf16> to tensor<16x8xf32>
  // CHECK: tile.dot {{.*}} mma<fma, 1 x 1 x 1, warps = 2 x 2> : tensor<16x8xf32>
  // expected-remark @+1 {{this dot runs on scalar FMA: K of the tiles is not a multiple of the K of a tensor-core instruction}}
  %d = tile.dot %a, %b, %c : tensor<16x8xf16>, tensor<8x16xf16>, tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}
// Fragments of an instruction may be partly empty.
// CHECK-LABEL: @one_row
func.func @one_row(%a: tensor<1x64xf16>, %b: tensor<64x4xf16>, %c: tensor<1x4xf32>) -> tensor<1x4xf32> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 4 x 1>
  %d = tile.dot %a, %b, %c : tensor<1x64xf16>, tensor<64x4xf16>, tensor<1x4xf32>
  return %d : tensor<1x4xf32>
}
// CHECK-LABEL: @half_accumulator
func.func @half_accumulator(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %c: tensor<64x64xf16>) -> tensor<64x64xf16> {
  // CHECK: tile.dot {{.*}} mma<wgmma, 64 x 64 x 16, warps = 4 x 1>
  %d = tile.dot %a, %b, %c : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>
  return %d : tensor<64x64xf16>
}
// CHECK-LABEL: @two_formats_of_8_bits
func.func @two_formats_of_8_bits(%a: tensor<64x64xf8E5M2>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: tile.dot {{.*}} mma<wgmma, 64 x 64 x 32, warps = 4 x 1> {{.*}}xf8E5M2>, {{.*}}xf8E4M3FN>
  %d = tile.dot %a, %b, %c : tensor<64x64xf8E5M2>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}
// CHECK-LABEL: @fp8_with_a_half_accumulator
func.func @fp8_with_a_half_accumulator(%a: tensor<64x64xf8E5M2>, %b: tensor<64x64xf8E5M2>, %c: tensor<64x64xf16>) -> tensor<64x64xf16> {
  // CHECK-COUNT-2: arith.extf {{.*}} to tensor<64x64xf16>
  // CHECK: tile.dot {{.*}} mma<wgmma, 64 x 64 x 16, warps = 4 x 1>
  %d = tile.dot %a, %b, %c : tensor<64x64xf8E5M2>, tensor<64x64xf8E5M2>, tensor<64x64xf16>
  return %d : tensor<64x64xf16>
}
// fp32 in parts: of tf32, and of bf16.
// CHECK-LABEL: @split
func.func @split(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 8, warps = 2 x 2>
  %d = tile.dot %a, %b, %c {precision = 2 : i32} : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 2 x 2>
  %e = tile.dot %a, %b, %d {precision = 4 : i32} : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  return %e : tensor<64x64xf32>
}
// A batch of dots.
// CHECK-LABEL: @batch
func.func @batch(%a: tensor<2x64x32xf16>, %b: tensor<2x32x64xf16>, %c: tensor<2x64x64xf32>) -> tensor<2x64x64xf32> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 2 x 2>
  %d = tile.dot %a, %b, %c : tensor<2x64x32xf16>, tensor<2x32x64xf16>, tensor<2x64x64xf32>
  return %d : tensor<2x64x64xf32>
}
}

// -----

module attributes {tile.target = "sm_90a", tile.num_warps = 8 : i32} {
// CHECK-LABEL: @two_groups_share_rows
func.func @two_groups_share_rows(%a: tensor<128x64xf16>, %b: tensor<64x256xf16>, %c: tensor<128x256xf32>) -> tensor<128x256xf32> {
  // CHECK: tile.dot {{.*}} mma<wgmma, 64 x 256 x 16, warps = 8 x 1>
  %d = tile.dot %a, %b, %c : tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>
  return %d : tensor<128x256xf32>
}
// CHECK-LABEL: @two_groups_share_columns
func.func @two_groups_share_columns(%a: tensor<64x64xf16>, %b: tensor<64x256xf16>, %c: tensor<64x256xf32>) -> tensor<64x256xf32> {
  // CHECK: tile.dot {{.*}} mma<wgmma, 64 x 128 x 16, warps = 4 x 2>
  %d = tile.dot %a, %b, %c : tensor<64x64xf16>, tensor<64x256xf16>, tensor<64x256xf32>
  return %d : tensor<64x256xf32>
}
// CHECK-LABEL: @too_few_columns_for_two_groups
func.func @too_few_columns_for_two_groups(%a: tensor<64x64xf16>, %b: tensor<64x16xf16>, %c: tensor<64x16xf32>) -> tensor<64x16xf32> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 4 x 2>
  %d = tile.dot %a, %b, %c : tensor<64x64xf16>, tensor<64x16xf16>, tensor<64x16xf32>
  return %d : tensor<64x16xf32>
}
}

// -----

module attributes {tile.target = "sm_90a", tile.num_warps = 2 : i32} {
// CHECK-LABEL: @half_a_group
func.func @half_a_group(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 2 x 1>
  %d = tile.dot %a, %b, %c : tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}
}

// -----

module attributes {tile.target = "sm_80", tile.num_warps = 4 : i32} {
// CHECK-LABEL: @ampere
func.func @ampere(%a: tensor<128x32xf16>, %b: tensor<32x128xf16>, %c: tensor<128x128xf32>) -> tensor<128x128xf32> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 2 x 2>
  %d = tile.dot %a, %b, %c : tensor<128x32xf16>, tensor<32x128xf16>, tensor<128x128xf32>
  return %d : tensor<128x128xf32>
}
// CHECK-LABEL: @tall_tiles_split_rows
func.func @tall_tiles_split_rows(%a: tensor<256x32xbf16>, %b: tensor<32x32xbf16>, %c: tensor<256x32xf32>) -> tensor<256x32xf32> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 4 x 1>
  %d = tile.dot %a, %b, %c : tensor<256x32xbf16>, tensor<32x32xbf16>, tensor<256x32xf32>
  return %d : tensor<256x32xf32>
}
// CHECK-LABEL: @fp8_is_widened
func.func @fp8_is_widened(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E5M2>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK-COUNT-2: arith.extf {{.*}} to tensor<64x64xf16>
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 2 x 2> : tensor<64x64xf16>
  %d = tile.dot %a, %b, %c : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E5M2>, tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}
// The first dot's rows stay in their warps, so that it becomes the second's left operand in registers.
// CHECK-LABEL: @chained
func.func @chained(%q: tensor<64x64xf16>, %k: tensor<64x64xf16>, %v: tensor<64x64xf16>, %z: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 4 x 1>
  %s = tile.dot %q, %k, %z : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  %e = math.exp2 %s : tensor<64x64xf32>
  %p = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 4 x 1>
  %o = tile.dot %p, %v, %z : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  return %o : tensor<64x64xf32>
}
}

// -----

module attributes {tile.target = "sm_80", tile.num_warps = 4 : i32} {
// CHECK-LABEL: @fp64_on_ampere
func.func @fp64_on_ampere(%a: tensor<32x16xf64>, %b: tensor<16x32xf64>, %c: tensor<32x32xf64>) -> tensor<32x32xf64> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 8 x 8 x 4, warps = 2 x 2>
  %d = tile.dot %a, %b, %c : tensor<32x16xf64>, tensor<16x32xf64>, tensor<32x32xf64>
  return %d : tensor<32x32xf64>
}
}

// -----

module attributes {tile.target = "sm_90a", tile.num_warps = 8 : i32} {
// Fragments that fill the registers are multiplied in small pieces.
// CHECK-LABEL: @fp64_of_many_registers
func.func @fp64_of_many_registers(%a: tensor<128x16xf64>, %b: tensor<16x128xf64>, %c: tensor<128x128xf64>) -> tensor<128x128xf64> {
  // CHECK: tile.dot {{.*}} mma<mma_sync, 16 x 8 x 4, warps = 4 x 2>
  %d = tile.dot %a, %b, %c : tensor<128x16xf64>, tensor<16x128xf64>, tensor<128x128xf64>
  return %d : tensor<128x128xf64>
}
}

// -----

module attributes {tile.target = "sm_89", tile.num_warps = 4 : i32} {
// CHECK-LABEL: @fp64_without_fast_tensor_cores
func.func @fp64_without_fast_tensor_cores(%a: tensor<32x16xf64>, %b: tensor<16x32xf64>, %c: tensor<32x32xf64>) -> tensor<32x32xf64> {
  // CHECK: tile.dot {{.*}} mma<fma, 1 x 1 x 1, warps = 2 x 2>
  // expected-remark @+1 {{this dot runs on scalar FMA: fp64 on this GPU's tensor cores is no faster}}
  %d = tile.dot %a, %b, %c : tensor<32x16xf64>, tensor<16x32xf64>, tensor<32x32xf64>
  return %d : tensor<32x32xf64>
}
}

// -----

// expected-error @+1 {{unknown target `sm_42`}}
module attributes {tile.target = "sm_42"} {
}
