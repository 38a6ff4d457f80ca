//===- DeferWaits.cpp - several products of an iteration under way at once ----------------===//
// Needs: circular buffers are expanded: what a product reads stands in a stage or in registers.
// Gives: products start as soon as their operands are there, and are waited for where their sums
//        are looked at.
// How:   Within a block, an MMA that does not need the previous one moves before the wait for that
//        one, with the choice of its stages. Then each wait moves down to the first use of its
//        accumulator, and the release of its stages moves with it. Neither passes an operation that
//        writes or frees shared memory or synchronises threads; but a wait passes stores into
//        buffers that are allocated after its MMA. Stages are released after the waits that
//        preceded the release. Short reads from global memory move before the first MMA. Where
//        ScheduleLoops has made room, accumulators that are only added to are waited for after the
//        loop.
//===------------------------------------------------------------------------------------===//
#include "analysis/MmaWaits.h"
#include "ir/Machine.h"
#include "ir/Registers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/pipeline/CarriedAccumulator.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_DEFERWAITS
#include "passes/Passes.h.inc"
namespace {

/// Nothing of shared memory changes, and no thread is met.
bool mayPass(Operation *op) {
  return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         (isMemoryEffectFree(op) ||
          isa<LoadOp, nv::AsyncMmaOpInterface, nv::MmaWaitOpInterface, nv::ReleaseOp>(op));
}

/// The same for reading global memory, which copies into shared memory do not change.
bool mayReadBefore(Operation *op) {
  return mayPass(op) || isa<nv::CopyAsyncOp, nv::CommitOp, nv::MbarrierWaitOp>(op);
}

bool isPlain(Operation *op) { return op->getNumRegions() == 0 && isMemoryEffectFree(op); }

/// How a stage or a view is chosen.
bool isChoice(Operation *op) {
  return isPlain(op) && llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

class Products {
public:
  /// `carriesAccumulators`: those of the iteration before are under way when this one begins.
  Products(Block &block, bool carriesAccumulators)
      : block(block), carriesAccumulators(carriesAccumulators) {}

  /// Two or more, each with a wait of its own before the next one: else they have an order already.
  bool find() {
    for (auto product : block.getOps<nv::AsyncMmaOpInterface>()) {
      nv::MmaWaitOpInterface wait = movableWaitOf(product);
      if (!wait || (!waits.empty() && !waits.back()->isBeforeInBlock(product)))
        return false;
      products.push_back(product);
      waits.push_back(wait);
    }
    for (auto wait : block.getOps<nv::MmaWaitOpInterface>())
      if (!llvm::is_contained(waits, wait))
        return false;
    return products.size() > 1;
  }

  void run() {
    const auto released = waitsBeforeReleases();
    for (auto [i, product] : llvm::enumerate(products))
      if (i > 0)
        startEarly(product);
    for (nv::MmaWaitOpInterface wait : waits)
      waitLate(wait);
    for (const auto &[release, earlier] : released)
      for (Operation *wait : earlier)
        if (release->isBeforeInBlock(wait))
          release->moveAfter(wait);
    for (LoadOp load : llvm::to_vector(block.getOps<LoadOp>()))
      readEarly(load);
  }

private:
  /// A stage is free when all that was waited for before is done.
  SmallVector<std::pair<Operation *, SmallVector<Operation *>>> waitsBeforeReleases() {
    SmallVector<std::pair<Operation *, SmallVector<Operation *>>> result;
    for (auto release : block.getOps<nv::ReleaseOp>()) {
      result.push_back({release, {}});
      for (nv::MmaWaitOpInterface wait : waits)
        if (wait->isBeforeInBlock(release))
          result.back().second.push_back(wait);
    }
    return result;
  }

  /// What of the block must go along if `op` goes in front of `place`; false if something cannot.
  bool collect(Operation *op, Operation *place, llvm::SetVector<Operation *> &along,
               llvm::function_ref<bool(Operation *)> mayGo = isChoice) {
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source || source->getBlock() != &block || source->isBeforeInBlock(place))
        continue;
      if (!mayGo(source) || !collect(source, place, along, mayGo))
        return false;
    }
    along.insert(op);
    return true;
  }

  /// In front of the earliest wait that it can pass; behind it where that wait frees what products
  /// of the iteration before hold. Where its stage is filled is waited for before.
  void startEarly(nv::AsyncMmaOpInterface product) {
    llvm::SetVector<Operation *> best;
    Operation *place = nullptr;
    SmallVector<Operation *> moved{product};
    for (Operation *op = product->getPrevNode(); op; op = op->getPrevNode()) {
      auto filled = dyn_cast<nv::MbarrierWaitOp>(op);
      if (filled && !filled.getEmpty())
        moved.push_back(op);
      else if (!mayPass(op) || readsRegistersOf(op, product))
        break;
      Operation *to = carriesAccumulators ? op->getNextNode() : op;
      llvm::SetVector<Operation *> along;
      if (isa<nv::MmaWaitOpInterface>(op) &&
          llvm::all_of(llvm::reverse(moved),
                       [&](Operation *each) { return collect(each, to, along); })) {
        place = to;
        best = along;
      }
    }
    while (place && best.contains(place))
      place = place->getNextNode();
    for (Operation *op : best)
      op->moveBefore(place);
  }

  /// Whether an ordinary instruction reads what would be registers of an MMA in flight.
  static bool readsRegistersOf(Operation *op, nv::AsyncMmaOpInterface product) {
    Value held = product.getHeldRegisters();
    return held && !isa<nv::AsyncMmaOpInterface, nv::MmaWaitOpInterface>(op) &&
           llvm::is_contained(op->getOperands(), held);
  }

  /// What a thread needs few registers for is read in front of the first product.
  void readEarly(LoadOp load) {
    const int64_t few = machineOf(load).registers.earlyLoad;
    if (load.getIsVolatile() || load.getCache() == CacheModifier::Cv ||
        registersOf(load.getResult()) > few || load->isBeforeInBlock(products.front()) ||
        isForNext(load))
      return;
    for (Operation *op = load->getPrevNode(); op != products.front(); op = op->getPrevNode())
      if (!mayReadBefore(op))
        return;
    llvm::SetVector<Operation *> along;
    if (collect(load, products.front(), along, isPlain))
      for (Operation *op : along)
        op->moveBefore(products.front());
  }

  /// What PrefetchLoads loads would take registers beside what this iteration has.
  bool isForNext(LoadOp load) {
    return llvm::all_of(load->getUsers(), [&](Operation *user) { return user == &block.back(); });
  }

  void waitLate(nv::MmaWaitOpInterface wait) {
    Operation *place = wait->getNextNode();
    auto uses = [&](Operation *op) {
      return llvm::is_contained(op->getOperands(), wait->getResult(0));
    };
    auto isNext = [&](Operation *op) {
      return carriesAccumulators && isa<nv::AsyncMmaOpInterface>(op);
    };
    while ((mayPass(place) || fillsYounger(place, wait)) && !uses(place) && !isNext(place))
      place = place->getNextNode();
    wait->moveBefore(place);
  }

  /// Part of a store for a younger product, into a buffer that was not there when the product of
  /// `wait` started.
  bool fillsYounger(Operation *op, nv::MmaWaitOpInterface wait) {
    if (isa<nv::AllocOp, nv::FenceAsyncOp>(op))
      return true;
    auto store = dyn_cast<nv::LocalStoreOp>(op);
    Operation *buffer = store ? store.getBuffer().getDefiningOp<nv::AllocOp>() : nullptr;
    return buffer && buffer->getBlock() == &block &&
           wait.getValues()[0].getDefiningOp()->isBeforeInBlock(buffer);
  }

  Block &block;
  const bool carriesAccumulators;
  SmallVector<nv::AsyncMmaOpInterface> products;
  SmallVector<nv::MmaWaitOpInterface> waits;
};

struct DeferWaitsPass : impl::DeferWaitsBase<DeferWaitsPass> {
  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) {
      const bool carriesAccumulators = loop->hasAttr(names::carriesAccumulator);
      Products products(*loop.getBody(), carriesAccumulators);
      if (!products.find())
        return;
      products.run();
      if (carriesAccumulators)
        carryAddedSums(loop);
      loop->removeAttr(names::carriesAccumulator);
    });
  }
};
} // namespace
} // namespace pantile
