//===- LowerDivision.cpp - integer divisions that a branch can skip -------------------------===//
// Gives: quotient and remainder of a scalar by one that is no constant, without a division where
//        0 <= scalar < divisor; the same for remainders of tiles with few elements per thread, such
//        as modulo-wrapped row indices (`% M`); of numbers of 32 bits by one that an innermost loop
//        does not change, a few multiplications; other divisions as elementwise operations.
// How:   Kernels split the program id into row and column of the output tile before they issue
//        their first load. The GPU has no division instruction but a chain of conversions and
//        multiplications. Scalars are uniform in a CTA, so a branch costs less than the chain;
//        small grids skip it. The first of `a / b` and `a % b` computes both, under one branch.
//        In a loop the part of the chain that depends on the divisor alone, its reciprocal, is
//        emitted as pure operations, which LLVM hoists. What remains is shorter than a branch.
//===-----------------------------------------------------------------------------------===//
#include "ir/FindOps.h"
#include "lower/Elementwise.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

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
  by = divisorOf(l, by);
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

/// Whether `divisor` stays as it is in the innermost loop around `op`, which has no loop in it.
bool isInvariantDivisor(Operation *op, Value divisor) {
  auto loop = op->getParentOfType<LoopLikeOpInterface>();
  return loop && loop.isDefinedOutsideOfLoop(divisor) && isUniform(op) &&
         getElementTypeOrSelf(divisor).isInteger(32) &&
         opsIn<LoopLikeOpInterface>(loop).size() == 1;
}

/// Divisions by one number of 32 bits, all of whose own computations come first: the unsigned
/// division by a reciprocal of Rodeheffer, "Software Integer Division" (2008).
class ByReciprocal {
public:
  ByReciprocal(Lowering &l, llvm::Value *by) : l(l), sign(signOf(by)), size(withSign(by, sign)) {
    // At most 2^32 / size: the float is rounded up, its reciprocal is off by one unit in the last
    // place at most, and two are taken off. The sum also multiplies by 2^32.
    llvm::Type *f32 = l.b.getFloatTy(), *i32 = l.b.getInt32Ty();
    llvm::Value *rounded = l.b.CreateIntrinsic(f32, llvm::Intrinsic::nvvm_ui2f_rp, {size});
    llvm::Value *inverse =
        l.b.CreateIntrinsic(f32, llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {rounded});
    llvm::Value *scaled = l.b.CreateAdd(l.b.CreateBitCast(inverse, i32), l.b.getInt32(0x0ffffffe));
    llvm::Value *first = l.b.CreateFPToUI(l.b.CreateBitCast(scaled, f32), i32);
    llvm::Value *rest = l.b.CreateNeg(l.b.CreateMul(size, first));
    reciprocal = l.b.CreateAdd(first, upperHalf(first, rest)); // a step of Newton's iteration
  }

  Division operator()(llvm::Value *value) {
    llvm::Value *ownSign = signOf(value), *of = withSign(value, ownSign);
    llvm::Value *quotient = upperHalf(of, reciprocal);
    llvm::Value *remainder = l.b.CreateSub(of, l.b.CreateMul(quotient, size));
    for (int correction = 0; correction < 2; ++correction) {
      llvm::Value *isLarge = l.b.CreateICmpUGE(remainder, size);
      quotient = l.b.CreateSelect(isLarge, l.b.CreateAdd(quotient, l.b.getInt32(1)), quotient);
      remainder = l.b.CreateSelect(isLarge, l.b.CreateSub(remainder, size), remainder);
    }
    return {withSign(quotient, l.b.CreateXor(ownSign, sign)), withSign(remainder, ownSign)};
  }

private:
  llvm::Value *signOf(llvm::Value *value) { return l.b.CreateAShr(value, 31); }
  /// Negated where `sign` is -1: of a number with its own sign, its magnitude.
  llvm::Value *withSign(llvm::Value *value, llvm::Value *sign) {
    return l.b.CreateSub(l.b.CreateXor(value, sign), sign);
  }
  /// Not by a product of 64 bits: ptxas 13.0 takes the upper half of `i * r` for a multiple of `i`
  /// where a loop counts `i`.
  llvm::Value *upperHalf(llvm::Value *a, llvm::Value *b) {
    return l.b.CreateIntrinsic(llvm::Intrinsic::nvvm_mulhi_ui, {}, {a, b});
  }

  Lowering &l;
  llvm::Value *sign, *size, *reciprocal = nullptr;
};

llvm::Value *plainDivision(Lowering &l, Operation *op, ValueList v) {
  llvm::Value *by = divisorOf(l, v[1]);
  return isa<arith::DivSIOp>(op) ? l.b.CreateSDiv(v[0], by) : l.b.CreateSRem(v[0], by);
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
  by = divisorOf(l, by);
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
  llvm::Value *common = commonDivisor(l, op->getOperand(1));
  if (common && isInvariantDivisor(op, op->getOperand(1))) {
    ByReciprocal divide(l, common);
    return mapElements(l, op, [&](ValueList v) {
      const Division both = divide(v[0]);
      return isa<arith::DivSIOp>(op) ? both.quotient : both.remainder;
    });
  }
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
  llvm::Value *value = l.scalar(op->getOperand(0)), *by = l.scalar(op->getOperand(1));
  const Division both = isInvariantDivisor(op, op->getOperand(1)) ? ByReciprocal(l, by)(value)
                                                                  : divideLarger(l, value, by);
  for (Operation *other : same)
    l.set(other->getResult(0), isa<arith::DivSIOp>(other) ? both.quotient : both.remainder);
  return success();
}
} // namespace

llvm::Value *lower::divisorOf(Lowering &l, llvm::Value *by) {
  llvm::Value *isZero = l.b.CreateICmpEQ(by, llvm::Constant::getNullValue(by->getType()));
  return l.b.CreateSelect(isZero, llvm::ConstantInt::get(by->getType(), 1), by);
}

void lower::addDivisions(Handlers &h) {
  h.add<arith::DivSIOp>(lowerDivision);
  h.add<arith::RemSIOp>(lowerDivision);
}
