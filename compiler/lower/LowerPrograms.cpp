//===- LowerPrograms.cpp - program ids and the number of programs --------------------------===//
// Gives: program_id, num_programs and the operations of persistent kernels.
// How:   A program is a CTA of the grid. A persistent CTA runs several programs, and the user's
//        grid is a parameter. Packed programs are the warps of a CTA. A program on a cluster has
//        consecutive CTAs along the first axis.
//===-----------------------------------------------------------------------------------===//
#include "ir/Launch.h"
#include "lower/Lowering.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
using ID = llvm::Intrinsic::ID;

llvm::Value *ctaIndex(Lowering &l, unsigned axis) {
  constexpr ID ids[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                        llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                        llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  return l.b.CreateIntrinsic(l.b.getInt32Ty(), ids[axis], {});
}

llvm::Value *ctasAlong(Lowering &l, unsigned axis) {
  constexpr ID ids[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
                        llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                        llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z};
  return l.b.CreateIntrinsic(l.b.getInt32Ty(), ids[axis], {});
}

/// Whether several programs may be packed into a CTA; they are consecutive along the first axis.
bool isPacked(Operation *op, unsigned axis) {
  return axis == 0 && Launch::of(op).programsPerCta > 1;
}

int64_t ctasOfProgram(Operation *op, unsigned axis) {
  return axis == 0 ? Launch::of(op).ctasPerProgram : 1;
}

/// Warps per CTA, each of which runs a program.
llvm::Value *warpsOfCta(Lowering &l) {
  llvm::Value *threads =
      l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, {});
  return l.b.CreateLShr(threads, l.b.getInt32(5));
}

LogicalResult lowerProgramId(Lowering &l, ProgramIdOp op) {
  llvm::Value *program = ctaIndex(l, op.getAxis());
  if (isPacked(op, op.getAxis())) {
    llvm::Value *thread =
        l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
    program = l.b.CreateAdd(l.b.CreateMul(program, warpsOfCta(l)),
                            l.b.CreateLShr(thread, l.b.getInt32(5)));
  }
  if (const int clusterSize = ctasOfProgram(op, op.getAxis()); clusterSize > 1)
    program = l.b.CreateLShr(program, llvm::Log2_32(clusterSize));
  l.set(op, program);
  return success();
}

LogicalResult lowerNumPrograms(Lowering &l, NumProgramsOp op) {
  ValueList grid = l.userGrid();
  if (!grid.empty()) {
    l.set(op, grid[op.getAxis()]);
    return success();
  }
  llvm::Value *ctas = ctasAlong(l, op.getAxis());
  if (isPacked(op, op.getAxis()))
    ctas = l.b.CreateMul(ctas, warpsOfCta(l));
  if (const int clusterSize = ctasOfProgram(op, op.getAxis()); clusterSize > 1)
    ctas = l.b.CreateLShr(ctas, llvm::Log2_32(clusterSize));
  l.set(op, ctas);
  return success();
}

LogicalResult lowerCtaId(Lowering &l, nv::CtaIdOp op) {
  l.set(op, ctaIndex(l, 0));
  return success();
}

LogicalResult lowerNumCtas(Lowering &l, nv::NumCtasOp op) {
  l.set(op, ctasAlong(l, 0));
  return success();
}

LogicalResult lowerProgramCount(Lowering &l, nv::ProgramCountOp op) {
  ValueList grid = l.userGrid();
  l.set(op, l.b.CreateMul(l.b.CreateMul(grid[0], grid[1]), grid[2]));
  return success();
}

/// `value / size` or `value % size` by the instruction `divide`; where `value < size`, `small`
/// without a division.
llvm::Value *divideOnce(Lowering &l, llvm::Value *value, llvm::Value *size, llvm::Value *small,
                        llvm::Instruction::BinaryOps divide) {
  llvm::LLVMContext &context = l.module.getContext();
  llvm::BasicBlock *plain = l.b.GetInsertBlock();
  auto *dividing = llvm::BasicBlock::Create(context, "divide", l.function);
  auto *divided = llvm::BasicBlock::Create(context, "divided", l.function);
  l.b.CreateCondBr(l.b.CreateICmpULT(value, size), divided, dividing);
  l.b.SetInsertPoint(dividing);
  llvm::Value *large = l.b.CreateBinOp(divide, value, size);
  l.b.CreateBr(divided);
  l.b.SetInsertPoint(divided);
  llvm::PHINode *result = l.b.CreatePHI(value->getType(), 2);
  result->addIncoming(small, plain);
  result->addIncoming(large, dividing);
  return result;
}

/// `value % size`; no division where the grid has no further axis.
llvm::Value *remainderOnce(Lowering &l, llvm::Value *value, llvm::Value *size) {
  return divideOnce(l, value, size, value, llvm::Instruction::URem);
}

LogicalResult lowerProgramAt(Lowering &l, nv::ProgramAtOp op) {
  ValueList grid = l.userGrid();
  const unsigned axis = op.getAxis();
  llvm::Value *left = l.scalar(op.getProgram());
  for (unsigned before = 0; before < axis; ++before)
    left = l.b.CreateUDiv(left, grid[before]);
  if (axis < 2)
    left = remainderOnce(l, left, grid[axis]);
  l.set(op, left);
  return success();
}

/// The program at `position` of the raster order: a plane of `width` by `height` programs is
/// visited group by group, each group row by row.
llvm::Value *walkInGroups(Lowering &l, llvm::Value *position, llvm::Value *width,
                          llvm::Value *height, llvm::Value *group) {
  llvm::Value *whole = l.b.CreateMul(group, height);
  llvm::Value *number = l.b.CreateUDiv(position, whole);
  llvm::Value *left = l.b.CreateSub(position, l.b.CreateMul(number, whole));
  llvm::Value *first = l.b.CreateMul(number, group);
  llvm::Value *across =
      l.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, group, l.b.CreateSub(width, first));
  llvm::Value *row = l.b.CreateUDiv(left, across);
  llvm::Value *column = l.b.CreateSub(left, l.b.CreateMul(row, across));
  return l.b.CreateAdd(l.b.CreateMul(row, width), l.b.CreateAdd(first, column));
}

/// `value / size`; no division where it is 0.
llvm::Value *quotientOnce(Lowering &l, llvm::Value *value, llvm::Value *size) {
  return divideOnce(l, value, size, l.b.getInt32(0), llvm::Instruction::UDiv);
}

/// Whether groups may pay off: the operands of a few groups fit in L2 together, so that they are
/// read from memory once without them.
llvm::Value *hasManyGroups(Lowering &l, nv::RasterProgramOp op, llvm::Value *count) {
  const auto few = static_cast<uint32_t>(l.target.machine().memory.rasterGroups);
  llvm::Value *width = l.scalar(op.getWidth());
  llvm::Value *isWide = l.b.CreateICmpUGT(width, l.b.getInt32(few * op.getGroup()));
  llvm::Value *plane = l.b.CreateMul(width, l.scalar(op.getHeight()));
  llvm::Value *isPlane = l.b.CreateICmpULT(l.b.CreateSub(plane, l.b.getInt32(1)), count);
  llvm::Value *isMany = l.b.CreateICmpUGT(count, ctasAlong(l, 0));
  return l.b.CreateAnd(isWide, l.b.CreateAnd(isPlane, isMany));
}

LogicalResult lowerRasterProgram(Lowering &l, nv::RasterProgramOp op) {
  ValueList grid = l.userGrid();
  llvm::Value *position = l.scalar(op.getPosition()), *width = l.scalar(op.getWidth()),
              *height = l.scalar(op.getHeight());
  llvm::Value *count = l.b.CreateMul(l.b.CreateMul(grid[0], grid[1]), grid[2]);
  llvm::Value *hasMany = hasManyGroups(l, op, count);
  llvm::LLVMContext &context = l.module.getContext();
  llvm::BasicBlock *plain = l.b.GetInsertBlock();
  auto *walk = llvm::BasicBlock::Create(context, "groups", l.function);
  auto *done = llvm::BasicBlock::Create(context, "ordered", l.function);
  l.b.CreateCondBr(hasMany, walk, done);
  l.b.SetInsertPoint(walk);
  llvm::Value *plane = l.b.CreateMul(width, height);
  llvm::Value *before = l.b.CreateMul(quotientOnce(l, position, plane), plane);
  llvm::Value *number =
      l.b.CreateAdd(before, walkInGroups(l, l.b.CreateSub(position, before), width, height,
                                         l.b.getInt32(op.getGroup())));
  llvm::Value *isInside = l.b.CreateICmpULE(plane, l.b.CreateSub(count, before));
  llvm::Value *inGroups = l.b.CreateSelect(isInside, number, position);
  llvm::BasicBlock *walked = l.b.GetInsertBlock();
  l.b.CreateBr(done);
  l.b.SetInsertPoint(done);
  llvm::PHINode *result = l.b.CreatePHI(position->getType(), 2);
  result->addIncoming(position, plain);
  result->addIncoming(inGroups, walked);
  l.set(op, result);
  return success();
}
} // namespace

void lower::addPrograms(Handlers &h) {
  h.add<ProgramIdOp>(lowerProgramId);
  h.add<NumProgramsOp>(lowerNumPrograms);
  h.add<nv::CtaIdOp>(lowerCtaId);
  h.add<nv::NumCtasOp>(lowerNumCtas);
  h.add<nv::ProgramCountOp>(lowerProgramCount);
  h.add<nv::ProgramAtOp>(lowerProgramAt);
  h.add<nv::RasterProgramOp>(lowerRasterProgram);
}
