// Partial tiles: each thread stores its registers as vectors, next to those of its CTA, after the flags of all CTAs, and arrives. The helper warp waits for the arrivals, releases the CTA's flag, then acquires the flags of peer CTAs and resets them.
// RUN: pantile-lower %s | FileCheck %s
#sums = #tile.layout<[64, 16], reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
module attributes {nv.launch = #nv.launch<producer_warps = 2, persistent = true, partial_bytes = 4096>, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: define ptx_kernel void @cut
  // CHECK-SAME: ptr addrspace(1) %[[OUT:[0-9]+]], ptr addrspace(1) %[[MEMORY:[0-9]+]], ptr addrspace(1) %[[CUT:[0-9]+]]
  func.func @cut(%out: !tile.ptr<i32>) attributes {tile.kernel} {
    // CHECK: %[[BITS:[0-9]+]] = ptrtoint ptr addrspace(1) %[[CUT]] to i64
    // CHECK: trunc i64 %[[BITS]] to i32
    // CHECK: lshr i64 %[[BITS]], 32
    %cycles, %blocks, %programs = nv.work_range
    %sum = arith.addi %cycles, %blocks : i32
    %all = arith.addi %sum, %programs : i32
    tile.store %out, %all : !tile.ptr<i32>, i32
    return
  }
  // CHECK-LABEL: define ptx_kernel void @hand_over
  // The producer is a thread of the first extra warp, the helper warp is the second.
  // CHECK: produce:
  // CHECK: icmp eq i32 %[[THREAD:[0-9]+]], 128
  // CHECK: br i1 %{{[0-9]+}}, label %producer, label %helper
  // CHECK: consume:
  // CHECK: asm sideeffect "@$0 barrier.cta.sync.aligned 5, 160;", "b,~{memory}"(i1 %[[GETS:[0-9]+]])
  // CHECK: br i1 %[[GETS]],
  // CHECK: made:
  // CHECK: %[[IS:[0-9]+]] = icmp eq i32 %[[THREAD]], 128
  // CHECK: %[[WARP:[0-9]+]] = lshr i32 %[[THREAD]], 5
  // CHECK: %[[HELPERS:[0-9]+]] = icmp eq i32 %[[WARP]], 5
  // CHECK: %[[EITHER:[0-9]+]] = or i1 %[[IS]], %[[HELPERS]]
  // CHECK: br i1 %[[EITHER]], label %produce, label %produced
  // CHECK: asm sideeffect "barrier.cta.sync.aligned 4, 160;"
  // CHECK: asm sideeffect "st.release.gpu.global.u32 [$0], 1;"
  // CHECK: asm sideeffect "barrier.cta.arrive.aligned 5, 160;"
  // CHECK: next:
  // CHECK: asm sideeffect "ld.acquire.gpu.global.u32
  // CHECK: asm sideeffect "st.relaxed.gpu.global.u32 [$0], 0;"
  // CHECK: load <4 x float>, {{.*}}, align 16
  // CHECK: load <4 x float>, {{.*}}, align 16
  // CHECK: phi float [ {{.*}} ], [ poison, %consume ]
  // CHECK: load <4 x float>, {{.*}}, align 16
  // CHECK: fadd float
  // CHECK: store <4 x float> {{.*}}, align 16
  // CHECK: store <4 x float> {{.*}}, align 16
  // CHECK: asm sideeffect "barrier.cta.arrive.aligned 4, 160;"
  func.func @hand_over(%gives: i1, %gets: i1, %first: i32, %block: i32, %step: i32) attributes {tile.kernel} {
    nv.producer {
      nv.helper_warp %gives from %first to %block step %step
    }
    nv.await_partials %gets
    %part = nv.load_partial %first if %gets : tensor<64x16xf32, #sums>
    %next = arith.addi %first, %step : i32
    %other = nv.load_partial %next : tensor<64x16xf32, #sums>
    %whole = arith.addf %part, %other : tensor<64x16xf32, #sums>
    nv.store_partial %whole : tensor<64x16xf32, #sums>
    return
  }
}
