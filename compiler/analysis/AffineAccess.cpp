//===- AffineAccess.cpp - forms of tiles, scalars and masks -------------------------------===//
#include "analysis/AffineAccess.h"
#include "ir/FindOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pantile {
namespace {

size_t rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

AffineTile uniform(size_t rank, Polynomial offset, Value base = {}) {
  AffineTile form;
  form.base = base;
  form.offset = std::move(offset);
  form.coefficients.resize(rank);
  return form;
}

/// Positions of the result's dimensions in the operand: expand_dims adds one of size 1.
AffineTile expanded(AffineTile form, unsigned axis) {
  form.coefficients.insert(form.coefficients.begin() + axis, Polynomial());
  if (form.wrappedDim >= static_cast<int>(axis))
    ++form.wrappedDim;
  return form;
}

/// A dimension of size 1 has only the index 0, so its coefficient has no meaning.
template <typename Form> void forgetUnitDims(Form &form, RankedTensorType type) {
  for (auto [d, extent] : llvm::enumerate(type.getShape()))
    if (extent == 1)
      form.coefficients[d] = Polynomial();
}
} // namespace

std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

bool isKernelArgument(Value value) {
  auto arg = dyn_cast<BlockArgument>(value);
  return arg && isa<func::FuncOp>(arg.getOwner()->getParentOp());
}

std::optional<HostFactor> hostFactorOf(Value value) {
  if (isKernelArgument(value))
    return HostFactor{cast<BlockArgument>(value)};
  auto quotient = value.getDefiningOp<arith::DivSIOp>();
  const int64_t divisor = quotient ? constantOf(quotient.getRhs()).value_or(0) : 0;
  if (divisor < 1 || !isKernelArgument(quotient.getLhs()))
    return std::nullopt;
  return HostFactor{cast<BlockArgument>(quotient.getLhs()), divisor};
}

scf::ForOp loopThatCarries(Value value) {
  auto arg = dyn_cast<BlockArgument>(value);
  auto loop = arg ? dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp()) : scf::ForOp();
  return loop && arg != loop.getInductionVar() ? loop : scf::ForOp();
}

unsigned AffineAnalysis::leafOf(Value value) {
  auto [it, isNew] = numbers.try_emplace(value, leaves.size());
  if (isNew)
    leaves.push_back(value);
  return it->second;
}

void AffineAnalysis::countIterationsOf(scf::ForOp loop) {
  Value counter = loop.getInductionVar();
  counted = {loop, *constantOf(loop.getStep()), leafOf(counter), leafOf(counter)};
  if (constantOf(loop.getLowerBound()) == 0)
    return;
  counted->counter = leaves.size();
  leaves.push_back(counter);
}

bool AffineAnalysis::isCounterOfCounted(Value value) {
  return counted && value == counted->loop.getInductionVar();
}

void AffineAnalysis::replaceLeaf(Value from, Value to) {
  known.clear();
  auto it = numbers.find(from);
  if (it == numbers.end())
    return;
  unsigned number = it->second;
  numbers.erase(it);
  numbers[to] = number;
  leaves[number] = to;
}

Polynomial AffineAnalysis::scalar(Value value) {
  if (auto constant = constantOf(value))
    return *constant;
  if (auto loop = loopThatCarries(value)) {
    auto form = carried(cast<BlockArgument>(value), loop);
    return form ? form->offset : Polynomial::of(leafOf(value));
  }
  if (isCounterOfCounted(value))
    return counted->counter == counted->number
               ? Polynomial(counted->step) * Polynomial::of(counted->number)
               : Polynomial::of(counted->counter);
  Operation *op = value.getDefiningOp();
  if (!op)
    return Polynomial::of(leafOf(value));
  return llvm::TypeSwitch<Operation *, Polynomial>(op)
      .Case([&](arith::AddIOp op) { return scalar(op.getLhs()) + scalar(op.getRhs()); })
      .Case([&](arith::SubIOp op) { return scalar(op.getLhs()) - scalar(op.getRhs()); })
      .Case([&](arith::MulIOp op) { return scalar(op.getLhs()) * scalar(op.getRhs()); })
      .Case<arith::ExtSIOp, arith::IndexCastOp>([&](auto op) { return scalar(op.getIn()); })
      .Default([&](Operation *) { return Polynomial::of(leafOf(value)); });
}

std::optional<AffineTile> AffineAnalysis::sum(const AffineTile &a, const AffineTile &b) {
  if ((a.base && b.base) || (a.wrappedDim >= 0 && b.wrappedDim >= 0))
    return std::nullopt;
  AffineTile form = a.wrappedDim >= 0 ? a : b;
  const AffineTile &other = a.wrappedDim >= 0 ? b : a;
  if (form.wrappedDim >= 0 && !other.coefficients[form.wrappedDim].isZero())
    return std::nullopt;
  form.base = a.base ? a.base : b.base;
  form.offset = a.offset + b.offset;
  for (size_t d = 0; d < form.coefficients.size(); ++d)
    form.coefficients[d] = a.coefficients[d] + b.coefficients[d];
  return form;
}

std::optional<AffineTile> AffineAnalysis::product(const AffineTile &a, const AffineTile &b) {
  auto isUniform = [](const AffineTile &form) {
    return form.wrappedDim < 0 &&
           llvm::all_of(form.coefficients, [](const Polynomial &c) { return c.isZero(); });
  };
  if (!isUniform(a) && !isUniform(b))
    return std::nullopt;
  const AffineTile &tile = isUniform(b) ? a : b, &factor = isUniform(b) ? b : a;
  AffineTile form = tile;
  form.offset = tile.offset * factor.offset;
  for (Polynomial &coefficient : form.coefficients)
    coefficient = coefficient * factor.offset;
  return form;
}

/// `step` times the number of iterations before this one.
std::optional<Polynomial> AffineAnalysis::times(scf::ForOp loop, const Polynomial &step) {
  if (isCounterOfCounted(loop.getInductionVar()))
    return step * Polynomial::of(counted->number);
  auto by = constantOf(loop.getStep());
  if (!by)
    return std::nullopt;
  auto quotient = step.dividedBy(*by);
  if (!quotient)
    return std::nullopt;
  Polynomial passed = Polynomial::of(leafOf(loop.getInductionVar())) - scalar(loop.getLowerBound());
  return *quotient * passed;
}

std::optional<AffineTile> AffineAnalysis::carried(BlockArgument arg, scf::ForOp loop) {
  unsigned index = arg.getArgNumber() - loop.getNumInductionVars();
  if (auto it = known.find(arg); it != known.end())
    return it->second;
  // While its step is computed, the value is a leaf.
  bool isPointer = isa<PtrType>(elementTypeOf(arg.getType()));
  unsigned self = leafOf(arg);
  known[arg] = isPointer ? uniform(rankOf(arg), Polynomial(), arg)
                         : uniform(rankOf(arg), Polynomial::of(self));
  auto next = tile(loop.getYieldedValues()[index]);
  known[arg] = std::nullopt;
  if (!next || next->wrappedDim >= 0 || next->base != (isPointer ? Value(arg) : Value()) ||
      llvm::any_of(next->coefficients, [](const Polynomial &c) { return !c.isZero(); }))
    return std::nullopt;
  Polynomial step = isPointer ? next->offset : next->offset - Polynomial::of(self);
  bool changes =
      !step.onlyUses([&](unsigned leaf) { return loop.isDefinedOutsideOfLoop(leaves[leaf]); });
  auto passed = times(loop, step);
  auto start = tile(loop.getInitArgs()[index]);
  if (changes || !passed || !start)
    return std::nullopt;
  start->offset = start->offset + *passed;
  // Forms that were computed while the value was a leaf are wrong from here on.
  llvm::SmallVector<Value> stale;
  for (auto &[value, form] : known)
    if (Operation *op = value.getDefiningOp(); op && loop->isAncestor(op))
      stale.push_back(value);
  for (Value value : stale)
    known.erase(value);
  known[arg] = start;
  return start;
}

std::optional<AffineTile> AffineAnalysis::tile(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  auto form = compute(value);
  if (form && !(form->offset.isValid() &&
                llvm::all_of(form->coefficients, [](const Polynomial &c) { return c.isValid(); })))
    form.reset();
  known[value] = form;
  return form;
}

std::optional<AffineTile> AffineAnalysis::compute(Value value) {
  if (auto loop = loopThatCarries(value))
    return carried(cast<BlockArgument>(value), loop);
  bool isPointer = isa<PtrType>(elementTypeOf(value.getType()));
  Operation *op = value.getDefiningOp();
  if (rankOf(value) == 0) {
    auto add = value.getDefiningOp<AddPtrOp>();
    if (!isPointer)
      return uniform(0, scalar(value));
    if (!add)
      return uniform(0, Polynomial(), value);
    auto pointer = tile(add.getPtr());
    return pointer ? sum(*pointer, uniform(0, scalar(add.getOffset()))) : std::nullopt;
  }
  if (!op)
    return std::nullopt;
  DenseIntElementsAttr dense;
  if (matchPattern(value, m_Constant(&dense)) && dense.isSplat())
    return uniform(rankOf(value), dense.getSplatValue<APInt>().getSExtValue());
  return llvm::TypeSwitch<Operation *, std::optional<AffineTile>>(op)
      .Case([&](ArangeOp op) {
        AffineTile form = uniform(1, static_cast<int32_t>(op.getStart()));
        form.coefficients[0] = 1;
        return form;
      })
      .Case([&](SplatOp op) -> std::optional<AffineTile> {
        auto scalarForm = tile(op.getSrc());
        if (!scalarForm)
          return std::nullopt;
        scalarForm->coefficients.resize(rankOf(value));
        return scalarForm;
      })
      .Case([&](ExpandDimsOp op) -> std::optional<AffineTile> {
        auto form = tile(op.getSrc());
        return form ? std::optional(expanded(*form, op.getAxis())) : std::nullopt;
      })
      .Case([&](BroadcastOp op) -> std::optional<AffineTile> {
        auto form = tile(op.getSrc());
        if (form)
          forgetUnitDims(*form, op.getSrc().getType());
        return form;
      })
      .Case([&](ConvertLayoutOp op) { return tile(op.getSrc()); })
      .Case([&](arith::ExtSIOp op) { return tile(op.getIn()); })
      .Case([&](arith::AddIOp op) -> std::optional<AffineTile> {
        auto a = tile(op.getLhs()), b = tile(op.getRhs());
        return a && b ? sum(*a, *b) : std::nullopt;
      })
      .Case([&](arith::SubIOp op) -> std::optional<AffineTile> {
        auto a = tile(op.getLhs()), b = tile(op.getRhs());
        auto minus = b ? product(*b, uniform(rankOf(value), -1)) : std::nullopt;
        return a && minus ? sum(*a, *minus) : std::nullopt;
      })
      .Case([&](arith::MulIOp op) -> std::optional<AffineTile> {
        auto a = tile(op.getLhs()), b = tile(op.getRhs());
        return a && b ? product(*a, *b) : std::nullopt;
      })
      .Case([&](AddPtrOp op) -> std::optional<AffineTile> {
        auto a = tile(op.getPtr()), b = tile(op.getOffset());
        return a && b ? sum(*a, *b) : std::nullopt;
      })
      .Case([&](arith::SelectOp op) { return choice(op); })
      .Case([&](arith::MinSIOp op) -> std::optional<AffineTile> {
        auto form = tile(op.getLhs()), most = tile(op.getRhs());
        if (form && most && form->coefficients[0].isZero())
          std::swap(form, most);
        if (!form || !most || !most->coefficients[0].isZero())
          return std::nullopt;
        return upTo(*form, most->offset + Polynomial(1));
      })
      .Case([&](arith::RemSIOp op) -> std::optional<AffineTile> {
        auto a = tile(op.getLhs()), b = tile(op.getRhs());
        if (!a || !b || a->wrappedDim >= 0 || b->wrappedDim >= 0 || rankOf(value) != 1 ||
            !b->coefficients[0].isZero() || a->coefficients[0].constant() != 1)
          return std::nullopt;
        a->wrappedDim = 0;
        a->dividend = a->offset;
        a->modulus = b->offset;
        return a;
      })
      .Default(std::nullopt);
}

/// The form of an index that is used only where it is below `end`.
std::optional<AffineTile> AffineAnalysis::upTo(AffineTile index, const Polynomial &end) {
  if (index.wrappedDim >= 0 || index.base || index.coefficients.size() != 1 ||
      index.coefficients[0].constant() != 1)
    return std::nullopt;
  index.wrappedDim = 0;
  index.isChoice = true;
  index.dividend = index.offset;
  index.modulus = end;
  return index;
}

std::optional<AffineTile> AffineAnalysis::choice(arith::SelectOp op) {
  auto condition = op.getCondition().getDefiningOp<arith::CmpIOp>();
  auto bound = condition && rankOf(op) == 1 ? comparison(condition) : std::nullopt;
  auto index = bound ? tile(op.getTrueValue()) : std::nullopt;
  if (!index || bound->isLower || bound->coefficients[0].constant() != 1)
    return std::nullopt;
  return upTo(*index, index->offset - bound->offset);
}

/// The index may be on either side: `i < n` is `n > i`.
std::optional<AffineBound> AffineAnalysis::comparison(arith::CmpIOp op) {
  using enum arith::CmpIPredicate;
  const bool isLess = op.getPredicate() == slt || op.getPredicate() == sle;
  const bool orEqual = op.getPredicate() == sle || op.getPredicate() == sge;
  if (!isLess && !orEqual && op.getPredicate() != sgt)
    return std::nullopt;
  auto smaller = tile(isLess ? op.getLhs() : op.getRhs());
  auto larger = tile(isLess ? op.getRhs() : op.getLhs());
  if (!smaller || !larger || smaller->wrappedDim >= 0 || larger->wrappedDim >= 0)
    return std::nullopt;
  AffineBound bound{smaller->offset - larger->offset, {}, false};
  for (auto [x, y] : llvm::zip(smaller->coefficients, larger->coefficients)) {
    bound.coefficients.push_back(x - y);
    bound.isLower |= (x - y).constant().value_or(0) < 0;
  }
  if (!bound.isLower) {
    bound.offset = bound.offset - Polynomial(orEqual ? 1 : 0);
    return bound;
  }
  bound.offset = Polynomial(orEqual ? 0 : -1) - bound.offset;
  for (Polynomial &coefficient : bound.coefficients)
    coefficient = Polynomial(0) - coefficient;
  return bound;
}

std::optional<std::vector<AffineBound>> AffineAnalysis::bounds(Value mask) {
  Operation *op = mask.getDefiningOp();
  if (!op || rankOf(mask) == 0)
    return std::nullopt;
  using Bounds = std::vector<AffineBound>;
  auto changed = [&](Value source, auto change) -> std::optional<Bounds> {
    auto list = bounds(source);
    if (list)
      for (AffineBound &bound : *list)
        change(bound);
    return list;
  };
  return llvm::TypeSwitch<Operation *, std::optional<Bounds>>(op)
      .Case([&](arith::AndIOp op) -> std::optional<Bounds> {
        Bounds all;
        for (Value condition : conjuncts(op)) {
          auto own = bounds(condition);
          if (!own)
            return std::nullopt;
          all.insert(all.end(), own->begin(), own->end());
        }
        return all;
      })
      .Case([&](ConvertLayoutOp op) { return bounds(op.getSrc()); })
      .Case([&](ExpandDimsOp op) {
        return changed(op.getSrc(), [&](AffineBound &bound) {
          bound.coefficients.insert(bound.coefficients.begin() + op.getAxis(), Polynomial());
        });
      })
      .Case([&](BroadcastOp op) {
        return changed(op.getSrc(),
                       [&](AffineBound &bound) { forgetUnitDims(bound, op.getSrc().getType()); });
      })
      .Case([&](arith::CmpIOp op) -> std::optional<Bounds> {
        auto bound = comparison(op);
        return bound ? std::optional(Bounds{*bound}) : std::nullopt;
      })
      .Default(std::nullopt);
}

int64_t AffineAnalysis::divisorOf(const Polynomial &polynomial) const {
  int64_t common = 0;
  for (const auto &[product, coefficient] : polynomial.products()) {
    int64_t term = coefficient;
    for (unsigned leaf : product) {
      auto arg = dyn_cast<BlockArgument>(leaves[leaf]);
      auto function = arg ? dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp()) : func::FuncOp();
      if (!function)
        continue;
      if (auto known =
              function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(), names::divisibility))
        term *= known.getInt();
    }
    common = std::gcd(common, term);
  }
  return common == 0 ? 1 << 30 : common;
}

bool AffineAnalysis::isHostValue(const Polynomial &polynomial) const {
  return polynomial.onlyUses([&](unsigned leaf) { return hostFactorOf(leaves[leaf]).has_value(); });
}

} // namespace pantile
