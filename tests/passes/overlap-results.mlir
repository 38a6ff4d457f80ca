// MMAs that start from zero are stage 0, and all that reads their results is stage 1, which runs one iteration later; loops of other shapes,
// and those that lack stages, stay as they are.
// RUN: pantile-opt %s -nv-overlap-results -verify-diagnostics | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#left = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [[1], [0], [8], [16], [32]], lane = [[2], [4], [0], [0], [0]], warp = [[0], [0]]>
!circular = !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!two = !nv.buffer<2 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!barriers = !nv.buffer<3 x [2] x i64, #nv.swizzle<[0], 0>>
!barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
!tile = tensor<64x64xf32, #acc>
!fragments = tensor<64x64xf16, #left>
module attributes {nv.launch = #nv.launch<producer_warps = 1>, tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // Example.
  // The stage of the buffer is selected in both stages; the wait for the MMA comes before what is computed with its result.
  // CHECK-LABEL: @scaled
  // CHECK: nv.select_stage %arg2{{.*}} {nv.cluster = array<i32: 0, 1>, nv.stage = array<i32: 0, 1>}
  // CHECK: nv.mbarrier_wait {{.*}} {nv.cluster = array<i32: 0>, nv.stage = array<i32: 0>}
  // CHECK: nv.wgmma {{.*}} {nv.cluster = array<i32: 0>, nv.stage = array<i32: 0>}
  // CHECK: nv.wgmma_wait {{.*}} {nv.cluster = array<i32: 1>, nv.stage = array<i32: 1>}
  // CHECK: nv.release {{.*}} {nv.cluster = array<i32: 1>, nv.stage = array<i32: 1>}
  // CHECK: arith.mulf {{.*}} {nv.cluster = array<i32: 2>, nv.stage = array<i32: 1>}
  // CHECK: arith.addi {{.*}} {nv.cluster = array<i32: 0>, nv.stage = array<i32: 0>}
  // CHECK: nv.expand = 2 : i32
  func.func @scaled(%a: !circular, %b: !circular, %full: !barriers, %scale: !tile, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    // expected-remark @below {{the MMAs of the next iteration are in flight while the results of this one are read}}
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %count = %c0) -> (!tile, i32) : i32 {
      %stage = arith.remui %count, %c3 : i32
      %ready = nv.select_stage %full[%stage] : !barriers -> !barrier
      %left = nv.select_stage %a[%stage] : !circular -> !stage
      %right = nv.select_stage %b[%stage] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %c0 : !barrier
      %d = nv.wgmma %left, %right, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %d : (!tile) -> !tile
      nv.release %ready : !barrier
      %scaled = arith.mulf %done, %scale : !tile
      %next = arith.addf %acc, %scaled : !tile
      %later = arith.addi %count, %c1 : i32
      scf.yield %next, %later : !tile, i32
    }
    return %out#0 : !tile
  }

  // A left operand that is computed in registers, from a stage, is computed in stage 0, too.
  // CHECK-LABEL: @unpacked
  // CHECK: nv.local_load {{.*}} {nv.cluster = array<i32: 0>, nv.stage = array<i32: 0>}
  // CHECK: arith.negf {{.*}} {nv.cluster = array<i32: 0>, nv.stage = array<i32: 0>}
  // CHECK: nv.wgmma {{.*}} {nv.cluster = array<i32: 0>, nv.stage = array<i32: 0>}
  // CHECK: nv.release {{.*}} {nv.cluster = array<i32: 1>, nv.read_by_threads, nv.stage = array<i32: 1>}
  func.func @unpacked(%a: !circular, %b: !circular, %full: !barriers, %map: !nv.tensor_map, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    nv.producer {
      %filled = nv.select_stage %a[%c0] : !circular -> !stage
      %barrier = nv.select_stage %full[%c0] : !barriers -> !barrier
      nv.tma_load %map[%c0, %c0], %filled, %barrier : !stage, !barrier
    }
    // expected-remark @below {{the MMAs of the next iteration are in flight while the results of this one are read}}
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %ready = nv.select_stage %full[%i] : !barriers -> !barrier
      %left = nv.select_stage %a[%i] : !circular -> !stage
      %right = nv.select_stage %b[%i] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %c0 : !barrier
      %packed = nv.local_load %left : !stage -> !fragments
      %weights = arith.negf %packed : !fragments
      %d = nv.wgmma %weights, %right, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !fragments, !stage, !tile
      %done = nv.wgmma_wait %d : (!tile) -> !tile
      nv.release %ready {nv.read_by_threads} : !barrier
      %next = arith.addf %acc, %done : !tile
      scf.yield %next : !tile
    }
    return %out : !tile
  }

  // Two stages of a buffer are in use at once: a third one has to be filled meanwhile.
  // CHECK-LABEL: @two_stages
  // CHECK-NOT: nv.stage
  func.func @two_stages(%a: !two, %b: !circular, %full: !barriers, %scale: !tile, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-remark @below {{the MMAs of the next iteration wait until the results of this one are read: the buffers have too few stages}}
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %ready = nv.select_stage %full[%i] : !barriers -> !barrier
      %left = nv.select_stage %a[%i] : !two -> !stage
      %right = nv.select_stage %b[%i] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %c0 : !barrier
      %d = nv.wgmma %left, %right, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %d : (!tile) -> !tile
      nv.release %ready : !barrier
      %next = arith.addf %acc, %done : !tile
      scf.yield %next : !tile
    }
    return %out : !tile
  }

  // The index of the next stage comes from the result: the next MMA cannot start before it is read.
  // CHECK-LABEL: @depends
  // CHECK-NOT: nv.stage
  func.func @depends(%a: !circular, %b: !circular, %full: !barriers, %n: i32) -> i32 {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-remark @below {{the MMAs of the next iteration wait until the results of this one are read: its operands depend on results, or on values that go through scratch memory}}
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c0) -> (i32) : i32 {
      %ready = nv.select_stage %full[%i] : !barriers -> !barrier
      %left = nv.select_stage %a[%at] : !circular -> !stage
      %right = nv.select_stage %b[%i] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %c0 : !barrier
      %d = nv.wgmma %left, %right, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %d : (!tile) -> !tile
      nv.release %ready : !barrier
      %row = tile.reduce (%done), 0 {
      ^bb0(%x: f32, %y: f32):
        %m = arith.maximumf %x, %y : f32
        tile.yield %m : f32
      } : (tensor<64x64xf32, #acc>) -> tensor<64xf32, #row>
      %most = tile.reduce (%row), 0 {
      ^bb0(%x: f32, %y: f32):
        %m = arith.maximumf %x, %y : f32
        tile.yield %m : f32
      } : (tensor<64xf32, #row>) -> f32
      %next = arith.fptosi %most : f32 to i32
      scf.yield %next : i32
    }
    return %out : i32
  }

  // A store of this iteration would come after the MMAs of the next, and after their waits for full stages.
  // CHECK-LABEL: @stores
  // CHECK-NOT: nv.stage
  func.func @stores(%a: !circular, %b: !circular, %full: !barriers, %out: tensor<64x64x!tile.ptr<f32>, #acc>, %n: i32) {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-remark @below {{the MMAs of the next iteration wait until the results of this one are read: the loop accesses memory other than by loads, or synchronises}}
    scf.for %i = %c0 to %n step %c1 : i32 {
      %ready = nv.select_stage %full[%i] : !barriers -> !barrier
      %left = nv.select_stage %a[%i] : !circular -> !stage
      %right = nv.select_stage %b[%i] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %c0 : !barrier
      %d = nv.wgmma %left, %right, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %d : (!tile) -> !tile
      nv.release %ready : !barrier
      tile.store %out, %done : tensor<64x64x!tile.ptr<f32>, #acc>, !tile
    }
    return
  }

  // An MMA that adds to a carried accumulator has no result per iteration: its wait is deferred instead.
  // CHECK-LABEL: @accumulates
  // CHECK-NOT: nv.stage
  func.func @accumulates(%a: !circular, %b: !circular, %full: !barriers, %n: i32) -> !tile {
    %zero = arith.constant dense<0.0> : !tile
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %ready = nv.select_stage %full[%i] : !barriers -> !barrier
      %left = nv.select_stage %a[%i] : !circular -> !stage
      %right = nv.select_stage %b[%i] : !circular -> !stage
      nv.mbarrier_wait %ready, false, %c0 : !barrier
      %d = nv.wgmma %left, %right, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %d : (!tile) -> !tile
      nv.release %ready : !barrier
      scf.yield %done : !tile
    }
    return %out : !tile
  }
}
