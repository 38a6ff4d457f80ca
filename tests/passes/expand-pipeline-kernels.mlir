// RUN: pantile-opt %s -split-input-file -tile-select-mma -tile-assign-layouts -nv-stage-operands -nv-schedule-loops -nv-expand-pipeline -nv-expand-loops -canonicalize -cse | FileCheck %s

// CHECK-LABEL: @copies_run_two_iterations_ahead
// CHECK: %[[A:.*]] = nv.channel via cp_async ahead {{.*}} by 16 : <4 x[64, 64] x f16
// CHECK: %[[B:.*]] = nv.channel via cp_async ahead {{.*}} by 16 : <4 x[64, 64] x f16
// The prologue copies for iterations 0 and 1, if there are such.
// CHECK: %[[FIRST:.*]] = arith.cmpi sgt, %arg2, %c0
// CHECK-COUNT-2: nv.copy_async {{.*}} if %[[FIRST]]
// CHECK: nv.commit
// CHECK: %[[SECOND:.*]] = arith.cmpi sgt, %arg2, %c64
// CHECK-COUNT-2: nv.copy_async {{.*}} if %[[SECOND]]
// CHECK: nv.commit
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[ACC:[a-z0-9]+]] = %{{.*}}, %[[READ:[a-z0-9]+]] = %c0_i32, {{.*}}, %[[WRITE:[a-z0-9]+]] = %c2_i32)
// CHECK-NOT: tile.load
// CHECK: nv.wait 1
// CHECK-NEXT: nv.fence_async
// CHECK-NEXT: nv.barrier
// CHECK: nv.select_stage %[[A]][%[[READ]]]
// CHECK: nv.select_stage %[[B]][%[[READ]]]
// CHECK: %[[P:.*]] = nv.wgmma
// The iteration after the next exists if more than two steps are left.
// CHECK: %[[LEFT:.*]] = arith.subi %arg2, %[[K]]
// CHECK: %[[MORE:.*]] = arith.cmpi sgt, %[[LEFT]], %c128
// CHECK: nv.select_stage %[[A]][%[[WRITE]]]
// CHECK: nv.copy_async {{.*}} if %[[MORE]]
// CHECK: nv.select_stage %[[B]][%[[WRITE]]]
// CHECK: nv.copy_async {{.*}} if %[[MORE]]
// CHECK: nv.commit
// CHECK: nv.wgmma_wait {{.*}}done %[[ACC]]
// CHECK: scf.yield %[[P]],
// CHECK: nv.wait 0
// CHECK: nv.wgmma_wait %
// CHECK: nv.dealloc %[[A]]
// CHECK: nv.dealloc %[[B]]
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @copies_run_two_iterations_ahead(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
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

// mma.sync: the copies are issued after the reads of the operands, before the MMA.
// CHECK-LABEL: @registers_from_the_circular_buffer
// CHECK: nv.channel via cp_async ahead {{.*}} by 16 : <3 x[64, 64] x f16
// CHECK: scf.for
// CHECK: nv.wait 1
// CHECK-NEXT: nv.barrier
// CHECK: nv.local_load
// CHECK: nv.local_load
// CHECK: nv.copy_async
// CHECK: nv.commit
// CHECK: tile.dot
// CHECK: scf.yield
module attributes {tile.target = "sm_80", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @registers_from_the_circular_buffer(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
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

// A tile copied in the outer loop and read by the inner loop's MMAs is made visible to them, too.
// CHECK-LABEL: @read_by_a_loop_inside
// CHECK: nv.channel via cp_async ahead {{.*}} by 16
// CHECK: scf.for
// CHECK: nv.wait 1
// CHECK-NEXT: nv.fence_async
// CHECK-NEXT: nv.barrier
// CHECK: scf.for
// CHECK: nv.wait 1
// CHECK-NEXT: nv.fence_async
// CHECK-NEXT: nv.barrier
// CHECK: nv.wgmma
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @read_by_a_loop_inside(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32, %m: i32) -> tensor<64x64xf32> {
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
      %d = scf.for %i = %c0 to %m step %c64 iter_args(%sum = %acc) -> (tensor<64x64xf32>) : i32 {
        %io = tile.splat %i : tensor<64x64xi32>
        %pi = tile.addptr %pb, %io : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
        %y = tile.load %pi : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
        %p = tile.dot %x, %y, %sum : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
        scf.yield %p : tensor<64x64xf32>
      }
      %pa2 = tile.addptr %pa, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %pb2 = tile.addptr %pb, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      scf.yield %d, %pa2, %pb2 : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
    }
    return %r#0 : tensor<64x64xf32>
  }
}

// -----

// What the addresses come from is read before all copies, where the iteration exists, and then one
// iteration before its copies.
// CHECK-LABEL: @through_a_table
// CHECK: %[[E0:.*]] = tile.load {{.*}} mask %[[FIRST:[^ ]*]]
// CHECK: %[[E1:.*]] = tile.load {{.*}} mask
// CHECK: %[[E2:.*]] = tile.load {{.*}} mask
// CHECK: arith.muli %[[E0]]
// CHECK: nv.copy_async
// CHECK: arith.muli %[[E1]]
// CHECK: nv.copy_async
// CHECK: scf.for {{.*}}%[[ENTRY:[^ ]*]] = %[[E2]]
// CHECK: arith.muli %[[ENTRY]]
// CHECK: nv.copy_async
// CHECK: %[[MORE:.*]] = arith.cmpi sgt, %{{.*}}, %c192
// CHECK: %[[NEXT:.*]] = tile.load {{.*}} mask %[[MORE]]
// CHECK: scf.yield {{.*}}%[[NEXT]]
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @through_a_table(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32, %table: !tile.ptr<i32>) -> tensor<64x64xf32> {
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
      %te = tile.addptr %table, %k : !tile.ptr<i32>, i32
      %page = tile.load %te : !tile.ptr<i32> -> i32
      %start = arith.muli %page, %c64 : i32
      %pages = tile.splat %start : tensor<64x64xi32>
      %pi = tile.addptr %pb, %pages : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %y = tile.load %pi : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %pa2 = tile.addptr %pa, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %pb2 = tile.addptr %pb, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      scf.yield %d, %pa2, %pb2 : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
    }
    return %r#0 : tensor<64x64xf32>
  }
}
