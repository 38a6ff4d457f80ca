//===- ProducerPartition.cpp - see ProducerPartition.h ------------------------------------===//
// Gives: partitionWarps.
// How:   the region of the producer gets the marked operations, and copies of the scalars and the
//        control flow that they depend on (ScalarSlice.h); its loops and branches carry no more
//        than that. It uses scalars from before its start as they are. What both partitions use
//        moves to the start of the kernel: circular buffers, mbarriers, tensor maps, and, for a
//        producer that starts with the kernel, loads of scalars that both need. Such a load must
//        run once, before the kernel writes memory: a consumer that waits for nothing could
//        otherwise overwrite the value before the producer reads it.
//===--------------------------------------------------------------------------------------===//
#include "passes/pipeline/ProducerPartition.h"
#include "analysis/ScalarSlice.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace pantile {
namespace {

class Cloner {
public:
  Cloner(OpBuilder &b, const ScalarSlice &slice) : b(b), slice(slice) {}

  void clone(llvm::iterator_range<Block::iterator> ops) {
    for (Operation &op : ops) {
      auto loop = dyn_cast<scf::ForOp>(op);
      auto branch = dyn_cast<scf::IfOp>(op);
      if (!slice.contains(&op) && !op.hasAttr(names::producerOnly))
        continue;
      if (loop)
        cloneLoop(loop);
      else if (branch)
        cloneBranch(branch);
      else
        b.clone(op, mapping);
    }
  }

private:
  SmallVector<Value> needed(Operation *op, ValueRange values) {
    SmallVector<Value> picked;
    const llvm::SmallBitVector kept = slice.resultsOf(op);
    for (unsigned i : kept.set_bits())
      picked.push_back(mapping.lookupOrDefault(values[i]));
    return picked;
  }

  void fill(Block *body, Block *from, Operation *op) {
    OpBuilder::InsertionGuard guard(b);
    if (!body->empty())
      body->getTerminator()->erase();
    b.setInsertionPointToEnd(body);
    clone({from->begin(), std::prev(from->end())});
    scf::YieldOp::create(b, op->getLoc(), needed(op, from->getTerminator()->getOperands()));
  }

  void finish(Operation *op, Operation *made) {
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    const llvm::SmallBitVector kept = slice.resultsOf(op);
    for (auto [i, number] : llvm::enumerate(kept.set_bits()))
      mapping.map(op->getResult(number), made->getResult(i));
  }

  void cloneLoop(scf::ForOp loop) {
    auto bound = [&](Value value) { return mapping.lookupOrDefault(value); };
    auto made = scf::ForOp::create(
        b, loop.getLoc(), bound(loop.getLowerBound()), bound(loop.getUpperBound()),
        bound(loop.getStep()), needed(loop, loop.getInitArgs()), nullptr, loop.getUnsignedCmp());
    mapping.map(loop.getInductionVar(), made.getInductionVar());
    const llvm::SmallBitVector kept = slice.resultsOf(loop);
    for (auto [i, number] : llvm::enumerate(kept.set_bits()))
      mapping.map(loop.getRegionIterArg(number), made.getRegionIterArg(i));
    fill(made.getBody(), loop.getBody(), loop);
    finish(loop, made);
  }

  void cloneBranch(scf::IfOp branch) {
    SmallVector<Type> types;
    const llvm::SmallBitVector kept = slice.resultsOf(branch);
    for (unsigned i : kept.set_bits())
      types.push_back(branch.getResult(i).getType());
    auto made =
        scf::IfOp::create(b, branch.getLoc(), types, mapping.lookupOrDefault(branch.getCondition()),
                          /*addThenBlock=*/true, branch.elseBlock() != nullptr);
    fill(made.thenBlock(), branch.thenBlock(), branch);
    if (branch.elseBlock())
      fill(made.elseBlock(), branch.elseBlock(), branch);
    finish(branch, made);
  }

  OpBuilder &b;
  const ScalarSlice &slice;
  IRMapping mapping;
};

SmallVector<Operation *> markedOps(func::FuncOp function) {
  SmallVector<Operation *> marked;
  function.walk([&](Operation *op) {
    if (op->hasAttr(names::producerOnly))
      marked.push_back(op);
  });
  return marked;
}

/// Moves what both partitions use to the start of the kernel; gives the last of these operations.
Operation *moveCommonToStart(Block &entry, const ScalarSlice &slice) {
  Operation *front = nullptr;
  auto move = [&](Operation *op) {
    if (front)
      op->moveAfter(front);
    else
      op->moveBefore(&entry.front());
    front = op;
  };
  for (Operation &op : llvm::make_early_inc_range(entry))
    if (isCommon(&op))
      move(&op);
  for (Operation &op : llvm::make_early_inc_range(entry))
    if (slice.isHoisted(&op))
      move(&op);
  return front;
}

/// Sends the extra warps away in branches that do not lead to `start`.
void dismissElsewhere(OpBuilder &b, const ProducerStart &start) {
  Block *block = start.block;
  while (auto branch = dyn_cast<scf::IfOp>(block->getParentOp())) {
    if (branch.getElseRegion().empty()) {
      b.setInsertionPointToEnd(&branch.getElseRegion().emplaceBlock());
      scf::YieldOp::create(b, branch.getLoc());
    }
    b.setInsertionPointToStart(block == branch.thenBlock() ? branch.elseBlock()
                                                           : branch.thenBlock());
    nv::DismissProducerOp::create(b, branch.getLoc());
    block = branch->getBlock();
  }
}
} // namespace

bool partitionWarps(func::FuncOp function, const ProducerStart &start) {
  Block &entry = function.getBody().front();
  ScalarSlice slice(function, start);
  const SmallVector<Operation *> marked = markedOps(function);
  for (Operation *op : marked)
    if (!slice.addOperandsOf(op))
      return false;
  OpBuilder b(function.getContext());
  b.setInsertionPointAfter(moveCommonToStart(entry, slice));
  Block &block = start.isLate() ? *start.block : entry;
  if (start.isLate()) {
    nv::ForkProducerOp::create(b, function.getLoc());
    if (start.after)
      b.setInsertionPointAfter(start.after);
    else if (&block != &entry)
      b.setInsertionPointToStart(&block);
  }
  auto producer = nv::ProducerOp::create(b, function.getLoc());
  b.setInsertionPointToStart(&producer.getBody().emplaceBlock());
  Cloner(b, slice).clone(
      {std::next(producer->getIterator()), block.getTerminator()->getIterator()});
  for (Operation *op : llvm::reverse(marked))
    op->erase();
  producer->walk([](Operation *op) { op->removeAttr(names::producerOnly); });
  if (start.isLate())
    dismissElsewhere(b, start);
  return true;
}

} // namespace pantile
