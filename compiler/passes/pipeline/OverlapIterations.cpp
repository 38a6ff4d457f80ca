//===- OverlapIterations.cpp - chains of products, those of two iterations side by side --------===//
// Needs: DeferWaits ran: products start when their operands are there; a producer fills the rings.
// Gives: in a loop `s = head(..), t = head(..); a = tail(f(s), .., a); b = tail(g(s, t), .., b)`, as
//        the gradients of attention are, the tails of an iteration start behind the heads of the
//        next one, and the tensor cores multiply while f and g of that are computed.
// How:   Heads start sums anew; tails take their left operand from registers, and what they add to
//        is carried, and looked at by nobody else. The loop starts at the second iteration, what
//        tails read of the one before is carried (left operands, and the scalars that choose slots),
//        and the tails of the last one stand behind the loop. Slots are released with the tails, so
//        a loop holds those of two iterations. All this stands under the condition that there is
//        an iteration. Nothing is under way from one iteration into the next.
//===------------------------------------------------------------------------------------===//
#include "passes/pipeline/OverlapIterations.h"
#include "analysis/MmaWaits.h"
#include "analysis/RegisterBudget.h"
#include "ir/Machine.h"
#include "ir/Registers.h"
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/pipeline/PeeledLoop.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_OVERLAPITERATIONS
#include "passes/Passes.h.inc"
namespace {

/// Which operations of a loop are heads' and which tails'.
class Parts {
public:
  explicit Parts(scf::ForOp loop) : loop(loop) {}

  bool find() { return sortProducts() && sortOthers() && findSlots(); }

  bool isTail(Operation *op) const { return tails.contains(op); }

  scf::ForOp loop;
  SmallVector<nv::AsyncMmaOpInterface> products; ///< the tails' alone
  llvm::SetVector<Operation *> tails;            ///< products, waits for them, releases; in order
  llvm::SetVector<Operation *> slots;            ///< how the tails' slots are chosen
  llvm::SetVector<Value> leaves;                 ///< numbers that they are chosen by
  Operation *firstWait = nullptr;                ///< for a head; the tails start in front of it

private:
  bool sortProducts() {
    SmallVector<nv::AsyncMmaOpInterface> heads;
    for (auto product : loop.getBody()->getOps<nv::AsyncMmaOpInterface>()) {
      nv::MmaWaitOpInterface wait = movableWaitOf(product);
      if (!wait)
        return false;
      Value held = product.getHeldRegisters();
      if (carriedAccumulatorOf(product) && held && !loop.isDefinedOutsideOfLoop(held) &&
          held.getDefiningOp()) {
        products.push_back(product);
        continue;
      }
      if (!matchPattern(product.getAcc(), m_AnyZeroFloat()) || !products.empty())
        return false;
      heads.push_back(product);
      if (!firstWait || wait->isBeforeInBlock(firstWait))
        firstWait = wait;
    }
    // The tails start behind the heads: a head that depends on another's result comes too late.
    return heads.size() >= 2 && !products.empty() && heads.back()->isBeforeInBlock(firstWait);
  }

  /// Waits for slots come first, releases last; no other effect but reading memory.
  bool sortOthers() {
    bool isFed = false;
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto wait = dyn_cast<nv::MmaWaitOpInterface>(op);
      auto product = wait ? wait.getValues()[0].getDefiningOp<nv::AsyncMmaOpInterface>()
                          : nv::AsyncMmaOpInterface();
      auto load = dyn_cast<LoadOp>(op);
      if (isa<nv::ReleaseOp>(op) || llvm::is_contained(products, &op) ||
          (product && llvm::is_contained(products, product)))
        tails.insert(&op);
      else if (auto filled = dyn_cast<nv::MbarrierWaitOp>(op)) {
        isFed = true;
        if (filled.getEmpty() || !filled->isBeforeInBlock(firstWait))
          return false;
      } else if (load ? load.getIsVolatile() || load.getCache() == CacheModifier::Cv
                      : !product && !isa<nv::AsyncMmaOpInterface>(op) && !isMemoryEffectFree(&op))
        return false;
    }
    return isFed;
  }

  /// Everything but left operands and sums that tails read. Numbers are carried rather than computed
  /// anew. Two slots of a ring are held at once, and a third is filled meanwhile.
  bool findSlots() {
    SmallVector<Value> work;
    for (Operation *op : tails)
      if (auto product = dyn_cast<nv::AsyncMmaOpInterface>(op))
        work.push_back(product.getRhs());
      else if (isa<nv::ReleaseOp>(op))
        work.append(op->operand_begin(), op->operand_end());
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (loop.isDefinedOutsideOfLoop(value))
        continue;
      if (value.getType().isIntOrIndex()) {
        leaves.insert(value);
        continue;
      }
      Operation *op = value.getDefiningOp();
      auto slot = dyn_cast_or_null<nv::SlotOp>(op);
      if (slot ? cast<nv::BufferType>(slot->getOperand(0).getType()).getSlots() <
                     machineOf(loop).occupancy.stagesOfOverlap
               : !isa_and_nonnull<nv::BufferTransOp>(op))
        return false;
      if (slots.insert(op))
        work.append(op->operand_begin(), op->operand_end());
    }
    return true;
  }
};

class Rotator {
public:
  explicit Rotator(Parts &parts) : parts(parts), loop(parts.loop), b(loop), loc(loop.getLoc()) {}

  void run() {
    scf::IfOp branch = branchOfIterations(b, loop);
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), loop.getLowerBound());
    mapping.map(loop.getRegionIterArgs(), loop.getInitArgs());
    cloneHeads(mapping, Part::BeforeWaits);
    cloneHeads(mapping, Part::Waits);
    cloneLast(mapping);
    scf::ForOp rest = makeLoop(handOn(mapping, loop.getInitArgs()));
    IRMapping last = startTails(rest.getResults());
    SmallVector<Value> results(rest.getResults().take_front(count()));
    endTails(last, results);
    scf::YieldOp::create(b, loc, results);
    loop.replaceAllUsesWith(branch.getResults());
    loop.erase();
  }

private:
  unsigned count() { return loop.getNumRegionIterArgs(); }

  /// A conversion that only makes a left operand: it waits until the registers of the one
  /// before are free.
  bool isLast(Operation *op) {
    return op->hasTrait<OpTrait::Elementwise>() && isReadByMmasAlone(op->getResult(0)) &&
           llvm::any_of(parts.products, [&](nv::AsyncMmaOpInterface tail) {
             return op == tail.getLhs().getDefiningOp();
           });
  }

  enum class Part { BeforeWaits, Waits };
  void cloneHeads(IRMapping &mapping, Part part) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      const bool isBefore = op.isBeforeInBlock(parts.firstWait);
      if (isBefore != (part == Part::BeforeWaits) || parts.isTail(&op) || isLast(&op))
        continue;
      b.clone(op, mapping);
    }
  }

  void cloneLast(IRMapping &mapping) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (isLast(&op))
        b.clone(op, mapping);
  }

  /// What the next round needs: carried values, the sums being `sums`, the left operands, and the
  /// leaves of the slots.
  SmallVector<Value> handOn(IRMapping &mapping, ValueRange sums) {
    SmallVector<Value> values;
    for (auto [value, sum] : llvm::zip(loop.getYieldedValues(), sums))
      values.push_back(parts.isTail(value.getDefiningOp()) ? sum : mapping.lookupOrDefault(value));
    for (nv::AsyncMmaOpInterface tail : parts.products)
      values.push_back(mapping.lookup(tail.getLhs()));
    for (Value leaf : parts.leaves)
      values.push_back(mapping.lookup(leaf));
    return values;
  }

  /// The tails of the iteration whose values `carried` has.
  IRMapping startTails(ValueRange carried) {
    IRMapping mapping;
    mapping.map(loop.getRegionIterArgs(), carried.take_front(count()));
    carried = carried.drop_front(count());
    for (auto [tail, left] : llvm::zip(parts.products, carried))
      mapping.map(tail.getLhs(), left);
    for (auto [leaf, value] : llvm::zip(parts.leaves, carried.drop_front(parts.products.size())))
      mapping.map(leaf, value);
    for (Operation &op : loop.getBody()->without_terminator())
      if (parts.slots.contains(&op))
        b.clone(op, mapping);
    for (nv::AsyncMmaOpInterface tail : parts.products)
      b.clone(*tail, mapping);
    return mapping;
  }

  /// Waits for them and releases their slots; `sums` become theirs.
  void endTails(IRMapping &mapping, SmallVectorImpl<Value> &sums) {
    for (nv::AsyncMmaOpInterface tail : parts.products) {
      Operation *wait = b.clone(*waitOf(tail), mapping);
      sums[cast<BlockArgument>(tail.getAcc()).getArgNumber() - 1] = wait->getResult(0);
    }
    for (Operation *op : parts.tails)
      if (isa<nv::ReleaseOp>(op))
        b.clone(*op, mapping);
  }

  scf::ForOp makeLoop(ValueRange carried) {
    scf::ForOp rest = loopOverRest(b, loop, carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rest.getBody());
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), rest.getInductionVar());
    ValueRange args = rest.getRegionIterArgs();
    mapping.map(loop.getRegionIterArgs(), args.take_front(count()));
    cloneHeads(mapping, Part::BeforeWaits);
    IRMapping before = startTails(args);
    cloneHeads(mapping, Part::Waits);
    settle(mapping);
    SmallVector<Value> sums(args.take_front(count()));
    endTails(before, sums);
    cloneLast(mapping);
    scf::YieldOp::create(b, loc, handOn(mapping, sums));
    return rest;
  }

  /// What the last left operand is made of, and so the others, is computed before the tails are
  /// waited for.
  void settle(IRMapping &mapping) {
    Operation *source = parts.products.back().getLhs().getDefiningOp();
    if (!isLast(source) || source->getNumOperands() != 1)
      return;
    Value value = source->getOperand(0);
    if (cast<RankedTensorType>(value.getType()).getElementType().isF32())
      nv::SettleOp::create(b, loc, mapping.lookupOrDefault(value));
  }

  Parts &parts;
  scf::ForOp loop;
  OpBuilder b;
  Location loc;
};

struct OverlapIterationsPass : impl::OverlapIterationsBase<OverlapIterationsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    const int warps = moduleInt(module, names::numWarps, 4);
    if (!target || !target->hasAsyncMma())
      return;
    SmallVector<scf::ForOp> loops;
    module.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      Parts parts(loop);
      if (!hasRegistersForOverlap(loop, *target, warps) || !parts.find())
        continue;
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the last products of an iteration end beside the first of the next";
      Rotator(parts).run();
    }
  }
};
} // namespace

/// Heads, sums and left operands are alive at once, and the left operands of the next iteration
/// before they are converted.
bool hasRegistersForOverlap(scf::ForOp loop, const Target &target, int warps) {
  int64_t registers = target.machine().registers.besideIterations, heads = 0, tails = 0;
  for (auto product : loop.getBody()->getOps<nv::AsyncMmaOpInterface>()) {
    registers += registersOf(product.getResult());
    if (matchPattern(product.getAcc(), m_AnyZeroFloat())) {
      ++heads;
    } else {
      ++tails;
      registers += registersOf(product.getLhs());
    }
  }
  const RegisterBudget budget{target.machine(), warps};
  return heads >= 2 && tails > 0 && registers <= budget.consumer(1);
}

} // namespace pantile
