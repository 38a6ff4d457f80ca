//===- ScalarSlice.cpp - see ScalarSlice.h ------------------------------------------------===//
#include "analysis/ScalarSlice.h"
#include "analysis/Programs.h"
#include "analysis/StagedLoad.h"
#include "ir/FindOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace pantile {
static bool reservesMbarriers(Operation *op) {
  auto alloc = dyn_cast<nv::AllocOp>(op);
  return alloc && alloc.getType().holdsMbarriers();
}

static bool isFilledByProducer(Operation *op) {
  auto channel = dyn_cast<nv::ChannelOp>(op);
  return channel && channel.isFilledByProducer();
}

/// Whether each thread computes its own elements of vectors from those of others, in any layout.
static bool isElementwise(Operation *op) {
  auto isShort = [](Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return !tile || tile.getRank() == 1;
  };
  return (isa<ArangeOp, SplatOp, ConvertLayoutOp, AddPtrOp, PtrToIntOp, IntToPtrOp, PtrCastOp>(
              op) ||
          op->hasTrait<OpTrait::Elementwise>()) &&
         llvm::all_of(op->getOperandTypes(), isShort) &&
         llvm::all_of(op->getResultTypes(), isShort);
}

bool isCommon(Operation *op) {
  return isa<func::FuncOp>(op->getParentOp()) &&
         (isFilledByProducer(op) || isa<nv::MbarrierInitOp, nv::TensorMapOp>(op) ||
          reservesMbarriers(op) || op->hasTrait<OpTrait::ConstantLike>());
}

ScalarSlice::ScalarSlice(func::FuncOp kernel, ProducerStart start, bool mayHoistLoads)
    : start(start) {
  if (!mayHoistLoads || start.isLate())
    return;
  for (Operation &op : kernel.getBody().front()) {
    if (findOp(&op, ordersLoads))
      break;
    if (auto load = dyn_cast<LoadOp>(op); load && !isTile(load.getResult()))
      early.insert(load);
  }
}

llvm::SmallBitVector ScalarSlice::resultsOf(Operation *op) const {
  auto found = results.find(op);
  return found == results.end() ? llvm::SmallBitVector(op->getNumResults()) : found->second;
}

bool ScalarSlice::add(Value root) {
  work.push_back(root);
  return run();
}

bool ScalarSlice::addOperandsOf(Operation *op) {
  work.append(op->operand_begin(), op->operand_end());
  return addControlOf(op);
}

bool ScalarSlice::addControlOf(Operation *op) { return needControl(op) && run(); }

bool ScalarSlice::run() {
  while (!work.empty())
    if (Value value = work.pop_back_val(); seen.insert(value).second && !visit(value))
      return false;
  return true;
}

bool ScalarSlice::refuse(Operation *culprit, Operation *scalar) {
  stop = culprit;
  unknown = scalar;
  work.clear();
  return false;
}

bool ScalarSlice::visit(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value))
    return visitArgument(argument);
  if (isCommon(op) || start.isGiven(value))
    return true;
  if (isa<scf::ForOp, scf::IfOp>(op))
    return needResult(op, cast<OpResult>(value).getResultNumber());
  if (early.contains(op))
    return canHoist(op) || refuse(op, op);
  return needWhole(op);
}

bool ScalarSlice::visitArgument(BlockArgument argument) {
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop)
    return true; // of the kernel, or of an operation that is needed whole
  const unsigned number = argument.getArgNumber(), own = loop.getNumInductionVars();
  return number < own ? needShell(loop) : needResult(loop, number - own);
}

/// Adds what result `number` of a loop or branch depends on; its other results are not needed.
bool ScalarSlice::needResult(Operation *op, unsigned number) {
  results.try_emplace(op, op->getNumResults()).first->second.set(number);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    work.push_back(loop.getInitArgs()[number]);
  for (Region &region : op->getRegions())
    work.push_back(region.front().getTerminator()->getOperand(number));
  return needShell(op);
}

/// Adds how often a loop iterates, or whether a branch is taken.
bool ScalarSlice::needShell(Operation *op) {
  if (!ops.insert(op).second)
    return true;
  auto operands = op->getOperands().take_front(isa<scf::ForOp>(op) ? 3 : 1);
  work.append(operands.begin(), operands.end());
  return needControl(op);
}

/// Adds the loops and branches around `op`, up to those in which the producer starts; other
/// operations around it are needed whole.
bool ScalarSlice::needControl(Operation *op) {
  Operation *around = op->getParentOp();
  if (isa<func::FuncOp>(around) || op->getBlock() == start.block)
    return true;
  return isa<scf::ForOp, scf::IfOp>(around) ? needShell(around) : needWhole(around);
}

bool ScalarSlice::needWhole(Operation *op) {
  if (!ops.insert(op).second)
    return true;
  Operation *culprit = nullptr;
  const bool mayHaveTiles = isElementwise(op);
  op->walk([&](Operation *inner) {
    const bool isOther = (!mayHaveTiles && llvm::any_of(inner->getResults(), isTile)) ||
                         isa<LoadOp>(inner) ||
                         (inner->getNumRegions() == 0 && !isMemoryEffectFree(inner));
    culprit = isOther ? inner : culprit;
    for (Value operand : inner->getOperands())
      if (op->isAncestor(operand.getParentBlock()->getParentOp()))
        continue;
      else if (mayHaveTiles || !isTile(operand))
        work.push_back(operand);
      else if (!culprit)
        culprit = operand.getDefiningOp() ? operand.getDefiningOp() : inner;
  });
  return culprit ? refuse(culprit, op) : needControl(op);
}

/// Whether a load, or an operation that its address depends on, can run at the kernel's start.
bool ScalarSlice::canHoist(Operation *op) {
  if (hoisted.contains(op))
    return true;
  if (op->getNumRegions() != 0 || (!early.contains(op) && !isMemoryEffectFree(op)))
    return false;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp();
        isTile(operand) || (source && !isCommon(source) && !canHoist(source)))
      return false;
  hoisted.insert(op);
  return true;
}

} // namespace pantile
