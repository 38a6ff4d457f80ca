//===- ProducerSlice.cpp - split a kernel into what the producer does and the rest --------===//
// Needs: see ProducerSlice.h. Reservations, barriers' making and tensor maps stand at the start.
// Gives: splitRoles.
// How:   the kernel is cloned into the producer's region behind the shared start. There every
//        operation with an effect goes but those of the producer, then what nothing uses, until
//        nothing changes; results of what went are replaced by what stood in for them before. What
//        both load of scalars, before the kernel writes anything, they load together in front.
//===--------------------------------------------------------------------------------------===//
#include "passes/pipeline/ProducerSlice.h"
#include "analysis/Programs.h"
#include "analysis/StagedLoad.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "passes/pipeline/DeadArgs.h"

using namespace mlir;

namespace pantile {
namespace {

constexpr llvm::StringLiteral twin = "nv.twin"; // number of a load in both roles

/// What both sides see: it stays where it is.
bool isShared(Operation &op) {
  return (isa<nv::AllocOp>(op) && op.hasAttr(names::ring)) ||
         isa<nv::MbarrierInitOp, nv::TensorMapOp>(op) || op.hasTrait<OpTrait::ConstantLike>();
}

/// The value that a loop carries on when the operation that changed it is gone.
Value standIn(Operation *op, unsigned result) {
  if (auto wgmma = dyn_cast<nv::WgmmaOp>(op))
    return wgmma.getAcc();
  if (auto wait = dyn_cast<nv::WgmmaWaitOp>(op))
    return wait.getValues()[result];
  OpBuilder b(op);
  return arith::ConstantOp::create(b, op->getLoc(), b.getZeroAttr(op->getResult(result).getType()));
}

/// Removes what only consumers do; their values are the stand-ins'.
void eraseConsumers(Block &body) {
  SmallVector<Operation *> gone;
  body.walk<WalkOrder::PostOrder, mlir::ReverseIterator>([&](Operation *op) {
    if (op->getNumRegions() == 0 && !op->hasAttr(names::producerOnly) &&
        !op->hasTrait<OpTrait::IsTerminator>() && !isMemoryEffectFree(op) &&
        !isa<LoadOp, nv::AllocOp>(op))
      gone.push_back(op);
  });
  for (Operation *op : gone) {
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (!op->getResult(i).use_empty())
        op->getResult(i).replaceAllUsesWith(standIn(op, i));
    op->erase();
  }
}

/// True if something was removed.
bool eraseUnused(Block &body) {
  bool changed = false;
  body.walk<WalkOrder::PostOrder, mlir::ReverseIterator>([&](Operation *op) {
    bool holds = op->walk([&](Operation *inner) {
                     return inner->hasAttr(names::producerOnly) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
                   }).wasInterrupted();
    if (!holds && op->use_empty() && !op->hasTrait<OpTrait::IsTerminator>()) {
      op->erase();
      changed = true;
    }
  });
  return changed;
}

void eraseMarked(func::FuncOp function, StringRef mark) {
  SmallVector<Operation *> marked;
  function.walk([&](Operation *op) {
    if (op->hasAttr(mark) && !op->getParentOfType<nv::ProducerOp>())
      marked.push_back(op);
  });
  for (Operation *op : llvm::reverse(marked))
    op->erase();
}

/// Scalars that the kernel loads in any case, before it may have written any memory.
SmallVector<LoadOp> earlyLoads(Block &entry) {
  SmallVector<LoadOp> loads;
  for (Operation &op : entry) {
    auto load = dyn_cast<LoadOp>(op);
    const bool ordersLoads = op.walk([](Operation *inner) {
                                 return isa<StoreOp>(inner) || meetsOthers(inner)
                                            ? WalkResult::interrupt()
                                            : WalkResult::advance();
                               }).wasInterrupted();
    if (ordersLoads)
      break;
    if (load && !isa<RankedTensorType>(load.getType()))
      loads.push_back(load);
  }
  return loads;
}

/// Moves `op` and what it is computed from in `body` to before `place`; false: not all of that
/// is scalars.
bool moveChain(Operation *op, Block &body, Operation *place) {
  if (!op || op->getBlock() != &body)
    return !op || op->isBeforeInBlock(place) || op->getBlock() != place->getBlock();
  if (op->getNumRegions() != 0 || (!isa<LoadOp>(op) && !isMemoryEffectFree(op)))
    return false;
  for (Value operand : op->getOperands()) {
    auto arg = dyn_cast<BlockArgument>(operand);
    if (isa<RankedTensorType>(operand.getType()) ||
        (!arg && !moveChain(operand.getDefiningOp(), body, place)))
      return false;
  }
  op->moveBefore(place);
  return true;
}

/// What both roles load is loaded once, in front of them. Consumers that had nothing to wait for may
/// have overwritten it else before the producer reads.
void shareLoads(ArrayRef<LoadOp> originals, nv::ProducerOp producer) {
  Block &body = producer.getBody().front();
  for (LoadOp copy : llvm::to_vector(body.getOps<LoadOp>())) {
    auto number = copy->getAttrOfType<IntegerAttr>(twin);
    if (!number || !moveChain(copy, body, producer))
      continue;
    LoadOp original = originals[number.getInt()];
    original.replaceAllUsesWith(copy.getResult());
    original.erase();
  }
}

/// One thread has no tiles. What it reads from memory, consumers that had nothing to wait for may
/// have overwritten.
bool needsTilesOrMemory(Block &body) {
  return body
      .walk([](Operation *op) {
        bool tile = llvm::any_of(op->getResultTypes(),
                                 [](Type type) { return isa<RankedTensorType>(type); });
        return tile || isa<LoadOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}
} // namespace

bool splitRoles(func::FuncOp function) {
  Block &entry = function.getBody().front();
  // What both sides share stands in front.
  Operation *front = nullptr;
  for (Operation &op : llvm::make_early_inc_range(entry)) {
    if (!isShared(op))
      continue;
    if (front)
      op.moveAfter(front);
    else
      op.moveBefore(&entry.front());
    front = &op;
  }
  OpBuilder b(function.getContext());
  b.setInsertionPointAfter(front);
  auto producer = nv::ProducerOp::create(b, function.getLoc());
  Block *body = &producer.getBody().emplaceBlock();
  b.setInsertionPointToStart(body);
  const SmallVector<LoadOp> loads = earlyLoads(entry);
  for (auto [i, load] : llvm::enumerate(loads))
    load->setAttr(twin, b.getI32IntegerAttr(static_cast<int32_t>(i)));
  IRMapping mapping;
  for (Operation &op :
       llvm::make_range(std::next(producer->getIterator()), entry.getTerminator()->getIterator()))
    b.clone(op, mapping);
  eraseConsumers(*body);
  for (bool changed = true; changed;) {
    changed = dropDeadArgs(*body);
    changed |= eraseUnused(*body);
  }
  shareLoads(loads, producer);
  function.walk([](LoadOp load) { load->removeAttr(twin); });
  eraseMarked(function, names::producerOnly);
  function.walk([](Operation *op) { op->removeAttr(names::producerOnly); });
  return !needsTilesOrMemory(*body);
}

} // namespace pantile
