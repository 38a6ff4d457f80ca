//===- WrittenArguments.cpp - the arguments through which a kernel writes -------------------===//
// Needs: see WrittenArguments.h.
// Gives: writtenArguments.
//===------------------------------------------------------------------------------------===//
#include "analysis/WrittenArguments.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include <set>

using namespace mlir;

namespace pantile {
namespace {

/// The values from which written pointers are computed.
class Origins {
public:
  void add(Value pointer) {
    work.insert(pointer);
    while (!work.empty())
      follow(work.pop_back_val());
  }

  std::set<int> arguments;

private:
  void follow(Value value) {
    if (!seen.insert(value).second)
      return;
    if (auto argument = dyn_cast<BlockArgument>(value))
      followArgument(argument);
    else
      followResult(value.getDefiningOp(), value.getType());
  }

  void followArgument(BlockArgument argument) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (!isa<func::FuncOp>(parent))
      return followRegions(parent, argument.getType());
    if (hasPointers(argument.getType()))
      arguments.insert(argument.getArgNumber());
  }

  void followResult(Operation *op, Type type) {
    if (isa<LoadOp, AtomicRmwOp, AtomicCasOp>(op))
      return;
    if (op->getNumRegions() != 0)
      return followRegions(op, type);
    for (Value operand : op->getOperands())
      if (hasPointers(operand.getType()) || !hasPointers(type) || isa<IntToPtrOp>(op))
        work.insert(operand);
  }

  /// What an op with regions takes in, and what they pass on, of the same kind.
  void followRegions(Operation *op, Type type) {
    const auto take = [&](Value value) {
      if (hasPointers(value.getType()) == hasPointers(type))
        work.insert(value);
    };
    llvm::for_each(op->getOperands(), take);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.mightHaveTerminator())
          llvm::for_each(block.getTerminator()->getOperands(), take);
  }

  llvm::SmallSetVector<Value, 16> work;
  llvm::DenseSet<Value> seen;
};

bool changesMemory(Operation *op) {
  auto atomic = dyn_cast<AtomicRmwOp>(op);
  if (atomic)
    return atomic.getKind() != RmwKind::Load && atomic.getKind() != RmwKind::Poll;
  return isa<AtomicCasOp>(op);
}

} // namespace

std::vector<int> writtenArguments(ModuleOp module) {
  Origins origins;
  module.walk([&](Operation *op) {
    if (auto store = dyn_cast<StoreOp>(op))
      origins.add(store.getPtr());
    else if (changesMemory(op))
      origins.add(op->getOperand(0));
    else if (isa<ExternCallOp, InlineAsmOp>(op) && !isMemoryEffectFree(op))
      for (Value operand : op->getOperands())
        if (hasPointers(operand.getType()) || elementTypeOf(operand.getType()).isInteger(64))
          origins.add(operand);
  });
  return {origins.arguments.begin(), origins.arguments.end()};
}

} // namespace pantile
