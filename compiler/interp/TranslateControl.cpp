//===- TranslateControl.cpp - loops and branches ------------------------------------------===//
// Needs: see Translator.h.
// Gives: jumps for scf.for, scf.while, scf.if and func.return.
// How:   A loop-carried value has one register, which is also the loop's result. If the next value
//        is computed element by element after the last use of the old one, it overwrites it.
//===------------------------------------------------------------------------------------===//
#include "interp/Control.h"
#include "interp/Translator.h"

using namespace mlir;

namespace pantile::interp {
namespace {

/// Operations whose result is in the register of their operand.
bool renames(Operation *op) {
  return isa<ReshapeOp, ExpandDimsOp, UnsplatOp, ConvertLayoutOp, BroadcastOp, arith::BitcastOp,
             PtrToIntOp, IntToPtrOp, PtrCastOp, nv::WgmmaWaitOp, nv::CopyRegistersOp,
             nv::RoundTf32Op>(op);
}

/// Whether no operation of `block` after `last` reads the register of `value`.
bool isReadUpTo(Value value, Operation *last, Block *block) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (!ancestor || (ancestor != last && !ancestor->isBeforeInBlock(last)))
      return false;
    return !renames(user) || llvm::all_of(user->getResults(), [&](Value result) {
      return isReadUpTo(result, last, block);
    });
  });
}

/// Whether `op` may write its result over the loop-carried value `carried` of the same type: it
/// reads and writes element by element. A dot does so with its accumulator only.
bool canOverwrite(Operation *op, Value carried) {
  if (auto dot = dyn_cast<DotOp>(op)) {
    bool onlyAccumulator =
        dot.getLhs() != carried && dot.getRhs() != carried && dot.getAcc() == carried;
    return onlyAccumulator && llvm::none_of(carried.getUsers(), renames);
  }
  if (!op->hasTrait<OpTrait::Elementwise>() && !isa<AddPtrOp>(op))
    return false;
  return !renames(op) && op->getNumResults() == 1 && !isa<arith::ConstantOp>(op);
}

} // namespace

SmallVector<Reg> Translator::defineAll(TypeRange types) {
  SmallVector<Reg> all;
  for (Type type : types)
    all.push_back(builder.newReg(bytesOf(type)));
  return all;
}

void Translator::emitMoves(ArrayRef<Reg> dst, ValueRange src) {
  SmallVector<Reg> from;
  for (Value value : src)
    from.push_back(reg(value));
  // A source that another move overwrites is saved first.
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == dst[i] || !llvm::any_of(dst, [&](Reg other) { return other.id == from[i].id; }))
      continue;
    Reg saved = builder.newReg(bytesOf(src[i].getType()));
    emitCopy(saved, from[i], bytesOf(src[i].getType()));
    from[i] = saved;
  }
  for (size_t i = 0; i < from.size(); ++i)
    emitCopy(dst[i], from[i], bytesOf(src[i].getType()));
}

void Translator::writeInPlace(scf::ForOp op, ArrayRef<Reg> carried) {
  Block *body = op.getBody();
  for (auto [i, value] : llvm::enumerate(op.getYieldedValues())) {
    Operation *writer = value.getDefiningOp();
    Value old = op.getRegionIterArg(i);
    if (!writer || writer->getBlock() != body || !value.hasOneUse() ||
        value.getType() != old.getType())
      continue;
    if (canOverwrite(writer, old) && isReadUpTo(old, writer, body))
      inPlace[value] = carried[i];
  }
}

LogicalResult Translator::visitFor(scf::ForOp op) {
  Elem elem = *elemOf(op.getInductionVar().getType());
  uint64_t bytes = sizeOf(elem);
  Reg counter = builder.newReg(bytes), bound = reg(op.getUpperBound()), step = reg(op.getStep());
  Handler test = forTest(elem, op.getUnsignedCmp()), next = forStep(elem, op.getUnsignedCmp());
  if (!test)
    return unsupported(op, "with such a counter");
  SmallVector<Reg> carried = defineAll(op.getResultTypes());
  emitCopy(counter, reg(op.getLowerBound()), bytes);
  emitMoves(carried, op.getInitArgs());
  bind(op.getInductionVar(), counter);
  for (auto [argument, reg] : llvm::zip(op.getRegionIterArgs(), carried))
    bind(argument, reg);
  writeInPlace(op, carried);
  size_t head = builder.emit(test, {{}, counter, bound, step}, 1, 0, placeOf(op.getLoc()));
  size_t start = builder.position();
  if (failed(visitBlock(*op.getBody())))
    return failure();
  emitMoves(carried, op.getYieldedValues());
  size_t tail = builder.emit(next, {counter, {}, bound, step}, 1, static_cast<uint32_t>(start), 0);
  builder.setTarget(head, builder.position());
  // Loop-carried values are live in the whole loop, even if the body reads them only at its start.
  builder.addLoop(head, tail);
  for (auto [result, reg] : llvm::zip(op.getResults(), carried))
    bind(result, reg);
  return success();
}

LogicalResult Translator::visitWhile(scf::WhileOp op) {
  SmallVector<Reg> before = defineAll(op.getInits().getTypes()),
                   after = defineAll(op.getResultTypes());
  emitMoves(before, op.getInits());
  for (auto [argument, reg] : llvm::zip(op.getBeforeArguments(), before))
    bind(argument, reg);
  for (auto [argument, reg] : llvm::zip(op.getAfterArguments(), after))
    bind(argument, reg);
  size_t start = builder.position();
  if (failed(visitBlock(*op.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  Reg holds = reg(condition.getCondition());
  emitMoves(after, condition.getArgs());
  size_t leave = builder.emit(runJumpUnless, {{}, holds}, 1, 0, 0);
  if (failed(visitBlock(*op.getAfterBody())))
    return failure();
  Backedge edge;
  edge.target = static_cast<uint32_t>(start);
  std::vector<Reg> others;
  for (auto [dst, value] : llvm::zip(before, op.getYieldOp().getOperands())) {
    Reg src = reg(value);
    if (src == dst)
      continue;
    if (llvm::any_of(before, [&](Reg other) { return other.id == src.id; })) {
      Reg saved = builder.newReg(bytesOf(value.getType()));
      emitCopy(saved, src, bytesOf(value.getType()));
      src = saved;
    }
    if (src.addend != 0)
      return unsupported(op, "that carries part of a tile");
    edge.moves.push_back({dst.id, src.id, static_cast<uint32_t>(bytesOf(value.getType()))});
    others.push_back(dst);
    others.push_back(src);
  }
  builder.code().backedges.push_back(std::move(edge));
  size_t tail =
      builder.emit(runBackedge, {}, 1, static_cast<uint32_t>(builder.code().backedges.size() - 1),
                   placeOf(op.getLoc()), others);
  builder.setTarget(leave, builder.position());
  builder.addLoop(start, tail);
  for (auto [result, reg] : llvm::zip(op.getResults(), after))
    bind(result, reg);
  return success();
}

LogicalResult Translator::visitIf(scf::IfOp op) {
  SmallVector<Reg> results = defineAll(op.getResultTypes());
  size_t skip = builder.emit(runJumpUnless, {{}, reg(op.getCondition())}, 1, 0, 0);
  if (failed(visitBlock(*op.thenBlock())))
    return failure();
  emitMoves(results, op.thenYield().getOperands());
  if (op.elseBlock()) {
    size_t leave = builder.emit(runJump, {}, 1, 0, 0);
    builder.setTarget(skip, builder.position());
    if (failed(visitBlock(*op.elseBlock())))
      return failure();
    emitMoves(results, op.elseYield().getOperands());
    builder.setTarget(leave, builder.position());
  } else {
    builder.setTarget(skip, builder.position());
  }
  for (auto [result, reg] : llvm::zip(op.getResults(), results))
    bind(result, reg);
  return success();
}

std::optional<LogicalResult> Translator::visitControl(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return visitWhile(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch);
  if (isa<func::ReturnOp>(op)) {
    builder.emit(runReturn, {}, 1, 0, 0);
    return success();
  }
  // The parent of a terminator copies the values.
  if (isa<scf::YieldOp, scf::ConditionOp>(op))
    return success();
  return std::nullopt;
}

} // namespace pantile::interp
