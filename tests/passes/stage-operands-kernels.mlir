// RUN: pantile-opt %s -split-input-file -tile-select-mma -tile-assign-layouts -nv-stage-operands | FileCheck %s

// A wgmma dot reads both operands from shared memory and is waited for at once.
// CHECK-LABEL: @wgmma_on_buffers
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[Y:.*]] = tile.load
// CHECK: %[[A:.*]] = nv.alloc : <1 x[64, 64] x f16, <[1, 0], 128>>
// CHECK: nv.local_store %[[X]], %[[A]]
// CHECK: %[[B:.*]] = nv.alloc
// CHECK: nv.local_store %[[Y]], %[[B]]
// CHECK: nv.fence_async
// CHECK: %[[P:.*]] = nv.wgmma %[[A]], %[[B]],
// CHECK: nv.wgmma_wait %[[P]]
// CHECK: nv.dealloc %[[A]]
// CHECK: nv.dealloc %[[B]]
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @wgmma_on_buffers(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %row = tile.arange 0, 64 : tensor<64xi32>
    %r0 = tile.expand_dims %row, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %r1 = tile.expand_dims %row, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %stride = arith.constant dense<64> : tensor<64x1xi32>
    %r1s = arith.muli %r1, %stride : tensor<64x1xi32>
    %x0 = tile.broadcast %r1s : tensor<64x1xi32> -> tensor<64x64xi32>
    %x1 = tile.broadcast %r0 : tensor<1x64xi32> -> tensor<64x64xi32>
    %offsets = arith.addi %x0, %x1 : tensor<64x64xi32>
    %as = tile.splat %a : tensor<64x64x!tile.ptr<f16>>
    %bs = tile.splat %b : tensor<64x64x!tile.ptr<f16>>
    %ap = tile.addptr %as, %offsets : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %bp = tile.addptr %bs, %offsets : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %step = arith.constant dense<4096> : tensor<64x64xi32>
    %r:3 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %pa = %ap, %pb = %bp)
        -> (tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>) : i32 {
      %x = tile.load %pa : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %y = tile.load %pb : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %pa2 = tile.addptr %pa, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %pb2 = tile.addptr %pb, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      scf.yield %d, %pa2, %pb2 : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
    }
    return %r#0 : tensor<64x64xf32>
  }
}

// -----

// A transpose before the dot is done on the view: nothing moves in registers.
// CHECK-LABEL: @transposed_operand
// CHECK-NOT: tile.trans
// CHECK: %[[V:.*]] = nv.buffer_trans %{{.*}} : <1 x[64, 64] x f16, <[1, 0], 128>> -> <1 x[64, 64] x f16, <[0, 1], 128>>
// CHECK: nv.wgmma %{{.*}}, %[[V]],
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @transposed_operand(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %row = tile.arange 0, 64 : tensor<64xi32>
    %r0 = tile.expand_dims %row, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %r1 = tile.expand_dims %row, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %stride = arith.constant dense<64> : tensor<64x1xi32>
    %r1s = arith.muli %r1, %stride : tensor<64x1xi32>
    %x0 = tile.broadcast %r1s : tensor<64x1xi32> -> tensor<64x64xi32>
    %x1 = tile.broadcast %r0 : tensor<1x64xi32> -> tensor<64x64xi32>
    %offsets = arith.addi %x0, %x1 : tensor<64x64xi32>
    %as = tile.splat %a : tensor<64x64x!tile.ptr<f16>>
    %bs = tile.splat %b : tensor<64x64x!tile.ptr<f16>>
    %ap = tile.addptr %as, %offsets : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %bp = tile.addptr %bs, %offsets : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %step = arith.constant dense<4096> : tensor<64x64xi32>
    %r:3 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %pa = %ap, %pb = %bp)
        -> (tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>) : i32 {
      %x = tile.load %pa : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %y = tile.load %pb : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %t = tile.trans %y [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
      %d = tile.dot %x, %t, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %pa2 = tile.addptr %pa, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %pb2 = tile.addptr %pb, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      scf.yield %d, %pa2, %pb2 : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
    }
    return %r#0 : tensor<64x64xf32>
  }
}

// -----

// mma.sync reads registers: the loop's loads pass through a buffer, in the operand's layout.
// CHECK-LABEL: @mma_sync_through_a_buffer
// CHECK: nv.local_store
// CHECK: %[[A:.*]] = nv.local_load
// CHECK: nv.local_store
// CHECK: %[[B:.*]] = nv.local_load
// CHECK: tile.dot %[[A]], %[[B]], %{{.*}} mma<mma_sync, 16 x 8 x 16
module attributes {tile.target = "sm_80", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @mma_sync_through_a_buffer(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %row = tile.arange 0, 64 : tensor<64xi32>
    %r0 = tile.expand_dims %row, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %r1 = tile.expand_dims %row, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %stride = arith.constant dense<64> : tensor<64x1xi32>
    %r1s = arith.muli %r1, %stride : tensor<64x1xi32>
    %x0 = tile.broadcast %r1s : tensor<64x1xi32> -> tensor<64x64xi32>
    %x1 = tile.broadcast %r0 : tensor<1x64xi32> -> tensor<64x64xi32>
    %offsets = arith.addi %x0, %x1 : tensor<64x64xi32>
    %as = tile.splat %a : tensor<64x64x!tile.ptr<f16>>
    %bs = tile.splat %b : tensor<64x64x!tile.ptr<f16>>
    %ap = tile.addptr %as, %offsets : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %bp = tile.addptr %bs, %offsets : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %step = arith.constant dense<4096> : tensor<64x64xi32>
    %r:3 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %pa = %ap, %pb = %bp)
        -> (tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>) : i32 {
      %x = tile.load %pa : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %y = tile.load %pb : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %pa2 = tile.addptr %pa, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %pb2 = tile.addptr %pb, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      scf.yield %d, %pa2, %pb2 : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
    }
    return %r#0 : tensor<64x64xf32>
  }
}

// -----

// What is computed in vectors across K passes through a buffer, too; what is along K is converted.
// CHECK-LABEL: @mma_sync_of_computed
// CHECK: %[[A:.*]] = tile.convert_layout
// CHECK: nv.local_store
// CHECK: %[[B:.*]] = nv.local_load
// CHECK: tile.dot %[[A]], %[[B]], %{{.*}} mma<mma_sync, 16 x 8 x 16
module attributes {tile.target = "sm_80", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @mma_sync_of_computed(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %row = tile.arange 0, 64 : tensor<64xi32>
    %r0 = tile.expand_dims %row, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %r1 = tile.expand_dims %row, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %stride = arith.constant dense<64> : tensor<64x1xi32>
    %r1s = arith.muli %r1, %stride : tensor<64x1xi32>
    %x0 = tile.broadcast %r1s : tensor<64x1xi32> -> tensor<64x64xi32>
    %x1 = tile.broadcast %r0 : tensor<1x64xi32> -> tensor<64x64xi32>
    %offsets = arith.addi %x0, %x1 : tensor<64x64xi32>
    %as = tile.splat %a : tensor<64x64x!tile.ptr<f16>>
    %bs = tile.splat %b : tensor<64x64x!tile.ptr<f16>>
    %ap = tile.addptr %as, %offsets : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %bp = tile.addptr %bs, %offsets : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %step = arith.constant dense<4096> : tensor<64x64xi32>
    %r:3 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %pa = %ap, %pb = %bp)
        -> (tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>) : i32 {
      %x = tile.load %pa : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %y = tile.load %pb : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %x2 = arith.negf %x : tensor<64x64xf16>
      %y2 = arith.negf %y : tensor<64x64xf16>
      %d = tile.dot %x2, %y2, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %pa2 = tile.addptr %pa, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %pb2 = tile.addptr %pb, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      scf.yield %d, %pa2, %pb2 : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
    }
    return %r#0 : tensor<64x64xf32>
  }
}

// -----

// An operand that the loop does not change is stored once, before it.
// CHECK-LABEL: @invariant_operand
// CHECK: %[[A:.*]] = nv.alloc
// CHECK: nv.local_store %{{.*}}, %[[A]]
// CHECK-NEXT: nv.fence_async
// CHECK: scf.for
// CHECK: nv.wgmma %[[A]],
// CHECK: scf.yield
// CHECK: nv.dealloc %[[A]]
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @invariant_operand(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.splat %a : tensor<64x64x!tile.ptr<f16>>
    %x = tile.load %as : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
      %y = tile.load %as : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    return %r : tensor<64x64xf32>
  }
}

// -----

// Operands of 8 bits are read along K: the right one is transposed on its way into the buffer.
// CHECK-LABEL: @along_k
// CHECK: nv.alloc : <1 x[64, 64] x f8E4M3FN, <[1, 0], 64>>
// CHECK: nv.alloc : <1 x[64, 128] x f8E4M3FN, <[0, 1], 64>>
// CHECK: nv.wgmma {{.*}} {nv.max_imprecise = 32 : i32}
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @along_k(%a: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i32}) -> tensor<64x128xf32> {
    %zero = arith.constant dense<0.0> : tensor<64x128xf32>
    %xp = tile.splat %a : tensor<64x64x!tile.ptr<f8E4M3FN>>
    %yp = tile.splat %a : tensor<64x128x!tile.ptr<f8E4M3FN>>
    %x = tile.load %xp : tensor<64x64x!tile.ptr<f8E4M3FN>> -> tensor<64x64xf8E4M3FN>
    %y = tile.load %yp : tensor<64x128x!tile.ptr<f8E4M3FN>> -> tensor<64x128xf8E4M3FN>
    %d = tile.dot %x, %y, %zero {max_imprecise = 32 : i32} : tensor<64x64xf8E4M3FN>, tensor<64x128xf8E4M3FN>, tensor<64x128xf32>
    return %d : tensor<64x128xf32>
  }
}

// -----

// Scalar FMA reads rows of K on the left, in the smallest swizzle or, with few rows, in none; and rows of N.
// CHECK-LABEL: @scalar
// CHECK: %[[A:.*]] = nv.alloc : <1 x[16, 64] x f32, <[1, 0], 32>>
// CHECK: %[[B:.*]] = nv.alloc : <1 x[64, 32] x f32, <[1, 0], 128>>
// CHECK: nv.fma %[[A]], %[[B]],
// CHECK: %[[C:.*]] = nv.alloc : <1 x[4, 64] x f32, <[1, 0], 0>>
// CHECK: nv.fma %[[C]],
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @scalar(%a: !tile.ptr<f32> {tile.divisibility = 16 : i32}) -> (tensor<16x32xf32>, tensor<4x32xf32>) {
    %zero = arith.constant dense<0.0> : tensor<16x32xf32>
    %few = arith.constant dense<0.0> : tensor<4x32xf32>
    %xp = tile.splat %a : tensor<16x64x!tile.ptr<f32>>
    %yp = tile.splat %a : tensor<64x32x!tile.ptr<f32>>
    %zp = tile.splat %a : tensor<4x64x!tile.ptr<f32>>
    %x = tile.load %xp : tensor<16x64x!tile.ptr<f32>> -> tensor<16x64xf32>
    %y = tile.load %yp : tensor<64x32x!tile.ptr<f32>> -> tensor<64x32xf32>
    %z = tile.load %zp : tensor<4x64x!tile.ptr<f32>> -> tensor<4x64xf32>
    %d = tile.dot %x, %y, %zero {precision = 1 : i32} : tensor<16x64xf32>, tensor<64x32xf32>, tensor<16x32xf32>
    %e = tile.dot %z, %y, %few {precision = 1 : i32} : tensor<4x64xf32>, tensor<64x32xf32>, tensor<4x32xf32>
    return %d, %e : tensor<16x32xf32>, tensor<4x32xf32>
  }
}
