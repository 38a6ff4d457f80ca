//===- LowerElementwise.cpp - integer and floating-point arithmetic, comparisons, pointers --===//
// How:   A tile is lowered register by register. Shifts by the width or more are defined (0 or
//        the sign); in LLVM they are poison, so amounts that are no constants are checked.
//===-----------------------------------------------------------------------------------===//
#include "lower/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;
using llvm::Intrinsic::ID;

LogicalResult lower::mapElements(Lowering &l, Operation *op,
                                 llvm::function_ref<llvm::Value *(ValueList)> make) {
  Value tile = op->getResult(0);
  const int count = l.count(tile.getType());
  EqualRegs equal;
  if (isa<RankedTensorType>(tile.getType()))
    equal = l.axisInfo().equalRegs(tile, l.layout(tile.getType()));
  llvm::SmallVector<ValueList, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(l.get(operand));
  Values results;
  std::map<std::vector<llvm::Value *>, llvm::Value *> made;
  llvm::DenseMap<unsigned, llvm::Value *> known; // by the representative of a register
  for (int reg = 0; reg < count; ++reg) {
    if (!l.isPresent(tile.getType(), reg)) {
      results.push_back(llvm::PoisonValue::get(l.type(elementTypeOf(tile.getType()))));
      continue;
    }
    llvm::Value *&same = known[equal.representative(reg)];
    if (same) {
      results.push_back(same);
      continue;
    }
    std::vector<llvm::Value *> row;
    for (ValueList operand : operands)
      row.push_back(operand.size() == 1 ? operand[0] : operand[reg]);
    llvm::Value *&result = made[row];
    if (!result)
      result = make(row);
    results.push_back(same = result);
  }
  l.set(tile, results);
  return success();
}

namespace {
//===- integers ------------------------------------------------------------------------===//

template <typename Op, llvm::Instruction::BinaryOps opcode> void addWrapping(Handlers &h) {
  h.add<Op>([](Lowering &l, Operation *op) -> LogicalResult {
    if (lowerOnPackedBytes(l, op))
      return success();
    const auto flags = cast<Op>(op).getOverflowFlags();
    const bool nsw = bitEnumContainsAll(flags, arith::IntegerOverflowFlags::nsw);
    const bool nuw = bitEnumContainsAll(flags, arith::IntegerOverflowFlags::nuw);
    return mapElements(l, op, [&](ValueList v) {
      llvm::Value *made = l.b.CreateBinOp(opcode, v[0], v[1]);
      if (auto *instruction = dyn_cast<llvm::BinaryOperator>(made)) {
        instruction->setHasNoSignedWrap(nsw);
        instruction->setHasNoUnsignedWrap(nuw);
      }
      return made;
    });
  });
}

template <llvm::Instruction::BinaryOps opcode>
llvm::Value *binary(Lowering &l, llvm::Value *x, llvm::Value *y) {
  return l.b.CreateBinOp(opcode, x, y);
}
template <llvm::Intrinsic::ID intrinsic>
llvm::Value *binaryIntrinsic(Lowering &l, llvm::Value *x, llvm::Value *y) {
  return l.b.CreateBinaryIntrinsic(intrinsic, x, y);
}

template <llvm::Instruction::BinaryOps opcode>
llvm::Value *shift(Lowering &l, llvm::Value *x, llvm::Value *amount) {
  const unsigned width = x->getType()->getIntegerBitWidth();
  if (auto *constant = dyn_cast<llvm::ConstantInt>(amount);
      constant && constant->getValue().ult(width))
    return l.b.CreateBinOp(opcode, x, amount);
  llvm::Value *last = llvm::ConstantInt::get(x->getType(), width - 1);
  llvm::Value *inside = l.b.CreateICmpULE(amount, last);
  if (opcode == llvm::Instruction::AShr)
    return l.b.CreateAShr(x, l.b.CreateSelect(inside, amount, last));
  llvm::Value *safe = l.b.CreateSelect(inside, amount, llvm::ConstantInt::get(x->getType(), 0));
  return l.b.CreateSelect(inside, l.b.CreateBinOp(opcode, x, safe),
                          llvm::ConstantInt::get(x->getType(), 0));
}

template <llvm::Instruction::BinaryOps opcode>
llvm::Value *divisionU(Lowering &l, llvm::Value *x, llvm::Value *y) {
  return l.b.CreateBinOp(opcode, x, divisorOf(l, y));
}

llvm::Value *ceilDivU(Lowering &l, llvm::Value *x, llvm::Value *y) {
  y = divisorOf(l, y);
  llvm::Value *one = llvm::ConstantInt::get(x->getType(), 1);
  llvm::Value *quotient = l.b.CreateUDiv(x, y);
  llvm::Value *inexact = l.b.CreateICmpNE(l.b.CreateMul(quotient, y), x);
  return l.b.CreateSelect(inexact, l.b.CreateAdd(quotient, one), quotient);
}

/// Bits, and shifts: of bytes four at a time.
template <typename Op> void addBitwise(Handlers &h, Binary fn) {
  h.add<Op>([fn](Lowering &l, Operation *op) -> LogicalResult {
    if (lowerOnPackedBytes(l, op))
      return success();
    return mapElements(l, op, [&](ValueList v) { return fn(l, v[0], v[1]); });
  });
}

/// Quotient rounded up or down, from LLVM's, which rounds towards zero.
template <bool up> llvm::Value *roundedDivS(Lowering &l, llvm::Value *x, llvm::Value *y) {
  y = divisorOf(l, y);
  llvm::Value *quotient = l.b.CreateSDiv(x, y), *rest = l.b.CreateSRem(x, y);
  llvm::Value *zero = llvm::ConstantInt::get(x->getType(), 0);
  llvm::Value *signsDiffer = l.b.CreateICmpSLT(l.b.CreateXor(x, y), zero);
  llvm::Value *off =
      l.b.CreateAnd(l.b.CreateICmpNE(rest, zero), up ? l.b.CreateNot(signsDiffer) : signsDiffer);
  return l.b.CreateAdd(quotient,
                       up ? l.b.CreateZExt(off, x->getType()) : l.b.CreateSExt(off, x->getType()));
}

/// An array parallel to arith::CmpIPredicate.
constexpr llvm::CmpInst::Predicate integerPredicates[] = {
    llvm::CmpInst::ICMP_EQ,  llvm::CmpInst::ICMP_NE,  llvm::CmpInst::ICMP_SLT,
    llvm::CmpInst::ICMP_SLE, llvm::CmpInst::ICMP_SGT, llvm::CmpInst::ICMP_SGE,
    llvm::CmpInst::ICMP_ULT, llvm::CmpInst::ICMP_ULE, llvm::CmpInst::ICMP_UGT,
    llvm::CmpInst::ICMP_UGE};

LogicalResult lowerCmpI(Lowering &l, arith::CmpIOp op) {
  const auto predicate = integerPredicates[static_cast<int>(op.getPredicate())];
  return mapElements(l, op, [&](ValueList v) { return l.b.CreateICmp(predicate, v[0], v[1]); });
}

llvm::Value *mulHiU(Lowering &l, llvm::Value *x, llvm::Value *y) {
  const unsigned width = x->getType()->getIntegerBitWidth();
  llvm::Type *wide = l.b.getIntNTy(2 * width);
  llvm::Value *product = l.b.CreateMul(l.b.CreateZExt(x, wide), l.b.CreateZExt(y, wide));
  return l.b.CreateTrunc(l.b.CreateLShr(product, width), x->getType());
}

/// Both halves of a widening multiplication, low first.
template <typename Op, bool isSigned> void addExtendedProduct(Handlers &h) {
  h.add<Op>([](Lowering &l, Operation *op) {
    Values low, high;
    for (auto [x, y] : llvm::zip_equal(l.get(op->getOperand(0)), l.get(op->getOperand(1)))) {
      const unsigned width = x->getType()->getIntegerBitWidth();
      llvm::Type *wide = l.b.getIntNTy(2 * width);
      llvm::Value *product =
          l.b.CreateMul(isSigned ? l.b.CreateSExt(x, wide) : l.b.CreateZExt(x, wide),
                        isSigned ? l.b.CreateSExt(y, wide) : l.b.CreateZExt(y, wide));
      low.push_back(l.b.CreateTrunc(product, x->getType()));
      high.push_back(l.b.CreateTrunc(l.b.CreateLShr(product, width), x->getType()));
    }
    l.set(op->getResult(0), low);
    l.set(op->getResult(1), high);
    return success();
  });
}

//===- floating point ------------------------------------------------------------------===//

constexpr llvm::CmpInst::Predicate floatPredicates[] = {
    llvm::CmpInst::FCMP_FALSE, llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::FCMP_OGT,
    llvm::CmpInst::FCMP_OGE,   llvm::CmpInst::FCMP_OLT, llvm::CmpInst::FCMP_OLE,
    llvm::CmpInst::FCMP_ONE,   llvm::CmpInst::FCMP_ORD, llvm::CmpInst::FCMP_UEQ,
    llvm::CmpInst::FCMP_UGT,   llvm::CmpInst::FCMP_UGE, llvm::CmpInst::FCMP_ULT,
    llvm::CmpInst::FCMP_ULE,   llvm::CmpInst::FCMP_UNE, llvm::CmpInst::FCMP_UNO,
    llvm::CmpInst::FCMP_TRUE};

LogicalResult lowerCmpF(Lowering &l, arith::CmpFOp op) {
  const auto predicate = floatPredicates[static_cast<int>(op.getPredicate())];
  return mapElements(l, op, [&](ValueList v) { return l.b.CreateFCmp(predicate, v[0], v[1]); });
}

/// fp32 quotients have an error of up to two units in the last place; 16-bit quotients are rounded
/// from fp32.
llvm::Value *divideFloat(Lowering &l, llvm::Value *x, llvm::Value *y) {
  if (auto *constant = dyn_cast<llvm::ConstantFP>(y)) {
    llvm::APFloat inverse(0.0f);
    if (constant->getValueAPF().getExactInverse(&inverse))
      return l.b.CreateFMul(x, llvm::ConstantFP::get(y->getType(), inverse));
  }
  return l.b.CreateIntrinsic(l.b.getFloatTy(), llvm::Intrinsic::nvvm_div_full, {x, y});
}

llvm::Value *divide(Lowering &l, llvm::Value *x, llvm::Value *y) {
  llvm::Type *type = x->getType(), *f32 = l.b.getFloatTy();
  if (type->isDoubleTy())
    return l.b.CreateFDiv(x, y);
  if (type->isFloatTy())
    return divideFloat(l, x, y);
  return l.b.CreateFPTrunc(divideFloat(l, l.b.CreateFPExt(x, f32), l.b.CreateFPExt(y, f32)), type);
}

llvm::Value *preciseDivide(Lowering &l, llvm::Value *x, llvm::Value *y) {
  llvm::Type *type = x->getType();
  if (type->isDoubleTy() || type->isFloatTy())
    return l.b.CreateFDiv(x, y);
  llvm::Type *f32 = l.b.getFloatTy();
  return l.b.CreateFPTrunc(l.b.CreateFDiv(l.b.CreateFPExt(x, f32), l.b.CreateFPExt(y, f32)), type);
}

//===- constants, selection, pointers --------------------------------------------------===//

llvm::Constant *constantOf(Lowering &l, Attribute attribute, Type element) {
  llvm::Type *type = l.type(element);
  if (auto value = dyn_cast<FloatAttr>(attribute)) {
    if (type->isIntegerTy()) // 8-bit floats
      return llvm::ConstantInt::get(type, value.getValue().bitcastToAPInt());
    return llvm::ConstantFP::get(type, value.getValue());
  }
  llvm::APInt bits = cast<IntegerAttr>(attribute).getValue();
  return llvm::ConstantInt::get(type, bits.zextOrTrunc(type->getIntegerBitWidth()));
}

/// A constant whose elements differ is stored in constant memory, row-major; bools take a byte.
Values variedConstant(Lowering &l, arith::ConstantOp op, DenseElementsAttr dense) {
  Type element = elementTypeOf(op.getType());
  const bool isBool = element.isInteger(1);
  llvm::Type *stored = isBool ? l.b.getInt8Ty() : l.type(element);
  llvm::SmallVector<llvm::Constant *> elements;
  for (Attribute value : dense.getValues<Attribute>()) {
    auto *constant = cast<llvm::Constant>(constantOf(l, value, element));
    elements.push_back(isBool ? l.b.getInt8(!constant->isNullValue()) : constant);
  }
  auto *array = llvm::ArrayType::get(stored, elements.size());
  constexpr unsigned constantMemory = 4;
  auto *memory = new llvm::GlobalVariable(
      l.module, array, /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
      llvm::ConstantArray::get(array, elements), "elements", nullptr,
      llvm::GlobalValue::NotThreadLocal, constantMemory);
  const LinearLayout flat = l.layout(op.getType()).reshape({int64_t(elements.size())});
  Values result;
  for (llvm::Value *index : l.coordinates(flat, 0)) {
    llvm::Value *value = l.b.CreateLoad(stored, l.b.CreateInBoundsGEP(stored, memory, index));
    result.push_back(isBool ? l.b.CreateTrunc(value, l.b.getInt1Ty()) : value);
  }
  return result;
}

LogicalResult lowerConstant(Lowering &l, arith::ConstantOp op) {
  Type element = elementTypeOf(op.getType());
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense) {
    l.set(op, constantOf(l, op.getValue(), element));
    return success();
  }
  if (!dense.isSplat()) {
    l.set(op, variedConstant(l, op, dense));
    return success();
  }
  l.set(op,
        Values(l.count(op.getType()), constantOf(l, dense.getSplatValue<Attribute>(), element)));
  return success();
}

/// Whether `y` is `x` times a constant in (0, 1] and `condition` is `x >= 0`.
bool isLeaky(llvm::Value *condition, llvm::Value *x, llvm::Value *y) {
  using namespace llvm::PatternMatch;
  using llvm::FCmpInst;
  auto *compared = dyn_cast<FCmpInst>(condition);
  const llvm::APFloat *slope = nullptr;
  if (!compared || !x->getType()->isFloatTy() || compared->getOperand(0) != x ||
      !match(compared->getOperand(1), m_AnyZeroFP()) ||
      !match(y, m_c_FMul(m_Specific(x), m_APFloat(slope))))
    return false;
  const auto predicate = compared->getPredicate();
  return (predicate == FCmpInst::FCMP_OGE || predicate == FCmpInst::FCMP_OGT) &&
         *slope > llvm::APFloat(0.0f) && *slope <= llvm::APFloat(1.0f);
}

/// A leaky ReLU is the maximum of both, NaN and the sign of zero included: one instruction less.
llvm::Value *select(Lowering &l, llvm::Value *condition, llvm::Value *x, llvm::Value *y) {
  return isLeaky(condition, x, y) ? l.b.CreateMaxNum(x, y) : l.b.CreateSelect(condition, x, y);
}

LogicalResult lowerPoison(Lowering &l, ub::PoisonOp op) {
  llvm::Value *poison = llvm::PoisonValue::get(l.type(elementTypeOf(op.getType())));
  l.set(op, Values(l.count(op.getType()), poison));
  return success();
}

LogicalResult lowerAddPtr(Lowering &l, AddPtrOp op) {
  const unsigned bytes = storageBits(cast<PtrType>(elementTypeOf(op.getType())).getPointee()) / 8;
  llvm::Type *unit = l.b.getIntNTy(bytes * 8);
  return mapElements(l, op, [&](ValueList v) { return l.b.CreateGEP(unit, v[0], v[1]); });
}

LogicalResult lowerPtrToInt(Lowering &l, PtrToIntOp op) {
  llvm::Type *type = l.type(elementTypeOf(op.getType()));
  return mapElements(l, op, [&](ValueList v) { return l.b.CreatePtrToInt(v[0], type); });
}
LogicalResult lowerIntToPtr(Lowering &l, IntToPtrOp op) {
  return mapElements(l, op, [&](ValueList v) { return l.b.CreateIntToPtr(v[0], l.b.getPtrTy(1)); });
}
LogicalResult lowerPtrCast(Lowering &l, PtrCastOp op) {
  l.set(op.getResult(), l.get(op.getSrc()));
  return success();
}

void addIntegers(Handlers &h) {
  using I = llvm::Instruction;
  addWrapping<arith::AddIOp, I::Add>(h);
  addWrapping<arith::SubIOp, I::Sub>(h);
  addWrapping<arith::MulIOp, I::Mul>(h);
  addBinary<arith::DivUIOp>(h, divisionU<I::UDiv>);
  addDivisions(h);
  addIntToFloats(h);
  addBinary<arith::RemUIOp>(h, divisionU<I::URem>);
  addBinary<arith::CeilDivUIOp>(h, ceilDivU);
  addBinary<arith::CeilDivSIOp>(h, roundedDivS<true>);
  addBinary<arith::FloorDivSIOp>(h, roundedDivS<false>);
  addBitwise<arith::AndIOp>(h, binary<I::And>);
  addBitwise<arith::OrIOp>(h, binary<I::Or>);
  addBitwise<arith::XOrIOp>(h, binary<I::Xor>);
  addBitwise<arith::ShLIOp>(h, shift<I::Shl>);
  addBitwise<arith::ShRUIOp>(h, shift<I::LShr>);
  addBitwise<arith::ShRSIOp>(h, shift<I::AShr>);
  addBinary<arith::MaxSIOp>(h, binaryIntrinsic<llvm::Intrinsic::smax>);
  addBinary<arith::MinSIOp>(h, binaryIntrinsic<llvm::Intrinsic::smin>);
  addBinary<arith::MaxUIOp>(h, binaryIntrinsic<llvm::Intrinsic::umax>);
  addBinary<arith::MinUIOp>(h, binaryIntrinsic<llvm::Intrinsic::umin>);
  addBinary<MulHiUOp>(h, mulHiU);
  addExtendedProduct<arith::MulSIExtendedOp, true>(h);
  addExtendedProduct<arith::MulUIExtendedOp, false>(h);
  h.add<arith::CmpIOp>(lowerCmpI);
}

/// Of 16-bit floats two at a time.
template <typename Op, llvm::Instruction::BinaryOps opcode> void addArithmetic(Handlers &h) {
  h.add<Op>([](Lowering &l, Operation *op) -> LogicalResult {
    if (lowerInPairs(l, op, opcode))
      return success();
    return mapElements(l, op, [&](ValueList v) { return binary<opcode>(l, v[0], v[1]); });
  });
}

void addFloats(Handlers &h) {
  using I = llvm::Instruction;
  addArithmetic<arith::AddFOp, I::FAdd>(h);
  addArithmetic<arith::SubFOp, I::FSub>(h);
  addArithmetic<arith::MulFOp, I::FMul>(h);
  addBinary<arith::RemFOp>(h, binary<I::FRem>);
  addBinary<PreciseDivOp>(h, preciseDivide);
  addBinary<arith::MaximumFOp>(h, binaryIntrinsic<llvm::Intrinsic::maximum>);
  addBinary<arith::MinimumFOp>(h, binaryIntrinsic<llvm::Intrinsic::minimum>);
  addBinary<arith::MaxNumFOp>(h, binaryIntrinsic<llvm::Intrinsic::maxnum>);
  addBinary<arith::MinNumFOp>(h, binaryIntrinsic<llvm::Intrinsic::minnum>);
  addUnary<arith::NegFOp>(h, [](Lowering &l, llvm::Value *x) { return l.b.CreateFNeg(x); });
  addBinary<arith::DivFOp>(h, divide);
  h.add<arith::CmpFOp>(lowerCmpF);
}
} // namespace

void lower::addElementwise(Handlers &h) {
  addIntegers(h);
  addFloats(h);
  addTernary<arith::SelectOp>(h, select);
  h.add<arith::ConstantOp>(lowerConstant);
  h.add<ub::PoisonOp>(lowerPoison);
  h.add<AddPtrOp>(lowerAddPtr);
  h.add<PtrToIntOp>(lowerPtrToInt);
  h.add<IntToPtrOp>(lowerIntToPtr);
  h.add<PtrCastOp>(lowerPtrCast);
}
