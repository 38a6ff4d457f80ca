// Parts of a sum: a warp writes its registers in vectors, a block's threads side by side, behind the flags of all blocks; its first lane releases the warp's flag, or acquires the other block's and sets it back.
// RUN: pantile-lower %s | FileCheck %s
#sums = #tile.layout<[64, 16], reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
module attributes {nv.partial_bytes = 4096 : i64, nv.persistent, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: define ptx_kernel void @cut
  // CHECK-SAME: ptr addrspace(1) %[[OUT:[0-9]+]], ptr addrspace(1) %[[MEMORY:[0-9]+]], ptr addrspace(1) %[[CUT:[0-9]+]]
  func.func @cut(%out: !tile.ptr<i32>) attributes {tile.kernel} {
    // CHECK: %[[BITS:[0-9]+]] = ptrtoint ptr addrspace(1) %[[CUT]] to i64
    // CHECK: trunc i64 %[[BITS]] to i32
    // CHECK: lshr i64 %[[BITS]], 32
    %cycles, %blocks, %programs = nv.cut
    %sum = arith.addi %cycles, %blocks : i32
    %all = arith.addi %sum, %programs : i32
    tile.store %out, %all : !tile.ptr<i32>, i32
    return
  }
  // CHECK-LABEL: define ptx_kernel void @hand_over
  func.func @hand_over(%from: i32) attributes {tile.kernel} {
    %sum = arith.constant dense<1.500000e+00> : tensor<64x16xf32, #sums>
    // CHECK-DAG: call i32 asm sideeffect "ld.acquire.gpu.global.u32
    // CHECK-DAG: call void asm sideeffect "st.relaxed.gpu.global.u32 [$0], 0;"
    // CHECK-DAG: load <4 x float>, {{.*}}, align 16
    // CHECK-DAG: load <4 x float>, {{.*}}, align 16
    // CHECK-DAG: fadd float
    %whole = nv.add_part %sum, %from : tensor<64x16xf32, #sums>
    // CHECK-DAG: store <4 x float> {{.*}}, align 16
    // CHECK-DAG: store <4 x float> {{.*}}, align 16
    // CHECK-DAG: call void @llvm.nvvm.bar.warp.sync
    // CHECK-DAG: call void asm sideeffect "st.release.gpu.global.u32 [$0], 1;"
    nv.put_part %whole : tensor<64x16xf32, #sums>
    return
  }
}
