// In a softmax the maximum of scaled rows is that of the rows, scaled: launches test that the scale is positive.
// RUN: pantile-opt %s -nv-scale-after-reduction | FileCheck %s
// CHECK: #[[SCALE:.*]] = affine_map<{{.*}} -> (s1 - 528482304, -s1 + 1602224128)>
#rows = #tile.layout<[64, 32], reg = [[0, 1], [0, 2], [0, 4], [0, 8], [32, 0]], lane = [[0, 16], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [[16, 0]]>
#row = #tile.layout<[64], reg = [[32]], lane = [[0], [1], [2], [4], [8]], warp = [[16]]>
#column = #tile.layout<[64, 1], reg = [[32, 0]], lane = [[0, 0], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [[16, 0]]>
!rows = tensor<64x32xf32, #rows>
!row = tensor<64xf32, #row>
!column = tensor<64x1xf32, #column>
!stage = !nv.buffer<1 x[64, 64] x f16, <[1, 0], 128>>
!barrier = !nv.buffer<1 x[2] x i64, <[0], 0>>
module attributes {tile.num_warps = 2 : i32, tile.target = "sm_90a"} {
  // The scale is an argument times a moderate constant: the condition is that of the map with fewer arguments.
  // CHECK-LABEL: @scores
  // CHECK: nv.tensor_map {
  // CHECK-NOT: conditions
  // CHECK: nv.tensor_map {
  // CHECK-SAME: conditions = #[[SCALE]]
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %[[X:[a-z0-9_]+]], %{{.*}} : tensor<64x32xf32
  // CHECK: %[[TOP:.*]] = tile.reduce(%[[X]]), 1
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[TOP]], %{{.*}} : tensor<64xf32
  // CHECK: tile.expand_dims %[[SCALED]]
  // CHECK: arith.subf %[[PRODUCT]],
  func.func @scores(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %map = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, s2)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %map[%c0, %c0], %stage, %full : !stage, !barrier
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %log2e = arith.constant 1.44269502 : f32
    %factor = arith.mulf %scale, %log2e : f32
    %scales = tile.splat %factor : !rows
    %scores = arith.mulf %x, %scales : !rows
    %top = tile.reduce(%scores), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %scores, %all : !rows
    return %below : !rows
  }

  // An infinity stays what it is.
  // CHECK-LABEL: @masked
  // CHECK: %[[KEPT:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x32xi1
  // CHECK: arith.mulf %[[KEPT]],
  // CHECK: tile.reduce(%[[KEPT]]), 1
  // CHECK: arith.mulf
  func.func @masked(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %scales = tile.splat %scale : !rows
    %scores = arith.mulf %x, %scales : !rows
    %none = arith.constant dense<0xFF800000> : !rows
    %kept = arith.select %mask, %scores, %none : tensor<64x32xi1, #rows>, !rows
    %top = tile.reduce(%kept), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %kept, %all : !rows
    return %below : !rows
  }

  // Of other numbers that is not known.
  // CHECK-LABEL: @masked_by_zero
  // CHECK: %[[PRODUCT:.*]] = arith.mulf
  // CHECK: %[[KEPT:.*]] = arith.select %{{.*}}, %[[PRODUCT]],
  // CHECK: tile.reduce(%[[KEPT]])
  func.func @masked_by_zero(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %scales = tile.splat %scale : !rows
    %scores = arith.mulf %x, %scales : !rows
    %none = arith.constant dense<0.0> : !rows
    %kept = arith.select %mask, %scores, %none : tensor<64x32xi1, #rows>, !rows
    %top = tile.reduce(%kept), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %kept, %all : !rows
    return %below : !rows
  }

  // No softmax.
  // CHECK-LABEL: @minimum
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %arg3
  // CHECK: tile.reduce(%[[PRODUCT]])
  func.func @minimum(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %scales = tile.splat %scale : !rows
    %scores = arith.mulf %x, %scales : !rows
    %top = tile.reduce(%scores), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.minimumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %scores, %all : !rows
    return %below : !rows
  }

  // A rounded sum would differ.
  // CHECK-LABEL: @sum
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %arg3
  // CHECK: tile.reduce(%[[PRODUCT]])
  func.func @sum(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %scales = tile.splat %scale : !rows
    %scores = arith.mulf %x, %scales : !rows
    %top = tile.reduce(%scores), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.addf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %scores, %all : !rows
    return %below : !rows
  }

  // The product is needed as it is.
  // CHECK-LABEL: @stored
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %arg3
  // CHECK: tile.reduce(%[[PRODUCT]])
  func.func @stored(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %scales = tile.splat %scale : !rows
    %scores = arith.mulf %x, %scales : !rows
    %top = tile.reduce(%scores), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %scores, %all : !rows
    %both = arith.addf %below, %scores : !rows
    return %both : !rows
  }

  // The scale might be denormal.
  // CHECK-LABEL: @small_constant
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %arg3
  // CHECK: tile.reduce(%[[PRODUCT]])
  func.func @small_constant(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %small = arith.constant 1.0e-12 : f32
    %factor = arith.mulf %scale, %small : f32
    %scales = tile.splat %factor : !rows
    %scores = arith.mulf %x, %scales : !rows
    %top = tile.reduce(%scores), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %scores, %all : !rows
    return %below : !rows
  }

  // CHECK-LABEL: @negative_constant
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %arg3
  // CHECK: tile.reduce(%[[PRODUCT]])
  func.func @negative_constant(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %minus = arith.constant -1.0 : f32
    %factor = arith.mulf %scale, %minus : f32
    %scales = tile.splat %factor : !rows
    %scores = arith.mulf %x, %scales : !rows
    %top = tile.reduce(%scores), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %scores, %all : !rows
    return %below : !rows
  }

  // One argument has a condition; another one may be negative.
  // CHECK-LABEL: @two_scales
  // CHECK: conditions = #{{.*}},
  // CHECK: tile.reduce(%arg3), 1
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %arg3
  // CHECK: tile.reduce(%[[PRODUCT]])
  func.func @two_scales(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier, %other: f32) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %scales = tile.splat %scale : !rows
    %scores = arith.mulf %x, %scales : !rows
    %top = tile.reduce(%scores), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %others = tile.splat %other : !rows
    %more = arith.mulf %x, %others : !rows
    %next = tile.reduce(%more), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %scores, %all : !rows
    %others_tops = tile.expand_dims %next, 1 : !row -> !column
    %other_all = tile.broadcast %others_tops : !column -> !rows
    %least = arith.subf %more, %other_all : !rows
    %lower = arith.addf %least, %below : !rows
    return %lower : !rows
  }

  // A map that nothing uses may be erased, with its condition.
  // CHECK-LABEL: @unused_map
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %arg3
  // CHECK: tile.reduce(%[[PRODUCT]])
  func.func @unused_map(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    %scales = tile.splat %scale : !rows
    %scores = arith.mulf %x, %scales : !rows
    %top = tile.reduce(%scores), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %scores, %all : !rows
    return %below : !rows
  
  }

  // What is subtracted is no maximum.
  // CHECK-LABEL: @threshold
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %arg3
  // CHECK: tile.reduce(%[[PRODUCT]])
  func.func @threshold(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %scales = tile.splat %scale : !rows
    %scores = arith.mulf %x, %scales : !rows
    %top = tile.reduce(%scores), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %a, %b : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %scores, %x : !rows
    return %below : !rows
  }

  // A reduction by the maximum of one element and a constant is another one.
  // CHECK-LABEL: @of_a_constant
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %arg3
  // CHECK: tile.reduce(%[[PRODUCT]])
  func.func @of_a_constant(%p: !tile.ptr<f16>, %scale: f32, %n: i32, %x: !rows, %mask: tensor<64x32xi1, #rows>, %stage: !stage, %full: !barrier) -> !rows attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %few = nv.tensor_map {base = 0 : i32, offset = affine_map<()[s0, s1, s2] -> (0)>, extents = affine_map<()[s0, s1, s2] -> (64, 64)>, strides = affine_map<()[s0, s1, s2] -> (128)>, box = array<i32: 64, 64>, span = 128 : i32, element = f16, non_negative = array<i32>} : !nv.tensor_map
    nv.producer {
      nv.tma_load %few[%c0, %c0], %stage, %full : !stage, !barrier
    }
    %two = arith.constant 2.0 : f32
    %scales = tile.splat %scale : !rows
    %scores = arith.mulf %x, %scales : !rows
    %top = tile.reduce(%scores), 1 {
    ^bb0(%a: f32, %b: f32):
      %best = arith.maxnumf %b, %two : f32
      tile.yield %best : f32
    } : (!rows) -> !row
    %tops = tile.expand_dims %top, 1 : !row -> !column
    %all = tile.broadcast %tops : !column -> !rows
    %below = arith.subf %scores, %all : !rows
    return %below : !rows
  }
}
