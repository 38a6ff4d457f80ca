// A pure call is made once for equal operands; a call with effects is made for every register.
// Declarations carry the library.
// RUN: pantile-lower %s | FileCheck %s
#row = #tile.layout<[64], reg = [[32]], lane = [[1], [2], [4], [8], [16]], warp = []>
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  // CHECK-LABEL: define ptx_kernel void @calls
  // CHECK-COUNT-1: call float @__nv_sinf(float %1)
  // CHECK-NOT: @__nv_sinf
  // CHECK-COUNT-2: call float @noise(float
  // CHECK-NOT: call float @noise
  func.func @calls(%p: !tile.ptr<f32>, %x: f32) attributes {tile.kernel} {
    %tile = tile.splat %x : tensor<64xf32, #row>
    %pure = tile.extern_call "__nv_sinf"(%tile) {pure} : (tensor<64xf32, #row>) -> tensor<64xf32, #row>
    %impure = tile.extern_call "noise"(%pure) {library = "own.bc"} : (tensor<64xf32, #row>) -> tensor<64xf32, #row>
    %i = tile.arange 0, 64 : tensor<64xi32, #row>
    %base = tile.splat %p : tensor<64x!tile.ptr<f32>, #row>
    %at = tile.addptr %base, %i : tensor<64x!tile.ptr<f32>, #row>, tensor<64xi32, #row>
    tile.store %at, %impure : tensor<64x!tile.ptr<f32>, #row>, tensor<64xf32, #row>
    return
  }
}
// CHECK: declare float @noise(float) #[[OWN:[0-9]+]]
// CHECK: attributes #[[OWN]] = { "pantile-library"="own.bc" }
