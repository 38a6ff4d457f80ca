// Each element prints once, although eight lanes hold it; a failed assertion names the source line.
// RUN: pantile-lower %s | FileCheck %s

#layout = #tile.layout<[4], reg = [], lane = [[1], [2], [0], [0], [0]], warp = []>
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  // CHECK-DAG: c"small enough\00"
  // CHECK-DAG: c"pid (%d, %d, %d) idx (%d) 100%% i: %d\0A\00"
  // CHECK-DAG: c"pid (%d, %d, %d) idx (%d) mask: 0x%02x\0A\00"
  // CHECK-DAG: c"pid (%d, %d, %d) idx (%d) two: (operand 0) %d\0A\00"
  // CHECK-DAG: c"pid (%d, %d, %d) idx () two: (operand 1) %u\0A\00"
  // CHECK: and i32 %{{.*}}, 28
  // CHECK: call void @__assertfail({{.*}}, i32 [[# @LINE + 10]],
  // CHECK: call i32 @vprintf(
  // CHECK: call i32 @vprintf(
  // CHECK: call i32 @vprintf(
  // CHECK: call i32 @vprintf(
  // CHECK-NOT: vprintf(ptr addrspacecast
  func.func @debug(%n: i32) attributes {tile.kernel} {
    %i = tile.arange 0, 4 : tensor<4xi32, #layout>
    %ns = tile.splat %n : tensor<4xi32, #layout>
    %ok = arith.cmpi slt, %i, %ns : tensor<4xi32, #layout>
    tile.assert %ok, "small enough" : tensor<4xi1, #layout>
    tile.print "100% i", [1] %i : tensor<4xi32, #layout>
    tile.print "mask", [0] %ok : tensor<4xi1, #layout> {hex}
    tile.print "two", [1, 0] %i, %n : tensor<4xi32, #layout>, i32
    return
  }
}
