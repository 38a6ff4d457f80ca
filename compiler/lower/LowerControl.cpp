//===- LowerControl.cpp - structured control flow as blocks and phis ------------------------===//
// How:   A loop is emitted rotated: one test before it, one at its end, so that no pass has to
//        rotate it. A loop-carried tile is one phi per register; a `for` carries 16-bit floats in
//        pairs and bytes in fours, as instructions take them and loads give them.
//===-----------------------------------------------------------------------------------===//
#include "ir/Machine.h"
#include "lower/Lowering.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
/// Phis in the current block for every register of `like`, with its values coming from `from`.
Values makePhis(Lowering &l, Value like, llvm::BasicBlock *from) {
  Values phis;
  for (llvm::Value *value : l.get(like)) {
    llvm::PHINode *phi = l.b.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, from);
    phis.push_back(phi);
  }
  return phis;
}

void addIncoming(ValueList phis, ValueList values, llvm::BasicBlock *from) {
  for (auto [phi, value] : llvm::zip_equal(phis, values))
    cast<llvm::PHINode>(phi)->addIncoming(value, from);
}

/// Whether bytes were loaded one by one, for a later iteration, too: a word of four would have to wait
/// for these loads.
bool areLoadedApart(ValueList bytes) {
  auto isLoaded = [](llvm::Value *byte) {
    if (auto *trunc = dyn_cast<llvm::TruncInst>(byte))
      byte = trunc->getOperand(0);
    return isa<llvm::LoadInst, llvm::CallInst>(byte);
  };
  return llvm::all_of(bytes, isLoaded);
}

/// The bits of elements of which a word carries several; 0: each is carried by itself.
unsigned carriedBits(Lowering &l, Value tile) {
  const ValueList values = l.get(tile);
  llvm::Type *type = values.empty() ? nullptr : values[0]->getType();
  if (type && (type->isHalfTy() || type->isBFloatTy()) && values.size() % 2 == 0)
    return 16;
  return type && type->isIntegerTy(8) && values.size() % 4 == 0 && !areLoadedApart(values) ? 8 : 0;
}

Values carriedWords(Lowering &l, Value tile, unsigned bits) {
  return bits ? l.pack(l.get(tile), bits) : Values(l.get(tile));
}

/// Phis for loop-carried `words`, with their values coming from `from`.
Values makePhis(Lowering &l, ValueList words, llvm::BasicBlock *from) {
  return llvm::map_to_vector<8>(words, [&](llvm::Value *word) -> llvm::Value * {
    llvm::PHINode *phi = l.b.CreatePHI(word->getType(), 2);
    phi->addIncoming(word, from);
    return phi;
  });
}

/// Sets `tile`, of the type and size of `like`, from the loop-carried `words` of elements of `bits`.
void setCarried(Lowering &l, Value tile, Value like, unsigned bits, ValueList words) {
  const ValueList values = l.get(like);
  l.set(tile, bits ? l.unpack(words, values[0]->getType(), bits, values.size()) : Values(words));
}

/// The loop continues while its counter is below this: `upper - step`, computed without overflow,
/// since the counter plus a step may exceed the largest integer.
llvm::Value *lastStep(Lowering &l, scf::ForOp op) {
  auto &b = l.b;
  llvm::Value *lower = l.scalar(op.getLowerBound()), *upper = l.scalar(op.getUpperBound()),
              *step = l.scalar(op.getStep());
  llvm::Value *more = b.CreateICmpUGT(b.CreateSub(upper, lower), step);
  return b.CreateSelect(more, b.CreateSub(upper, step), lower, "last");
}

bool isOne(llvm::Value *value) {
  auto *constant = dyn_cast<llvm::ConstantInt>(value);
  return constant && constant->isOne();
}

/// ptxas unrolls by four without checking whether four steps overflow: CUDA 13.0's ran past the end
/// from -2**31 in steps of 2**30.
bool hasSmallStep(llvm::Value *step) {
  auto *constant = dyn_cast<llvm::ConstantInt>(step);
  return constant && constant->getValue().ult(1u << 24);
}

/// Whether the counter plus a step is below 2**32 as an unsigned number, though it may exceed the
/// largest signed one. `next < upper` can then be compared without a sign: ptxas only unrolls loops
/// that end by a comparison of the next counter. Loops with dots or asynchronous operations are
/// pipelined instead.
bool endsByUnsigned(Lowering &l, scf::ForOp op) {
  auto *lower = dyn_cast<llvm::ConstantInt>(l.scalar(op.getLowerBound()));
  auto isPipelined = [](Operation *inner) {
    return isa<DotOp, nv::FmaOp, nv::AsyncOpInterface>(inner) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
  };
  llvm::Value *step = l.scalar(op.getStep());
  return lower && !lower->isNegative() && !op.getUnsignedCmp() && !isOne(step) &&
         hasSmallStep(step) && !op.walk(isPipelined).wasInterrupted();
}

/// It also unrolls a loop of known length completely, and loses the first MMA if its accumulator is
/// a product with zeros: `acc = dot(a, b, acc * 0.5)` in three iterations (seen on an H200).
bool losesMma(Lowering &l, scf::ForOp op) {
  const bool isKnown =
      llvm::all_of(ArrayRef<Value>{op.getLowerBound(), op.getUpperBound(), op.getStep()},
                   [&](Value bound) { return isa<llvm::ConstantInt>(l.scalar(bound)); });
  return isKnown && op.walk([](nv::WgmmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Iterations of a loop whose bounds are known.
std::optional<int64_t> iterationsOf(Lowering &l, scf::ForOp op) {
  auto of = [&](Value bound) { return dyn_cast<llvm::ConstantInt>(l.scalar(bound)); };
  auto *lower = of(op.getLowerBound()), *upper = of(op.getUpperBound()), *step = of(op.getStep());
  if (!lower || !upper || !step || op.getUnsignedCmp() || !step->getValue().isStrictlyPositive())
    return std::nullopt;
  const auto length = llvm::checkedSub(upper->getSExtValue(), lower->getSExtValue());
  if (!length)
    return std::nullopt;
  return llvm::divideCeilSigned(std::max<int64_t>(*length, 0), step->getSExtValue());
}

/// Whether the loop is unrolled completely, so that the loads of all iterations are in flight at
/// once: its length is known, it has no dots or asynchronous operations, and the registers of a
/// thread hold all that it loads.
bool unrolls(Lowering &l, scf::ForOp op) {
  const auto iterations = iterationsOf(l, op);
  if (!iterations || *iterations < 2)
    return false;
  int64_t bits = 0;
  const WalkResult found = op.getBody()->walk([&](Operation *inner) {
    if (isa<DotOp, nv::FmaOp, nv::AsyncOpInterface, LoopLikeOpInterface>(inner))
      return WalkResult::interrupt();
    if (auto load = dyn_cast<LoadOp>(inner))
      bits += l.count(load.getType()) * storageBits(elementTypeOf(load.getType()));
    return WalkResult::advance();
  });
  return !found.wasInterrupted() && bits > 0 &&
         *iterations * bits <= 32 * machineOf(op).registers.unrolledLoads;
}

/// Adds hints for LLVM to the loop whose latch is `branch`.
void advise(llvm::BranchInst *branch, ArrayRef<StringRef> hints) {
  if (hints.empty())
    return;
  llvm::LLVMContext &context = branch->getContext();
  SmallVector<llvm::Metadata *> parts{nullptr}; // the first is the node itself
  for (StringRef hint : hints)
    parts.push_back(llvm::MDNode::get(context, llvm::MDString::get(context, hint)));
  auto *loop = llvm::MDNode::getDistinct(context, parts);
  loop->replaceOperandWith(0, loop);
  branch->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

/// The metadata that forbids LLVM transformations of a loop of either kind.
SmallVector<StringRef> forbiddenIn(Operation *loop) {
  SmallVector<StringRef> hints;
  if (loop->hasAttr(names::disableLicm))
    hints.push_back("llvm.licm.disable");
  return hints;
}

/// Whether asynchronous copies read through the pointers that a loop carries in `argument`.
bool feedsCopies(Value argument) {
  return llvm::any_of(argument.getUsers(), [](Operation *user) {
    auto next = dyn_cast<AddPtrOp>(user);
    return isa<nv::CopyAsyncOp>(user) ||
           (next && llvm::any_of(next->getUsers(),
                                 [](Operation *other) { return isa<nv::CopyAsyncOp>(other); }));
  });
}

/// The same pointers, opaque to LLVM: strength reduction would factor out their common part and add
/// it again in each iteration.
Values hidden(Lowering &l, ValueList pointers) {
  return llvm::map_to_vector<8>(pointers, [&](llvm::Value *pointer) -> llvm::Value * {
    return l.assembly(pointer->getType(), "mov.b64 $0, $1;", "=l,l", {pointer}, /*pure=*/true);
  });
}

LogicalResult lowerFor(Lowering &l, scf::ForOp op) {
  auto &b = l.b;
  llvm::Value *lower = l.scalar(op.getLowerBound()), *upper = l.scalar(op.getUpperBound());
  const auto less = op.getUnsignedCmp() ? llvm::CmpInst::ICMP_ULT : llvm::CmpInst::ICMP_SLT;
  llvm::BasicBlock *before = b.GetInsertBlock(), *body = l.newBlock("loop"),
                   *exit = l.newBlock("done");
  const auto bits =
      llvm::map_to_vector(op.getInitArgs(), [&](Value init) { return carriedBits(l, init); });
  auto wordsOf = [&](ValueRange tiles) {
    SmallVector<Values> words;
    for (auto [tile, each] : llvm::zip_equal(tiles, bits))
      words.push_back(carriedWords(l, tile, each));
    return words;
  };
  auto inits = wordsOf(op.getInitArgs());
  for (auto [argument, words] : llvm::zip_equal(op.getRegionIterArgs(), inits))
    if (feedsCopies(argument))
      words = hidden(l, words);
  const bool endsUnsigned = endsByUnsigned(l, op), isUnsigned = op.getUnsignedCmp() || endsUnsigned;
  const bool mayPass = !isOne(l.scalar(op.getStep())) && !endsUnsigned;
  llvm::Value *last = mayPass ? lastStep(l, op) : nullptr;
  b.CreateCondBr(b.CreateICmp(less, lower, upper), body, exit);

  b.SetInsertPoint(body);
  llvm::PHINode *iv = b.CreatePHI(lower->getType(), 2, "i");
  iv->addIncoming(lower, before);
  l.set(op.getInductionVar(), iv);
  std::vector<Values> carried;
  for (const Values &words : inits)
    carried.push_back(makePhis(l, words, before));
  for (auto [i, argument] : llvm::enumerate(op.getRegionIterArgs()))
    setCarried(l, argument, op.getInitArgs()[i], bits[i], carried[i]);
  if (endsUnsigned) // LLVM does not infer it from an unsigned comparison
    b.CreateAssumption(b.CreateICmpSGE(iv, llvm::ConstantInt::get(iv->getType(), 0)));
  if (failed(l.lowerBlock(*op.getBody())))
    return failure();

  const auto yielded = wordsOf(op.getBody()->getTerminator()->getOperands());
  llvm::Value *next = b.CreateAdd(iv, l.scalar(op.getStep()), "", isUnsigned, !isUnsigned);
  llvm::BasicBlock *latch = b.GetInsertBlock();
  llvm::Value *goesOn =
      mayPass ? b.CreateICmp(less, iv, last)
              : b.CreateICmp(isUnsigned ? llvm::CmpInst::ICMP_ULT : less, next, upper);
  llvm::BranchInst *again = b.CreateCondBr(goesOn, body, exit);
  SmallVector<StringRef> hints = forbiddenIn(op);
  if (!hasSmallStep(l.scalar(op.getStep())) || losesMma(l, op))
    hints.push_back("llvm.loop.unroll.disable");
  else if (unrolls(l, op))
    hints.push_back("llvm.loop.unroll.full");
  advise(again, hints);
  iv->addIncoming(next, latch);
  b.SetInsertPoint(exit);
  std::vector<Values> results;
  for (auto [i, phis] : llvm::enumerate(carried)) {
    addIncoming(phis, yielded[i], latch);
    results.push_back(makePhis(l, inits[i], before));
    addIncoming(results.back(), yielded[i], latch);
  }
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    setCarried(l, result, op.getInitArgs()[i], bits[i], results[i]);
  return success();
}

LogicalResult lowerWhile(Lowering &l, scf::WhileOp op) {
  auto &b = l.b;
  llvm::BasicBlock *start = b.GetInsertBlock(), *before = l.newBlock("while"),
                   *after = l.newBlock("do"), *exit = l.newBlock("done");
  b.CreateBr(before);
  b.SetInsertPoint(before);
  std::vector<Values> carried;
  for (auto [init, argument] : llvm::zip_equal(op.getInits(), op.getBeforeArguments())) {
    carried.push_back(makePhis(l, init, start));
    l.set(argument, carried.back());
  }
  if (failed(l.lowerBlock(*op.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  for (auto [value, argument, result] :
       llvm::zip_equal(condition.getArgs(), op.getAfterArguments(), op.getResults())) {
    l.set(argument, l.get(value));
    l.set(result, l.get(value));
  }
  b.CreateCondBr(l.scalar(condition.getCondition()), after, exit);
  b.SetInsertPoint(after);
  if (failed(l.lowerBlock(*op.getAfterBody())))
    return failure();
  for (auto [phis, value] : llvm::zip_equal(carried, op.getYieldOp().getOperands()))
    addIncoming(phis, l.get(value), b.GetInsertBlock());
  advise(b.CreateBr(before), forbiddenIn(op));
  b.SetInsertPoint(exit);
  return success();
}

LogicalResult lowerIf(Lowering &l, scf::IfOp op) {
  auto &b = l.b;
  llvm::BasicBlock *then = l.newBlock("then"),
                   *otherwise = op.elseBlock() ? l.newBlock("else") : nullptr,
                   *join = l.newBlock("endif");
  b.CreateCondBr(l.scalar(op.getCondition()), then, otherwise ? otherwise : join);
  b.SetInsertPoint(then);
  if (failed(l.lowerBlock(*op.thenBlock())))
    return failure();
  llvm::BasicBlock *thenEnd = b.GetInsertBlock();
  b.CreateBr(join);
  if (!otherwise) {
    b.SetInsertPoint(join);
    return success();
  }
  b.SetInsertPoint(otherwise);
  if (failed(l.lowerBlock(*op.elseBlock())))
    return failure();
  llvm::BasicBlock *elseEnd = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  for (auto [result, x, y] : llvm::zip_equal(op.getResults(), op.thenYield().getOperands(),
                                             op.elseYield().getOperands())) {
    Values phis = makePhis(l, x, thenEnd);
    addIncoming(phis, l.get(y), elseEnd);
    l.set(result, phis);
  }
  return success();
}

LogicalResult lowerReturn(Lowering &l, func::ReturnOp op) {
  if (op.getNumOperands() != 0)
    return op.emitError("a kernel returns nothing");
  l.b.CreateRetVoid();
  return success();
}
} // namespace

void lower::addControl(Handlers &h) {
  h.add<scf::ForOp>(lowerFor);
  h.add<scf::WhileOp>(lowerWhile);
  h.add<scf::IfOp>(lowerIf);
  h.add<func::ReturnOp>(lowerReturn);
}
