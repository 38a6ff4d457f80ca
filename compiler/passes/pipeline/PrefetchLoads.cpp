//===- PrefetchLoads.cpp - prefetch loads into registers ----------------------------------===//
// Needs: ExpandPipeline ran: loads that go through shared memory are prefetched already.
// Gives: loops with `num_stages` (tl.range) and without MMAs load tiles of later iterations; loops
//        with MMAs load the vectors and scalars of the next one.
// How:   Loops without MMAs:
//        1. The tile of a later iteration is loaded at the start of the body, and carried. Its mask
//           is empty if there is no such iteration. The first tiles are loaded before the loop.
//        2. The address must follow from the induction variable.
//        3. The distance is `num_stages` - 1 iterations, or fewer: the carried tiles must fit into
//           registers.
//        4. By `num_stages` the user promises that stores of the loop do not alias its later loads.
//           A store through the same argument, or an atomic, still forbids to prefetch.
//        Loops with MMAs:
//        5. The loop may write through other arguments only.
//        6. A vector or scalar of the next iteration is loaded after the last use of the current
//           one. So both share registers, and the rest of the body hides the latency.
//        7. The last iteration loads from its own addresses again. If the loop carries tiles of
//           pointers, that load is masked instead.
//===------------------------------------------------------------------------------------===//
#include "analysis/PrefetchLegality.h"
#include "analysis/Programs.h"
#include "ir/Machine.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
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
    if (auto load = dyn_cast<LoadOp>(op))
      return load.getIsVolatile() || load.getCache() == CacheModifier::Cv;
    return op->getNumRegions() == 0 && !isMemoryEffectFree(op);
  };
  return loop.getBody()
      ->walk([&](Operation *op) {
        return isHarmful(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
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
  auto ordersLoad = [&](Operation *op) {
    return synchronises(op) && !isNoAliasStore(loop, op, base) ? WalkResult::interrupt()
                                                               : WalkResult::advance();
  };
  return memoryChange(loop, base) || loop.getBody()->walk(ordersLoad).wasInterrupted();
}

class Prefetcher {
public:
  Prefetcher(scf::ForOp loop, bool hasMmas, const AxisInfoAnalysis &axes)
      : loop(loop), hasMmas(hasMmas), axes(axes), rewriter(loop.getContext()) {}

  void run() {
    const int64_t registers = chooseLoads();
    if (loads.empty())
      return;
    if (!hasMmas)
      distance = std::clamp<int64_t>(hintedStages(loop) - 1, 1,
                                     std::max<int64_t>(mostRegisters() / registers, 1));
    for (LoadOp load : loads)
      remarkApplied(load.getLoc(), Technique::Pipelining)
          << "load is prefetched " << distance << (distance == 1 ? " iteration" : " iterations")
          << " ahead into registers";
    const SmallVector<Value> first = firstLoads();
    const DictionaryAttr attributes = loop->getAttrDictionary();
    auto made = loop.replaceWithAdditionalYields(
        rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
          return hasMmas ? nextVectors(carried) : nextLoads(carried);
        });
    if (succeeded(made))
      (*made)->setAttrs(attributes);
  }

private:
  /// Chooses loads of the body itself, while registers suffice; gives the registers that they take.
  int64_t chooseLoads() {
    int64_t registers = 0;
    for (auto load : loop.getBody()->getOps<LoadOp>()) {
      Value base = baseOf(load.getPtr());
      if (!isKernelArgument(base) || isCarried(load) ||
          (hasMmas ? !isShort(load, axes) || mayChange(loop, base)
                   : !isa<RankedTensorType>(load.getType()) || mayWrite(loop, base)))
        continue;
      auto slice = addressSlice(loop, SmallVector<Value>(load->getOperands()));
      if (!slice || !canCarry(*slice) || isInvariant(*slice) ||
          registers + registersFor(load, axes) > mostRegisters())
        continue;
      registers += registersFor(load, axes);
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

  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(rewriter, loop.getLoc(), predicate, x, y);
  }

  /// Clones all loads for the iteration in `mapping`, masked by `exists` if that is given.
  SmallVector<Value> loadsWith(IRMapping &mapping, Value exists = {}) {
    for (Operation &op : *loop.getBody())
      if (llvm::any_of(slices, [&](const AddressSlice &slice) { return slice.ops.contains(&op); }))
        rewriter.clone(op, mapping);
    SmallVector<Value> results;
    for (LoadOp load : loads)
      results.push_back(cloneLoad(load, mapping, exists));
    return results;
  }

  Value cloneLoad(LoadOp load, IRMapping &mapping, Value exists) {
    auto made = cast<LoadOp>(rewriter.clone(*load, mapping));
    if (!exists)
      return made.getResult();
    rewriter.setInsertionPoint(made);
    Value mask = exists;
    if (auto tile = dyn_cast<RankedTensorType>(made.getType()))
      mask = SplatOp::create(
          rewriter, load.getLoc(),
          RankedTensorType::get(tile.getShape(), rewriter.getI1Type(), tile.getEncoding()), exists);
    if (made.getMask())
      mask = arith::AndIOp::create(rewriter, load.getLoc(), made.getMask(), mask);
    made.getMaskMutable().assign(mask);
    rewriter.setInsertionPointAfter(made);
    return made.getResult();
  }

  /// An iteration that the loop may have: its induction variable, the difference to the upper
  /// bound, and whether it exists. Induction variable plus step may overflow, so the difference is
  /// compared.
  struct Iteration {
    Value counter, left, exists;
  };

  Iteration after(const Iteration &now) {
    Iteration next;
    next.exists = compare(arith::CmpIPredicate::ugt, now.left, loop.getStep());
    if (now.exists)
      next.exists = arith::AndIOp::create(rewriter, loop.getLoc(), now.exists, next.exists);
    next.counter = arith::AddIOp::create(rewriter, loop.getLoc(), now.counter, loop.getStep());
    next.left = arith::SubIOp::create(rewriter, loop.getLoc(), now.left, loop.getStep());
    return next;
  }

  Iteration at(Value counter, Value exists) {
    Value left = arith::SubIOp::create(rewriter, loop.getLoc(), loop.getUpperBound(), counter);
    return {counter, left, exists};
  }

  /// The loads of the first iterations, before the loop.
  SmallVector<Value> firstLoads() {
    rewriter.setInsertionPoint(loop);
    Iteration next =
        at(loop.getLowerBound(),
           compare(loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt,
                   loop.getLowerBound(), loop.getUpperBound()));
    SmallVector<Value> results;
    for (int64_t i = 0; i < distance; ++i) {
      if (i > 0)
        next = after(next);
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), next.counter);
      mapping.map(loop.getRegionIterArgs(), loop.getInitArgs());
      results.append(loadsWith(mapping, next.exists));
    }
    return results;
  }

  /// The loads of a later iteration, at the start of the body. The loads of the current iteration
  /// are replaced by the oldest carried tiles.
  SmallVector<Value> nextLoads(ArrayRef<BlockArgument> carried) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(loop.getBody());
    Iteration next = at(loop.getInductionVar(), {});
    for (int64_t i = 0; i < distance; ++i)
      next = after(next);
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), next.counter);
    SmallVector<Value> results(carried.drop_front(loads.size()));
    results.append(loadsWith(mapping, next.exists));
    return replaceLoads(results, carried.take_front(loads.size()));
  }

  SmallVector<Value> replaceLoads(ArrayRef<Value> results, ArrayRef<BlockArgument> carried) {
    for (auto [load, tile] : llvm::zip_equal(loads, carried))
      rewriter.replaceOp(load, tile);
    return SmallVector<Value>(results);
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
      mustFollow(loop.getYieldedValues()[i].getDefiningOp());
    return last;
  }

  /// Maps the induction variable and what the addresses of `slice` carry to the next iteration; gives
  /// whether there is one, where that has to be a mask.
  Value mapToNext(const AddressSlice &slice, IRMapping &mapping) {
    const Iteration next = after(at(loop.getInductionVar(), {}));
    const bool carriesTiles = llvm::any_of(slice.carried, [&](unsigned i) {
      return isa<RankedTensorType>(loop.getRegionIterArg(i).getType());
    });
    auto map = [&](Value now, Value later) {
      mapping.map(now, carriesTiles ? later
                                    : arith::SelectOp::create(rewriter, loop.getLoc(), next.exists,
                                                              later, now)
                                          .getResult());
    };
    map(loop.getInductionVar(), next.counter);
    for (unsigned i : slice.carried)
      map(loop.getRegionIterArg(i), loop.getYieldedValues()[i]);
    return carriesTiles ? next.exists : Value();
  }

  /// The vectors of the next iteration, each after the last use of the current one.
  SmallVector<Value> nextVectors(ArrayRef<BlockArgument> carried) {
    OpBuilder::InsertionGuard guard(rewriter);
    SmallVector<Operation *> places;
    for (auto [load, slice] : llvm::zip_equal(loads, slices))
      places.push_back(lastNeedOf(load, slice));
    SmallVector<Value> results;
    for (auto [load, slice, place] : llvm::zip_equal(loads, slices, places)) {
      rewriter.setInsertionPointAfter(place);
      IRMapping mapping;
      const Value exists = mapToNext(slice, mapping);
      for (Operation &op : llvm::make_early_inc_range(*loop.getBody()))
        if (slice.ops.contains(&op))
          rewriter.clone(op, mapping);
      results.push_back(cloneLoad(load, mapping, exists));
    }
    return replaceLoads(results, carried);
  }

  scf::ForOp loop;
  bool hasMmas;
  const AxisInfoAnalysis &axes;
  int64_t distance = 1; ///< iterations
  IRRewriter rewriter;
  SmallVector<LoadOp> loads;
  SmallVector<AddressSlice> slices; ///< of each load
};

bool hasMma(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](Operation *op) {
        return isa<DotOp, nv::AsyncMmaOpInterface, nv::FmaOp>(op) ? WalkResult::interrupt()
                                                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

struct PrefetchLoadsPass : impl::PrefetchLoadsBase<PrefetchLoadsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops, mmaLoops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->getParentOfType<nv::ProducerOp>())
        return;
      if (hintedStages(loop) >= 2 && !hasMma(loop))
        loops.push_back(loop);
      else if (llvm::any_of(*loop.getBody(), llvm::IsaPred<DotOp, nv::AsyncMmaOpInterface>))
        mmaLoops.push_back(loop);
    });
    if (loops.empty() && mmaLoops.empty())
      return;
    const AxisInfoAnalysis axes(getOperation());
    for (scf::ForOp loop : loops)
      Prefetcher(loop, /*hasMmas=*/false, axes).run();
    for (scf::ForOp loop : mmaLoops)
      Prefetcher(loop, /*hasMmas=*/true, axes).run();
  }
};
} // namespace
} // namespace pantile
