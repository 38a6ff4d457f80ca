//===- TranslateMemory.cpp - loads, stores, atomics, print and assert ---------------------===//
// Needs: see Translator.h.
// Gives: instructions of the operations with effects.
// How:   An address is traced back to the argument that it is computed from. If every path leads to
//        the same argument, accesses are checked against that argument's storage only.
//===------------------------------------------------------------------------------------===//
#include "interp/Control.h"
#include "interp/Memory.h"
#include "interp/Translator.h"

using namespace mlir;

namespace pantile::interp {
namespace {

RmwOp rmwOpOf(RmwKind kind, Elem elem) {
  switch (kind) {
  case RmwKind::Add:
    return isFloat(elem) ? RmwOp::AddF : RmwOp::Add;
  case RmwKind::FAdd:
    return RmwOp::AddF;
  case RmwKind::Max:
    return isFloat(elem) ? RmwOp::MaxF : RmwOp::MaxS;
  case RmwKind::UMax:
    return RmwOp::MaxU;
  case RmwKind::Min:
    return isFloat(elem) ? RmwOp::MinF : RmwOp::MinS;
  case RmwKind::UMin:
    return RmwOp::MinU;
  case RmwKind::And:
    return RmwOp::And;
  case RmwKind::Or:
    return RmwOp::Or;
  case RmwKind::Xor:
    return RmwOp::Xor;
  case RmwKind::Load:
  case RmwKind::Poll:
    return RmwOp::Read;
  case RmwKind::Xchg:
  case RmwKind::Store:
    return RmwOp::Exchange;
  }
  return RmwOp::Exchange;
}

} // namespace

int Translator::argumentOf(Value pointers) {
  if (auto assumed = assumedArguments.find(pointers); assumed != assumedArguments.end())
    return assumed->second;
  if (auto argument = dyn_cast<BlockArgument>(pointers)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<func::FuncOp>(parent))
      return static_cast<int>(argument.getArgNumber());
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop || argument.getArgNumber() == 0)
      return -1;
    int first = argumentOf(loop.getTiedLoopInit(argument)->get());
    assumedArguments[pointers] = first;
    int next = first < 0 ? -1 : argumentOf(loop.getTiedLoopYieldedValue(argument)->get());
    assumedArguments.erase(pointers);
    return next == first ? first : -1;
  }
  Operation *op = pointers.getDefiningOp();
  if (isa<AddPtrOp, SplatOp, UnsplatOp, ExpandDimsOp, BroadcastOp, ReshapeOp, TransOp,
          ConvertLayoutOp, SplitOp, ExtractSliceOp, ExtractOp, PtrCastOp>(op))
    return argumentOf(op->getOperand(0));
  auto both = [&](Value a, Value b) {
    int first = argumentOf(a);
    return first >= 0 && argumentOf(b) == first ? first : -1;
  };
  if (isa<JoinOp, InsertSliceOp>(op))
    return both(op->getOperand(0), op->getOperand(1));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return both(select.getTrueValue(), select.getFalseValue());
  unsigned number = cast<OpResult>(pointers).getResultNumber();
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return both(branch.thenYield().getOperand(number), branch.elseYield().getOperand(number));
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return argumentOf(loop.getRegionIterArg(number));
  return -1;
}

Access Translator::accessOf(Value pointers) {
  Access access;
  if (auto tile = dyn_cast<RankedTensorType>(pointers.getType()); tile && tile.getRank() > 0) {
    access.cols = static_cast<uint32_t>(tile.getShape().back());
    access.rows = static_cast<uint32_t>(tile.getNumElements()) / access.cols;
  }
  access.elem = *elemOf(cast<PtrType>(elementTypeOf(pointers.getType())).getPointee());
  access.argument = argumentOf(pointers);
  return access;
}

LogicalResult Translator::visitLoad(LoadOp op) {
  Access access = accessOf(op.getPtr());
  access.masked = op.getMask() != nullptr;
  access.hasOther = op.getOther() != nullptr;
  builder.code().foreignPointers |= access.elem == Elem::Ptr;
  Operands operands{{}, reg(op.getPtr()), {}, {}};
  if (op.getMask())
    operands.b = reg(op.getMask());
  if (op.getOther())
    operands.c = reg(op.getOther());
  operands.dst = define(op);
  bool isVolatile = op.getIsVolatile() || op.getCache() == CacheModifier::Cv;
  builder.code().spins |= op->getParentOfType<scf::WhileOp>() != nullptr;
  builder.code().accesses.push_back(access);
  builder.emit(isVolatile ? runVolatileLoad : runLoad, operands, 1,
               static_cast<uint32_t>(builder.code().accesses.size() - 1), placeOf(op.getLoc()));
  return success();
}

LogicalResult Translator::visitStore(StoreOp op) {
  Access access = accessOf(op.getPtr());
  access.masked = op.getMask() != nullptr;
  Operands operands{{}, reg(op.getPtr()), {}, reg(op.getValue())};
  if (op.getMask())
    operands.b = reg(op.getMask());
  builder.code().accesses.push_back(access);
  builder.emit(runStore, operands, 1, static_cast<uint32_t>(builder.code().accesses.size() - 1),
               placeOf(op.getLoc()));
  return success();
}

/// The result starts different from the expected value. The last instruction runs repeatedly, with
/// other programs in between, until all elements have been seen as expected.
LogicalResult Translator::visitAtomicPoll(AtomicRmwOp op) {
  Code &code = builder.code();
  const Reg expected = reg(op.getValue()), result = define(op);
  const uint32_t place = placeOf(op.getLoc());
  Operands operands{result, reg(op.getPtr()), {}, expected};
  Atomic atomic{accessOf(op.getPtr()), RmwOp::Read};
  atomic.access.masked = op.getTimeout() != nullptr; // by a deadline
  code.atomics.push_back(atomic);
  const auto number = static_cast<uint32_t>(code.atomics.size() - 1);
  builder.emit(runPollStart, {result, {}, {}, expected}, 1, number, place);
  if (op.getTimeout()) {
    operands.b = builder.newReg(sizeof(uint64_t));
    builder.emit(runDeadline, {operands.b, reg(op.getTimeout())}, 1, 0, place);
  }
  code.spins = true;
  builder.emit(runAtomicPoll, operands, 1, number, place);
  return success();
}

LogicalResult Translator::visitAtomicRmw(AtomicRmwOp op) {
  if (op.getKind() == RmwKind::Poll)
    return visitAtomicPoll(op);
  Atomic atomic{accessOf(op.getPtr())};
  atomic.access.masked = op.getMask() != nullptr;
  atomic.op = rmwOpOf(op.getKind(), atomic.access.elem);
  Operands operands{{}, reg(op.getPtr()), {}, reg(op.getValue())};
  if (op.getMask())
    operands.b = reg(op.getMask());
  operands.dst = define(op);
  builder.code().spins |= op->getParentOfType<scf::WhileOp>() != nullptr;
  builder.code().atomics.push_back(atomic);
  builder.emit(op.getKind() == RmwKind::Load ? runAtomicRead : runAtomicRmw, operands, 1,
               static_cast<uint32_t>(builder.code().atomics.size() - 1), placeOf(op.getLoc()));
  return success();
}

LogicalResult Translator::visitAtomicCas(AtomicCasOp op) {
  Operands operands{{}, reg(op.getPtr()), reg(op.getCmp()), reg(op.getValue())};
  operands.dst = define(op);
  builder.code().spins |= op->getParentOfType<scf::WhileOp>() != nullptr;
  builder.code().atomics.push_back({accessOf(op.getPtr())});
  builder.emit(runAtomicCas, operands, 1, static_cast<uint32_t>(builder.code().atomics.size() - 1),
               placeOf(op.getLoc()));
  return success();
}

LogicalResult Translator::visitPrint(PrintOp op) {
  Print print;
  print.prefix = op.getPrefix().str();
  print.hex = op.getHex();
  std::vector<Reg> others;
  for (auto [value, isSigned] : llvm::zip(op.getValues(), op.getSigns())) {
    std::optional<Elem> elem = elemOf(value.getType());
    if (!elem)
      return unsupported(op, "of such a value");
    Reg whole = builder.newReg(bytesOf(value.getType()));
    emitCopy(whole, reg(value), bytesOf(value.getType()));
    PrintOperand operand{whole.id, *elem, isSigned != 0, {}};
    if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
      operand.shape.assign(tile.getShape().begin(), tile.getShape().end());
    others.push_back(whole);
    print.operands.push_back(std::move(operand));
  }
  builder.code().prints.push_back(std::move(print));
  builder.emit(runPrint, {}, 1, static_cast<uint32_t>(builder.code().prints.size() - 1), 0, others);
  return success();
}

LogicalResult Translator::visitAssert(AssertOp op) {
  Reg condition = reg(op.getCondition());
  builder.code().messages.push_back(op.getMessage().str());
  builder.emit(runAssert, {{}, condition}, countOf(op.getCondition().getType()),
               static_cast<uint32_t>(builder.code().messages.size() - 1), placeOf(op.getLoc()));
  return success();
}

std::optional<LogicalResult> Translator::visitMemory(Operation *op) {
  if (isa<LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp>(op))
    if (!elemOf(cast<PtrType>(elementTypeOf(op->getOperand(0).getType())).getPointee()))
      return unsupported(op, "of such elements");
  if (auto load = dyn_cast<LoadOp>(op))
    return visitLoad(load);
  if (auto store = dyn_cast<StoreOp>(op))
    return visitStore(store);
  if (auto rmw = dyn_cast<AtomicRmwOp>(op))
    return visitAtomicRmw(rmw);
  if (auto cas = dyn_cast<AtomicCasOp>(op))
    return visitAtomicCas(cas);
  if (auto print = dyn_cast<PrintOp>(op))
    return visitPrint(print);
  if (auto check = dyn_cast<AssertOp>(op))
    return visitAssert(check);
  // A program runs as one thread: there is nothing to synchronise.
  if (isa<BarrierOp>(op))
    return success();
  return std::nullopt;
}

} // namespace pantile::interp
