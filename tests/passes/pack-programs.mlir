// Programs of one warp that use no shared memory and do not synchronise with others may run in one CTA.
// RUN: pantile-opt %s -split-input-file -nv-pack-programs | FileCheck %s
#row = #tile.layout<[128], reg = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = []>
// CHECK: module attributes {nv.launch = #nv.launch<programs_per_cta = 4
// CHECK-LABEL: @one_warp
module attributes {tile.num_warps = 1 : i32, tile.target = "sm_90a"} {
  func.func @one_warp(%from: tensor<128x!tile.ptr<f32>, #row>, %to: tensor<128x!tile.ptr<f32>, #row>) {
    %x = tile.load %from : tensor<128x!tile.ptr<f32>, #row> -> tensor<128xf32, #row>
    %y = math.exp2 %x : tensor<128xf32, #row>
    tile.store %to, %y : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
    return
  }
}

// -----
// CHECK-NOT: programs_per_cta
// CHECK-LABEL: @two_warps
module attributes {tile.num_warps = 2 : i32, tile.target = "sm_90a"} {
  func.func @two_warps() { return }
}

// -----
// CHECK-NOT: programs_per_cta
// CHECK-LABEL: @shared_memory
module attributes {nv.launch = #nv.launch<shared_bytes = 128>, tile.num_warps = 1 : i32, tile.target = "sm_90a"} {
  func.func @shared_memory() { return }
}

// -----
// Another program may wait for what this one adds.
// CHECK-NOT: programs_per_cta
// CHECK-LABEL: @synchronises
module attributes {tile.num_warps = 1 : i32, tile.target = "sm_90a"} {
  func.func @synchronises(%flag: !tile.ptr<i32>, %one: i32) {
    %old = tile.atomic_rmw add, acq_rel, gpu, %flag, %one : !tile.ptr<i32> -> i32
    return
  }
}
