//===- SplitOverCluster.cpp - split rows that no SM holds over a thread-block cluster ---===//
// Needs: tiles without layouts.
// Gives: tiles that are a CTA's part of the row, `ctas_per_program` of `nv.launch`.
// How:   Such a row exceeds the registers and the shared memory of an SM, so most of it would be
//        spilled. The pass applies where all tiles are rows of one length, computed elementwise and
//        reduced. Each CTA of a cluster gets a part of the row: its indices begin at that part, and
//        after a reduction the CTAs exchange their partial results through DSMEM.
//        Loads and stores of different CTAs must keep program order, as pointers may alias. So
//        there is a cluster barrier between two accesses of which one is a store, and at each
//        barrier of the kernel, unless an exchange synchronises there anyway. The first CTA stores
//        scalars. No CTA exits before all have read the last exchange.
//        An exchange costs about a microsecond, so rows that one CTA holds are not split.
//===------------------------------------------------------------------------------------===//
#include "analysis/MotionLegality.h"
#include "analysis/Programs.h"
#include "ir/Launch.h"
#include "ir/Numbers.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/layout/LayoutPlan.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SPLITOVERCLUSTER
#include "passes/Passes.h.inc"
namespace {

RankedTensorType tileOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool canSplit(Operation &op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return isStableLoad(load);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return !tileOf(constant) || isa<SplatElementsAttr>(constant.getValue());
  return isa<StoreOp, BarrierOp, ProgramIdOp, NumProgramsOp, ArangeOp, SplatOp, ReduceOp>(op) ||
         LayoutPlan::isPureElementwise(&op);
}

/// The length of all tiles of a kernel that can be split; 0 if it cannot.
int64_t rowLength(func::FuncOp kernel) {
  int64_t length = 0;
  bool hasReduction = false;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (!canSplit(op))
      return 0;
    hasReduction |= isa<ReduceOp>(op);
    for (Value result : op.getResults()) {
      auto tile = tileOf(result);
      if (!tile)
        continue;
      if (tile.getRank() != 1 || (length != 0 && tile.getDimSize(0) != length) ||
          !llvm::isPowerOf2_64(tile.getDimSize(0)))
        return 0;
      length = tile.getDimSize(0);
    }
  }
  return hasReduction ? length : 0;
}

class ClusterSplitter {
public:
  ClusterSplitter(func::FuncOp kernel, int64_t length, int64_t ctas)
      : body(kernel.getBody().front()), part(length / ctas), ctas(ctas), b(kernel.getContext()) {}

  void run() {
    b.setInsertionPointToStart(&body);
    rank = nv::ClusterRankOp::create(b, body.getParentOp()->getLoc(), b.getI32Type());
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      split(&op);
    synchroniseAtEnd();
  }

private:
  void split(Operation *op) {
    for (Value result : op->getResults())
      if (auto tile = tileOf(result))
        result.setType(tile.clone(part));
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && tileOf(constant))
      constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue())
                                .resizeSplat(cast<ShapedType>(constant.getType())));
    if (auto range = dyn_cast<ArangeOp>(op))
      offsetToPart(range);
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      exchange(reduce);
    else if (isa<LoadOp, StoreOp>(op))
      keepOrder(op);
    else if (isa<BarrierOp>(op))
      synchroniseBefore(op), op->erase();
  }

  /// Makes `range` the indices of this CTA's part.
  void offsetToPart(ArangeOp range) {
    const Location loc = range.getLoc();
    range.setEnd(range.getStart() + part);
    b.setInsertionPointAfter(range);
    Numbers n(b, loc);
    Value start = n.mul(rank, n.of(part));
    Value own = n.add(SplatOp::create(b, loc, range.getType(), start), range);
    range.getResult().replaceUsesWithIf(
        own, [&](OpOperand &use) { return use.getOwner() != own.getDefiningOp(); });
  }

  /// Reduces the partial results of all CTAs.
  void exchange(ReduceOp reduce) {
    const Location loc = reduce.getLoc();
    b.setInsertionPointAfter(reduce);
    SmallVector<Value> parts;
    for (Value own : reduce.getResults())
      parts.push_back(
          nv::ClusterGatherOp::create(b, loc, RankedTensorType::get({ctas}, own.getType()), own));
    auto all = ReduceOp::create(b, loc, reduce.getResultTypes(), parts, reduce.getAxis());
    IRMapping mapping;
    reduce.getCombine().cloneInto(&all.getCombine(), mapping);
    for (auto [mine, whole] : llvm::zip(reduce.getResults(), all.getResults()))
      mine.replaceUsesWithIf(
          whole, [](OpOperand &use) { return !isa<nv::ClusterGatherOp>(use.getOwner()); });
    lastExchange = all;
    loaded = stored = false;
  }

  void keepOrder(Operation *op) {
    auto store = dyn_cast<StoreOp>(op);
    if (stored || (store && loaded))
      synchroniseBefore(op);
    (store ? stored : loaded) = true;
    if (store && !isa<RankedTensorType>(store.getPtr().getType()))
      storeOnce(store);
  }

  void synchroniseBefore(Operation *before) {
    b.setInsertionPoint(before);
    nv::ClusterArriveOp::create(b, before->getLoc());
    nv::ClusterWaitOp::create(b, before->getLoc());
    loaded = stored = false;
    lastExchange = nullptr; // all have read it
  }

  void storeOnce(StoreOp store) {
    const Location loc = store.getLoc();
    b.setInsertionPoint(store);
    Numbers n(b, loc);
    Value mask = n.equal(rank, n.of(0));
    if (store.getMask())
      mask = n.both(store.getMask(), mask);
    store.getMaskMutable().assign(mask);
  }

  /// Keeps each CTA until all have read the last exchange: they arrive after it, and wait at the
  /// end.
  void synchroniseAtEnd() {
    if (!lastExchange)
      return;
    b.setInsertionPointAfter(lastExchange);
    nv::ClusterArriveOp::create(b, lastExchange->getLoc());
    b.setInsertionPoint(body.getTerminator());
    nv::ClusterWaitOp::create(b, lastExchange->getLoc());
  }

  Block &body;
  const int64_t part, ctas;
  OpBuilder b;
  Value rank;
  Operation *lastExchange = nullptr;   ///< since the last cluster barrier
  bool loaded = false, stored = false; ///< since the last cluster barrier or exchange
};

struct SplitOverClusterPass : impl::SplitOverClusterBase<SplitOverClusterPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp kernel = onlyFunction(module);
    const auto target = Target::parse(moduleTarget(module));
    if (!kernel || !target || !target->hasClusters() || !llvm::hasSingleElement(kernel.getBody()))
      return markAllAnalysesPreserved();
    const int64_t length = rowLength(kernel);
    const MachineModel &machine = target->machine();
    if (length < machine.tiles.leastRowOfCluster)
      return markAllAnalysesPreserved();
    const int64_t elementsOfCta = machine.sm.registers / 2; // fp32 in half of the registers
    const int64_t ctas = std::min(length / elementsOfCta, machine.sm.ctasOfCluster);
    ClusterSplitter(kernel, length, ctas).run();
    Launch launch = Launch::of(module);
    launch.ctasPerProgram = ctas;
    launch.storeOn(module);
    remarkApplied(kernel.getLoc(), Technique::Persistence)
        << "each program is split over a cluster of " << ctas
        << " CTAs, with a part of the row each";
  }
};
} // namespace
} // namespace pantile
