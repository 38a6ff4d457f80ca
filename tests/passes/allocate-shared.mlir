// RUN: pantile-opt %s -split-input-file -nv-allocate-shared | FileCheck %s
// RUN: pantile-opt %s -split-input-file -nv-allocate-shared -nv-insert-barriers | FileCheck %s --check-prefix=BARRIERS

// Two buffers whose lifetimes do not overlap get the same bytes; one that lives across both does not.
// CHECK: module attributes {{.*}}shared_bytes = 12288
// CHECK-LABEL: @overlapping_and_disjoint_live_ranges
#s = #nv.swizzle<[1, 0], 128>
module attributes {tile.num_warps = 4 : i32} {
  func.func @overlapping_and_disjoint_live_ranges() {
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

// A circular buffer counts all its stages.
// CHECK: module attributes {{.*}}shared_bytes = 32768
#s = #nv.swizzle<[1, 0], 128>
module attributes {tile.num_warps = 4 : i32} {
  func.func @circular() {
    %circular = nv.alloc : !nv.buffer<4 x [64, 64] x f16, #s>
    nv.dealloc %circular : !nv.buffer<4 x [64, 64] x f16, #s>
    return
  }
}

// -----

// Small scratch has bytes of its own, so that two reductions need no barrier between them;
// around a loop, each is ordered by the barrier inside the other.
// CHECK: module attributes {{.*}}shared_bytes = 144
#l = #tile.layout<[256], reg = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[64], [128]]>
module attributes {tile.num_warps = 4 : i32} {
  func.func @two_reductions(%x: tensor<256xf32, #l>, %n: i32) -> (f32, f32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    // BARRIERS: scf.for
    // BARRIERS-NOT: nv.barrier
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %zero, %q = %zero) -> (f32, f32) : i32 {
      // CHECK: nv.scratch = 0
      %sum = tile.reduce (%x), 0 {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        tile.yield %s : f32
      } : (tensor<256xf32, #l>) -> f32
      // CHECK: nv.scratch = 128
      %most = tile.reduce (%x), 0 {
      ^bb0(%a: f32, %b: f32):
        %s = arith.maximumf %a, %b : f32
        tile.yield %s : f32
      } : (tensor<256xf32, #l>) -> f32
      scf.yield %sum, %most : f32, f32
    }
    return %r#0, %r#1 : f32, f32
  }
}

// -----

// Next to large buffers it takes what is free.
// CHECK: module attributes {{.*}}shared_bytes = 32768
#s = #nv.swizzle<[1, 0], 128>
#l = #tile.layout<[256], reg = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[64], [128]]>
module attributes {tile.num_warps = 4 : i32} {
  func.func @next_to_a_circular_buffer(%x: tensor<256xf32, #l>) -> f32 {
    %circular = nv.alloc : !nv.buffer<4 x [64, 64] x f16, #s>
    nv.dealloc %circular : !nv.buffer<4 x [64, 64] x f16, #s>
    // CHECK: nv.scratch = 0
    %sum = tile.reduce (%x), 0 {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tile.yield %s : f32
    } : (tensor<256xf32, #l>) -> f32
    return %sum : f32
  }
}
