// Which program runs: that of a CTA of the grid, or one of several that a persistent CTA runs.
// RUN: split-file %s %t
// RUN: pantile-lower %t/block.mlir | FileCheck %s --check-prefix=BLOCK
// RUN: pantile-lower %t/turn.mlir | FileCheck %s --check-prefix=TURN

// BLOCK: define ptx_kernel void @by_block(ptr addrspace(1) %0, ptr addrspace(1) %1, ptr addrspace(1) %2)
// BLOCK: llvm.nvvm.read.ptx.sreg.ctaid.y
// BLOCK: llvm.nvvm.read.ptx.sreg.nctaid.z

// The user's grid is in the last three parameters; the first axis runs fastest.
// TURN: define ptx_kernel void @by_turn(ptr addrspace(1) %0, ptr addrspace(1) %1, ptr addrspace(1) %2, i32 %3, i32 %4, i32 %5)
// TURN-DAG: %[[FIRST:.*]] = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
// TURN-DAG: %[[STEP:.*]] = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
// TURN-DAG: %[[PLANE:.*]] = mul i32 %3, %4
// TURN-DAG: %[[COUNT:.*]] = mul i32 %[[PLANE]], %5
// TURN: icmp slt i32 %[[FIRST]], %[[COUNT]]
// TURN: loop:
// TURN: %[[PROGRAM:.*]] = phi i32 [ %[[FIRST]],
// TURN-DAG: urem i32 %[[PROGRAM]], %3
// TURN-DAG: %[[ROW:.*]] = udiv i32 %[[PROGRAM]], %3
// TURN-DAG: urem i32 %[[ROW]], %4
// TURN-DAG: %[[LEFT:.*]] = udiv i32 %[[PROGRAM]], %3
// TURN-DAG: udiv i32 %[[LEFT]], %4
// TURN: st.global.b32

//--- block.mlir
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @by_block(%out: !tile.ptr<i32>) attributes {tile.kernel} {
    %y = tile.program_id 1
    %depth = tile.num_programs 2
    %sum = arith.addi %y, %depth : i32
    tile.store %out, %sum : !tile.ptr<i32>, i32
    return
  }
}

//--- turn.mlir
module attributes {nv.launch = #nv.launch<persistent = true>, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  func.func @by_turn(%out: !tile.ptr<i32>) attributes {tile.kernel} {
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
