//===- AxisInfoRules.cpp - what each operation does to the facts -------------------===//
// Needs: facts of the operands.
// Gives: inferAxisInfo(), applyAxisHints().
// How:   One small function per family of operations. Integers are taken not to overflow, as in the
//        language. In `(x + arange) % M` the sum is taken not to be negative at the start of a
//        block.
//===-------------------------------------------------------------------------------===//
#include "analysis/AxisInfoRules.h"

#include "ir/FindOps.h"
#include "ir/Hints.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace pantile {

namespace {
using Operands = ArrayRef<const AxisInfo *>;

int64_t capped(int64_t divisor) { return std::min(divisor, maxDivisor); }

AxisInfo unknownOf(Value value) { return AxisInfo::unknown(axisShape(value.getType()).size()); }

/// Equal inputs give equal outputs: holds for every pure elementwise operation.
AxisInfo elementwise(Value result, Operands operands) {
  AxisInfo info = unknownOf(result);
  for (size_t d = 0; d < info.rank(); ++d) {
    int64_t constancy = axisShape(result.getType())[d];
    for (const AxisInfo *operand : operands)
      if (operand->rank() == info.rank())
        constancy = std::min(constancy, operand->constancy[d]);
    info.constancy[d] = constancy;
  }
  return info;
}

template <typename Fn>
bool foldConstant(AxisInfo &info, Value result, const AxisInfo &a, const AxisInfo &b, Fn fn) {
  if (!a.constant || !b.constant)
    return false;
  std::optional<int64_t> value = fn(*a.constant, *b.constant);
  const auto type = dyn_cast<IntegerType>(elementTypeOf(result.getType()));
  if (value && type && !llvm::isIntN(type.getWidth(), *value))
    value.reset(); // it wraps around
  if (value)
    info = AxisInfo::ofConstant(*value, axisShape(result.getType()));
  return value.has_value();
}

/// a + b, where a step of an element adds `step` to the left side and offsets are scaled by it.
AxisInfo addition(Value result, const AxisInfo &a, const AxisInfo &b, int64_t step, bool isSub) {
  AxisInfo info = elementwise(result, {&a, &b});
  for (size_t d = 0; d < info.rank(); ++d) {
    const int64_t left = std::min(a.contiguity[d], b.runOfEquals(d));
    const int64_t right = isSub ? 1 : std::min(a.runOfEquals(d), b.contiguity[d]);
    const int64_t block = info.contiguity[d] = std::max(left, right);
    info.divisibility[d] =
        capped(std::min(a.divisibilityAt(d, block, step), b.divisibilityAt(d, block) * step));
  }
  info.nonNegative = !isSub && a.nonNegative && b.nonNegative;
  if (step == 1)
    foldConstant(info, result, a, b, isSub ? llvm::checkedSub<int64_t> : llvm::checkedAdd<int64_t>);
  return info;
}

AxisInfo multiplication(Value result, const AxisInfo &a, const AxisInfo &b) {
  if (a.constant == 1)
    return b;
  if (b.constant == 1)
    return a;
  AxisInfo info = elementwise(result, {&a, &b});
  for (size_t d = 0; d < info.rank(); ++d)
    info.divisibility[d] = capped(std::max(a.divisibilityAt(d, 1), a.divisibilityOfAll()) *
                                  std::max(b.divisibilityAt(d, 1), b.divisibilityOfAll()));
  info.nonNegative = a.nonNegative && b.nonNegative;
  foldConstant(info, result, a, b, llvm::checkedMul<int64_t>);
  return info;
}

/// `x % n`, which has no other sign than x: not negative where that is supposed of x.
bool isRemainder(Value value) { return value.getDefiningOp<arith::RemSIOp>() != nullptr; }

/// Whether `quotient` is a scalar computed from the number of a program, or of a tile that a loop
/// counts, as its number within a group is. Its divisor is then taken to be positive.
bool isNumberOfProgram(Value quotient) {
  bool isFound = false;
  traceBack(quotient.getDefiningOp()->getOperand(0), [&](Value source) {
    auto counter = dyn_cast<BlockArgument>(source);
    isFound |= isa_and_nonnull<ProgramIdOp, nv::ProgramAtOp>(source.getDefiningOp()) ||
               (counter && isa<scf::ForOp>(counter.getOwner()->getParentOp()));
    return !isFound;
  });
  return isFound && !isa<RankedTensorType>(quotient.getType());
}

AxisInfo quotient(Value result, const AxisInfo &a, const AxisInfo &b, bool roundsDown) {
  if (b.constant == 1)
    return a;
  AxisInfo info = elementwise(result, {&a, &b});
  for (size_t d = 0; d < info.rank(); ++d)
    if (roundsDown || a.nonNegative || isRemainder(result.getDefiningOp()->getOperand(0)))
      info.constancy[d] = std::max(info.constancy[d], a.blockInside(b, d));
  if (b.constant && *b.constant > 0)
    for (size_t d = 0; d < info.rank(); ++d)
      info.divisibility[d] = std::max<int64_t>(
          1, std::has_single_bit(uint64_t(*b.constant)) ? a.divisibilityAt(d, 1) / *b.constant : 1);
  info.nonNegative = a.nonNegative && (b.nonNegative || (!b.constant && isNumberOfProgram(result)));
  foldConstant(info, result, a, b, [&](int64_t x, int64_t y) -> std::optional<int64_t> {
    if (y <= 0 || (x < 0 && roundsDown))
      return std::nullopt;
    return x / y;
  });
  return info;
}

AxisInfo remainder(Value result, const AxisInfo &a, const AxisInfo &b) {
  AxisInfo info = elementwise(result, {&a, &b});
  for (size_t d = 0; d < info.rank(); ++d) {
    const int64_t block = info.contiguity[d] = a.blockInside(b, d);
    info.divisibility[d] = std::min(a.divisibilityAt(d, block), b.divisibilityAt(d, 1));
  }
  info.nonNegative = a.nonNegative;
  // Where `x` is negative, the sign of the remainder depends on the operation.
  foldConstant(info, result, a, b, [](int64_t x, int64_t y) -> std::optional<int64_t> {
    return x >= 0 && y > 0 ? std::optional(x % y) : std::nullopt;
  });
  return info;
}

/// x < n, with n a multiple of g, has one value for all x between two multiples of g.
AxisInfo comparison(arith::CmpIOp op, const AxisInfo &a, const AxisInfo &b) {
  using P = arith::CmpIPredicate;
  const P p = op.getPredicate();
  const bool leftRuns = p == P::slt || p == P::sge || p == P::ult || p == P::uge;
  const bool rightRuns = p == P::sgt || p == P::sle || p == P::ugt || p == P::ule;
  AxisInfo info = elementwise(op.getResult(), {&a, &b});
  for (size_t d = 0; d < info.rank(); ++d) {
    const int64_t block = leftRuns ? a.blockInside(b, d) : rightRuns ? b.blockInside(a, d) : 1;
    info.constancy[d] = std::max(info.constancy[d], block);
  }
  return info;
}

AxisInfo choice(arith::SelectOp op, Operands operands) {
  const AxisInfo &condition = *operands[0], &a = *operands[1], &b = *operands[2];
  const bool whole = !isa<RankedTensorType>(op.getCondition().getType());
  AxisInfo info = AxisInfo::join(a, b);
  for (size_t d = 0; d < info.rank() && !whole; ++d) {
    const int64_t chosen = condition.runOfEquals(d), block = std::min(info.contiguity[d], chosen);
    info.divisibility[d] = info.divisibilityAt(d, block);
    info.contiguity[d] = block;
    info.constancy[d] = std::min(info.constancy[d], chosen);
  }
  return info;
}

AxisInfo bitwise(Operation *op, const AxisInfo &a, const AxisInfo &b) {
  // x & (2^k - 1) is a remainder, and one that rounds down.
  if (isa<arith::AndIOp>(op) && b.constant && *b.constant > 0 && *b.constant < INT64_MAX &&
      std::has_single_bit(uint64_t(*b.constant) + 1))
    return remainder(op->getResult(0), a,
                     AxisInfo::ofConstant(*b.constant + 1, axisShape(op->getResult(0).getType())));
  AxisInfo info = elementwise(op->getResult(0), {&a, &b});
  for (size_t d = 0; d < info.rank(); ++d) {
    const int64_t left = a.divisibilityAt(d, 1), right = b.divisibilityAt(d, 1);
    info.divisibility[d] = isa<arith::AndIOp>(op) ? std::max(left, right) : std::min(left, right);
  }
  info.nonNegative = a.nonNegative && b.nonNegative;
  return info;
}

AxisInfo shift(Operation *op, const AxisInfo &a, const AxisInfo &b) {
  Value result = op->getResult(0);
  if (!b.constant || *b.constant < 0 || *b.constant > 30)
    return elementwise(result, {&a, &b});
  const auto power = AxisInfo::ofConstant(int64_t(1) << *b.constant, axisShape(result.getType()));
  return isa<arith::ShLIOp>(op) ? multiplication(result, a, power)
                                : quotient(result, a, power, /*roundsDown=*/true);
}

AxisInfo extremum(Operation *op, const AxisInfo &a, const AxisInfo &b) {
  const bool isMin = isa<arith::MinSIOp, arith::MinUIOp>(op);
  AxisInfo info = elementwise(op->getResult(0), {&a, &b});
  for (size_t d = 0; d < info.rank(); ++d)
    info.divisibility[d] = std::min(a.divisibilityAt(d, 1), b.divisibilityAt(d, 1));
  const bool isSigned = isa<arith::MinSIOp, arith::MaxSIOp>(op);
  // As an unsigned number, a negative one is greater than all others.
  info.nonNegative =
      isMin == isSigned ? a.nonNegative && b.nonNegative : a.nonNegative || b.nonNegative;
  if (isSigned)
    foldConstant(info, op->getResult(0), a, b,
                 [&](int64_t x, int64_t y) { return isMin ? std::min(x, y) : std::max(x, y); });
  return info;
}

AxisInfo constant(arith::ConstantOp op) {
  const auto shape = axisShape(op.getType());
  if (auto scalar = dyn_cast<IntegerAttr>(op.getValue()))
    return AxisInfo::ofConstant(
        scalar.getType().isInteger(1) ? scalar.getValue().getZExtValue() : scalar.getInt(), shape);
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense || !dense.isSplat())
    return AxisInfo::unknown(shape.size());
  if (auto integer = dyn_cast<IntegerType>(dense.getElementType())) {
    const APInt value = dense.getSplatValue<APInt>();
    return AxisInfo::ofConstant(integer.isInteger(1) ? value.getZExtValue() : value.getSExtValue(),
                                shape);
  }
  AxisInfo info = AxisInfo::unknown(shape.size());
  info.constancy.assign(shape.begin(), shape.end());
  return info;
}

AxisInfo arange(ArangeOp op) {
  AxisInfo info = AxisInfo::unknown(1);
  const int64_t start = op.getStart();
  info.contiguity[0] = axisShape(op.getType())[0];
  info.divisibility[0] = start == 0 ? maxDivisor : capped(start & -start);
  info.nonNegative = start >= 0;
  return info;
}

AxisInfo splat(SplatOp op, const AxisInfo &scalar) {
  const auto shape = axisShape(op.getType());
  AxisInfo info = AxisInfo::unknown(shape.size());
  info.constancy.assign(shape.begin(), shape.end());
  info.divisibility.assign(shape.size(), scalar.divisibility[0]);
  info.constant = scalar.constant;
  info.nonNegative = scalar.nonNegative;
  return info;
}

AxisInfo expandDims(ExpandDimsOp op, const AxisInfo &source) {
  AxisInfo info = source;
  const size_t axis = op.getAxis();
  info.contiguity.insert(info.contiguity.begin() + axis, 1);
  info.constancy.insert(info.constancy.begin() + axis, 1);
  info.supposes.insert(info.supposes.begin() + axis, AxisInfo::Nothing);
  info.divisibility.insert(info.divisibility.begin() + axis,
                           source.divisibilityOfAll(axisStep(op.getSrc().getType())));
  return info;
}

AxisInfo broadcast(BroadcastOp op, const AxisInfo &source) {
  AxisInfo info = source;
  const auto from = axisShape(op.getSrc().getType()), to = axisShape(op.getType());
  for (size_t d = 0; d < to.size(); ++d)
    if (from[d] != to[d]) {
      info.constancy[d] = to[d];
      info.supposes[d] = AxisInfo::Nothing;
    }
  return info;
}

AxisInfo transposed(TransOp op, const AxisInfo &source) {
  AxisInfo info = source;
  for (auto [d, from] : llvm::enumerate(op.getOrder())) {
    info.contiguity[d] = source.contiguity[from];
    info.divisibility[d] = source.divisibility[from];
    info.constancy[d] = source.constancy[from];
    info.supposes[d] = source.supposes[from];
  }
  return info;
}

AxisInfo reinterpreted(Operation *op, const AxisInfo &source) {
  const Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (axisStep(from) == axisStep(to))
    return source;
  AxisInfo info = elementwise(op->getResult(0), {&source});
  std::fill(info.divisibility.begin(), info.divisibility.end(),
            source.divisibilityOfAll(axisStep(from)));
  return info;
}

/// A truncation to few bits may wrap around within a tile, which is no overflow. Between two
/// multiples of a block's length it does not wrap, if the block is at most half of the range.
void endRunsWhereNumbersWrap(AxisInfo &info, unsigned bits) {
  if (bits >= 32) // indices, which are taken not to overflow
    return;
  for (size_t d = 0; d < info.rank(); ++d) {
    const int64_t half = int64_t(1) << (bits - 1);
    const int64_t block = std::min({info.contiguity[d], info.divisibility[d], half});
    info.divisibility[d] = info.divisibilityAt(d, block);
    info.contiguity[d] = block;
  }
}

/// Wider or narrower integers. A known constant is kept where the cast cannot change it.
AxisInfo resized(Operation *op, const AxisInfo &source) {
  AxisInfo info = source;
  if (isa<arith::TruncIOp>(op))
    endRunsWhereNumbersWrap(info,
                            elementTypeOf(op->getResult(0).getType()).getIntOrFloatBitWidth());
  const bool isFlag = elementTypeOf(op->getOperand(0).getType()).isInteger(1);
  const bool isZeroExtension = isa<arith::ExtUIOp>(op);
  if (isa<arith::TruncIOp>(op) ||
      (isFlag ? !isZeroExtension : isZeroExtension && !info.nonNegative))
    info.constant.reset();
  info.nonNegative = isZeroExtension || (source.nonNegative && isa<arith::ExtSIOp>(op) && !isFlag);
  return info;
}

/// A tile of equal elements stays one in any shape.
AxisInfo reshaped(ReshapeOp op, const AxisInfo &source) {
  const auto shape = axisShape(op.getType());
  AxisInfo info = AxisInfo::unknown(shape.size());
  if (ArrayRef<int64_t>(source.constancy) == ArrayRef<int64_t>(axisShape(op.getSrc().getType())))
    info.constancy.assign(shape.begin(), shape.end());
  info.divisibility.assign(shape.size(), source.divisibilityOfAll(axisStep(op.getType())));
  info.constant = source.constant;
  info.nonNegative = source.nonNegative;
  return info;
}

/// Aligned blocks of the part are aligned in the whole as far as its first element is.
AxisInfo sliced(ExtractSliceOp op, const AxisInfo &source) {
  const TileSlice slice = op.slice();
  AxisInfo info = AxisInfo::unknown(source.rank());
  info.constant = source.constant;
  info.nonNegative = source.nonNegative;
  for (size_t d = 0; d < info.rank(); ++d) {
    const int64_t offset = slice.offsets[d], stride = slice.strides[d], size = slice.part[d];
    const int64_t aligned = offset == 0 ? slice.whole[d] : offset & -offset;
    int64_t block = size == 1 ? aligned : std::min(aligned, stride & -stride);
    if (stride == 1 && size > 1) {
      block = info.contiguity[d] = std::min({source.contiguity[d], aligned, size});
      info.constancy[d] = std::min({source.constancy[d], aligned, size});
    }
    if (source.constancy[d] == slice.whole[d])
      info.constancy[d] = size;
    info.divisibility[d] = source.divisibilityAt(d, block, axisStep(op.getType()));
  }
  return info;
}

AxisInfo atIndex(ExtractOp op, const AxisInfo &source) {
  AxisInfo info = source;
  const size_t axis = op.getAxis();
  info.contiguity[axis] = info.constancy[axis] = 1;
  info.divisibility[axis] = source.divisibilityAt(axis, 1, axisStep(op.getType()));
  return info;
}

/// One load reads one value from equal addresses, where masks and fillings are equal, too. One that
/// counts as a write, since it is volatile, may read several.
AxisInfo loaded(LoadOp op, Operands operands) {
  return hasEffect<MemoryEffects::Write>(op) ? unknownOf(op.getResult())
                                             : elementwise(op.getResult(), operands);
}

AxisInfo nonNegativeScalar() {
  AxisInfo info = AxisInfo::unknown(1);
  info.nonNegative = true;
  return info;
}
} // namespace

SmallVector<int64_t, 4> axisShape(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile || tile.getRank() == 0)
    return {1};
  SmallVector<int64_t, 4> hull;
  for (int64_t extent : tile.getShape())
    hull.push_back(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))));
  return hull;
}

int64_t axisStep(Type type) {
  auto pointer = dyn_cast<PtrType>(elementTypeOf(type));
  return pointer ? std::max<int64_t>(storageBits(pointer.getPointee()) / 8, 1) : 1;
}

/// What the operation itself does.
static AxisInfo ruleOf(Operation *op, unsigned index, Operands operands) {
  Value result = op->getResult(index);
  auto rank = [&] { return axisShape(result.getType()).size(); };
  return TypeSwitch<Operation *, AxisInfo>(op)
      .Case([&](arith::ConstantOp c) { return constant(c); })
      .Case<ProgramIdOp, NumProgramsOp, nv::ProgramAtOp>([&](auto) { return nonNegativeScalar(); })
      .Case([&](ArangeOp a) { return arange(a); })
      .Case([&](SplatOp s) { return splat(s, *operands[0]); })
      .Case([&](ExpandDimsOp e) { return expandDims(e, *operands[0]); })
      .Case([&](BroadcastOp b) { return broadcast(b, *operands[0]); })
      .Case([&](TransOp t) { return transposed(t, *operands[0]); })
      .Case([&](ReshapeOp r) { return reshaped(r, *operands[0]); })
      .Case([&](ExtractSliceOp s) { return sliced(s, *operands[0]); })
      .Case([&](ExtractOp e) { return atIndex(e, *operands[0]); })
      .Case<PtrCastOp, PtrToIntOp, IntToPtrOp>(
          [&](auto) { return reinterpreted(op, *operands[0]); })
      .Case([&](LoadOp l) { return loaded(l, operands); })
      .Case([&](AddPtrOp a) {
        return addition(result, *operands[0], *operands[1], axisStep(a.getType()), false);
      })
      .Case([&](arith::AddIOp) { return addition(result, *operands[0], *operands[1], 1, false); })
      .Case([&](arith::SubIOp) { return addition(result, *operands[0], *operands[1], 1, true); })
      .Case([&](arith::MulIOp) { return multiplication(result, *operands[0], *operands[1]); })
      .Case<arith::DivSIOp, arith::DivUIOp>([&](auto) {
        return quotient(result, *operands[0], *operands[1], isa<arith::DivUIOp>(op));
      })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return remainder(result, *operands[0], *operands[1]); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(
          [&](auto) { return shift(op, *operands[0], *operands[1]); })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
          [&](auto) { return bitwise(op, *operands[0], *operands[1]); })
      .Case<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(
          [&](auto) { return extremum(op, *operands[0], *operands[1]); })
      .Case([&](arith::CmpIOp c) { return comparison(c, *operands[0], *operands[1]); })
      .Case([&](arith::SelectOp s) { return choice(s, operands); })
      .Case<arith::IndexCastOp, ConvertLayoutOp>([&](auto) { return *operands[0]; })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(
          [&](auto) { return resized(op, *operands[0]); })
      .Default([&](Operation *other) {
        const bool uniform = other->getNumOperands() > 0 && isMemoryEffectFree(other) &&
                             other->hasTrait<OpTrait::Elementwise>();
        return uniform ? elementwise(result, operands) : AxisInfo::unknown(rank());
      });
}

/// What an operation on elements of the same place adds to what its operands suppose.
static AxisInfo::Supposition suppositionOf(Operation *op, Operands operands) {
  if (isa<arith::RemSIOp>(op) && !operands[0]->nonNegative)
    return AxisInfo::NotNegative;
  return isa<arith::RemSIOp, arith::DivSIOp>(op) ? AxisInfo::NoOverflow : AxisInfo::Nothing;
}

AxisInfo inferAxisInfo(Operation *op, unsigned index, Operands operands) {
  AxisInfo info = ruleOf(op, index, operands);
  if (isa<ExpandDimsOp, BroadcastOp, TransOp>(op)) // rules of their own
    return info;
  const AxisInfo::Supposition own = suppositionOf(op, operands);
  for (auto [d, most] : llvm::enumerate(info.supposes)) {
    most = AxisInfo::Nothing;
    if (info.contiguity[d] == 1 && info.constancy[d] == 1) // as of scalars
      continue;
    most = own;
    for (const AxisInfo *operand : operands)
      most = std::max(most, operand->rank() == info.rank() ? operand->supposes[d]
                                                           : *llvm::max_element(operand->supposes));
  }
  return info;
}

void applyAxisHints(OpResult result, AxisInfo &info) {
  const SmallVector<int64_t, 4> shape = axisShape(result.getType());
  auto strengthen = [&](StringRef name, AxisInfo::PerDim &values, bool isRun) {
    Attribute hint = result.getOwner()->getDiscardableAttr(hintName(name, result));
    for (size_t d = 0; d < values.size(); ++d) {
      int64_t promised = 1;
      if (auto one = dyn_cast_or_null<IntegerAttr>(hint))
        promised = powerOfTwoIn(one.getInt());
      if (auto many = dyn_cast_or_null<DenseI32ArrayAttr>(hint); many && d < size_t(many.size()))
        promised = powerOfTwoIn(many[d]);
      // A run ends with the tile, whatever was promised beyond.
      values[d] = std::max(values[d], isRun ? std::min(promised, shape[d]) : promised);
    }
  };
  strengthen(names::divisibility, info.divisibility, false);
  strengthen(names::contiguity, info.contiguity, true);
  strengthen(names::constancy, info.constancy, true);
}

} // namespace pantile
