// Functions that the hardware lacks come from libdevice, inlined; a file that is none is named.
// RUN: pantile-lower --ptx %s | FileCheck %s
// RUN: env PANTILE_LIBDEVICE_PATH=%s not pantile-lower --opt %s 2>&1 | FileCheck %s --check-prefix=WRONG

// CHECK-NOT: __nv_
// CHECK-NOT: call
// CHECK: fma.rn.ftz.f32
// CHECK-NOT: __nv_
// WRONG: cannot read `{{.*}}libdevice.mlir`: expected top-level entity
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @f(%x: !tile.ptr<f32>, %a: f32) attributes {tile.kernel} {
    %e = math.erf %a : f32
    %t = math.tanh %e : f32
    tile.store %x, %t : !tile.ptr<f32>, f32
    return
  }
}
