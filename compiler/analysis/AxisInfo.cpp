//===- AxisInfo.cpp - the walk over operations, and access widths ------------------===//
// Needs: AxisInfoRules.h for what each operation does.
// Gives: AxisInfo and AxisInfoAnalysis.
// How:   One visitor for functions, loops, branches and everything else. A carried value starts
//        with its initial facts and is joined with what the body yields until nothing changes.
//===-------------------------------------------------------------------------------===//
#include "analysis/AxisInfo.h"

#include "analysis/AxisInfoRules.h"
#include "ir/FindOps.h"
#include "ir/Hints.h"
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace pantile {

namespace {
class Visitor {
public:
  explicit Visitor(DenseMap<Value, AxisInfo> &facts) : facts(facts) {}

  void visitBlock(Block &block) {
    for (Operation &op : block)
      visit(&op);
  }

  void visit(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return visitFor(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return visitWhile(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return visitIf(branch);
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      visitArguments(function);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        visitBlock(block);
    visitPlain(op);
  }

private:
  AxisInfo &at(Value value) {
    auto [entry, isNew] = facts.try_emplace(value);
    if (isNew)
      entry->second = AxisInfo::unknown(axisShape(value.getType()).size());
    return entry->second;
  }

  /// Joins what flows from `sources` into `targets`; true if a target changed.
  bool joinInto(ValueRange targets, ValueRange sources) {
    bool changed = false;
    for (auto [target, source] : llvm::zip(targets, sources)) {
      const AxisInfo incoming = at(source); // a copy: the map may grow below
      AxisInfo joined = AxisInfo::join(at(target), incoming);
      changed |= joined != at(target);
      at(target) = std::move(joined);
    }
    return changed;
  }

  void assign(ValueRange targets, ValueRange sources) {
    for (auto [target, source] : llvm::zip(targets, sources)) {
      const AxisInfo info = at(source);
      at(target) = info;
    }
  }

  void visitArguments(FunctionOpInterface function) {
    for (BlockArgument argument : function.getArguments()) {
      AxisInfo &info = at(argument);
      if (auto attr =
              function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), names::divisibility))
        std::fill(info.divisibility.begin(), info.divisibility.end(), powerOfTwoIn(attr.getInt()));
    }
  }

  void visitPlain(Operation *op) {
    SmallVector<AxisInfo, 4> copies;
    for (Value operand : op->getOperands())
      copies.push_back(at(operand));
    SmallVector<const AxisInfo *, 4> operands;
    for (const AxisInfo &info : copies)
      operands.push_back(&info);
    for (OpResult result : op->getResults()) {
      AxisInfo info = inferAxisInfo(op, result.getResultNumber(), operands);
      applyAxisHints(result, info);
      at(result) = std::move(info);
    }
  }

  void visitFor(scf::ForOp loop) {
    const AxisInfo lower = at(loop.getLowerBound()), step = at(loop.getStep());
    AxisInfo &index = at(loop.getInductionVar());
    index.divisibility[0] = std::min(lower.divisibility[0], step.divisibility[0]);
    if (auto promised = loop->getAttrOfType<IntegerAttr>(indexDivisibility))
      index.divisibility[0] = std::max(index.divisibility[0], powerOfTwoIn(promised.getInt()));
    index.nonNegative = lower.nonNegative && step.nonNegative && !loop.getUnsignedCmp();
    assign(loop.getRegionIterArgs(), loop.getInitArgs());
    do
      visitBlock(*loop.getBody());
    while (joinInto(loop.getRegionIterArgs(), loop.getYieldedValues()));
    assign(loop.getResults(), loop.getRegionIterArgs());
  }

  void visitWhile(scf::WhileOp loop) {
    assign(loop.getBeforeArguments(), loop.getInits());
    do {
      visitBlock(*loop.getBeforeBody());
      assign(loop.getAfterArguments(), loop.getConditionOp().getArgs());
      visitBlock(*loop.getAfterBody());
    } while (joinInto(loop.getBeforeArguments(), loop.getYieldOp().getOperands()));
    assign(loop.getResults(), loop.getConditionOp().getArgs());
  }

  void visitIf(scf::IfOp branch) {
    visitBlock(*branch.thenBlock());
    if (!branch.elseBlock())
      return;
    visitBlock(*branch.elseBlock());
    assign(branch.getResults(), branch.thenYield().getOperands());
    joinInto(branch.getResults(), branch.elseYield().getOperands());
  }

  DenseMap<Value, AxisInfo> &facts;
};
} // namespace

AxisInfo AxisInfo::unknown(size_t rank) {
  return {PerDim(rank, 1), PerDim(rank, 1), PerDim(rank, 1), PerDim(rank, Nothing)};
}

AxisInfo AxisInfo::ofConstant(int64_t value, ArrayRef<int64_t> shape) {
  AxisInfo info = unknown(shape.size());
  const int64_t divisor = value == 0 ? maxDivisor : std::min(powerOfTwoIn(value), maxDivisor);
  info.divisibility.assign(shape.size(), divisor < 0 ? maxDivisor : divisor);
  info.constancy.assign(shape.begin(), shape.end());
  info.constant = value;
  info.nonNegative = value >= 0;
  return info;
}

AxisInfo AxisInfo::join(const AxisInfo &a, const AxisInfo &b) {
  AxisInfo info = unknown(a.rank());
  for (size_t d = 0; d < a.rank(); ++d) {
    info.contiguity[d] = std::min(a.contiguity[d], b.contiguity[d]);
    const int64_t block = info.contiguity[d];
    // A step of 1 is the smallest, so this is right for pointers too.
    info.divisibility[d] = std::min(a.divisibilityAt(d, block), b.divisibilityAt(d, block));
    info.constancy[d] = std::min(a.constancy[d], b.constancy[d]);
    info.supposes[d] = std::max(a.supposes[d], b.supposes[d]);
  }
  if (a.constant == b.constant)
    info.constant = a.constant;
  info.nonNegative = a.nonNegative && b.nonNegative;
  return info;
}

int64_t AxisInfo::blockInside(const AxisInfo &divisor, size_t dim) const {
  return std::min({contiguity[dim], divisibility[dim], divisor.divisibilityAt(dim, 1),
                   divisor.runOfEquals(dim)});
}

int64_t AxisInfo::rise(size_t dim) const {
  return supposes[dim] == NotNegative ? 1 : std::min(contiguity[dim], divisibility[dim]);
}

int64_t AxisInfo::divisibilityAt(size_t dim, int64_t block, int64_t step) const {
  return block >= contiguity[dim] ? divisibility[dim] : std::min(divisibility[dim], block * step);
}

int64_t AxisInfo::divisibilityOfAll(int64_t step) const {
  int64_t divisor = 1;
  for (size_t d = 0; d < rank(); ++d)
    divisor = std::max(divisor, divisibilityAt(d, 1, step));
  return divisor;
}

std::string AxisInfo::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [&](StringRef name, const PerDim &values) {
    os << name << " = [";
    llvm::interleaveComma(values, os);
    os << "]";
  };
  list("contiguity", contiguity);
  list(", divisibility", divisibility);
  list(", constancy", constancy);
  if (constant)
    os << ", constant = " << *constant;
  return text;
}

AxisInfoAnalysis::AxisInfoAnalysis(Operation *top) { Visitor(facts).visit(top); }

const AxisInfo &AxisInfoAnalysis::of(Value value) const {
  static const AxisInfo none[] = {AxisInfo::unknown(1), AxisInfo::unknown(1), AxisInfo::unknown(2),
                                  AxisInfo::unknown(3), AxisInfo::unknown(4), AxisInfo::unknown(5),
                                  AxisInfo::unknown(6), AxisInfo::unknown(7), AxisInfo::unknown(8)};
  auto entry = facts.find(value);
  return entry != facts.end() ? entry->second : none[axisShape(value.getType()).size()];
}

int64_t AxisInfoAnalysis::accessWidth(Value ptr, Value mask, int dim) const {
  const AxisInfo &info = of(ptr);
  const int64_t bytes = axisStep(ptr.getType());
  int64_t width = std::min(info.contiguity[dim], std::max<int64_t>(16 / bytes, 1));
  width = std::min(width, std::max<int64_t>(info.divisibilityAt(dim, width, bytes) / bytes, 1));
  if (auto tile = dyn_cast<RankedTensorType>(ptr.getType()))
    width = std::min(width, tile.getDimSize(dim) & -tile.getDimSize(dim));
  return mask ? std::min(width, of(mask).runOfEquals(dim)) : width;
}

int64_t AxisInfoAnalysis::accessWidth(Value ptr, Value mask, const LinearLayout &layout) const {
  const int dim = layout.fastestDim();
  return std::min<int64_t>(accessWidth(ptr, mask, dim), layout.contiguousRegs(dim));
}

/// See AxisInfoAnalysis::prefixOfMask. Of conditions that are nested deeper than `depth` nothing is
/// known.
static int64_t prefixOf(const AxisInfoAnalysis &axes, Value mask, int dim, int depth = 8) {
  using enum arith::CmpIPredicate;
  const int64_t run = axes.of(mask).runOfEquals(dim);
  auto inner = [&](Value part, int along) { return prefixOf(axes, part, along, depth - 1); };
  auto prefix = [&](Operation *op) -> int64_t {
    if (isa<arith::AndIOp>(op)) {
      int64_t shortest = INT64_MAX;
      for (Value part : conjuncts(mask))
        shortest = std::min(shortest, inner(part, dim));
      return shortest;
    }
    if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
      const int axis = static_cast<int>(expand.getAxis());
      return dim == axis ? 1 : inner(expand.getSrc(), dim - (dim > axis));
    }
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      return axisShape(broadcast.getSrc().getType())[dim] == 1 ? 1 : inner(broadcast.getSrc(), dim);
    if (auto convert = dyn_cast<ConvertLayoutOp>(op))
      return inner(convert.getSrc(), dim);
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (!compare)
      return 1;
    const AxisInfo &left = axes.of(compare.getLhs()), &right = axes.of(compare.getRhs());
    const arith::CmpIPredicate is = compare.getPredicate();
    if (is == slt || is == sle || is == ult || is == ule)
      return std::min(left.rise(dim), right.runOfEquals(dim));
    const bool isGreater = is == sgt || is == sge || is == ugt || is == uge;
    return isGreater ? std::min(left.runOfEquals(dim), right.rise(dim)) : 1;
  };
  Operation *op = mask.getDefiningOp();
  return op && depth > 0 ? std::max(run, prefix(op)) : run;
}

int64_t AxisInfoAnalysis::prefixOfMask(Value mask, int dim) const {
  return prefixOf(*this, mask, dim);
}

int64_t AxisInfoAnalysis::widthWithTail(Value ptr, Value mask, int dim) const {
  const int64_t width = accessWidth(ptr, Value(), dim);
  return mask ? std::min(width, prefixOfMask(mask, dim)) : width;
}

int64_t AxisInfoAnalysis::widthWithTail(Value ptr, Value mask, const LinearLayout &layout) const {
  const int dim = layout.fastestDim();
  return std::min<int64_t>(widthWithTail(ptr, mask, dim), layout.contiguousRegs(dim));
}

unsigned EqualRegs::representative(unsigned reg) const {
  reg &= ~always;
  for (unsigned bits : butFirst)
    if (reg & bits)
      reg = (reg & ~bits) | (bits & -bits);
  return reg;
}

EqualRegs AxisInfoAnalysis::equalRegs(Value tile, const LinearLayout &layout) const {
  const AxisInfo &info = of(tile);
  EqualRegs equal{0, llvm::SmallVector<unsigned, 4>(info.rank(), 0)};
  for (auto [bit, basis] : llvm::enumerate(layout.reg())) {
    SmallVector<size_t> supposed;
    bool stays = true;
    int moves = 0;
    for (auto [dim, step] : llvm::enumerate(basis)) {
      stays &= step < info.constancy[dim];
      moves += step != 0;
      if (step != 0 && info.supposes[dim] != AxisInfo::Nothing)
        supposed.push_back(dim);
    }
    if (stays && supposed.empty())
      equal.always |= 1U << bit;
    else if (stays && moves == 1)
      equal.butFirst[supposed.front()] |= 1U << bit;
  }
  return equal;
}

unsigned AxisInfoAnalysis::repeatedRegs(Value ptr, Value mask, const LinearLayout &layout) const {
  unsigned bits = 0;
  for (auto [bit, basis] : llvm::enumerate(layout.reg())) {
    bool stays = true;
    for (auto [dim, step] : llvm::enumerate(basis))
      stays &= step < of(ptr).runOfEquals(dim) && (!mask || step < of(mask).runOfEquals(dim));
    bits |= stays ? 1U << bit : 0U;
  }
  return bits;
}

} // namespace pantile
