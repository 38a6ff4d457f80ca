//===- PrefetchLoads.cpp - load the next row while this one is computed with ------------------===//
// Needs: ExpandPipeline ran: what goes through shared memory is prefetched already.
// Gives: loops that the user gave `num_stages` (tl.range) load into registers iterations ahead.
// How:   the tile for a later iteration is loaded at the beginning of this one, under a mask that
//        is empty where there is none, and carried; the first are loaded in front of the loop. Only
//        loads whose addresses follow from the counter, one iteration less ahead than there are
//        stages, or fewer, so that what is carried fits the registers. An explicit
//        `num_stages` says that the loop's stores go elsewhere than to what it is yet to read; a
//        store through the pointer that is loaded from, or an atomic, still forbids it. In loops
//        with products that write only through other arguments, a vector or number for the next
//        iteration is loaded behind the last use of this one's, so that both take the same
//        registers; in the last iteration it is loaded from where this one's came, or, where the
//        loop carries tiles of pointers, not at all.
//===------------------------------------------------------------------------------------===//
#include "analysis/CopyAhead.h"
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

/// Whether the loop may write what is read through `base`, given that other arguments lie apart.
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

/// Registers of 32 bits; those at one address are one.
int64_t wordsOf(LoadOp load, const AxisInfoAnalysis &axes) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  if (!tile)
    return 1;
  const LinearLayout layout = layoutOf(tile);
  const unsigned repeats = axes.repeatedRegs(load.getPtr(), load.getMask(), layout);
  const int64_t regs = layout.numRegs() >> llvm::popcount(repeats);
  return (regs * storageBits(tile.getElementType()) + 31) / 32;
}

/// What the user asked for; 0 where the text says nothing.
int64_t hintedStages(scf::ForOp loop) {
  auto stages = loop->getAttrOfType<IntegerAttr>(names::numStages);
  return stages ? stages.getInt() : 0;
}

/// Vectors of a loop with products, such as the sums that attention's gradients begin with; what is
/// yielded as it is was loaded ahead before.
bool isShort(LoadOp load, const AxisInfoAnalysis &axes) {
  return wordsOf(load, axes) <= machineOf(load).registers.carriedBesideMma &&
         llvm::none_of(load->getUsers(), llvm::IsaPred<nv::LocalStoreOp, scf::YieldOp>);
}

/// Whether the loop may change what is read through `base`, or meets other programs.
bool mayChange(scf::ForOp loop, Value base) {
  auto meets = [&](Operation *op) {
    return meetsOthers(op) && !writesApart(loop, op, base) ? WalkResult::interrupt()
                                                           : WalkResult::advance();
  };
  return memoryChange(loop, base) || loop.getBody()->walk(meets).wasInterrupted();
}

class Ahead {
public:
  Ahead(scf::ForOp loop, bool besideProducts, const AxisInfoAnalysis &axes)
      : loop(loop), besideProducts(besideProducts), axes(axes), rewriter(loop.getContext()) {}

  void run() {
    const int64_t words = chooseLoads();
    if (loads.empty())
      return;
    if (!besideProducts)
      distance = std::clamp<int64_t>(hintedStages(loop) - 1, 1,
                                     std::max<int64_t>(mostRegisters() / words, 1));
    for (LoadOp load : loads)
      remarkApplied(load.getLoc(), Technique::Pipelining)
          << "load is made " << distance << (distance == 1 ? " iteration" : " iterations")
          << " ahead, into registers";
    const SmallVector<Value> first = firstLoads();
    const DictionaryAttr attributes = loop->getAttrDictionary();
    auto made = loop.replaceWithAdditionalYields(
        rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
          return besideProducts ? nextVectors(carried) : nextLoads(carried);
        });
    if (succeeded(made))
      (*made)->setAttrs(attributes);
  }

private:
  /// The loads of the body itself that can be made early, while registers last; gives the words
  /// that they take.
  int64_t chooseLoads() {
    int64_t words = 0;
    for (auto load : loop.getBody()->getOps<LoadOp>()) {
      Value base = baseOf(load.getPtr());
      if (!isKernelArgument(base) || isCarried(load) ||
          (besideProducts ? !isShort(load, axes) || mayChange(loop, base)
                          : !isa<RankedTensorType>(load.getType()) || mayWrite(loop, base)))
        continue;
      auto slice = addressSlice(loop, SmallVector<Value>(load->getOperands()));
      if (!slice || !canCarry(*slice) || isInvariant(*slice) ||
          words + wordsOf(load, axes) > mostRegisters())
        continue;
      words += wordsOf(load, axes);
      loads.push_back(load);
      ops.insert(slice->ops.begin(), slice->ops.end());
      counters.insert(slice->carried.begin(), slice->carried.end());
    }
    return words;
  }

  /// Whether it is for the next iteration alone, as that of a table which copies go by.
  bool isCarried(LoadOp load) {
    return llvm::all_of(load->getUsers(), llvm::IsaPred<scf::YieldOp>);
  }

  /// Beside products, what the loop counts on itself may be read.
  /// That the carried tiles of one loop may take.
  int64_t mostRegisters() { return machineOf(loop).registers.carriedLoads; }

  bool canCarry(const AddressSlice &slice) { return besideProducts || slice.carried.empty(); }

  /// What does not depend on the counter is loaded again and again anyway, and found in a cache.
  bool isInvariant(const AddressSlice &slice) {
    return slice.carried.empty() && llvm::none_of(slice.ops, [&](Operation *op) {
             return llvm::is_contained(op->getOperands(), loop.getInductionVar());
           });
  }

  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(rewriter, loop.getLoc(), predicate, x, y);
  }

  /// The loads of the iteration of the counters in `mapping`; no `exists`: there is one.
  SmallVector<Value> loadsWith(IRMapping &mapping, Value exists = {}) {
    for (Operation &op : *loop.getBody())
      if (ops.contains(&op))
        rewriter.clone(op, mapping);
    SmallVector<Value> results;
    for (LoadOp load : loads) {
      auto made = cast<LoadOp>(rewriter.clone(*load, mapping));
      results.push_back(made.getResult());
      if (!exists)
        continue;
      rewriter.setInsertionPoint(made);
      Value mask = exists;
      if (auto tile = dyn_cast<RankedTensorType>(made.getType()))
        mask = SplatOp::create(
            rewriter, load.getLoc(),
            RankedTensorType::get(tile.getShape(), rewriter.getI1Type(), tile.getEncoding()),
            exists);
      if (made.getMask())
        mask = arith::AndIOp::create(rewriter, load.getLoc(), made.getMask(), mask);
      made.getMaskMutable().assign(mask);
      rewriter.setInsertionPointAfter(made);
    }
    return results;
  }

  /// An iteration that the loop may have: its counter, what the bound leaves there, and whether it
  /// exists. The counter plus a step may lie beyond the last integer, so what is left is compared.
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

  /// In front of the loop: those of each iteration that finds its own loaded.
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

  /// At the beginning of the body; the iteration's own loads become what is carried longest.
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
    return handOn(results, carried.take_front(loads.size()));
  }

  SmallVector<Value> handOn(ArrayRef<Value> results, ArrayRef<BlockArgument> carried) {
    for (auto [load, tile] : llvm::zip_equal(loads, carried))
      rewriter.replaceOp(load, tile);
    return SmallVector<Value>(results);
  }

  /// Behind the last use of this iteration's, and of what the counters become.
  SmallVector<Value> nextVectors(ArrayRef<BlockArgument> carried) {
    OpBuilder::InsertionGuard guard(rewriter);
    Operation *last = loads.front();
    auto passBy = [&](Operation *op) {
      op = op ? loop.getBody()->findAncestorOpInBlock(*op) : nullptr;
      if (op && !op->hasTrait<OpTrait::IsTerminator>() && last->isBeforeInBlock(op))
        last = op;
    };
    SmallVector<Value> vectors(
        llvm::map_range(loads, [](LoadOp load) { return load.getResult(); }));
    while (!vectors.empty())
      for (Operation *user : vectors.pop_back_val().getUsers()) {
        passBy(user);
        if (isa<ExpandDimsOp, BroadcastOp>(user)) // takes no registers of its own
          vectors.push_back(user->getResult(0));
      }
    for (unsigned i : counters)
      passBy(loop.getYieldedValues()[i].getDefiningOp());
    rewriter.setInsertionPointAfter(last);
    const Iteration following = after(at(loop.getInductionVar(), {}));
    const bool carriesTiles = llvm::any_of(counters, [&](unsigned i) {
      return isa<RankedTensorType>(loop.getRegionIterArg(i).getType());
    });
    auto choose = [&](Value next, Value now) {
      return carriesTiles
                 ? next
                 : arith::SelectOp::create(rewriter, loop.getLoc(), following.exists, next, now)
                       .getResult();
    };
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), choose(following.counter, loop.getInductionVar()));
    for (unsigned i : counters)
      mapping.map(loop.getRegionIterArg(i),
                  choose(loop.getYieldedValues()[i], loop.getRegionIterArg(i)));
    return handOn(loadsWith(mapping, carriesTiles ? following.exists : Value()), carried);
  }

  scf::ForOp loop;
  bool besideProducts;
  const AxisInfoAnalysis &axes;
  int64_t distance = 1; ///< iterations
  IRRewriter rewriter;
  SmallVector<LoadOp> loads;
  llvm::SetVector<unsigned> counters; ///< carried values that addresses are computed from
  llvm::DenseSet<Operation *> ops;
};

bool hasProduct(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](Operation *op) {
        return isa<DotOp, nv::AsyncMmaOpInterface, nv::FmaOp>(op) ? WalkResult::interrupt()
                                                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

struct LoadAheadPass : impl::PrefetchLoadsBase<LoadAheadPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops, loopsOfProducts;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->getParentOfType<nv::ProducerOp>())
        return;
      if (hintedStages(loop) >= 2 && !hasProduct(loop))
        loops.push_back(loop);
      else if (llvm::any_of(*loop.getBody(), llvm::IsaPred<DotOp, nv::AsyncMmaOpInterface>))
        loopsOfProducts.push_back(loop);
    });
    if (loops.empty() && loopsOfProducts.empty())
      return;
    const AxisInfoAnalysis axes(getOperation());
    for (scf::ForOp loop : loops)
      Ahead(loop, /*besideProducts=*/false, axes).run();
    for (scf::ForOp loop : loopsOfProducts)
      Ahead(loop, /*besideProducts=*/true, axes).run();
  }
};
} // namespace
} // namespace pantile
