// Functions that the hardware lacks come from libdevice, inlined; without the file the message names the function.
// RUN: pantile-lower --ptx %s | FileCheck %s
// RUN: env PANTILE_LIBDEVICE_PATH=%t.none CUDA_HOME=%t.none pantile-lower --opt %s | FileCheck %s --check-prefix=LLVM

// CHECK-NOT: __nv_
// CHECK-NOT: call
// CHECK: fma.rn.f32
// CHECK-NOT: __nv_
// LLVM-NOT: declare {{.*}} @__nv_
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @f(%x: !tile.ptr<f32>, %a: f32) attributes {tile.kernel} {
    %e = math.erf %a : f32
    %t = math.tanh %e : f32
    tile.store %x, %t : !tile.ptr<f32>, f32
    return
  }
}
