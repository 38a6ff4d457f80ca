//===- PrefetchLoads.cpp - prefetch loads into registers ----------------------------------===//
// Needs: ExpandPipeline ran: loads that go through shared memory are prefetched already.
// Gives: stages (LoopSchedule.h). By these, loops without MMAs that have `num_stages` (tl.range) load
//        tiles of later iterations. Loops with MMAs load vectors and scalars of the next iteration.
// How:   Loops without MMAs:
//        1. Stage 0 loads the tile of a later iteration at the start of the body. The last stage
//           has all the rest.
//        2. The address must follow from the induction variable.
//        3. The distance is `num_stages` - 1 iterations, or fewer: the carried tiles must fit into
//           registers. Scalars, such as a row's mean, do not count.
//        4. By `num_stages` the user promises that stores of the loop do not alias its later loads.
//           A store through the same argument, or an atomic, still forbids to prefetch.
//        Loops with MMAs:
//        5. The loop may write through other arguments only.
//        6. A vector or scalar of the next iteration is loaded after the last use of the current
//           one. So both share registers, and the rest of the body hides the latency. Pointers that
//           the loop carries are advanced before, if that takes arithmetic alone.
//        7. The last iteration loads from its own addresses again. If the loop carries tiles of
//           pointers, that load is masked instead.
//===------------------------------------------------------------------------------------===//
#include "analysis/MotionLegality.h"
#include "analysis/PrefetchLegality.h"
#include "analysis/Programs.h"
#include "ir/FindOps.h"
#include "ir/LoopSchedule.h"
#include "ir/Machine.h"
#include "ir/Remarks.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_PREFETCHLOADS
#include "passes/Passes.h.inc"
namespace {

/// Whether the loop may write memory that is loaded through `base`, given that other arguments do
/// not alias it.
bool mayWrite(scf::ForOp loop, Value base) {
  auto isHarmful = [&](Operation *op) {
    if (auto store = dyn_cast<StoreOp>(op)) {
      Value target = baseOf(store.getPtr());
      return target == base || !isKernelArgument(target);
    }
    if (isa<LoadOp>(op))
      return !isStableLoad(op);
    return op->getNumRegions() == 0 && !isMemoryEffectFree(op);
  };
  return findOp(loop, isHarmful) != nullptr;
}

/// The 32-bit registers that `load` takes; elements at one address share theirs.
int64_t registersFor(LoadOp load, const AxisInfoAnalysis &axes) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  if (!tile)
    return 1;
  const LinearLayout layout = layoutOf(tile);
  const unsigned repeats = axes.repeatedRegs(load.getPtr(), load.getMask(), layout);
  const int64_t regs = layout.numRegs() >> llvm::popcount(repeats);
  return (regs * storageBits(tile.getElementType()) + 31) / 32;
}

/// The `num_stages` of the source; 0 without it.
int64_t hintedStages(scf::ForOp loop) {
  auto stages = loop->getAttrOfType<IntegerAttr>(names::numStages);
  return stages ? stages.getInt() : 0;
}

/// Whether `load` is a short vector in a loop with MMAs, such as the row sums that attention's
/// gradients begin with. A load whose result is yielded has been prefetched already.
bool isShort(LoadOp load, const AxisInfoAnalysis &axes) {
  return registersFor(load, axes) <= machineOf(load).registers.carriedWithMma &&
         llvm::none_of(load->getUsers(), llvm::IsaPred<nv::LocalStoreOp, scf::YieldOp>);
}

/// Whether the loop may change memory that is loaded through `base`, or synchronises with other
/// programs.
bool mayChange(scf::ForOp loop, Value base) {
  return memoryChange(loop, base) || findOp(loop, [&](Operation *op) {
           return synchronises(op) && !isNoAliasStore(loop, op, base);
         });
}

class Prefetcher {
public:
  Prefetcher(scf::ForOp loop, bool hasMmas, const AxisInfoAnalysis &axes)
      : loop(loop), hasMmas(hasMmas), axes(axes) {}

  void run() {
    const int64_t registers = chooseLoads();
    if (loads.empty())
      return;
    if (!hasMmas)
      distance = std::clamp<int64_t>(hintedStages(loop) - 1, 1,
                                     mostRegisters() / std::max<int64_t>(registers, 1));
    for (LoadOp load : loads)
      remarkApplied(load.getLoc(), Technique::Pipelining)
          << "load is prefetched " << distance << (distance == 1 ? " iteration" : " iterations")
          << " ahead into registers";
    schedule();
  }

private:
  /// Chooses loads of the body itself, while registers suffice; gives the registers that they take.
  int64_t chooseLoads() {
    int64_t registers = 0;
    for (auto load : loop.getBody()->getOps<LoadOp>()) {
      Value base = baseOf(load.getPtr());
      if (!isKernelArgument(base) || isCarried(load) ||
          (hasMmas ? !isShort(load, axes) || mayChange(loop, base) : mayWrite(loop, base)))
        continue;
      auto slice = addressSlice(loop, SmallVector<Value>(load->getOperands()));
      const bool isFree = !hasMmas && !isa<RankedTensorType>(load.getType());
      const int64_t own = isFree ? 0 : registersFor(load, axes);
      if (!slice || !canCarry(*slice) || isInvariant(*slice) || registers + own > mostRegisters())
        continue;
      registers += own;
      loads.push_back(load);
      slices.push_back(std::move(*slice));
    }
    return registers;
  }

  /// Whether `load` is for the next iteration alone, as one of indices for later copies.
  bool isCarried(LoadOp load) {
    return llvm::all_of(load->getUsers(), llvm::IsaPred<scf::YieldOp>);
  }

  /// Registers that the carried tiles of one loop may take.
  int64_t mostRegisters() { return machineOf(loop).registers.carriedLoads; }

  /// Whether the address can be computed for a later iteration. In loops with MMAs it may depend on
  /// carried values.
  bool canCarry(const AddressSlice &slice) { return hasMmas || slice.carried.empty(); }

  /// Whether the address is loop-invariant: the load then hits a cache.
  bool isInvariant(const AddressSlice &slice) {
    return slice.carried.empty() && llvm::none_of(slice.ops, [&](Operation *op) {
             return llvm::is_contained(op->getOperands(), loop.getInductionVar());
           });
  }

  /// Sets the stages: 0 for the loads, with a cluster after that of the place of each, and the last
  /// one for all the rest. Both compute addresses.
  void schedule() {
    int position = 0;
    llvm::DenseMap<Operation *, int> clusters, early;
    for (Operation &op : *loop.getBody())
      clusters[&op] = position += 3;
    for (auto [load, slice] : llvm::zip_equal(loads, slices)) {
      const int cluster = hasMmas ? clusters[lastNeedOf(load, slice)] + 2 : 0;
      for (Operation *op : advancesOf(slice))
        clusters[op] = std::min(clusters[op], cluster - 1);
      for (Operation *op : addressOf(load, slice))
        early[op] = std::min(early.try_emplace(op, cluster).first->second, cluster);
      early[load] = cluster;
      if (hasMmas && !carriesTiles(slice))
        load->setAttr(names::repeats, UnitAttr::get(load.getContext()));
    }
    const int last = static_cast<int>(distance);
    setSchedule(loop, Expansion::Predicated, [&](Operation *op) {
      SmallVector<StagePlace> places;
      if (auto cluster = early.find(op); cluster != early.end())
        places.push_back({0, cluster->second});
      if (!llvm::is_contained(loads, op))
        places.push_back({last, clusters[op]});
      return places;
    });
  }

  /// The operations of `slice` that compute the address of `load` from what the loop carries.
  static llvm::SetVector<Operation *> addressOf(LoadOp load, const AddressSlice &slice) {
    llvm::SetVector<Operation *> ops;
    BackwardSliceOptions options;
    options.omitBlockArguments = true;
    options.filter = [&](Operation *op) { return op == load || slice.ops.contains(op); };
    (void)getBackwardSlice(load.getOperation(), &ops, options);
    return ops;
  }

  bool carriesTiles(const AddressSlice &slice) {
    return llvm::any_of(slice.carried, [&](unsigned i) {
      return isa<RankedTensorType>(loop.getRegionIterArg(i).getType());
    });
  }

  /// The last operation of the body that uses the vector of `load`, or that the next value of a
  /// carried value in its address comes from.
  Operation *lastNeedOf(LoadOp load, const AddressSlice &slice) {
    Operation *last = load;
    auto mustFollow = [&](Operation *op) {
      op = op ? loop.getBody()->findAncestorOpInBlock(*op) : nullptr;
      if (op && !op->hasTrait<OpTrait::IsTerminator>() && last->isBeforeInBlock(op))
        last = op;
    };
    SmallVector<Value> vectors{load.getResult()};
    while (!vectors.empty())
      for (Operation *user : vectors.pop_back_val().getUsers()) {
        mustFollow(user);
        if (isa<ExpandDimsOp, BroadcastOp>(user)) // views of the same registers
          vectors.push_back(user->getResult(0));
      }
    for (unsigned i : slice.carried)
      if (advanceOf(i).empty())
        mustFollow(loop.getYieldedValues()[i].getDefiningOp());
    return last;
  }

  /// The arithmetic of the body that gives carried value `index` its next value; nothing if that
  /// takes anything else.
  llvm::SetVector<Operation *> advanceOf(unsigned index) {
    llvm::SetVector<Operation *> ops;
    BackwardSliceOptions options;
    options.omitBlockArguments = options.inclusive = true;
    options.filter = [&](Operation *op) { return op->getBlock() == loop.getBody(); };
    (void)getBackwardSlice(loop.getYieldedValues()[index], &ops, options);
    auto isArithmetic = [](Operation *op) {
      return (op->hasTrait<OpTrait::Elementwise>() || isa<AddPtrOp, SplatOp>(op)) &&
             isMemoryEffectFree(op);
    };
    return llvm::all_of(ops, isArithmetic) ? ops : llvm::SetVector<Operation *>();
  }

  /// The same of all carried values in the address `slice`, in loops with MMAs.
  llvm::SetVector<Operation *> advancesOf(const AddressSlice &slice) {
    llvm::SetVector<Operation *> ops;
    for (unsigned i : slice.carried)
      ops.insert_range(advanceOf(i));
    return ops;
  }

  scf::ForOp loop;
  bool hasMmas;
  const AxisInfoAnalysis &axes;
  int64_t distance = 1; ///< iterations
  SmallVector<LoadOp> loads;
  SmallVector<AddressSlice> slices; ///< of each load
};

struct PrefetchLoadsPass : impl::PrefetchLoadsBase<PrefetchLoadsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops, mmaLoops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->getParentOfType<nv::ProducerOp>() || loop->hasAttr(names::expand))
        return;
      if (hintedStages(loop) >= 2 && !containsOp<DotOp, nv::AsyncMmaOpInterface, nv::FmaOp>(loop))
        loops.push_back(loop);
      else if (llvm::any_of(*loop.getBody(), llvm::IsaPred<DotOp, nv::AsyncMmaOpInterface>))
        mmaLoops.push_back(loop);
    });
    if (loops.empty() && mmaLoops.empty())
      return markAllAnalysesPreserved();
    const AxisInfoAnalysis axes(getOperation());
    for (scf::ForOp loop : loops)
      Prefetcher(loop, /*hasMmas=*/false, axes).run();
    for (scf::ForOp loop : mmaLoops)
      Prefetcher(loop, /*hasMmas=*/true, axes).run();
  }
};
} // namespace
} // namespace pantile
