// One thread among replicas acts; the others read what it got.
// RUN: split-file %s %t
// RUN: pantile-lower --ptx --no-line-info %t/atomic_ticket.mlir | FileCheck %s --check-prefix=ATOMIC-TICKET
// RUN: pantile-lower --ptx --no-line-info %t/atomic_half.mlir | FileCheck %s --check-prefix=ATOMIC-HALF

// ATOMIC-TICKET: @%p{{[0-9]+}} atom.acq_rel.gpu.global.add.u32
// ATOMIC-TICKET: @%p{{[0-9]+}} st.shared.b32
// ATOMIC-TICKET: bar.sync 0
// ATOMIC-TICKET: ld.shared.b32

// ATOMIC-HALF: atom.relaxed.gpu.global.add.noftz.f16
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
