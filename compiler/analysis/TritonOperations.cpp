//===- TritonOperations.cpp - see TritonOperations.h ----------------------------------------===//
#include "analysis/TritonOperations.h"
#include "ir/Tile.h"
#include "ir/TritonNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace pantile {
namespace {

/// Whether a value may be an address, or what one is computed from.
bool leadsToAddress(Type type) { return hasPointers(type) || elementTypeOf(type).isInteger(); }

bool isAddress(Type type) { return hasPointers(type) || elementTypeOf(type).isInteger(64); }

/// A variable of a loop: operand `initial` of the loop is what it starts with, operand `next` of
/// the terminator `yield` what the next iteration has.
struct Carried {
  BlockArgument variable;
  unsigned initial;
  Operation *yield;
  unsigned next;
};

SmallVector<Carried> variablesOf(Operation *op) {
  SmallVector<Carried> variables;
  auto add = [&](ValueRange arguments, unsigned firstInitial, Operation *yield) {
    for (auto [i, argument] : llvm::enumerate(arguments))
      variables.push_back(
          {cast<BlockArgument>(argument), firstInitial + unsigned(i), yield, unsigned(i)});
  };
  if (auto loop = dyn_cast<scf::ForOp>(op))
    add(loop.getRegionIterArgs(), loop.getNumControlOperands(), loop.getBody()->getTerminator());
  else if (auto loop = dyn_cast<scf::WhileOp>(op))
    add(loop.getAfterArguments(), 0, loop.getYieldOp());
  return variables;
}

class Walk {
public:
  explicit Walk(const std::set<unsigned> &extents) : extents(extents) {}

  TritonView run(ModuleOp module) {
    visit(module, -1);
    return std::move(view);
  }

private:
  using Described = TritonView::Operation;

  int numberOf(Value value) {
    auto [entry, isNew] = numbers.try_emplace(value, nextValue);
    nextValue += isNew;
    return entry->second;
  }

  /// The number that the view has for operand `i` of `op`.
  int operandOf(Operation *op, unsigned i) {
    auto merged = replaced.find({op, i});
    return merged == replaced.end() ? numberOf(op->getOperand(i)) : merged->second;
  }

  std::vector<int> operandsOf(Operation *op) {
    std::vector<int> operands;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      operands.push_back(operandOf(op, i));
    return operands;
  }

  void visit(Operation *op, int block) {
    mergeVariables(op, block);
    noteEffects(op, block);
    Described described;
    described.name = tritonName(op);
    described.operands = operandsOf(op);
    described.block = block;
    if (auto map = dyn_cast<MapOp>(op))
      visitBody(map, described);
    else
      for (Region &region : op->getRegions())
        described.regions.push_back(visitRegion(region));
    for (Value result : op->getResults())
      described.results.push_back(numberOf(result));
    describe(op, described);
    view.operations.push_back(std::move(described));
  }

  int visitRegion(Region &region) {
    const int number = nextRegion++;
    for (Block &block : region) {
      const int place = int(view.blocks.size());
      view.blocks.push_back({number, declare(block)});
      for (Operation &op : block)
        visit(&op, place);
    }
    return number;
  }

  /// The numbers of a block's arguments.
  std::vector<int> declare(Block &block) {
    const bool isKernel = isa<func::FuncOp>(block.getParentOp());
    std::vector<int> arguments;
    for (BlockArgument argument : block.getArguments()) {
      const bool isExtent = isKernel && extents.contains(argument.getArgNumber());
      arguments.push_back(isExtent ? nextValue++ : numberOf(argument));
    }
    return arguments;
  }

  /// The operations of a map's body, in the map's block; the map gets what they yield as operands.
  void visitBody(MapOp map, Described &described) {
    Block &body = map.getBody().front();
    for (BlockArgument argument : body.getArguments())
      numbers[argument] = described.operands[argument.getArgNumber() / map.getPack()];
    for (Operation &op : body.without_terminator())
      visit(&op, described.block);
    for (Value yielded : body.getTerminator()->getOperands())
      described.operands.push_back(numberOf(yielded));
  }

  /// Adds a select before a loop for each variable: its initial or its next value.
  void mergeVariables(Operation *op, int block) {
    for (const Carried &carried : variablesOf(op)) {
      Value initial = op->getOperand(carried.initial);
      Value next = carried.yield->getOperand(carried.next);
      if (!leadsToAddress(initial.getType()) || next == carried.variable || next == initial)
        continue;
      Described merge;
      merge.name = "arith.select";
      merge.operands = {numberOf(initial), numberOf(next)};
      merge.results = {nextValue++};
      merge.block = block;
      replaced[{op, carried.initial}] = merge.results.front();
      replaced[{carried.yield, carried.next}] = merge.results.front();
      view.operations.push_back(std::move(merge));
    }
  }

  /// Adds atomics before a call for the memory that it may change.
  void noteEffects(Operation *op, int block) {
    if (!isa<ExternCallOp>(op) || isMemoryEffectFree(op))
      return;
    for (Value operand : op->getOperands()) {
      if (!isAddress(operand.getType()))
        continue;
      Described effect;
      effect.name = "tt.atomic_rmw";
      effect.operands = {numberOf(operand)};
      effect.block = block;
      view.operations.push_back(std::move(effect));
    }
  }

  static void describe(Operation *op, Described &described) {
    if (auto function = dyn_cast<func::FuncOp>(op))
      described.texts["sym_name"] = function.getSymName().str();
    else if (auto assembly = dyn_cast<InlineAsmOp>(op))
      described.flags["pure"] = assembly.getPure();
    else if (isa<SpecialOp>(op)) // counters and signals, which no argument points to
      described.flags["pure"] = true;
  }

  const std::set<unsigned> &extents;
  TritonView view;
  DenseMap<Value, int> numbers;
  DenseMap<std::pair<Operation *, unsigned>, int> replaced; ///< operands, by position
  int nextValue = 0, nextRegion = 0;
};

} // namespace

TritonView tritonOperations(ModuleOp module, const std::set<unsigned> &extents) {
  return Walk(extents).run(module);
}

} // namespace pantile
