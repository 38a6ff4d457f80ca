//===- ShareOperands.cpp - one buffer for an operand that several MMAs read ---------------===//
// Needs: StageOperands ran: each MMA has a buffer of its own for each operand. That of a
//        loop-invariant operand is stored before the loop and freed after it.
// Gives: MMAs of a block that read one value share its buffer: a load of a loop, or a tile that is
//        computed and otherwise stored once for each. So do consecutive loops, such as the two of
//        causal attention, that read one tile: it is not held in registers over the first loop,
//        only to be stored again for the second. Where threads of a loop need such a computed tile
//        in another layout, as to store it to global memory, they read it from the buffer, too: it
//        is not also written to scratch, and the barrier before the MMA is before them. They also read
//        a tile from there that the loop loads for an MMA and for them, and that can be prefetched.
// How:   buffers of one value hold the same bytes if their types agree, and nothing else is stored
//        into them: a transposed operand is a view. The first buffer stays, and lives until its
//        last reader: not over a buffer of another type for the same value. A load of a loop gets a
//        circular buffer, which lives as long as the loop. Any other buffer lives longer only over
//        operations that need no shared memory, so that a CTA takes no more of it than before.
//        The same holds from a conversion that precedes the store, which moves to before it, or up to
//        one that follows the end: the buffer takes the place of the scratch, and is no larger.
//===------------------------------------------------------------------------------------===//
#include "analysis/BufferReaders.h"
#include "analysis/CtasPerSm.h"
#include "analysis/Scratch.h"
#include "ir/FindOps.h"
#include "ir/Tile.h"
#include "layout/MatrixAccess.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/StageValues.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SHAREOPERANDS
#include "passes/Passes.h.inc"
namespace {

/// The buffer of an operand, which only `store` fills; all but `end` in the order of the block.
struct Operand {
  nv::AllocOp alloc;
  nv::LocalStoreOp store;
  nv::FenceAsyncOp fence; ///< of an operand that loops read; null if MMAs of the block read it
  Operation *end;
};

/// Whether `store` is for MMAs of the loop that loads its tile, and uses it in its body alone.
bool isOfIteration(nv::LocalStoreOp store) {
  auto load = store.getValue().getDefiningOp<LoadOp>();
  return load && isa<scf::ForOp>(store->getParentOp()) && load->getBlock() == store->getBlock() &&
         llvm::all_of(load->getUsers(), [&](Operation *user) {
           return user->getBlock() == store->getBlock() && !isa<scf::YieldOp>(user);
         });
}

std::optional<Operand> operandOf(nv::LocalStoreOp store) {
  auto alloc = store.getBuffer().getDefiningOp<nv::AllocOp>();
  auto fence = dyn_cast_or_null<nv::FenceAsyncOp>(store->getNextNode());
  if (!alloc || alloc->getBlock() != store->getBlock())
    return std::nullopt;
  Operation *end = nullptr;
  bool isReadHere = false, isReadInside = false;
  const bool isOwn = forEachUse(alloc, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    const bool isHere = user->getBlock() == store->getBlock();
    if (user == store)
      return true;
    if (isHere && isa<nv::DeallocOp>(user))
      end = user;
    else
      (isHere ? isReadHere : isReadInside) = true;
    return !isa<nv::LocalStoreOp>(user);
  });
  if (isReadInside && (isReadHere || !fence))
    return std::nullopt;
  return isOwn && end
             ? std::optional(Operand{alloc, store, isReadInside ? fence : nv::FenceAsyncOp(), end})
             : std::nullopt;
}

/// Whether `op` contains something that takes shared memory.
bool takesShared(Operation *op) {
  return findOp(
      op, [](Operation *inner) { return isa<nv::AllocOp>(inner) || scratchBytes(inner) > 0; });
}

/// Whether a buffer may also be live between `first` and `second`, at one of which it is, and no
/// more shared memory is in use than before: nothing there takes any, except buffers that live on
/// at `second`, such as those of other operands of its MMA.
bool isFreeBetween(Operation *first, Operation *second) {
  if (!first->isBeforeInBlock(second))
    return true;
  bool hasMore = false;
  for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode()) {
    hasMore |= isa<nv::AllocOp>(op);
    const bool ends = hasMore && isa<nv::DeallocOp>(op);
    if (ends || (op->getNumRegions() != 0 ? takesShared(op) : scratchBytes(op) > 0))
      return false;
  }
  return true;
}

/// Whether the buffers hold the same bytes if their stores are of one value.
bool canShare(const Operand &kept, const Operand &other) {
  nv::AllocOp alloc = kept.alloc, otherAlloc = other.alloc;
  return alloc.getType() == otherAlloc.getType() && isRounded(alloc) == isRounded(otherAlloc) &&
         (isOfIteration(other.store) || isFreeBetween(kept.end, otherAlloc));
}

/// Makes the readers of `other` read `kept`, which then lives until the last of them. What is done
/// to `other` before, a store or a rounding, was done to `kept` alike.
void merge(Operand &kept, Operand &other) {
  if (kept.end->isBeforeInBlock(other.end))
    kept.end->moveBefore(other.end);
  if (other.fence && kept.fence)
    other.fence.erase();
  for (Operation *user : llvm::make_early_inc_range(other.alloc->getUsers()))
    if (isa<nv::DeallocOp, nv::LocalStoreOp, nv::RoundBufferOp>(user))
      user->erase();
  other.alloc.replaceAllUsesWith(kept.alloc.getResult());
  other.alloc.erase();
}

//===- conversions -------------------------------------------------------------------------===//

/// Whether `convert` goes through scratch, and the buffer of its tile is no larger, and is read in
/// no more cycles than it takes to write and read scratch without bank conflicts.
bool isBetterThanScratch(nv::AllocOp alloc, ConvertLayoutOp convert) {
  const RankedTensorType type = convert.getType();
  const LinearLayout to = layoutOf(type);
  const int64_t ofThread = to.numRegs() * storageBits(type.getElementType()) / 8,
                vectors = ofThread / InstructionSet::vectorBytes,
                lines = ofThread * InstructionSet::warpThreads / InstructionSet::lineBytes,
                scratch = scratchBytes(convert);
  return scratch > 0 && bufferBytes(alloc.getType()) <= scratch &&
         sharedCycles(to, sharedLayoutOf(alloc.getType())) <= 2 * (vectors + lines);
}

/// Stores `operand` before `place`. A fence that follows is for other stores, too, if there are some
/// between.
void storeBefore(Operation *place, Operand &operand) {
  auto fence = dyn_cast_or_null<nv::FenceAsyncOp>(operand.store->getNextNode());
  bool isShared = false;
  for (Operation *op = place; op != operand.store; op = op->getNextNode())
    isShared |= isa<nv::LocalStoreOp>(op);
  if (place->isBeforeInBlock(operand.alloc))
    operand.alloc->moveBefore(place);
  operand.store->moveBefore(place);
  if (fence && isShared)
    OpBuilder(place).clone(*fence);
  else if (fence)
    fence->moveBefore(place);
}

/// Makes the buffer of `operand` live when `convert` runs; false if that may take more memory.
bool makeLiveAt(ConvertLayoutOp convert, Operand &operand) {
  if (operand.end->isBeforeInBlock(convert)) {
    if (!isFreeBetween(operand.end, convert))
      return false;
    operand.end->moveAfter(convert);
  } else if (convert->isBeforeInBlock(operand.store)) {
    if (!isFreeBetween(convert, operand.alloc))
      return false;
    storeBefore(convert, operand);
  }
  return true;
}

/// Loads what conversions in the block of `operand` give from its buffer.
void readConverted(Operand &operand) {
  Value tile = operand.store.getValue();
  if (operand.fence || isRounded(operand.alloc) || tile.getDefiningOp<LoadOp>() ||
      !isa<scf::ForOp>(operand.store->getParentOp()))
    return;
  for (Operation *user : llvm::make_early_inc_range(tile.getUsers())) {
    auto convert = dyn_cast<ConvertLayoutOp>(user);
    if (!convert || convert->getBlock() != operand.store->getBlock() ||
        !isBetterThanScratch(operand.alloc, convert) || !makeLiveAt(convert, operand))
      continue;
    OpBuilder b(convert);
    Value read =
        nv::LocalLoadOp::create(b, convert.getLoc(), convert.getType(), operand.alloc.getResult());
    convert.replaceAllUsesWith(read);
    convert.erase();
  }
}

/// Lets threads read what a loop loads for an MMA and for them from the buffer.
void readLoaded(Operand &operand) {
  LoadOp load = operand.fence ? LoadOp() : loadForBoth(operand.store);
  if (!load)
    return;
  operand.alloc->moveBefore(load); // threads may use it before the MMA's store
  operand.store->moveAfter(load);
  Operation *last = readFrom(operand.alloc, load);
  if (operand.end->isBeforeInBlock(last))
    operand.end->moveAfter(last);
}

void shareIn(Block &block) {
  SmallVector<Operand> kept;
  for (auto store : llvm::make_early_inc_range(block.getOps<nv::LocalStoreOp>())) {
    auto operand = operandOf(store);
    if (!operand)
      continue;
    auto last = llvm::find_if(llvm::reverse(kept), [&](Operand &other) {
      return other.store.getValue() == operand->store.getValue();
    });
    if (last != kept.rend() && canShare(*last, *operand))
      merge(*last, *operand);
    else
      kept.push_back(*operand);
  }
  for (Operand &operand : kept) {
    readConverted(operand);
    readLoaded(operand);
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
