//===- OperandOrder.cpp - see OperandOrder.h -----------------------------------------------===//
#include "analysis/OperandOrder.h"
#include "analysis/MemoryOrder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace pantile {
namespace {

/// The contiguous dimension of `value` in memory; -1 if unknown.
int fastestOf(const AxisInfoAnalysis &axes, Value value, int depth = 8) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return -1;
  if (auto load = dyn_cast<LoadOp>(op)) {
    const AxisInfo::PerDim runs = memoryRuns(axes, load.getPtr());
    return runs.size() != 2 ? -1 : runs[0] > runs[1] ? 0 : 1; // like the layout of such a load
  }
  if (auto trans = dyn_cast<TransOp>(op)) {
    const int source = fastestOf(axes, trans.getSrc(), depth - 1);
    return source < 0 || trans.getOrder()[0] == 0 ? source : 1 - source;
  }
  if (!op->hasTrait<OpTrait::Elementwise>())
    return -1;
  for (Value operand : op->getOperands())
    if (auto tile = dyn_cast<RankedTensorType>(operand.getType()); tile && tile.getRank() == 2)
      if (int source = fastestOf(axes, operand, depth - 1); source >= 0)
        return source;
  return -1;
}

/// Notes in `loads` and `computes` how `value` is computed in `block`; false if not from matrices that
/// it loads, in elements of at most `bits`, and constants and vectors that it broadcasts.
bool comesFromLoads(Value value, Block *block, unsigned bits, bool &loads, bool &computes) {
  if (!isa<RankedTensorType>(value.getType()))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<LoadOp>(op)) {
    loads = true;
    return op->getBlock() == block && storageBits(elementTypeOf(value.getType())) <= bits;
  }
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<ArangeOp, SplatOp, BroadcastOp>(op))
    return true;
  const bool isElementwise = op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op);
  computes |= isElementwise;
  return (isElementwise || isa<JoinOp, SplitOp, ReshapeOp, TransOp>(op)) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return comesFromLoads(operand, block, bits, loads, computes);
         });
}

TransOp matrixTranspose(Value value) {
  auto trans = value.getDefiningOp<TransOp>();
  return trans && trans.getOrder() == ArrayRef<int32_t>{1, 0} ? trans : TransOp();
}

Value transposed(OpBuilder &b, Value tile) {
  if (TransOp trans = matrixTranspose(tile))
    return trans.getSrc();
  auto type = cast<RankedTensorType>(tile.getType());
  auto transposedType =
      RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
  return TransOp::create(b, tile.getLoc(), transposedType, tile, b.getDenseI32ArrayAttr({1, 0}));
}

/// Whether carried value `index` is only read transposed, and what is yielded for it is a
/// transpose.
bool isCarriedTransposed(scf::ForOp loop, unsigned index) {
  BlockArgument argument = loop.getRegionIterArg(index);
  TransOp next = matrixTranspose(loop.getYieldedValues()[index]);
  return !argument.use_empty() && next && next.getSrc() != argument &&
         llvm::all_of(argument.getUsers(), [](Operation *user) {
           return user->getNumResults() == 1 && matrixTranspose(user->getResult(0));
         });
}

void carryTransposed(scf::ForOp loop, unsigned index) {
  OpBuilder b(loop);
  Value init = transposed(b, loop.getInitArgs()[index]);
  loop.getInitArgsMutable()[index].set(init);
  BlockArgument argument = loop.getRegionIterArg(index);
  argument.setType(init.getType());
  for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
    user->getResult(0).replaceAllUsesWith(argument);
    user->erase();
  }
  (*loop.getYieldedValuesMutable())[index].set(
      matrixTranspose(loop.getYieldedValues()[index]).getSrc());
  OpResult result = loop->getResult(index);
  const Type was = result.getType();
  result.setType(init.getType());
  b.setInsertionPointAfter(loop);
  auto back = TransOp::create(b, loop.getLoc(), was, result, b.getDenseI32ArrayAttr({1, 0}));
  result.replaceAllUsesExcept(back, back);
}
} // namespace

OperandOrder orderOf(const AxisInfoAnalysis &axes, DotOp dot, unsigned operand) {
  const int fastest = fastestOf(axes, dot.getOperand(operand));
  const int k = operand == 0 ? 1 : 0;
  return fastest < 0    ? OperandOrder::Any
         : fastest == k ? OperandOrder::AlongK
                        : OperandOrder::AcrossK;
}

bool isLoaded(DotOp dot, unsigned operand) {
  Value value = dot.getOperand(operand);
  while (TransOp trans = matrixTranspose(value))
    value = trans.getSrc();
  auto load = value.getDefiningOp<LoadOp>();
  return load && load->getBlock() == dot->getBlock();
}

bool isComputedFromLoads(DotOp dot, unsigned operand) {
  const Value value = dot.getOperand(operand);
  const unsigned bits = storageBits(elementTypeOf(value.getType()));
  bool loads = false, computes = false;
  return comesFromLoads(value, dot->getBlock(), bits, loads, computes) && loads && computes;
}

DotOp transposeDot(DotOp dot) {
  OpBuilder b(dot);
  Value lhs = transposed(b, dot.getRhs()), rhs = transposed(b, dot.getLhs()),
        acc = transposed(b, dot.getAcc());
  auto made =
      DotOp::create(b, dot.getLoc(), acc.getType(), ValueRange{lhs, rhs, acc}, dot->getAttrs());
  Value back = TransOp::create(b, dot.getLoc(), dot.getType(), made.getResult(),
                               b.getDenseI32ArrayAttr({1, 0}));
  dot->replaceAllUsesWith(ValueRange{back});
  dot.erase();
  return made;
}

void carryTransposes(Operation *top) {
  top->walk([](scf::ForOp loop) {
    for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index)
      if (isCarriedTransposed(loop, index))
        carryTransposed(loop, index);
  });
}

} // namespace pantile
