//===- When.h - instructions that run where a condition holds --------------------------------===//
#pragma once
#include "lower/Lowering.h"

namespace pantile::lower {

/// Scope of a conditional block: instructions built during its lifetime run in the threads where
/// `condition` holds, in all threads if it is null.
class When {
public:
  When(Lowering &l, llvm::Value *condition) : l(l) {
    if (!condition)
      return;
    auto *then = l.newBlock("inside");
    after = l.newBlock("outside");
    l.b.CreateCondBr(condition, then, after);
    l.b.SetInsertPoint(then);
  }
  ~When() {
    if (!after)
      return;
    l.b.CreateBr(after);
    l.b.SetInsertPoint(after);
  }
  When(const When &) = delete;
  When &operator=(const When &) = delete;

private:
  Lowering &l;
  llvm::BasicBlock *after = nullptr;
};

} // namespace pantile::lower
