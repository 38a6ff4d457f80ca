//===- OverlapProducts.cpp - a chain of two products, the first one block ahead -----------===//
// Needs: SpecialiseWarps ran: operands stand in rings when a full barrier says so, or in registers.
// Gives: in a loop `s = first(..); p = f(s); acc = second(p, .., g(acc))`, as attention is, the
//        first product of the next block and the second one of this block are under way together,
//        and the tensor cores multiply while f of the next block is computed.
// How:   The second product and its barriers go one iteration later than all else: the loop starts
//        at the second block, what it reads of the block before is carried (the left operand, and
//        the scalars that choose a slot), and the last second product stands behind the loop. g
//        stays in front of the second product, which is behind the one before. All this stands
//        under the condition that there is an iteration. The producer sees no change: slots are
//        waited for and released in the same order, and one of each ring is held at a time.
//===------------------------------------------------------------------------------------===//
#include "analysis/MmaWaits.h"
#include "analysis/RegisterBudget.h"
#include "analysis/StagedLoad.h"
#include "ir/Registers.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/pipeline/PeeledLoop.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_OVERLAPPRODUCTS
#include "passes/Passes.h.inc"
namespace {

/// A product, the wait for it, and the barriers of its operands.
struct Stage {
  nv::AsyncMmaOpInterface product;
  nv::MmaWaitOpInterface wait;
  SmallVector<Operation *> barriers; ///< waited for in front of the product
  SmallVector<Operation *> releases; ///< behind the wait
};

/// The parts of a loop that can be overlapped.
class Chain {
public:
  explicit Chain(scf::ForOp loop) : loop(loop) {}

  bool find() {
    return findStages() && findSum() && sortBarriers() && findSlots() && leftIsChained();
  }

  scf::ForOp loop;
  Stage first, second;
  unsigned sum = 0;                     ///< which carried value is the second product's sum
  llvm::SetVector<Operation *> rescale; ///< g: what is done to the sum in front of the product
  llvm::SetVector<Operation *> slots;   ///< how the second product's slots are chosen
  llvm::SetVector<Value> leaves;        ///< arguments of the body that they are chosen by

  bool isSecond(Operation *op) const {
    return op == second.product || op == second.wait || llvm::is_contained(second.barriers, op) ||
           llvm::is_contained(second.releases, op);
  }

private:
  static bool fill(Stage &stage, nv::AsyncMmaOpInterface product) {
    stage.product = product;
    stage.wait = movableWaitOf(product);
    return bool(stage.wait);
  }

  bool findStages() {
    SmallVector<nv::AsyncMmaOpInterface> products;
    loop.walk([&](nv::AsyncMmaOpInterface product) { products.push_back(product); });
    return products.size() == 2 && products[0]->getParentOp() == loop &&
           products[1]->getParentOp() == loop && fill(first, products[0]) &&
           fill(second, products[1]) && first.wait->isBeforeInBlock(second.product);
  }

  /// The second sum is carried, and only the product reads what the iteration makes of it.
  bool findSum() {
    Value result = second.wait->getResult(0);
    if (!result.hasOneUse() || result.use_begin()->getOwner() != loop.getBody()->getTerminator())
      return false;
    sum = result.use_begin()->getOperandNumber();
    SmallVector<Value> work{loop.getRegionIterArg(sum)};
    while (!work.empty())
      for (OpOperand &use : work.pop_back_val().getUses()) {
        Operation *op = use.getOwner();
        if (op == second.product && use.get() == second.product.getAcc())
          continue;
        if (op->getParentOp() != loop || op->getNumRegions() != 0 || op->getNumResults() != 1 ||
            !isMemoryEffectFree(op) || op->hasTrait<OpTrait::IsTerminator>())
          return false;
        if (rescale.insert(op))
          work.push_back(op->getResult(0));
      }
    return rescale.contains(second.product.getAcc().getDefiningOp()) ||
           second.product.getAcc() == loop.getRegionIterArg(sum);
  }

  /// Which barriers are whose; no other effect but reading memory.
  bool sortBarriers() {
    Operation *last = second.product;
    for (Operation &op : loop.getBody()->without_terminator()) {
      bool isWait = isa<nv::MbarrierWaitOp>(op), isRelease = isa<nv::ReleaseOp>(op);
      if (isWait || isRelease) {
        bool isFirst = op.isBeforeInBlock(isWait ? first.product : second.product);
        Stage &stage = isFirst ? first : second;
        if (isWait ? !op.isBeforeInBlock(stage.product) : !stage.wait->isBeforeInBlock(&op))
          return false;
        (isWait ? stage.barriers : stage.releases).push_back(&op);
      } else if (auto load = dyn_cast<LoadOp>(op)) {
        if (load.getIsVolatile() || load.getCache() == CacheModifier::Cv)
          return false;
      } else if (&op != first.product && &op != first.wait && &op != last && &op != second.wait &&
                 !isMemoryEffectFree(&op)) {
        return false;
      }
    }
    return !first.barriers.empty() && !second.barriers.empty();
  }

  /// Everything but the left operand and the sum that the second product and its barriers read.
  bool findSlots() {
    SmallVector<Value> work{second.product.getRhs()};
    for (ArrayRef<Operation *> ops : {ArrayRef(second.barriers), ArrayRef(second.releases)})
      for (Operation *op : ops)
        work.append(op->operand_begin(), op->operand_end());
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (loop.isDefinedOutsideOfLoop(value))
        continue;
      if (isa<RankedTensorType>(value.getType()))
        return false;
      if (isa<BlockArgument>(value)) {
        leaves.insert(value);
        continue;
      }
      Operation *op = value.getDefiningOp();
      if (!isMemoryEffectFree(op) || op->getNumRegions() != 0)
        return false;
      if (slots.insert(op))
        work.append(op->operand_begin(), op->operand_end());
    }
    return true;
  }

  bool leftIsChained() {
    Value left = second.product.getHeldRegisters();
    return left && left.getDefiningOp() && left.getDefiningOp()->getParentOp() == loop &&
           !rescale.contains(left.getDefiningOp());
  }
};

class Rotator {
public:
  explicit Rotator(Chain &chain)
      : chain(chain), loop(chain.loop), b(loop), loc(loop.getLoc()),
        left(chain.second.product.getLhs()) {}

  void run() {
    scf::IfOp branch = branchOfIterations(b, loop);
    SmallVector<Value> carried = startFirst();
    scf::ForOp rest = overlap(carried);
    scf::YieldOp::create(b, loc, finish(rest));
    loop.replaceAllUsesWith(branch.getResults());
    loop.erase();
  }

private:
  unsigned count() { return loop.getNumRegionIterArgs(); }

  /// The conversion that only makes the left operand: it may wait until the registers of
  /// the one before are free.
  bool isLast(Operation *op) {
    return op == left.getDefiningOp() && isReadByMmasAlone(left) &&
           op->hasTrait<OpTrait::Elementwise>();
  }

  enum class Part { BeforeFirst, AfterFirst };
  /// All but the second product, the rescaling and what comes last.
  void cloneAhead(IRMapping &mapping, Part part) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      bool isBefore = op.isBeforeInBlock(chain.first.wait);
      if (isBefore != (part == Part::BeforeFirst) || chain.isSecond(&op) || isLast(&op) ||
          chain.rescale.contains(&op))
        continue;
      b.clone(op, mapping);
    }
  }

  void cloneAll(ArrayRef<Operation *> ops, IRMapping &mapping) {
    for (Operation *op : ops)
      b.clone(*op, mapping);
  }

  /// In the order of the body.
  void cloneRescale(IRMapping &mapping) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (chain.rescale.contains(&op) || isLast(&op))
        b.clone(op, mapping);
  }

  /// What the next round needs: carried values with the sum rescaled, the left operand and the
  /// leaves of the slots.
  SmallVector<Value> handOn(IRMapping &mapping) {
    SmallVector<Value> values;
    for (auto [i, value] : llvm::enumerate(loop.getYieldedValues()))
      values.push_back(
          mapping.lookupOrDefault(i == chain.sum ? chain.second.product.getAcc() : value));
    values.push_back(mapping.lookup(left));
    for (Value leaf : chain.leaves)
      values.push_back(mapping.lookup(leaf));
    return values;
  }

  SmallVector<Value> startFirst() {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), loop.getLowerBound());
    mapping.map(loop.getRegionIterArgs(), loop.getInitArgs());
    cloneAhead(mapping, Part::BeforeFirst);
    cloneAhead(mapping, Part::AfterFirst);
    cloneRescale(mapping);
    return handOn(mapping);
  }

  /// The second product of the block whose values `carried` has; waited for by the caller.
  IRMapping startSecond(ValueRange carried) {
    IRMapping mapping;
    for (auto [leaf, value] : llvm::zip(chain.leaves, carried.drop_front(count() + 1)))
      mapping.map(leaf, value);
    for (Operation &op : loop.getBody()->without_terminator())
      if (chain.slots.contains(&op))
        b.clone(op, mapping);
    mapping.map(left, carried[count()]);
    mapping.map(chain.second.product.getAcc(), carried[chain.sum]);
    cloneAll(chain.second.barriers, mapping);
    b.clone(*chain.second.product, mapping);
    return mapping;
  }

  /// Whether `value` is computed from what the left operand is made of.
  bool comesFromLeft(Value value) {
    SmallVector<Value> work{value};
    llvm::DenseSet<Value> seen;
    Operation *source = left.getDefiningOp();
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (next == left || llvm::is_contained(source->getOperands(), next))
        return true;
      Operation *op = next.getDefiningOp();
      if (op && op->getParentOp() == loop && seen.insert(next).second)
        work.append(op->operand_begin(), op->operand_end());
    }
    return false;
  }

  /// What stands between the products is computed before the second one is waited for.
  void settle(IRMapping &mapping) {
    for (auto [i, value] : llvm::enumerate(loop.getYieldedValues())) {
      auto tile = dyn_cast<RankedTensorType>(value.getType());
      if (i != chain.sum && tile && tile.getElementType().isF32() && comesFromLeft(value))
        nv::SettleOp::create(b, loc, mapping.lookupOrDefault(value));
    }
  }

  Value endSecond(IRMapping &mapping) {
    b.clone(*chain.second.wait, mapping);
    cloneAll(chain.second.releases, mapping);
    return mapping.lookup(chain.second.wait->getResult(0));
  }

  scf::ForOp overlap(ValueRange carried) {
    scf::ForOp rest = loopOverRest(b, loop, carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rest.getBody());
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), rest.getInductionVar());
    ValueRange args = rest.getRegionIterArgs();
    mapping.map(loop.getRegionIterArgs(), args.take_front(count()));
    cloneAhead(mapping, Part::BeforeFirst);
    IRMapping before = startSecond(args);
    cloneAhead(mapping, Part::AfterFirst);
    settle(mapping);
    mapping.map(loop.getRegionIterArg(chain.sum), endSecond(before));
    cloneRescale(mapping);
    scf::YieldOp::create(b, loc, handOn(mapping));
    return rest;
  }

  SmallVector<Value> finish(scf::ForOp rest) {
    IRMapping mapping = startSecond(rest.getResults());
    SmallVector<Value> results(rest.getResults().take_front(count()));
    results[chain.sum] = endSecond(mapping);
    return results;
  }

  Chain &chain;
  scf::ForOp loop;
  OpBuilder b;
  Location loc;
  Value left;
};

/// Both sums and the left operand are alive at once, beside what any loop needs. With eight warps
/// the producer's registers can be theirs (ShareRegisters).
bool fitsRegisters(Chain &chain, const Target &target, int warps) {
  const RegisterThresholds &limits = target.machine().registers;
  int64_t registers = RegisterBudget{target.machine(), warps}.launch(/*ctas=*/1);
  if (warps <= 8 && target.hasSetMaxRegisters())
    registers = limits.mostBesideProducer - limits.marginOfDots;
  return registersOf(chain.first.product.getResult()) +
             registersOf(chain.second.product.getResult()) +
             registersOf(chain.second.product.getLhs()) + limits.besideDots <=
         registers;
}

struct OverlapProductsPass : impl::OverlapProductsBase<OverlapProductsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    int warps = moduleInt(module, names::numWarps, 4);
    if (!target || !target->hasAsyncMma())
      return;
    SmallVector<scf::ForOp> loops;
    module.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      Chain chain(loop);
      if (!chain.find() || !fitsRegisters(chain, *target, warps))
        continue;
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the first product of an iteration starts before the second of the last one ends";
      Rotator(chain).run();
    }
  }
};
} // namespace
} // namespace pantile
