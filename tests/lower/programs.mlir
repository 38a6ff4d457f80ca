// Which program runs: that of a CTA of the grid, or one of several that a persistent CTA runs.
// RUN: split-file %s %t
// RUN: pantile-lower %t/by_cta.mlir | FileCheck %s --check-prefix=CTA
// RUN: pantile-lower %t/by_persistent_cta.mlir | FileCheck %s --check-prefix=PERSISTENT

// CTA: define ptx_kernel void @by_cta(ptr addrspace(1) %0, ptr addrspace(1) %1, ptr addrspace(1) %2)
// CTA: llvm.nvvm.read.ptx.sreg.ctaid.y
// CTA: llvm.nvvm.read.ptx.sreg.nctaid.z

// The user's grid is in the last three parameters; the first axis runs fastest.
// PERSISTENT: define ptx_kernel void @by_persistent_cta(ptr addrspace(1) %0, ptr addrspace(1) %1, ptr addrspace(1) %2, i32 %3, i32 %4, i32 %5)
// PERSISTENT-DAG: %[[FIRST:.*]] = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
// PERSISTENT-DAG: %[[STEP:.*]] = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
// PERSISTENT-DAG: %[[PLANE:.*]] = mul i32 %3, %4
// PERSISTENT-DAG: %[[COUNT:.*]] = mul i32 %[[PLANE]], %5
// PERSISTENT: icmp slt i32 %[[FIRST]], %[[COUNT]]
// PERSISTENT: loop:
// PERSISTENT: %[[PROGRAM:.*]] = phi i32 [ %[[FIRST]],
// PERSISTENT-DAG: urem i32 %[[PROGRAM]], %3
// PERSISTENT-DAG: %[[ROW:.*]] = udiv i32 %[[PROGRAM]], %3
// PERSISTENT-DAG: urem i32 %[[ROW]], %4
// PERSISTENT-DAG: %[[LEFT:.*]] = udiv i32 %[[PROGRAM]], %3
// PERSISTENT-DAG: udiv i32 %[[LEFT]], %4
// PERSISTENT: st.global.b32

//--- by_cta.mlir
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @by_cta(%out: !tile.ptr<i32>) attributes {tile.kernel} {
    %y = tile.program_id 1
    %depth = tile.num_programs 2
    %sum = arith.addi %y, %depth : i32
    tile.store %out, %sum : !tile.ptr<i32>, i32
    return
  }
}

//--- by_persistent_cta.mlir
module attributes {nv.launch = #nv.launch<persistent = true>, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @by_persistent_cta(%out: !tile.ptr<i32>) attributes {tile.kernel} {
    %first = nv.cta_id
    %count = nv.program_count
    %step = nv.num_ctas
    scf.for %p = %first to %count step %step : i32 {
      %x = nv.program_at %p, 0
      %y = nv.program_at %p, 1
      %z = nv.program_at %p, 2
      %depth = tile.num_programs 2
      %xy = arith.addi %x, %y : i32
      %xyz = arith.muli %xy, %z : i32
      %sum = arith.addi %xyz, %depth : i32
      tile.store %out, %sum : !tile.ptr<i32>, i32
    } {nv.programs}
    return
  }
}
