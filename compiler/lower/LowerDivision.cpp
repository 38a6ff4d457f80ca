//===- LowerDivision.cpp - integer divisions that a branch can skip -------------------------===//
// Gives: quotient and remainder of a scalar by one that is no constant, without a division where
//        0 <= scalar < divisor; the same for remainders of tiles with few elements per thread, such
//        as modulo-wrapped row indices (`% M`); other divisions as elementwise operations.
// How:   Kernels split the program id into row and column of the output tile before they issue
//        their first load. The GPU has no division instruction but a chain of conversions and
//        multiplications. Scalars are uniform in a CTA, so a branch costs less than the chain;
//        small grids skip it. The first of `a / b` and `a % b` computes both, under one branch.
//===-----------------------------------------------------------------------------------===//
#include "lower/Elementwise.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
bool isDivision(Operation *op) { return isa<arith::DivSIOp, arith::RemSIOp>(op); }

/// Whether `op` works on scalars: in the regions of reductions and the like they are tile elements.
bool isUniform(Operation *op) {
  while ((op = op->getParentOp()) && isa<scf::ForOp, scf::IfOp, scf::WhileOp, nv::ProducerOp>(op))
    ;
  return isa_and_present<func::FuncOp>(op);
}

/// The operations of the block that divide the same numbers, in block order.
llvm::SmallVector<Operation *> divisionsLike(Operation *op) {
  llvm::SetVector<Operation *> same;
  for (Operation *user : op->getOperand(0).getUsers())
    if (isDivision(user) && user->getBlock() == op->getBlock() &&
        user->getOperands() == op->getOperands())
      same.insert(user);
  auto list = same.takeVector();
  llvm::sort(list, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return {list.begin(), list.end()};
}

struct Division {
  llvm::Value *quotient, *remainder;
};

Division divideLarger(Lowering &l, llvm::Value *value, llvm::Value *by) {
  llvm::LLVMContext &context = l.module.getContext();
  llvm::BasicBlock *before = l.b.GetInsertBlock();
  auto *divide = llvm::BasicBlock::Create(context, "divide", l.function);
  auto *divided = llvm::BasicBlock::Create(context, "divided", l.function);
  llvm::Constant *zero = llvm::ConstantInt::get(value->getType(), 0);
  llvm::Value *isSmaller =
      l.b.CreateAnd(l.b.CreateICmpSGE(value, zero), l.b.CreateICmpSLT(value, by));
  l.b.CreateCondBr(isSmaller, divided, divide);
  l.b.SetInsertPoint(divide);
  llvm::Value *quotient = l.b.CreateSDiv(value, by), *remainder = l.b.CreateSRem(value, by);
  l.b.CreateBr(divided);
  l.b.SetInsertPoint(divided);
  auto choose = [&](llvm::Value *plain, llvm::Value *computed) {
    llvm::PHINode *result = l.b.CreatePHI(value->getType(), 2);
    result->addIncoming(plain, before);
    result->addIncoming(computed, divide);
    return result;
  };
  return {choose(zero, quotient), choose(value, remainder)};
}

llvm::Value *plainDivision(Lowering &l, Operation *op, ValueList v) {
  return isa<arith::DivSIOp>(op) ? l.b.CreateSDiv(v[0], v[1]) : l.b.CreateSRem(v[0], v[1]);
}

/// The scalar that all elements are divided by, if it is no constant.
llvm::Value *commonDivisor(Lowering &l, Value tile) {
  Values divisors;
  for (auto [reg, value] : llvm::enumerate(l.get(tile)))
    if (l.isPresent(tile.getType(), reg))
      divisors.push_back(value);
  return llvm::all_equal(divisors) && !isa<llvm::Constant>(divisors[0]) ? divisors[0] : nullptr;
}

/// Remainders of a tile, under a branch that threads skip if all their elements are smaller.
LogicalResult wrapElements(Lowering &l, arith::RemSIOp op, llvm::Value *by) {
  llvm::LLVMContext &context = l.module.getContext();
  const ValueList values = l.get(op.getLhs());
  llvm::SetVector<llvm::Value *> elements;
  for (auto [reg, value] : llvm::enumerate(values))
    if (l.isPresent(op.getType(), reg))
      elements.insert(value);
  llvm::Value *areSmaller = l.b.getTrue();
  for (llvm::Value *value : elements) {
    llvm::Constant *zero = llvm::ConstantInt::get(value->getType(), 0);
    areSmaller = l.b.CreateAnd(
        areSmaller, l.b.CreateAnd(l.b.CreateICmpSGE(value, zero), l.b.CreateICmpSLT(value, by)));
  }
  llvm::BasicBlock *before = l.b.GetInsertBlock();
  auto *wrap = llvm::BasicBlock::Create(context, "wrap", l.function);
  auto *wrapped = llvm::BasicBlock::Create(context, "wrapped", l.function);
  l.b.CreateCondBr(areSmaller, wrapped, wrap);
  l.b.SetInsertPoint(wrap);
  llvm::DenseMap<llvm::Value *, llvm::Value *> remainders;
  for (llvm::Value *value : elements)
    remainders[value] = l.b.CreateSRem(value, by);
  l.b.CreateBr(wrapped);
  l.b.SetInsertPoint(wrapped);
  for (llvm::Value *value : elements) {
    llvm::PHINode *result = l.b.CreatePHI(value->getType(), 2);
    result->addIncoming(value, before);
    result->addIncoming(remainders[value], wrap);
    remainders[value] = result;
  }
  Values results;
  for (llvm::Value *value : values)
    results.push_back(elements.contains(value) ? remainders[value] : value);
  l.set(op, results);
  return success();
}

LogicalResult lowerTileDivision(Lowering &l, Operation *op) {
  const auto few = static_cast<size_t>(l.target.machine().tiles.remaindersByLoop);
  auto remainder = dyn_cast<arith::RemSIOp>(op);
  llvm::Value *by = remainder && isUniform(op) ? commonDivisor(l, remainder.getRhs()) : nullptr;
  if (by && l.get(remainder.getLhs()).size() <= few)
    return wrapElements(l, remainder, by);
  return mapElements(l, op, [&](ValueList v) { return plainDivision(l, op, v); });
}

LogicalResult lowerDivision(Lowering &l, Operation *op) {
  const bool isScalar = op->getResult(0).getType().isInteger();
  if (!isScalar)
    return lowerTileDivision(l, op);
  if (!isUniform(op) || isa<llvm::Constant>(l.scalar(op->getOperand(1))))
    return mapElements(l, op, [&](ValueList v) { return plainDivision(l, op, v); });
  llvm::SmallVector<Operation *> same = divisionsLike(op);
  if (same.front() != op)
    return success(); // computed with the first one
  const Division both = divideLarger(l, l.scalar(op->getOperand(0)), l.scalar(op->getOperand(1)));
  for (Operation *other : same)
    l.set(other->getResult(0), isa<arith::DivSIOp>(other) ? both.quotient : both.remainder);
  return success();
}
} // namespace

void lower::addDivisions(Handlers &h) {
  h.add<arith::DivSIOp>(lowerDivision);
  h.add<arith::RemSIOp>(lowerDivision);
}
