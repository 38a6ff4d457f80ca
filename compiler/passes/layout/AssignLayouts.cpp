//===- AssignLayouts.cpp - give every tile a layout --------------------------------===//
// Needs: dots carry `mma` (SelectMma ran); no tile has a layout yet.
// Gives: every tile type has a layout, and all operations verify.
// How:   LayoutPlan decides; this pass rewrites. Anchored values keep their operation and get their
//        native type. version(value, layout) returns a value in any layout, and memoizes it. For a
//        free value it clones the operation next to the original. For an anchored value it inserts
//        a conversion right after the definition, or before a widening cast where there is one.
//        scf.for and scf.if are rebuilt with one result per layout in which a free result is
//        wanted. Then the free originals have no users, and are erased.
//===-------------------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Passes.h"
#include "passes/layout/LayoutPlan.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"

namespace {

RankedTensorType typed(Type type, LayoutAttr layout) {
  auto tile = cast<RankedTensorType>(type);
  return RankedTensorType::get(tile.getShape(), tile.getElementType(), layout);
}

class LayoutRewriter {
public:
  LayoutRewriter(func::FuncOp function, const LayoutPlan &plan)
      : function(function), plan(plan), builder(function.getContext()) {}

  void run() {
    function.walk([&](Block *block) { typeAnchored(block->getArguments()); });
    function.walk([&](Operation *op) { typeAnchored(op->getResults()); });
    for (Block &block : function.getBody())
      rewriteBlock(block);
    eraseDead();
    updateSignature();
  }

private:
  void typeAnchored(ValueRange values) {
    for (Value value : values)
      if (LayoutAttr layout = plan.native(value))
        value.setType(typed(value.getType(), layout));
  }

  //===- versions of values ---------------------------------------------------===//

  Value version(Value value, LayoutAttr layout) {
    if (auto known = versions.find({value, layout}); known != versions.end())
      return known->second;
    Value made = makeVersion(value, layout);
    versions[{value, layout}] = made;
    return made;
  }

  Value makeVersion(Value value, LayoutAttr layout) {
    // The plan has no entry for results of a rebuilt loop or branch, but their types have layouts.
    const auto own =
        dyn_cast_or_null<LayoutAttr>(cast<RankedTensorType>(value.getType()).getEncoding());
    Operation *op = value.getDefiningOp();
    if (own == layout)
      return value;
    if (!own || LayoutPlan::isWideningCast(op))
      return rematerialise(cast<OpResult>(value), layout);
    Value source = version(value, own);
    builder.setInsertionPointAfterValue(source);
    return ConvertLayoutOp::create(builder, value.getLoc(), typed(value.getType(), layout), source);
  }

  /// Clones the operation next to the original, with its result in `layout`.
  Value rematerialise(OpResult result, LayoutAttr layout) {
    Operation *op = result.getOwner();
    assert(op->getNumRegions() == 0 && "results of control flow have their versions by now");
    SmallVector<Value> operands;
    for (OpOperand &use : op->getOpOperands())
      operands.push_back(isTile(use.get()) ? version(use.get(), LayoutPlan::wantedFor(use, layout))
                                           : use.get());
    builder.setInsertionPoint(op);
    Operation *clone = builder.clone(*op);
    clone->setOperands(operands);
    Value made = clone->getResult(result.getResultNumber());
    made.setType(typed(made.getType(), layout));
    if (auto constant = dyn_cast<arith::ConstantOp>(clone))
      constant.setValueAttr(
          cast<DenseElementsAttr>(constant.getValue()).reshape(cast<ShapedType>(made.getType())));
    return made;
  }

  /// `values` in the layouts of their targets `carried`: free tiles once per version.
  SmallVector<Value> versionsFor(ResultRange carried, ValueRange values) {
    SmallVector<Value> result;
    for (auto [target, value] : llvm::zip(carried, values)) {
      if (!isTile(target))
        result.push_back(value);
      else if (LayoutAttr layout = plan.native(target))
        result.push_back(version(value, layout));
      else
        for (LayoutAttr layout : plan.versions(target))
          result.push_back(version(value, layout));
    }
    return result;
  }

  //===- operations -----------------------------------------------------------===//

  void rewriteBlock(Block &block) {
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    for (Operation *op : ops)
      rewrite(op);
  }

  void rewrite(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return rewriteFor(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return rewriteIf(branch);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return rewriteWhile(loop);
    if (isa<scf::YieldOp, scf::ConditionOp>(op))
      return; // written by the loop or branch around it
    if (plan.isFree(op)) {
      dead.push_back(op);
      return;
    }
    for (OpOperand &use : op->getOpOperands())
      if (isTile(use.get()))
        use.set(version(use.get(), plan.wanted(use)));
    if (auto load = dyn_cast<LoadOp>(op))
      convertLoaded(load);
    else if (auto dot = dyn_cast<DotOp>(op))
      dot.setMmaAttr(plan.mmaOf(dot));
  }

  /// Gives a loaded tile the layout of the access, and a conversion to its native one.
  void convertLoaded(LoadOp load) {
    const LayoutAttr access = plan.access(load), native = plan.native(load.getResult());
    if (!native || access == native)
      return;
    Value loaded = load.getResult();
    loaded.setType(typed(loaded.getType(), access));
    builder.setInsertionPointAfter(load);
    auto convert =
        ConvertLayoutOp::create(builder, load.getLoc(), typed(loaded.getType(), native), loaded);
    loaded.replaceAllUsesExcept(convert, convert);
  }

  void rewriteFor(scf::ForOp loop) {
    builder.setInsertionPoint(loop);
    SmallVector<Value> inits = versionsFor(loop.getResults(), loop.getInitArgs());
    builder.setInsertionPoint(loop);
    auto made = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                                   loop.getUpperBound(), loop.getStep(), inits);
    made->setAttrs(loop->getAttrs());
    made.getRegion().takeBody(loop.getRegion());
    splitArguments(loop, *made.getBody());
    replaceResults(loop, made);
    rewriteBlock(*made.getBody());
    // Read only here: scalar results of an inner branch have been replaced by now.
    Operation *yield = made.getBody()->getTerminator();
    yield->setOperands(versionsFor(loop.getResults(), yield->getOperands()));
  }

  /// Adds one block argument per version of a free carried tile, before the original.
  void splitArguments(scf::ForOp loop, Block &body) {
    unsigned position = 1; // after the induction variable
    for (OpResult carried : loop.getResults()) {
      BlockArgument argument = body.getArgument(position);
      if (plan.isFree(carried)) {
        for (LayoutAttr layout : plan.versions(carried))
          versions[{argument, layout}] =
              body.insertArgument(position++, typed(argument.getType(), layout), argument.getLoc());
        deadArguments.push_back(argument);
      }
      position += 1;
    }
  }

  /// Maps the results of a loop or branch to those of the rebuilt one.
  void replaceResults(Operation *old, Operation *made) {
    unsigned next = 0;
    for (OpResult result : old->getResults()) {
      if (!isTile(result))
        result.replaceAllUsesWith(made->getResult(next++));
      else if (LayoutAttr layout = plan.native(result))
        versions[{result, layout}] = made->getResult(next++);
      else
        for (LayoutAttr layout : plan.versions(result))
          versions[{result, layout}] = made->getResult(next++);
    }
    dead.push_back(old);
  }

  SmallVector<Type> typesOf(ResultRange carried) {
    SmallVector<Type> types;
    for (OpResult result : carried)
      if (plan.isFree(result))
        for (LayoutAttr layout : plan.versions(result))
          types.push_back(typed(result.getType(), layout));
      else
        types.push_back(result.getType());
    return types;
  }

  void rewriteIf(scf::IfOp branch) {
    builder.setInsertionPoint(branch);
    const bool hasElse = branch.elseBlock() != nullptr;
    auto made = scf::IfOp::create(builder, branch.getLoc(), typesOf(branch.getResults()),
                                  branch.getCondition(), hasElse);
    made->setAttrs(branch->getAttrs());
    made.getThenRegion().takeBody(branch.getThenRegion());
    if (hasElse)
      made.getElseRegion().takeBody(branch.getElseRegion());
    replaceResults(branch, made);
    for (Region *region : made.getRegions())
      for (Block &block : *region) {
        rewriteBlock(block);
        Operation *yield = block.getTerminator();
        yield->setOperands(versionsFor(branch.getResults(), yield->getOperands()));
      }
  }

  /// All values that a `while` carries are anchored, so it is not rebuilt.
  void rewriteWhile(scf::WhileOp loop) {
    auto setOperands = [&](MutableOperandRange uses, ValueRange targets) {
      for (auto [use, target] : llvm::zip(uses, targets))
        if (isTile(target))
          use.set(version(use.get(), plan.native(target)));
    };
    setOperands(loop.getInitsMutable(), loop.getBeforeArguments());
    rewriteBlock(*loop.getBeforeBody());
    setOperands(loop.getConditionOp().getArgsMutable(), loop.getAfterArguments());
    rewriteBlock(*loop.getAfterBody());
    setOperands(loop.getYieldOp().getResultsMutable(), loop.getBeforeArguments());
  }

  //===- the end --------------------------------------------------------------===//

  void eraseDead() {
    for (Operation *op : dead)
      op->dropAllReferences();
    for (Operation *op : dead)
      op->dropAllUses();
    for (BlockArgument argument : deadArguments) {
      argument.dropAllUses();
      argument.getOwner()->eraseArgument(argument.getArgNumber());
    }
    for (Operation *op : dead)
      op->erase();
  }

  void updateSignature() {
    SmallVector<Type> results(function.getFunctionType().getResults());
    function.walk(
        [&](func::ReturnOp exit) { llvm::copy(exit.getOperandTypes(), results.begin()); });
    function.setType(FunctionType::get(function.getContext(),
                                       function.getBody().front().getArgumentTypes(), results));
  }

  func::FuncOp function;
  const LayoutPlan &plan;
  OpBuilder builder;
  DenseMap<std::pair<Value, LayoutAttr>, Value> versions;
  SmallVector<Operation *> dead;
  SmallVector<BlockArgument> deadArguments;
};

struct AssignLayoutsPass : impl::AssignLayoutsBase<AssignLayoutsPass> {
  using AssignLayoutsBase::AssignLayoutsBase;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      const AxisInfoAnalysis axes(function);
      const LayoutPlan plan(function, axes,
                            {inWarpStores, storesInPlace, computedOperands, computedLeft});
      LayoutRewriter(function, plan).run();
    }
  }
};

} // namespace
} // namespace pantile
