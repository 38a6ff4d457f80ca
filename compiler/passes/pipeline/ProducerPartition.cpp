//===- ProducerPartition.cpp - see ProducerPartition.h ------------------------------------===//
// Gives: partitionWarps.
// How:   the region of a producer gets the marked operations, and copies of the scalars and the
//        control flow that they depend on (ScalarSlice.h); its loops and branches carry no more
//        than that. It uses scalars from before its start as they are. What both partitions use
//        moves to the start of the kernel: circular buffers, mbarriers, tensor maps, and, for a
//        producer that starts with the kernel, loads of scalars that both need. Such a load must
//        run once, before the kernel writes memory: a consumer that waits for nothing could
//        otherwise overwrite the value before the producer reads it.
//===--------------------------------------------------------------------------------------===//
#include "passes/pipeline/ProducerPartition.h"
#include "analysis/ScalarSlice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/IRMapping.h"
#include "support/MachineModel.h"
#include <map>

using namespace mlir;

namespace pantile {
namespace {

/// What one producer runs: the marked operations, and what they depend on.
struct Partition {
  llvm::SetVector<Operation *> ops;
  ScalarSlice slice;
};

class Cloner {
public:
  Cloner(OpBuilder &b, const Partition &partition)
      : b(b), start(b.getBlock()), partition(partition), slice(partition.slice) {}

  void clone(llvm::iterator_range<Block::iterator> ops) {
    for (Operation &op : ops) {
      auto loop = dyn_cast<scf::ForOp>(op);
      auto branch = dyn_cast<scf::IfOp>(op);
      if (!slice.contains(&op) && !partition.ops.contains(&op))
        continue;
      if (loop)
        cloneLoop(loop);
      else if (branch)
        cloneBranch(branch);
      else if (auto convert = dyn_cast<ConvertLayoutOp>(op))
        mapping.map(convert.getResult(), inProducer(convert.getSrc()));
      else
        cloneOp(op);
    }
  }

private:
  /// What the producer has instead of `value`. Constant vectors are in the layout of all warps.
  Value inProducer(Value value) {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
    if (elements && !mapping.contains(value)) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(start);
      auto type = cast<ShapedType>(typeOf(value));
      mapping.map(value, arith::ConstantOp::create(b, constant.getLoc(), elements.reshape(type)));
    }
    return mapping.lookupOrDefault(value);
  }

  /// Elements in a row that are equal in what this partition copies, a vector: its lanes hold whole
  /// runs, of which they copy the first.
  int64_t run() const {
    for (Operation *op : partition.ops)
      if (auto copy = dyn_cast<nv::CopyAsyncOp>(op); copy && copy.getRun())
        return *copy.getRun();
    return 1;
  }

  /// The type of `value` in the producer. One warp has all elements of a vector.
  Type typeOf(Value value) const {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    if (!tile)
      return value.getType();
    return withLayout(tile, LinearLayout::blocked(tile.getShape(), {run()},
                                                  {InstructionSet::warpThreads}, {1}, {0}));
  }

  void cloneOp(Operation &op) {
    for (Value operand : op.getOperands())
      inProducer(operand);
    for (Value result : b.clone(op, mapping)->getResults())
      result.setType(typeOf(result));
  }

  SmallVector<Value> needed(Operation *op, ValueRange values) {
    SmallVector<Value> picked;
    const llvm::SmallBitVector kept = slice.resultsOf(op);
    for (unsigned i : kept.set_bits())
      picked.push_back(inProducer(values[i]));
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
      types.push_back(typeOf(branch.getResult(i)));
    auto made =
        scf::IfOp::create(b, branch.getLoc(), types, mapping.lookupOrDefault(branch.getCondition()),
                          /*addThenBlock=*/true, branch.elseBlock() != nullptr);
    fill(made.thenBlock(), branch.thenBlock(), branch);
    if (branch.elseBlock())
      fill(made.elseBlock(), branch.elseBlock(), branch);
    finish(branch, made);
  }

  OpBuilder &b;
  Block *start; ///< of the producer
  const Partition &partition;
  const ScalarSlice &slice;
  IRMapping mapping;
};

/// The marked operations by their partition. Nothing, if one needs more than a warp can compute.
std::optional<std::vector<Partition>> partitionsOf(func::FuncOp function,
                                                   const ProducerStart &start) {
  std::map<int64_t, Partition> byNumber;
  bool follows = true;
  function.walk([&](Operation *op) {
    auto number = op->getAttrOfType<IntegerAttr>(names::producerOnly);
    if (!number)
      return;
    Partition empty{{}, ScalarSlice(function, start)};
    Partition &partition = byNumber.try_emplace(number.getInt(), std::move(empty)).first->second;
    partition.ops.insert(op);
    follows &= partition.slice.addOperandsOf(op);
  });
  std::vector<Partition> partitions;
  for (auto &[number, partition] : byNumber)
    partitions.push_back(std::move(partition));
  return follows ? std::optional(std::move(partitions)) : std::nullopt;
}

/// Moves what several partitions use to the start of the kernel; gives the last of these operations.
Operation *moveCommonToStart(Block &entry, ArrayRef<Partition> partitions) {
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
    if (llvm::any_of(partitions, [&](const Partition &each) { return each.slice.isHoisted(&op); }))
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
  const auto partitions = partitionsOf(function, start);
  if (!partitions)
    return false;
  OpBuilder b(function.getContext());
  b.setInsertionPointAfter(moveCommonToStart(entry, *partitions));
  Block &block = start.isLate() ? *start.block : entry;
  if (start.isLate()) {
    nv::ForkProducerOp::create(b, function.getLoc());
    if (start.after)
      b.setInsertionPointAfter(start.after);
    else if (&block != &entry)
      b.setInsertionPointToStart(&block);
  }
  for (const Partition &partition : *partitions) {
    auto producer = nv::ProducerOp::create(b, function.getLoc());
    b.setInsertionPointToStart(&producer.getBody().emplaceBlock());
    Cloner(b, partition)
        .clone({std::next(producer->getIterator()), block.getTerminator()->getIterator()});
    producer->walk([](Operation *op) { op->removeAttr(names::producerOnly); });
    b.setInsertionPointAfter(producer);
  }
  for (const Partition &partition : *partitions)
    for (Operation *op : llvm::reverse(partition.ops))
      op->erase();
  if (start.isLate())
    dismissElsewhere(b, start);
  return true;
}

} // namespace pantile
