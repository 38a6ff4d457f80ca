//===- MaskedOff.cpp - remove accesses that are masked off in all threads --------------------===//
#include "target/MaskedOff.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace {
/// The operand that predicates `assembly`, if it is a single instruction.
std::optional<unsigned> predicateOf(const llvm::InlineAsm &assembly) {
  llvm::StringRef text = assembly.getAsmString();
  unsigned place;
  if (text.count(';') != 1 || !text.consume_front("@$") || text.consumeInteger(10, place))
    return {};
  return place;
}

/// What the results of `call` are if its predicate is false, one operand each; nothing if its
/// predicate may be true, or a result has no such operand.
std::optional<llvm::SmallVector<llvm::Value *>> keptValues(const llvm::CallInst &call) {
  const auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
  const auto place = assembly ? predicateOf(*assembly) : std::nullopt;
  if (!place)
    return {};
  const auto constraints = assembly->ParseConstraints();
  const unsigned outputs = llvm::count_if(
      constraints, [](const auto &info) { return info.Type == llvm::InlineAsm::isOutput; });
  const auto *predicate =
      *place < outputs ? nullptr
                       : llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(*place - outputs));
  if (!predicate || !predicate->isZero())
    return {};
  llvm::SmallVector<llvm::Value *> kept;
  for (unsigned i = 0; i < outputs; ++i) {
    if (!constraints[i].hasMatchingInput())
      return {};
    kept.push_back(call.getArgOperand(constraints[i].MatchingInput - outputs));
  }
  return kept;
}

/// Replaces the results of `call` by `kept`.
void replace(llvm::CallInst &call, llvm::ArrayRef<llvm::Value *> kept) {
  if (!call.getType()->isVoidTy()) {
    llvm::IRBuilder<> b(&call);
    llvm::Value *result = kept.front();
    if (call.getType()->isStructTy()) {
      result = llvm::PoisonValue::get(call.getType());
      for (auto [i, value] : llvm::enumerate(kept))
        result = b.CreateInsertValue(result, value, i);
    }
    call.replaceAllUsesWith(result);
  }
  call.eraseFromParent();
}
} // namespace

llvm::PreservedAnalyses pantile::DropMaskedOff::run(llvm::Function &fn,
                                                    llvm::FunctionAnalysisManager &) {
  bool changed = false;
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(fn)))
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      if (auto kept = keptValues(*call)) {
        replace(*call, *kept);
        changed = true;
      }
  if (!changed)
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}
