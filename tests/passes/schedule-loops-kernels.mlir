// RUN: pantile-opt %s -split-input-file -tile-select-mma -tile-assign-layouts -nv-stage-operands -nv-schedule-loops 2>%t | FileCheck %s
// RUN: FileCheck --check-prefix=REMARK %s < %t

// One accumulator, read after the loop only: an MMA stays in flight, with one stage more in the circular buffer.
// CHECK-LABEL: @one_mma_in_flight
// CHECK-COUNT-2: nv.channel via cp_async ahead 2 by 16 : <4 x
// CHECK: scf.for
// CHECK: nv.wgmma %
// CHECK-NEXT: nv.wgmma_wait done
// CHECK: scf.yield
// CHECK: nv.wgmma_wait %
// CHECK-COUNT-2: nv.dealloc
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @one_mma_in_flight(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
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

// The accumulator is changed in the loop: the MMA must be complete first.
// CHECK-LABEL: @sum_is_used_in_the_loop
// CHECK: nv.channel via cp_async ahead 2 by 16 : <3 x
// CHECK: scf.for
// CHECK-NOT: nv.wgmma_wait done
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @sum_is_used_in_the_loop(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
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
      %e = arith.addf %d, %d : tensor<64x64xf32>
      %pa2 = tile.addptr %pa, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %pb2 = tile.addptr %pb, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      scf.yield %e, %pa2, %pb2 : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
    }
    return %r#0 : tensor<64x64xf32>
  }
}

// -----

// One stage: nothing is prefetched.
// CHECK-LABEL: @one_stage
// CHECK-NOT: nv.channel
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 1 : i32} {
  func.func @one_stage(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
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

// An indirect load is prefetched as many iterations as its index can be read earlier.
// CHECK-LABEL: @through_a_table
// CHECK-COUNT-2: nv.channel via cp_async ahead 2
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

// -----

// With a distance of seven iterations the indirect tiles would cost a second CTA: all tiles have a stage less.
// CHECK-LABEL: @two_blocks_or_a_table
// CHECK-COUNT-2: nv.channel via cp_async ahead 6
// CHECK-NOT: nv.channel
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 8 : i32} {
  func.func @two_blocks_or_a_table(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32, %table: !tile.ptr<i32>) -> tensor<64x64xf32> {
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

// -----

// The entry of a table that another table leads to comes too late; the other load is prefetched.
// REMARK: remark: load is not prefetched: its address depends on memory read in the loop
// CHECK-LABEL: @through_two_tables
// CHECK-COUNT-1: nv.channel
// CHECK-NOT: nv.channel
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @through_two_tables(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32, %table: !tile.ptr<i32>) -> tensor<64x64xf32> {
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
      %entry = tile.addptr %table, %page : !tile.ptr<i32>, i32
      %found = tile.load %entry : !tile.ptr<i32> -> i32
      %start = arith.muli %found, %c64 : i32
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

// -----

// The next iterations' tiles may be among what this iteration stores, unless another argument points
// to them.
// REMARK: remark: load is not prefetched: what it reads may change in the loop
// REMARK: note: it may change here
// CHECK-LABEL: @store_may_change_what_is_read
// CHECK-COUNT-1: nv.channel
// CHECK-NOT: nv.channel
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @store_may_change_what_is_read(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
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
      %h = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xf16>
      tile.store %pb, %h : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xf16>
      %pa2 = tile.addptr %pa, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %pb2 = tile.addptr %pb, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      scf.yield %d, %pa2, %pb2 : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
    }
    return %r#0 : tensor<64x64xf32>
  }
}

// -----

// A volatile load may wait for another program's writes, which the loads after it then see.
// REMARK: remark: load is not prefetched: what it reads may change in the loop
// CHECK-LABEL: @volatile_load_may_wait
// CHECK-NOT: nv.channel
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @volatile_load_may_wait(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %flag: !tile.ptr<i32>, %n: i32) -> tensor<64x64xf32> {
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
      %f = tile.load %flag {isVolatile} : !tile.ptr<i32> -> i32
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

// A buffer that the next iteration writes again must be read by then: no MMA stays in flight.
// CHECK-LABEL: @operand_of_one_iteration
// CHECK: nv.channel via cp_async ahead 2 by 16 : <3 x
// CHECK: scf.for
// CHECK-NOT: nv.wgmma_wait done
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @operand_of_one_iteration(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
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
      %z = arith.addf %x, %x : tensor<64x64xf16>
      %d = tile.dot %z, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %pa2 = tile.addptr %pa, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %pb2 = tile.addptr %pb, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      scf.yield %d, %pa2, %pb2 : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
    }
    return %r#0 : tensor<64x64xf32>
  }
}

// -----

// A load past the caches reads in its own iteration, like a volatile one.
// REMARK: remark: load is not prefetched: what it reads may change in the loop
// REMARK: remark: load is not prefetched: it is volatile
// CHECK-LABEL: @uncached_load
// CHECK-NOT: nv.channel
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 3 : i32} {
  func.func @uncached_load(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32) -> tensor<64x64xf32> {
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
      %y = tile.load %pb {cache = 3 : i32} : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
      %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %pa2 = tile.addptr %pa, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %pb2 = tile.addptr %pb, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      scf.yield %d, %pa2, %pb2 : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
    }
    return %r#0 : tensor<64x64xf32>
  }
}
