//===- ProducerStart.cpp - see ProducerStart.h --------------------------------------------===//
#include "analysis/ProducerStart.h"
#include "analysis/ScalarSlice.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace pantile {
namespace {

/// The innermost block with all `loops` that is in the kernel or in branches alone; null if that is
/// in a loop.
Block *innermostBlock(ArrayRef<scf::ForOp> loops) {
  Block *block = loops.front()->getBlock();
  auto containsAll = [&] {
    return llvm::all_of(loops,
                        [&](scf::ForOp loop) { return block->findAncestorOpInBlock(*loop); });
  };
  Block *innermost = nullptr;
  for (; block; block = block->getParentOp()->getBlock()) {
    if (!innermost && containsAll())
      innermost = block;
    if (isa<func::FuncOp>(block->getParentOp()))
      return innermost;
    if (!isa<scf::IfOp>(block->getParentOp()))
      innermost = nullptr;
  }
  return nullptr;
}

Operation *firstOf(Block *block, ArrayRef<scf::ForOp> loops) {
  Operation *first = nullptr;
  for (scf::ForOp loop : loops)
    if (Operation *at = block->findAncestorOpInBlock(*loop); !first || at->isBeforeInBlock(first))
      first = at;
  return first;
}
} // namespace

bool ProducerStart::isGiven(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!isLate() || !op || isa<RankedTensorType>(value.getType()))
    return false;
  if (op->getBlock() == block)
    return after && !after->isBeforeInBlock(op);
  Operation *around = op->getBlock()->findAncestorOpInBlock(*block->getParentOp());
  return around && op->isBeforeInBlock(around);
}

std::optional<ProducerStart> startAfter(Operation *op, const ProducerStart &start,
                                        ArrayRef<scf::ForOp> loops) {
  Block *block = innermostBlock(loops);
  if (!block)
    return std::nullopt;
  ProducerStart later{block, block->findAncestorOpInBlock(*op)};
  if (later.after && !later.after->isBeforeInBlock(firstOf(block, loops)))
    return std::nullopt;
  Operation *around = op->getBlock()->findAncestorOpInBlock(*block->getParentOp());
  if (!later.after && around && op != around && !op->isBeforeInBlock(around))
    return std::nullopt;
  const bool isLater = !start.isLate() ||
                       (later.after && (!start.after || start.after->isBeforeInBlock(later.after)));
  return isLater ? std::optional(later) : std::nullopt;
}

SmallVector<Value> handedScalars(nv::ProducerOp producer) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(producer.getBody(), used);
  return llvm::to_vector(llvm::make_filter_range(used, [](Value value) {
    Operation *op = value.getDefiningOp();
    return op && !isCommon(op) && !op->hasTrait<OpTrait::ConstantLike>();
  }));
}

} // namespace pantile
