// A plan prints and parses all its parts, and is an attribute of kernels and loops alone; each constraint has its message.
// RUN: pantile-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @round_trip
// CHECK-SAME: nv.plan = #nv.kernel_plan<persistent raster_group 4, [<producer, 4 warps, 24 registers>, <consumer, 8 warps, 240 registers>], shared = 229440, ctas = 1, registers = 168>
func.func @round_trip(%n: index) attributes {nv.plan = #nv.kernel_plan<persistent raster_group 4, [<producer, 4 warps, 24 registers>, <consumer, 8 warps, 240 registers>], shared = 229440, ctas = 1, registers = 168>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
  // CHECK: {nv.plan = #nv.loop_plan<channels = [<4 x[128, 64] x f16 via tma>, <1 x[64] x f32 via registers>], in_flight = 1, cycles = 1024 by tensor_core>}
  } {nv.plan = #nv.loop_plan<channels = [<4 x[128, 64] x f16 via tma>, <1 x[64] x f32 via registers>], in_flight = 1, cycles = 1024 by tensor_core>}
  scf.for %i = %zero to %n step %one {
  // CHECK: {nv.plan = #nv.loop_plan<in_flight = 0, cycles = 16 by issue>}
  } {nv.plan = #nv.loop_plan<in_flight = 0, cycles = 16 by issue>}
  return
}

// CHECK-LABEL: func @maps
// CHECK-SAME: [#nv.kernel_plan<cluster of 4, [<all, 4 warps>], shared = 0, ctas = 8, registers = 0>, #nv.kernel_plan<stream_k, [<producer, 1 warps>, <helper, 1 warps>, <consumer, 8 warps>], shared = 0, ctas = 1, registers = 0>]
func.func @maps() attributes {plans = [
  #nv.kernel_plan<cluster of 4, [<all, 4 warps>], shared = 0, ctas = 8, registers = 0>,
  #nv.kernel_plan<stream_k, [<producer, 1 warps>, <helper, 1 warps>, <consumer, 8 warps>], shared = 0, ctas = 1, registers = 0>]} {
  return
}

// -----
// expected-error @below {{partition_c1: 0 warps, expected 1 to 64}}
func.func @no_warps() attributes {p = #nv.partition<all, 0 warps>} { return }

// -----
// expected-error @below {{partition_c2: 100 registers, expected 0 or a multiple of 8 from 24 to 256}}
func.func @uneven() attributes {p = #nv.partition<consumer, 8 warps, 100 registers>} { return }

// -----
// expected-error @below {{partition_c2: 16 registers}}
func.func @too_few() attributes {p = #nv.partition<producer, 4 warps, 16 registers>} { return }

// -----
// expected-error @below {{channel_c1: there is no stage}}
func.func @no_stage() attributes {c = #nv.channel<0 x[64] x f16 via shared>} { return }

// -----
// expected-error @below {{channel_c2: an extent of a stage is not positive}}
func.func @no_extent() attributes {c = #nv.channel<2 x[64, 0] x f16 via cp_async>} { return }

// -----
// expected-error @below {{channel_c3: 'index' is no type of elements}}
func.func @no_element() attributes {c = #nv.channel<2 x[64] x index via tma>} { return }

// -----
// CHECK-LABEL: func @estimate
// CHECK-SAME: nv.stream_k_estimate = #nv.stream_k_estimate<()[s0] -> (s0 + 63), divisor = 64, sm_cycles = 256, l2_cycles = 683, least_gain = 6, partial_bytes = 32768>
func.func @estimate(%k: i32) attributes {nv.stream_k_estimate = #nv.stream_k_estimate<()[s0] -> (s0 + 63), divisor = 64, sm_cycles = 256, l2_cycles = 683, least_gain = 6, partial_bytes = 32768>} { return }

// -----
// expected-error @below {{stream_k_estimate_c1: 1 dimensions, 1 results}}
func.func @dimension() attributes {e = #nv.stream_k_estimate<(d0)[s0] -> (s0 + d0), divisor = 64, sm_cycles = 1, l2_cycles = 0, least_gain = 1, partial_bytes = 0>} { return }

// -----
// expected-error @below {{stream_k_estimate_c1: 0 dimensions, 2 results}}
func.func @results() attributes {e = #nv.stream_k_estimate<()[s0] -> (s0, s0), divisor = 64, sm_cycles = 1, l2_cycles = 0, least_gain = 1, partial_bytes = 0>} { return }

// -----
// expected-error @below {{stream_k_estimate_c2: a number is too small}}
func.func @divisor() attributes {e = #nv.stream_k_estimate<()[s0] -> (s0), divisor = 0, sm_cycles = 1, l2_cycles = 0, least_gain = 1, partial_bytes = 0>} { return }

// -----
// expected-error @below {{stream_k_estimate_c2: a number is too small}}
func.func @gain() attributes {e = #nv.stream_k_estimate<()[s0] -> (s0), divisor = 1, sm_cycles = 1, l2_cycles = 0, least_gain = 0, partial_bytes = 0>} { return }

// -----
// expected-error @below {{`nv.stream_k_estimate` is a `#nv.stream_k_estimate` of a kernel}}
func.func @other() attributes {nv.stream_k_estimate = 1 : i32} { return }

// -----
// expected-error @below {{kernel_plan_c1: `cluster` of 1}}
func.func @lone_cluster() attributes {p = #nv.kernel_plan<cluster, [<all, 4 warps>], shared = 0, ctas = 1, registers = 0>} { return }

// -----
// expected-error @below {{kernel_plan_c1: `grid` of 2}}
func.func @shared_grid() attributes {p = #nv.kernel_plan<grid of 2, [<all, 4 warps>], shared = 0, ctas = 1, registers = 0>} { return }

// -----
// expected-error @below {{kernel_plan_c2: `grid` has no raster group}}
func.func @raster_group() attributes {p = #nv.kernel_plan<grid raster_group 4, [<all, 4 warps>], shared = 0, ctas = 1, registers = 0>} { return }

// -----
// expected-error @below {{kernel_plan_c3: two partitions have the role `consumer`}}
func.func @twice() attributes {p = #nv.kernel_plan<grid, [<consumer, 4 warps>, <consumer, 4 warps>], shared = 0, ctas = 1, registers = 0>} { return }

// -----
// expected-error @below {{kernel_plan_c3: expected one partition of role `all`, or a `consumer`}}
func.func @producer_alone() attributes {p = #nv.kernel_plan<grid, [<producer, 1 warps>], shared = 0, ctas = 1, registers = 0>} { return }

// -----
// expected-error @below {{kernel_plan_c3: expected one partition of role `all`, or a `consumer`}}
func.func @all_and_more() attributes {p = #nv.kernel_plan<grid, [<all, 4 warps>, <helper, 1 warps>], shared = 0, ctas = 1, registers = 0>} { return }

// -----
// expected-error @below {{kernel_plan_c4: some partitions have registers of their own}}
func.func @some_registers() attributes {p = #nv.kernel_plan<grid, [<producer, 4 warps, 24 registers>, <consumer, 4 warps>], shared = 0, ctas = 1, registers = 0>} { return }

// -----
// expected-error @below {{kernel_plan_c5: a number is negative}}
func.func @negative() attributes {p = #nv.kernel_plan<grid, [<all, 4 warps>], shared = -1, ctas = 1, registers = 0>} { return }

// -----
// expected-error @below {{loop_plan_c1: `cycles` is negative}}
func.func @no_time() attributes {p = #nv.loop_plan<in_flight = 0, cycles = -1 by l2>} { return }

// -----
// expected-error @below {{plan_c1: `nv.plan` is a kernel's `#nv.kernel_plan` or a loop's `#nv.loop_plan`}}
func.func @loop_plan_of_kernel() attributes {nv.plan = #nv.loop_plan<in_flight = 0, cycles = 1 by l2>} { return }

// -----
func.func @elsewhere() {
  // expected-error @below {{plan_c1}}
  %zero = arith.constant {nv.plan = #nv.loop_plan<in_flight = 0, cycles = 1 by l2>} 0 : index
  return
}
