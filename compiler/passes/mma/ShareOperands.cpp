//===- ShareOperands.cpp - one buffer for an operand that several loops read --------------===//
// Needs: StageOperands ran: a loop-invariant operand is stored into a buffer before the loop, which
//        is freed after it.
// Gives: consecutive loops, such as the two of causal attention, read one buffer. The tile is not
//        held in registers over the first loop, only to be stored again for the second.
// How:   of the stores of one value into buffers of one type the first stays, and its buffer lives
//        until the last reader. Only where no operation in between needs shared memory, so that a
//        CTA takes no more of it than before.
//===------------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "ir/FindOps.h"
#include "ir/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/ShareBuffers.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SHAREOPERANDS
#include "passes/Passes.h.inc"
namespace {

/// The buffer of an operand that loops read; all but `end` in the order of the block.
struct Operand {
  nv::AllocOp alloc;
  nv::LocalStoreOp store;
  nv::FenceAsyncOp fence;
  Operation *end;
};

std::optional<Operand> operandOf(nv::LocalStoreOp store) {
  auto alloc = store.getBuffer().getDefiningOp<nv::AllocOp>();
  auto fence = dyn_cast_or_null<nv::FenceAsyncOp>(store->getNextNode());
  Operation *end = alloc ? deallocOf(alloc) : nullptr;
  auto isInLoop = [&](Operation *user) {
    return user->getBlock() != store->getBlock() && !isa<nv::LocalStoreOp>(user);
  };
  const bool isOperand = fence && end && alloc->getBlock() == store->getBlock() &&
                         end->getBlock() == store->getBlock() &&
                         llvm::all_of(alloc->getUsers(), [&](Operation *user) {
                           return user == store || user == end || isInLoop(user);
                         });
  return isOperand ? std::optional(Operand{alloc, store, fence, end}) : std::nullopt;
}

bool takesShared(Operation *op) {
  return findOp(
      op, [](Operation *inner) { return isa<nv::AllocOp>(inner) || scratchBytes(inner) > 0; });
}

/// Whether nothing between the two buffers' lifetimes takes shared memory, except buffers that
/// other operands of the second loop have anyway.
bool isFreeBetween(const Operand &first, const Operand &second) {
  if (!first.end->isBeforeInBlock(second.alloc))
    return true;
  for (Operation *op = first.end->getNextNode(); op != second.alloc; op = op->getNextNode())
    if (op->getNumRegions() != 0 ? takesShared(op) : scratchBytes(op) > 0)
      return false;
  return true;
}

void shareIn(Block &block) {
  SmallVector<Operand> kept;
  for (auto store : llvm::make_early_inc_range(block.getOps<nv::LocalStoreOp>())) {
    auto operand = operandOf(store);
    if (!operand)
      continue;
    auto *same = llvm::find_if(kept, [&](Operand &other) {
      return other.store.getValue() == store.getValue() &&
             other.alloc.getType() == operand->alloc.getType() && isFreeBetween(other, *operand);
    });
    if (same == kept.end()) {
      kept.push_back(*operand);
    } else {
      operand->fence.erase();
      mergeBuffers(same->alloc, operand->alloc);
    }
  }
}

struct ShareOperandsPass : impl::ShareOperandsBase<ShareOperandsPass> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      shareIn(*block);
  }
};
} // namespace
} // namespace pantile
