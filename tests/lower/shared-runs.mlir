// Of elements that are equal in runs, a thread loads the first of each run, which is the same for all lanes here.
// RUN: pantile-lower %s | FileCheck %s
#column = #tile.layout<[64], reg = [[1], [8], [16], [32]], lane = [[2], [4], [0], [0], [0]], warp = [[0], [0]]>
!scales = tensor<64xf32, #column>
!stage = !nv.buffer<1 x [64] x f32, #nv.swizzle<[0], 0>>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  // CHECK-LABEL: @scales
  // CHECK: load i32, ptr addrspace(3) @shared, align
  // CHECK: load i32, ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @shared, i32 64)
  // CHECK: load i32, ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @shared, i32 128)
  // CHECK: load i32, ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @shared, i32 192)
  // CHECK-NOT: load i32, ptr addrspace(3)
  // CHECK-COUNT-4: fadd float
  // CHECK-NOT: load i32, ptr addrspace(3)
  func.func @scales(%to: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %one = arith.constant dense<1.0> : !scales
    %stage = nv.alloc at 0 : !stage
    %x = nv.local_load %stage {runs = array<i64: 16>} : !stage -> !scales
    %sum = arith.addf %x, %one : !scales
    %at = tile.arange 0, 64 : tensor<64xi32, #column>
    %base = tile.splat %to : tensor<64x!tile.ptr<f32>, #column>
    %places = tile.addptr %base, %at : tensor<64x!tile.ptr<f32>, #column>, tensor<64xi32, #column>
    tile.store %places, %sum : tensor<64x!tile.ptr<f32>, #column>, !scales
    return
  }
}
