// What the options change in the PTX.
// RUN: pantile-lower --ptx %s | FileCheck %s --check-prefix=PLAIN
// RUN: pantile-lower --ptx --no-fma --no-line-info --max-registers=128 %s | FileCheck %s --check-prefix=OPTIONS

// PLAIN-NOT: .maxnreg
// PLAIN: .loc 1 {{[0-9]+}} {{[0-9]+}}
// PLAIN: fma.rn.f32
// OPTIONS: .maxnreg 128
// OPTIONS-NOT: .loc
// OPTIONS: mul{{(.rn)?}}.f32
// OPTIONS: add{{(.rn)?}}.f32
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @f(%x: !tile.ptr<f32>, %a: f32, %b: f32) attributes {tile.kernel} {
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %a : f32
    tile.store %x, %s : !tile.ptr<f32>, f32
    return
  }
}
