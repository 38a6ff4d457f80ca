// RUN: pantile-opt %s -split-input-file -nv-allocate-shared | FileCheck %s

// Two buffers whose lives do not meet share their bytes; one that lives across both does not.
// CHECK: module attributes {{.*}}nv.shared_bytes = 12288
// CHECK-LABEL: @lives_that_meet_and_do_not
#s = #nv.swizzle<[1, 0], 128>
module attributes {tile.num_warps = 4 : i32} {
  func.func @lives_that_meet_and_do_not() {
    // CHECK: nv.alloc at 8192
    %long = nv.alloc : !nv.buffer<1 x [32, 64] x f16, #s>
    // CHECK: nv.alloc at 0
    %first = nv.alloc : !nv.buffer<1 x [64, 64] x f16, #s>
    nv.dealloc %first : !nv.buffer<1 x [64, 64] x f16, #s>
    // CHECK: nv.alloc at 0
    %second = nv.alloc : !nv.buffer<1 x [64, 64] x f16, #s>
    nv.dealloc %second : !nv.buffer<1 x [64, 64] x f16, #s>
    nv.dealloc %long : !nv.buffer<1 x [32, 64] x f16, #s>
    return
  }
}

// -----

// A ring counts all its slots.
// CHECK: module attributes {{.*}}nv.shared_bytes = 32768
#s = #nv.swizzle<[1, 0], 128>
module attributes {tile.num_warps = 4 : i32} {
  func.func @ring() {
    %ring = nv.alloc : !nv.buffer<4 x [64, 64] x f16, #s>
    nv.dealloc %ring : !nv.buffer<4 x [64, 64] x f16, #s>
    return
  }
}
