//===- LowerPrograms.cpp - which program this is, of how many ------------------------------===//
// Gives: a program is a block of the grid; in a persistent kernel a block runs several, and the
//        user's grid is a parameter.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
using ID = llvm::Intrinsic::ID;

llvm::Value *blockIndex(Lowering &l, unsigned axis) {
  constexpr ID ids[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                        llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                        llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  return l.b.CreateIntrinsic(l.b.getInt32Ty(), ids[axis], {});
}

llvm::Value *blocksAlong(Lowering &l, unsigned axis) {
  constexpr ID ids[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
                        llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                        llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z};
  return l.b.CreateIntrinsic(l.b.getInt32Ty(), ids[axis], {});
}

LogicalResult lowerProgramId(Lowering &l, ProgramIdOp op) {
  l.set(op, blockIndex(l, op.getAxis()));
  return success();
}

LogicalResult lowerNumPrograms(Lowering &l, NumProgramsOp op) {
  ValueList grid = l.userGrid();
  l.set(op, grid.empty() ? blocksAlong(l, op.getAxis()) : grid[op.getAxis()]);
  return success();
}

LogicalResult lowerBlockId(Lowering &l, nv::BlockIdOp op) {
  l.set(op, blockIndex(l, 0));
  return success();
}

LogicalResult lowerNumBlocks(Lowering &l, nv::NumBlocksOp op) {
  l.set(op, blocksAlong(l, 0));
  return success();
}

LogicalResult lowerProgramCount(Lowering &l, nv::ProgramCountOp op) {
  ValueList grid = l.userGrid();
  l.set(op, l.b.CreateMul(l.b.CreateMul(grid[0], grid[1]), grid[2]));
  return success();
}

LogicalResult lowerProgramAt(Lowering &l, nv::ProgramAtOp op) {
  ValueList grid = l.userGrid();
  llvm::Value *left = l.scalar(op.getProgram());
  for (unsigned axis = 0; axis < op.getAxis(); ++axis)
    left = l.b.CreateUDiv(left, grid[axis]);
  l.set(op, op.getAxis() == 2 ? left : l.b.CreateURem(left, grid[op.getAxis()]));
  return success();
}
} // namespace

void lower::addPrograms(Handlers &h) {
  h.add<ProgramIdOp>(lowerProgramId);
  h.add<NumProgramsOp>(lowerNumPrograms);
  h.add<nv::BlockIdOp>(lowerBlockId);
  h.add<nv::NumBlocksOp>(lowerNumBlocks);
  h.add<nv::ProgramCountOp>(lowerProgramCount);
  h.add<nv::ProgramAtOp>(lowerProgramAt);
}
