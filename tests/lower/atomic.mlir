// One thread among replicas acts; the others read what it got.
// RUN: split-file %s %t
// RUN: pantile-lower --ptx --no-line-info %t/atomic_ticket.mlir | FileCheck %s --check-prefix=ATOMIC-TICKET
// RUN: pantile-lower --ptx --no-line-info %t/atomic_half.mlir | FileCheck %s --check-prefix=ATOMIC-HALF

// RUN: pantile-lower --ptx --no-line-info %t/atomic_access.mlir | FileCheck %s --check-prefix=ATOMIC-ACCESS
// RUN: not pantile-lower --ptx %t/atomic_wrong.mlir 2>&1 | FileCheck %s --check-prefix=ATOMIC-WRONG

// ATOMIC-TICKET: @%p{{[0-9]+}} atom.acq_rel.gpu.global.add.u32
// ATOMIC-TICKET: @%p{{[0-9]+}} st.shared.b32
// ATOMIC-TICKET: bar.sync 0
// ATOMIC-TICKET: ld.shared.b32

// ATOMIC-HALF: atom.relaxed.gpu.global.add.noftz.f16

// Each thread waits alone, and all for one another; the barrier of the store orders what they did.
// ATOMIC-ACCESS: mov.u64 %[[START:rd[0-9]+]], %globaltimer
// ATOMIC-ACCESS: [[LOOP:\$L__BB[0-9_]+]]:
// ATOMIC-ACCESS: ld.acquire.sys.global.b32 %[[SEEN:r[0-9]+]], [%rd{{[0-9]+}}]
// ATOMIC-ACCESS: mov.u64 %{{rd[0-9]+}}, %globaltimer
// ATOMIC-ACCESS: bra{{.*}} [[LOOP]]
// ATOMIC-ACCESS: bar.sync 0
// ATOMIC-ACCESS: @%p{{[0-9]+}} ld.relaxed.cta.global.b8 %rs
// ATOMIC-ACCESS: bar.sync 0
// ATOMIC-ACCESS: @%p{{[0-9]+}} st.release.gpu.global.b8

// Each thread may write a flag for all: they synchronise before a release and after an acquire. Counters of a GPU do not wait.
// RUN: pantile-lower --ptx --no-line-info %t/atomic_flags.mlir | FileCheck %s --check-prefix=ATOMIC-FLAGS
// ATOMIC-FLAGS: st.global.b32
// ATOMIC-FLAGS-NOT: bar.sync
// ATOMIC-FLAGS: red.release.gpu.global.add.u32
// ATOMIC-FLAGS: bar.sync 0
// ATOMIC-FLAGS: st.release.gpu.global.b32
// ATOMIC-FLAGS: ld.acquire.gpu.global.b32
// ATOMIC-FLAGS: bar.sync 0
// ATOMIC-FLAGS: st.global.b32
// ATOMIC-FLAGS: bar.sync 0
// ATOMIC-FLAGS: atom.acq_rel.sys.global.add.u32
// ATOMIC-FLAGS: bar.sync 0
// ATOMIC-FLAGS: ret;

// ATOMIC-WRONG: atomic_rmw_c2: `load` takes integers, got 'f32'
//--- atomic_ticket.mlir
#l0 = #tile.layout<[128], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @atomic_ticket(%x: !tile.ptr<i32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<i32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %one = arith.constant 1 : i32
    %t = tile.atomic_rmw add, acq_rel, gpu, %x, %one {nv.scratch = 0 : i32} : !tile.ptr<i32> -> i32
    %v1 = tile.splat %t : tensor<128xi32, #l0>
    %v2 = tile.arange 0, 128 : tensor<128xi32, #l0>
    %v3 = arith.addi %v1, %v2 : tensor<128xi32, #l0>
    %v4 = tile.arange 0, 128 : tensor<128xi32, #l0>
    %v5 = tile.splat %y : tensor<128x!tile.ptr<i32>, #l0>
    %v6 = tile.addptr %v5, %v4 : tensor<128x!tile.ptr<i32>, #l0>, tensor<128xi32, #l0>
    tile.store %v6, %v3 : tensor<128x!tile.ptr<i32>, #l0>, tensor<128xi32, #l0>
    return
  }
}
//--- atomic_half.mlir
#l0 = #tile.layout<[512], reg = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @atomic_half(%x: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
    %v1 = tile.arange 0, 512 : tensor<512xi32, #l0>
    %v2 = tile.splat %x : tensor<512x!tile.ptr<f16>, #l0>
    %v3 = tile.addptr %v2, %v1 : tensor<512x!tile.ptr<f16>, #l0>, tensor<512xi32, #l0>
    %v4 = tile.load %v3 : tensor<512x!tile.ptr<f16>, #l0> -> tensor<512xf16, #l0>
    %v5 = tile.arange 0, 512 : tensor<512xi32, #l0>
    %v6 = tile.splat %x : tensor<512x!tile.ptr<f16>, #l0>
    %v7 = tile.addptr %v6, %v5 : tensor<512x!tile.ptr<f16>, #l0>, tensor<512xi32, #l0>
    tile.barrier
    %v8 = tile.atomic_rmw fadd, relaxed, gpu, %v7, %v4 {nv.scratch = 0 : i32} : tensor<512x!tile.ptr<f16>, #l0> -> tensor<512xf16, #l0>
    tile.barrier
    %v9 = tile.arange 0, 512 : tensor<512xi32, #l0>
    %v10 = tile.splat %x : tensor<512x!tile.ptr<f16>, #l0>
    %v11 = tile.addptr %v10, %v9 : tensor<512x!tile.ptr<f16>, #l0>, tensor<512xi32, #l0>
    %v12 = tile.load %v11 : tensor<512x!tile.ptr<f16>, #l0> -> tensor<512xf16, #l0>
    %v13 = arith.addf %v12, %v8 : tensor<512xf16, #l0>
    %v14 = tile.arange 0, 512 : tensor<512xi32, #l0>
    %v15 = tile.splat %y : tensor<512x!tile.ptr<f16>, #l0>
    %v16 = tile.addptr %v15, %v14 : tensor<512x!tile.ptr<f16>, #l0>, tensor<512xi32, #l0>
    tile.store %v16, %v13 : tensor<512x!tile.ptr<f16>, #l0>, tensor<512xf16, #l0>
    return
  }
}
//--- atomic_access.mlir
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @atomic_access(%x: !tile.ptr<i32>, %y: !tile.ptr<i8>, %z: !tile.ptr<i8>) attributes {tile.kernel} {
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i8
    %time = arith.constant 500 : i64
    %seen = tile.atomic_rmw poll, acquire, sys, %x, %one timeout %time : !tile.ptr<i32> -> i32
    %value = tile.atomic_rmw load, relaxed, cta, %y, %zero {nv.scratch = 0 : i32} : !tile.ptr<i8> -> i8
    %none = tile.atomic_rmw store, release, gpu, %z, %value : !tile.ptr<i8> -> i8
    return
  }
}
//--- atomic_flags.mlir
#flags = #tile.layout<[128], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @atomic_flags(%x: !tile.ptr<i32>, %y: !tile.ptr<i32>) attributes {tile.kernel} {
    %i = tile.arange 0, 128 : tensor<128xi32, #flags>
    %xs = tile.splat %x : tensor<128x!tile.ptr<i32>, #flags>
    %data = tile.addptr %xs, %i : tensor<128x!tile.ptr<i32>, #flags>, tensor<128xi32, #flags>
    %ys = tile.splat %y : tensor<128x!tile.ptr<i32>, #flags>
    %flag = tile.addptr %ys, %i : tensor<128x!tile.ptr<i32>, #flags>, tensor<128xi32, #flags>
    tile.store %data, %i : tensor<128x!tile.ptr<i32>, #flags>, tensor<128xi32, #flags>
    %0 = tile.atomic_rmw add, release, gpu, %flag, %i : tensor<128x!tile.ptr<i32>, #flags> -> tensor<128xi32, #flags>
    %1 = tile.atomic_rmw store, release, gpu, %flag, %i : tensor<128x!tile.ptr<i32>, #flags> -> tensor<128xi32, #flags>
    %2 = tile.atomic_rmw load, acquire, gpu, %flag, %i : tensor<128x!tile.ptr<i32>, #flags> -> tensor<128xi32, #flags>
    tile.store %data, %2 : tensor<128x!tile.ptr<i32>, #flags>, tensor<128xi32, #flags>
    %3 = tile.atomic_rmw add, acq_rel, sys, %flag, %i : tensor<128x!tile.ptr<i32>, #flags> -> tensor<128xi32, #flags>
    return
  }
}
//--- atomic_wrong.mlir
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
  func.func @atomic_wrong(%x: !tile.ptr<f32>) attributes {tile.kernel} {
    %zero = arith.constant 0.0 : f32
    %value = tile.atomic_rmw load, relaxed, cta, %x, %zero : !tile.ptr<f32> -> f32
    return
  }
}
