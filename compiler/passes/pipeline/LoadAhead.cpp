//===- LoadAhead.cpp - load the next row while this one is computed with ------------------===//
// Needs: ExpandPipeline ran: what goes through shared memory is copied ahead already.
// Gives: loops that the user gave `num_stages` (tl.range) load into registers an iteration ahead.
// How:   the tile for the next iteration is loaded at the beginning of this one, under a mask that
//        is empty in the last, and carried; the first is loaded in front of the loop. Only loads
//        whose addresses follow from the counter, and few enough for the registers. An explicit
//        `num_stages` says that the loop's stores go elsewhere than to what it is yet to read; a
//        store through the pointer that is loaded from, or an atomic, still forbids it.
//===------------------------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"
#include "passes/pipeline/StagedLoad.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_LOADAHEAD
#include "passes/Passes.h.inc"
namespace {

/// Registers that the carried tiles of one loop may take.
constexpr int64_t mostWords = 32;

/// The pointer that all addresses of a tile are computed from, as far as it can be followed.
Value baseOf(Value ptr) {
  while (Operation *op = ptr.getDefiningOp()) {
    if (!isa<AddPtrOp, SplatOp, BroadcastOp, ExpandDimsOp, ConvertLayoutOp>(op))
      break;
    ptr = op->getOperand(0);
  }
  return ptr;
}

bool isKernelArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

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

int64_t wordsOf(LoadOp load) {
  auto tile = cast<RankedTensorType>(load.getType());
  return (layoutOf(tile).numRegs() * storageBits(tile.getElementType()) + 31) / 32;
}

class Ahead {
public:
  explicit Ahead(scf::ForOp loop) : loop(loop), rewriter(loop.getContext()) {}

  void run() {
    chooseLoads();
    if (loads.empty())
      return;
    rewriter.setInsertionPoint(loop);
    Value any =
        compare(loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt,
                loop.getLowerBound(), loop.getUpperBound());
    const SmallVector<Value> first = loadsAt(loop.getLowerBound(), any);
    const DictionaryAttr attributes = loop->getAttrDictionary();
    auto made = loop.replaceWithAdditionalYields(
        rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, Location, ArrayRef<BlockArgument> carried) { return nextLoads(carried); });
    if (succeeded(made))
      (*made)->setAttrs(attributes);
  }

private:
  /// The loads of the body itself that can be made early, while registers last.
  void chooseLoads() {
    int64_t words = 0;
    for (auto load : loop.getBody()->getOps<LoadOp>()) {
      if (!isa<RankedTensorType>(load.getType()) || !isKernelArgument(baseOf(load.getPtr())) ||
          mayWrite(loop, baseOf(load.getPtr())))
        continue;
      auto slice = addressSlice(loop, SmallVector<Value>(load->getOperands()));
      if (!slice || !slice->carried.empty() || isInvariant(*slice) ||
          (words += wordsOf(load)) > mostWords)
        continue;
      loads.push_back(load);
      ops.insert(slice->ops.begin(), slice->ops.end());
      remarkApplied(load.getLoc(), Technique::Pipelining)
          << "load is made an iteration ahead, into registers";
    }
  }

  /// What does not depend on the counter is loaded again and again anyway, and found in a cache.
  bool isInvariant(const AddressSlice &slice) {
    return llvm::none_of(slice.ops, [&](Operation *op) {
      return llvm::is_contained(op->getOperands(), loop.getInductionVar());
    });
  }

  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(rewriter, loop.getLoc(), predicate, x, y);
  }

  /// The loads of the iteration of counter `at`, if it `exists`.
  SmallVector<Value> loadsAt(Value at, Value exists) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), at);
    for (Operation &op : *loop.getBody())
      if (ops.contains(&op))
        rewriter.clone(op, mapping);
    SmallVector<Value> results;
    for (LoadOp load : loads) {
      auto made = cast<LoadOp>(rewriter.clone(*load, mapping));
      auto tile = cast<RankedTensorType>(made.getType());
      auto flags = RankedTensorType::get(tile.getShape(), rewriter.getI1Type(), tile.getEncoding());
      rewriter.setInsertionPoint(made);
      Value mask = SplatOp::create(rewriter, load.getLoc(), flags, exists);
      if (made.getMask())
        mask = arith::AndIOp::create(rewriter, load.getLoc(), made.getMask(), mask);
      made.getMaskMutable().assign(mask);
      rewriter.setInsertionPointAfter(made);
      results.push_back(made.getResult());
    }
    return results;
  }

  /// At the beginning of the body; the iteration's own loads become what is carried. The counter
  /// plus a step may lie beyond the last integer, so what is left is compared with the step.
  SmallVector<Value> nextLoads(ArrayRef<BlockArgument> carried) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(loop.getBody());
    Value left = arith::SubIOp::create(rewriter, loop.getLoc(), loop.getUpperBound(),
                                       loop.getInductionVar());
    Value exists = compare(arith::CmpIPredicate::ugt, left, loop.getStep());
    Value next =
        arith::AddIOp::create(rewriter, loop.getLoc(), loop.getInductionVar(), loop.getStep());
    SmallVector<Value> results = loadsAt(next, exists);
    for (auto [load, tile] : llvm::zip_equal(loads, carried))
      rewriter.replaceOp(load, tile);
    return results;
  }

  scf::ForOp loop;
  IRRewriter rewriter;
  SmallVector<LoadOp> loads;
  llvm::DenseSet<Operation *> ops;
};

bool hasProduct(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](Operation *op) {
        return isa<DotOp, nv::WgmmaOp, nv::FmaOp>(op) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

struct LoadAheadPass : impl::LoadAheadBase<LoadAheadPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      auto stages = loop->getAttrOfType<IntegerAttr>(names::numStages);
      if (stages && stages.getInt() >= 2 && !hasProduct(loop) &&
          !loop->getParentOfType<nv::ProducerOp>())
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      Ahead(loop).run();
  }
};
} // namespace
} // namespace pantile
