// Partial tiles of stream-K: consumers store and load them as vectors, the helper warp exchanges flags with those of peer CTAs.
// RUN: pantile-lower %s | FileCheck %s
#layout = #tile.layout<[64, 16], reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!acc = tensor<64x16xf32, #layout>
module attributes {nv.launch = #nv.launch<producer_warps = 2, persistent = true, partial_bytes = 4096>, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // The launch passes the work range in the bits of the second scratch pointer: cycles, CTAs, programs.
  // CHECK-LABEL: define ptx_kernel void @work_range
  // CHECK-SAME: ptr addrspace(1) %[[OUT:[0-9]+]], ptr addrspace(1) %[[WORKSPACE:[0-9]+]], ptr addrspace(1) %[[RANGE:[0-9]+]]
  // CHECK: %[[BITS:[0-9]+]] = ptrtoint ptr addrspace(1) %[[RANGE]] to i64
  // CHECK: %[[LOW:[0-9]+]] = trunc i64 %[[BITS]] to i32
  // CHECK: %[[HIGH:[0-9]+]] = lshr i64 %[[BITS]], 32
  // CHECK: %[[PROGRAMS:[0-9]+]] = trunc i64 %[[HIGH]] to i32
  // CHECK: %[[CYCLES:[0-9]+]] = and i32 %[[LOW]], 65535
  // CHECK: %[[CTAS:[0-9]+]] = lshr i32 %[[LOW]], 16
  // CHECK: %[[SUM:[0-9]+]] = add i32 %[[CYCLES]], %[[CTAS]]
  // CHECK: add i32 %[[SUM]], %[[PROGRAMS]]
  func.func @work_range(%out: !tile.ptr<i32>) attributes {tile.kernel} {
    %cycles, %ctas, %programs = nv.work_range
    %sum = arith.addi %cycles, %ctas : i32
    %all = arith.addi %sum, %programs : i32
    tile.store %out, %all : !tile.ptr<i32>, i32
    return
  }

  // The producer is a thread of the first extra warp, the helper warp is the second; other extra threads return.
  // CHECK-LABEL: define ptx_kernel void @roles
  // CHECK: produce:
  // CHECK: icmp eq i32 %[[THREAD:[0-9]+]], 128
  // CHECK: br i1 %{{[0-9]+}}, label %producer, label %helper
  // CHECK: made:
  // CHECK: %[[FIRST:[0-9]+]] = icmp eq i32 %[[THREAD]], 128
  // CHECK: %[[WARP:[0-9]+]] = lshr i32 %[[THREAD]], 5
  // CHECK: %[[HELPS:[0-9]+]] = icmp eq i32 %[[WARP]], 5
  // CHECK: %[[EITHER:[0-9]+]] = or i1 %[[FIRST]], %[[HELPS]]
  // CHECK: br i1 %[[EITHER]], label %produce, label %produced
  func.func @roles(%stores: i1, %first: i32, %cta: i32, %step: i32) attributes {tile.kernel} {
    nv.producer {
      nv.helper_warp %stores from %first to %cta step %step
    }
    return
  }

  // The flag of the CTA is released after its 128 threads have arrived.
  // CHECK-LABEL: define ptx_kernel void @releases_flag
  // CHECK: asm sideeffect "barrier.cta.sync.aligned 4, 160;"
  // CHECK-NOT: asm sideeffect
  // CHECK: asm sideeffect "st.release.gpu.global.u32 [$0], 1;"
  func.func @releases_flag(%stores: i1, %first: i32, %cta: i32, %step: i32) attributes {tile.kernel} {
    nv.producer {
      nv.helper_warp %stores from %first to %cta step %step
    }
    return
  }

  // The helper warp acquires the flags of all peers, resets each for the next launch, then arrives.
  // CHECK-LABEL: define ptx_kernel void @acquires_flags
  // CHECK: after6: {{.*}}preds = %all
  // CHECK: asm sideeffect "barrier.cta.arrive.aligned 5, 160;"
  // CHECK: next: {{.*}}preds = %ready
  // CHECK: spin:
  // CHECK: asm sideeffect "ld.acquire.gpu.global.u32 {{.*}}(i64 %[[FLAG:[0-9]+]])
  // CHECK: br i1 %{{[0-9]+}}, label %spin, label %ready
  // CHECK: ready:
  // CHECK: asm sideeffect "st.relaxed.gpu.global.u32 [$0], 0;"{{.*}}(i64 %[[FLAG]])
  // CHECK: br i1 %{{[0-9]+}}, label %next, label %all
  func.func @acquires_flags(%stores: i1, %first: i32, %cta: i32, %step: i32) attributes {tile.kernel} {
    nv.producer {
      nv.helper_warp %stores from %first to %cta step %step
    }
    return
  }

  // Consumers of the CTA that reduces wait for the arrival of the helper warp.
  // CHECK-LABEL: define ptx_kernel void @await_partials(
  // CHECK: %[[REDUCES:[0-9]+]] = trunc i8 %0 to i1
  // CHECK: asm sideeffect "@$0 barrier.cta.sync.aligned 5, 160;", "b,~{memory}"(i1 %[[REDUCES]])
  func.func @await_partials(%reduces: i1) attributes {tile.kernel} {
    nv.producer {
    }
    nv.await_partials %reduces
    return
  }

  // Eight registers per thread are two vectors, each next to those of the CTA's other threads.
  // CHECK-LABEL: define ptx_kernel void @load_partial(
  // CHECK: %[[OWN:[0-9]+]] = getelementptr <4 x float>, {{.*}}, i64 %{{[0-9]+}}
  // CHECK: %[[FIRST:[0-9]+]] = getelementptr <4 x float>, {{.*}} %[[OWN]], i64 0
  // CHECK: load <4 x float>, {{.*}} %[[FIRST]], align 16
  // CHECK: %[[SECOND:[0-9]+]] = getelementptr <4 x float>, {{.*}} %[[OWN]], i64 128
  // CHECK: load <4 x float>, {{.*}} %[[SECOND]], align 16
  func.func @load_partial(%cta: i32) attributes {tile.kernel} {
    %partial = nv.load_partial %cta : !acc
    nv.store_partial %partial : !acc
    return
  }

  // CHECK-LABEL: define ptx_kernel void @load_partial_if(
  // CHECK: %[[ENABLED:[0-9]+]] = trunc i8 %1 to i1
  // CHECK: br i1 %[[ENABLED]], label %[[LOADS:inside[0-9]*]], label %[[AFTER:after[0-9]*]]
  // CHECK: [[LOADS]]:
  // CHECK-COUNT-2: load <4 x float>
  // CHECK: [[AFTER]]:
  // CHECK: phi float [ {{.*}}, %[[LOADS]] ], [ poison,
  func.func @load_partial_if(%cta: i32, %enable: i1) attributes {tile.kernel} {
    %partial = nv.load_partial %cta if %enable : !acc
    nv.store_partial %partial : !acc
    return
  }

  // Threads arrive after their stores, and do not wait.
  // CHECK-LABEL: define ptx_kernel void @store_partial(
  // CHECK-COUNT-2: store <4 x float> {{.*}}, align 16
  // CHECK: asm sideeffect "barrier.cta.arrive.aligned 4, 160;"
  // CHECK-NEXT: ret void
  func.func @store_partial(%cta: i32) attributes {tile.kernel} {
    %partial = nv.load_partial %cta : !acc
    nv.store_partial %partial : !acc
    return
  }
}
