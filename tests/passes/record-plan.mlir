// The plan is read from the IR that is lowered: one property per function. Cycles follow the model of the machine, and are no property here.
// RUN: pantile-opt %s -split-input-file -nv-record-plan | FileCheck %s

#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!circular = !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>

module attributes {nv.launch = #nv.launch<producer_warps = 4, persistent = true, shared_bytes = 40000, registers = [128, 24, 232]>, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {

// Registers at launch and of each role are those of the launch attribute; they allow two CTAs of 8 warps per SM, shared memory five.
// The queries are in their buffer before the loop, so no iteration has a stage of its own; the keys come by TMA. The producer's loop has no plan.
// CHECK-LABEL: @specialised
// CHECK-SAME: nv.plan = #nv.kernel_plan<persistent raster_group 8, [<producer, 4 warps, 24 registers>, <consumer, 4 warps, 232 registers>], shared = 40000, ctas = 2, registers = 128>
// CHECK: nv.tma_load
// CHECK-NOT: nv.plan
// CHECK: nv.wgmma
// CHECK: {nv.plan = #nv.loop_plan<channels = [<3 x[64, 64] x f16 via tma>], in_flight = 0, cycles = {{[0-9]+}} by {{[a-z0-9_]+}}>}
// CHECK-NOT: nv.plan
func.func @specialised(%queries: tensor<64x64xf16, #acc>, %zeros: tensor<64x64xf32, #acc>, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %program = nv.raster_program %n, %n x %n by 8
  %once = nv.alloc : !stage
  %circular = nv.channel via tma : !circular
  %barrier = nv.alloc : !barrier
  %map = nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>, element = f16, extents = affine_map<()[s0] -> (s0, s0)>, non_negative = array<i32>, offset = affine_map<()[s0] -> (0)>, span = 128 : i32, strides = affine_map<()[s0] -> (s0)>} : !nv.tensor_map
  nv.producer {
    scf.for %i = %zero to %n step %one : i32 {
      %full = nv.select_stage %circular[%i] : !circular -> !stage
      nv.tma_load %map[%i, %zero], %full, %barrier : !stage, !barrier
    }
  }
  nv.local_store %queries, %once : tensor<64x64xf16, #acc>, !stage
  %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %zeros) -> (tensor<64x64xf32, #acc>) : i32 {
    %keys = nv.select_stage %circular[%i] : !circular -> !stage
    %mma = nv.wgmma %once, %keys, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, tensor<64x64xf32, #acc>
    %done = nv.wgmma_wait 0, %mma : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>
    scf.yield %done : tensor<64x64xf32, #acc>
  }
  return
}
}

// -----
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#row = #tile.layout<[64], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0]]>
!circular = !nv.buffer<2 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>

module attributes {nv.launch = #nv.launch<shared_bytes = 16384>, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {

// The wait for an iteration's MMA is in the next one.
// CHECK-LABEL: @in_flight
// CHECK-SAME: #nv.kernel_plan<grid, [<all, 4 warps>], shared = 16384
// CHECK: in_flight = 1
func.func @in_flight(%b: !stage, %zeros: tensor<64x64xf32, #acc>, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %zeros) -> (tensor<64x64xf32, #acc>) : i32 {
    %before = nv.wgmma_wait 0, %acc : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>
    %mma = nv.wgmma %b, %b, %before mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, tensor<64x64xf32, #acc>
    scf.yield %mma : tensor<64x64xf32, #acc>
  }
  return
}

// What threads copy in the loop is a channel, and what they store to shared memory; the loop around has neither, and no plan.
// CHECK-LABEL: @copied
// CHECK: scf.for
// CHECK: scf.for
// CHECK: } {nv.plan = #nv.loop_plan<channels = [<2 x[64, 64] x f16 via cp_async>, <1 x[64, 64] x f16 via shared>], in_flight = 0, cycles = {{[0-9]+}} by l2>}
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @copied(%pointers: tensor<64x64x!tile.ptr<f16>, #acc>, %tile: tensor<64x64xf16, #acc>, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %circular = nv.channel via cp_async ahead 1 by 16 : !circular
  %other = nv.alloc : !stage
  scf.for %i = %zero to %n step %one : i32 {
    scf.for %j = %zero to %n step %one : i32 {
      %to = nv.select_stage %circular[%j] : !circular -> !stage
      nv.copy_async %pointers, %to {vectorBytes = 16 : i32} : tensor<64x64x!tile.ptr<f16>, #acc>, !stage
      nv.local_store %tile, %other : tensor<64x64xf16, #acc>, !stage
    }
  }
  return
}

// A row is loaded two iterations before it is computed with; the sum that the loop carries is no channel.
// CHECK-LABEL: @carried
// CHECK: {nv.plan = #nv.loop_plan<channels = [<2 x[64] x f32 via registers>], in_flight = 0
func.func @carried(%pointers: tensor<64x!tile.ptr<f32>, #row>, %row: tensor<64xf32, #row>, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %all:3 = scf.for %i = %zero to %n step %one iter_args(%now = %row, %next = %row, %sum = %row) -> (tensor<64xf32, #row>, tensor<64xf32, #row>, tensor<64xf32, #row>) : i32 {
    %later = tile.load %pointers : tensor<64x!tile.ptr<f32>, #row> -> tensor<64xf32, #row>
    %more = arith.addf %sum, %now : tensor<64xf32, #row>
    scf.yield %next, %later, %more : tensor<64xf32, #row>, tensor<64xf32, #row>, tensor<64xf32, #row>
  }
  return
}

// An iteration of the loop over programs is a program, with MMAs before its own loops.
// CHECK-LABEL: @programs
// CHECK: } {nv.programs}
func.func @programs(%b: !stage, %zeros: tensor<64x64xf32, #acc>, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %program = %zero to %n step %one : i32 {
    %mma = nv.wgmma %b, %b, %zeros mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, tensor<64x64xf32, #acc>
    %done = nv.wgmma_wait 0, %mma : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>
  } {nv.programs}
  return
}

// Other functions are no kernels.
// CHECK-LABEL: @called
// CHECK-NOT: nv.plan
func.func @called() { return }
}

// -----
// CHECK-LABEL: @cut
// CHECK-SAME: #nv.kernel_plan<stream_k, [<producer, 1 warps>, <helper, 1 warps>, <consumer, 4 warps>]
module attributes {nv.launch = #nv.launch<producer_warps = 2, persistent = true, partial_bytes = 16384>, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
func.func @cut(%gives: i1, %block: i32) attributes {tile.kernel} {
  nv.producer {
    nv.helper_warp %gives from %block to %block step %block
  }
  return
}
}

// -----
// CHECK-LABEL: @together
// CHECK-SAME: #nv.kernel_plan<cluster of 4, [<all, 16 warps>], shared = 0, ctas = 4, registers = 0>
module attributes {nv.launch = #nv.launch<ctas_per_program = 4>, tile.num_warps = 16 : i32, tile.target = "sm_90a"} {
func.func @together() attributes {tile.kernel} { return }
}

// -----
// CHECK-LABEL: @packed
// CHECK-SAME: #nv.kernel_plan<packed of 4, [<all, 1 warps>], shared = 0, ctas = 32, registers = 0>
module attributes {nv.launch = #nv.launch<programs_per_cta = 4>, tile.num_warps = 1 : i32, tile.target = "sm_90a"} {
func.func @packed() attributes {tile.kernel} { return }
}
