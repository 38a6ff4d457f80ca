// Sixteen bytes per access, predicated; one base and constant offsets.
// RUN: pantile-lower %s | FileCheck %s
// RUN: pantile-lower --ptx %s | FileCheck %s --check-prefix=PTX

// CHECK-NOT: @shared
// CHECK: define ptx_kernel void @add(ptr addrspace(1) align 16 %0, ptr addrspace(1) align 16 %1, ptr addrspace(1) align 16 %2, i32 %3, ptr addrspace(1) %4, ptr addrspace(1) %5)
// CHECK-COUNT-4: asm sideeffect "@$5 ld.global.v4.b32
// CHECK: asm sideeffect "@$5 st.global.v4.b32 [$0], {$1, $2, $3, $4};"
// CHECK: asm sideeffect "@$5 st.global.v4.b32 [$0+2048], {$1, $2, $3, $4};"
// CHECK: "nvvm.reqntid"="128,1,1"

// PTX: .target sm_90a
// PTX: .visible .entry add(
// PTX: .loc 1 {{[0-9]+}} 10
// PTX-COUNT-4: @%p{{[0-9]+}} ld.global.v4.b32
// PTX-COUNT-2: @%p{{[0-9]+}} st.global.v4.b32
// PTX-NOT: st.global
#layout = #tile.layout<[1024], reg = [[1], [2], [512]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @add(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %out: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %block = arith.constant 1024 : i32
    %pid = tile.program_id 0
    %start = arith.muli %pid, %block : i32
    %range = tile.arange 0, 1024 : tensor<1024xi32, #layout>
    %s = tile.splat %start : tensor<1024xi32, #layout>
    %offsets = arith.addi %s, %range : tensor<1024xi32, #layout>
    %ns = tile.splat %n : tensor<1024xi32, #layout>
    %mask = arith.cmpi slt, %offsets, %ns : tensor<1024xi32, #layout>
    %xs = tile.splat %x : tensor<1024x!tile.ptr<f32>, #layout>
    %xp = tile.addptr %xs, %offsets : tensor<1024x!tile.ptr<f32>, #layout>, tensor<1024xi32, #layout>
    %a = tile.load %xp mask %mask : tensor<1024xi1, #layout> : tensor<1024x!tile.ptr<f32>, #layout> -> tensor<1024xf32, #layout>
    %ys = tile.splat %y : tensor<1024x!tile.ptr<f32>, #layout>
    %yp = tile.addptr %ys, %offsets : tensor<1024x!tile.ptr<f32>, #layout>, tensor<1024xi32, #layout>
    %b = tile.load %yp mask %mask : tensor<1024xi1, #layout> : tensor<1024x!tile.ptr<f32>, #layout> -> tensor<1024xf32, #layout>
    %c = arith.addf %a, %b : tensor<1024xf32, #layout>
    %os = tile.splat %out : tensor<1024x!tile.ptr<f32>, #layout>
    %op = tile.addptr %os, %offsets : tensor<1024x!tile.ptr<f32>, #layout>, tensor<1024xi32, #layout>
    tile.store %op, %c mask %mask : tensor<1024xi1, #layout> : tensor<1024x!tile.ptr<f32>, #layout>, tensor<1024xf32, #layout>
    return
  }
}
