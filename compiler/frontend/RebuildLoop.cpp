//===- RebuildLoop.cpp - see RebuildLoop.h ----------------------------------------------===//
// How:   The operations of the body are moved; its arguments are replaced by those of the new loop.
//        A loop over a range counts its iterations first, in unsigned arithmetic, so that a bound
//        at the end of the integers is handled, too.
//===------------------------------------------------------------------------------------===//
#include "frontend/RebuildLoop.h"
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/Matchers.h>

using namespace pantile;
namespace scf = mlir::scf;
namespace arith = mlir::arith;

namespace {
/// Moves the operations of `from` to the end of `to` and replaces its arguments by `values`, also
/// among `others`; returns the operands of its terminator, which is erased.
llvm::SmallVector<mlir::Value> splice(mlir::Block &from, mlir::Block &to, mlir::ValueRange values,
                                      llvm::MutableArrayRef<mlir::Value> others = {}) {
  for (mlir::Value &other : others)
    if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(other))
      if (argument.getOwner() == &from)
        other = values[argument.getArgNumber()];
  for (auto [argument, value] : llvm::zip(from.getArguments(), values))
    argument.replaceAllUsesWith(value);
  to.getOperations().splice(to.end(), from.getOperations());
  mlir::Operation *terminator = &to.back();
  llvm::SmallVector<mlir::Value> operands(terminator->getOperands());
  terminator->erase();
  return operands;
}

mlir::Value integer(Emitter &e, mlir::Type type, int64_t value) {
  return arith::ConstantOp::create(e.b, e.loc(), e.b.getIntegerAttr(type, value));
}

/// How often a loop from `low` below `high` runs: in unsigned arithmetic the distance always fits.
mlir::Value countIterations(Emitter &e, scf::ForOp loop) {
  mlir::Value low = loop.getLowerBound(), high = loop.getUpperBound(), step = loop.getStep();
  mlir::OpBuilder &b = e.b;
  mlir::Location at = e.loc();
  mlir::Type type = low.getType();
  mlir::Value one = integer(e, type, 1), none = integer(e, type, 0);
  mlir::Value distance = b.createOrFold<arith::SubIOp>(at, high, low);
  mlir::Value last = b.createOrFold<arith::SubIOp>(at, distance, one);
  mlir::Value steps = b.createOrFold<arith::DivUIOp>(at, last, step);
  mlir::Value count = b.createOrFold<arith::AddIOp>(at, steps, one);
  auto order = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  mlir::Value runs = b.createOrFold<arith::CmpIOp>(at, order, low, high);
  return b.createOrFold<arith::SelectOp>(at, runs, count, none);
}

/// Whether `factor` steps are a positive number of a counter's bits, as MLIR takes all steps to be.
mlir::Value fitsStride(Emitter &e, scf::ForOp loop, mlir::Value factor) {
  mlir::Type type = factor.getType();
  const auto largest = llvm::APInt::getSignedMaxValue(type.getIntOrFloatBitWidth());
  mlir::Value last = arith::ConstantOp::create(e.b, e.loc(), e.b.getIntegerAttr(type, largest));
  mlir::Value longest = e.b.createOrFold<arith::DivUIOp>(e.loc(), last, factor);
  return e.b.createOrFold<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::ule, loop.getStep(),
                                         longest);
}

/// The end of the loop by `stride`, which is `factor` steps, if the unrolled loop covers all
/// iterations with `loop`: the counter after them may exceed the largest integer.
mlir::Value middleOf(Emitter &e, scf::ForOp loop, mlir::Value stride, mlir::Value factor) {
  mlir::OpBuilder &b = e.b;
  mlir::Location at = e.loc();
  mlir::Value count = countIterations(e, loop);
  mlir::Value iterations = b.createOrFold<arith::DivUIOp>(at, count, factor);
  mlir::Value unrolled = b.createOrFold<arith::MulIOp>(at, iterations, factor);
  mlir::Value areAll = b.createOrFold<arith::CmpIOp>(at, arith::CmpIPredicate::eq, unrolled, count);
  mlir::Value covered = b.createOrFold<arith::MulIOp>(at, iterations, stride);
  mlir::Value after = b.createOrFold<arith::AddIOp>(at, loop.getLowerBound(), covered);
  return b.createOrFold<arith::SelectOp>(at, areAll, loop.getUpperBound(), after);
}
/// Whether MLIR's folds would regard `loop` as without iterations: the distance of its bounds, or
/// its step, is no positive number of its bits.
bool isTooLong(scf::ForOp loop) {
  llvm::APInt low, high, step;
  if (loop.getUnsignedCmp())
    return mlir::matchPattern(loop.getStep(), mlir::m_ConstantInt(&step)) && step.isNegative();
  bool overflows = false;
  if (mlir::matchPattern(loop.getLowerBound(), mlir::m_ConstantInt(&low)) &&
      mlir::matchPattern(loop.getUpperBound(), mlir::m_ConstantInt(&high)) && low.slt(high))
    (void)high.ssub_ov(low, overflows);
  return overflows;
}
} // namespace

void pantile::countLong(Emitter &e, scf::ForOp loop) {
  if (!isTooLong(loop))
    return;
  mlir::OpBuilder &b = e.b;
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  mlir::Value low = loop.getLowerBound(), step = loop.getStep(), count = countIterations(e, loop);
  loop.setLowerBound(integer(e, low.getType(), 0));
  loop.setUpperBound(count);
  loop.setStep(integer(e, low.getType(), 1));
  loop.setUnsignedCmp(true);
  b.setInsertionPointToStart(loop.getBody());
  mlir::Value number = loop.getInductionVar();
  mlir::Value steps = arith::MulIOp::create(b, e.loc(), number, step);
  mlir::Value counter = arith::AddIOp::create(b, e.loc(), low, steps);
  number.replaceAllUsesExcept(counter, steps.getDefiningOp());
}

void pantile::unroll(Emitter &e, scf::ForOp loop, int64_t factor) {
  mlir::OpBuilder &b = e.b;
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  mlir::Location at = e.loc();
  mlir::Value factorOf = integer(e, loop.getStep().getType(), factor);
  mlir::Value fits = fitsStride(e, loop, factorOf); // else the unrolled loop has no iterations
  mlir::Value stride = b.createOrFold<arith::SelectOp>(
      at, fits, b.createOrFold<arith::MulIOp>(at, loop.getStep(), factorOf), loop.getStep());
  mlir::Value middle = b.createOrFold<arith::SelectOp>(
      at, fits, middleOf(e, loop, stride, factorOf), loop.getLowerBound());
  auto emptyBody = [](mlir::OpBuilder &, mlir::Location, mlir::Value, mlir::ValueRange) {};
  auto whole = scf::ForOp::create(b, at, loop.getLowerBound(), middle, stride, loop.getInitArgs(),
                                  emptyBody, loop.getUnsignedCmp());
  whole->setDiscardableAttrs(llvm::to_vector(loop->getDiscardableAttrs()));
  b.setInsertionPointToEnd(whole.getBody());
  mlir::Value index = whole.getInductionVar();
  llvm::SmallVector<mlir::Value> values(whole.getRegionIterArgs());
  for (int64_t i = 0; i < factor; ++i) {
    mlir::IRMapping mapping;
    mapping.map(loop.getInductionVar(), index);
    mapping.map(loop.getRegionIterArgs(), values);
    for (mlir::Operation &op : loop.getBody()->without_terminator())
      b.clone(op, mapping);
    for (auto [value, yielded] : llvm::zip(values, loop.getYieldedValues()))
      value = mapping.lookupOrDefault(yielded);
    index = b.createOrFold<arith::AddIOp>(at, index, loop.getStep());
  }
  scf::YieldOp::create(b, at, values);
  loop.getLowerBoundMutable().assign(middle);
  loop.getInitArgsMutable().assign(whole.getResults());
}

scf::WhileOp pantile::leaveEarly(scf::ForOp loop, EarlyExit &exit) {
  Emitter &e = exit.e;
  mlir::OpBuilder &b = e.b;
  mlir::Location at = e.loc();
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  mlir::Type type = loop.getInductionVar().getType();
  llvm::SmallVector<mlir::Value> inits(loop.getInitArgs());
  inits.append(exit.inits);
  inits.append({loop.getLowerBound(), countIterations(e, loop)});
  mlir::Value none = integer(e, type, 0), one = integer(e, type, 1);
  mlir::TypeRange types = mlir::ValueRange(inits).getTypes();
  llvm::SmallVector<mlir::Location> locs(inits.size(), at);
  auto result = scf::WhileOp::create(b, at, types, inits);
  mlir::Block *test = b.createBlock(&result.getBefore(), {}, types, locs);
  mlir::Value remaining = test->getArguments().back();
  mlir::Value more = b.createOrFold<arith::CmpIOp>(at, arith::CmpIPredicate::ne, remaining, none);
  size_t variables = loop.getNumRegionIterArgs();
  auto extra = test->getArguments().slice(variables, exit.inits.size());
  Value stays = e.unary(ast::UnaryOp::Not, e.hasLeft(exit.fillFlow(extra)), e.here());
  more = b.createOrFold<arith::AndIOp>(at, more, stays.as<Runtime>().ir);
  scf::ConditionOp::create(b, at, more, test->getArguments());
  mlir::Block *body = b.createBlock(&result.getAfter(), {}, types, locs);
  mlir::Value index = body->getArgument(inits.size() - 2), left = body->getArguments().back();
  llvm::SmallVector<mlir::Value> values{index};
  llvm::append_range(values, body->getArguments().take_front(variables));
  llvm::SmallVector<mlir::Value> finals = splice(*loop.getBody(), *body, values, exit.finals);
  b.setInsertionPointToEnd(body);
  finals.append(exit.finals);
  finals.push_back(b.createOrFold<arith::AddIOp>(at, index, loop.getStep()));
  finals.push_back(b.createOrFold<arith::SubIOp>(at, left, one));
  scf::YieldOp::create(b, at, finals);
  result->setDiscardableAttrs(llvm::to_vector(loop->getDiscardableAttrs()));
  loop.erase();
  return result;
}

scf::WhileOp pantile::leaveEarly(scf::WhileOp loop, EarlyExit &exit) {
  Emitter &e = exit.e;
  mlir::OpBuilder &b = e.b;
  mlir::Location at = e.loc();
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  llvm::SmallVector<mlir::Value> inits(loop.getInits());
  size_t variables = inits.size();
  inits.append(exit.inits);
  mlir::TypeRange types = mlir::ValueRange(inits).getTypes();
  llvm::SmallVector<mlir::Location> locs(inits.size(), at);
  auto result = scf::WhileOp::create(b, at, types, inits);
  mlir::Block *test = b.createBlock(&result.getBefore(), {}, types, locs);
  Runtime left = e.hasLeft(exit.fillFlow(test->getArguments().drop_front(variables)));
  auto choice = scf::IfOp::create(b, at, mlir::TypeRange(b.getI1Type()), left.ir, true, true);
  scf::ConditionOp::create(b, at, choice.getResult(0), test->getArguments());
  b.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(b, at, e.isSet(false).ir);
  mlir::Value goesOn =
      splice(*loop.getBeforeBody(), *choice.elseBlock(), test->getArguments()).front();
  b.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(b, at, goesOn);
  mlir::Block *body = b.createBlock(&result.getAfter(), {}, types, locs);
  llvm::SmallVector<mlir::Value> finals =
      splice(*loop.getAfterBody(), *body, body->getArguments(), exit.finals);
  b.setInsertionPointToEnd(body);
  finals.append(exit.finals);
  scf::YieldOp::create(b, at, finals);
  result->setDiscardableAttrs(llvm::to_vector(loop->getDiscardableAttrs()));
  loop.erase();
  return result;
}
