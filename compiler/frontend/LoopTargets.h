//===- LoopTargets.h - targets of `for` loops that are live after the loop ---------------===//
// Needs: the syntax tree of one function.
// Gives: for each `for`, which of its targets may be read after it, and whether the index alone
//        determines their last values: the body assigns none of them, and no `break` leaves it.
// How:   Liveness analysis: the names that each statement reads are collected bottom-up; then one
//        walk from the end of each block finds what is read later. Only an assignment that the
//        block reaches on every path ends a live range: a range that is too long costs an unused
//        operation.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/StringRef.h>

namespace pantile {

using NameSet = llvm::SmallSetVector<llvm::StringRef, 8>;

/// Adds the names that an assignment to `target` binds: for `x[i]`, the name `x`.
void collectTargets(const ast::Expr &target, NameSet &names);

class LoopTargets {
public:
  LoopTargets() = default;
  explicit LoopTargets(const ast::FunctionDef &function);
  /// The targets of `loop` that are read after it.
  const NameSet &readAfter(const ast::For &loop) const { return kept.at(&loop); }
  /// Whether `break` may leave `loop` itself.
  bool breaks(const ast::For &loop) const { return broken.contains(&loop); }

private:
  const NameSet &readsOf(const ast::Stmt &stmt);
  void readsOf(const ast::Block &block, NameSet &names);
  void noteLoop(const ast::For &loop, const NameSet &later);
  void walk(const ast::Block &block, const NameSet &later, const NameSet &exits);
  llvm::DenseMap<const ast::Stmt *, NameSet> reads, kept;
  llvm::DenseSet<const ast::Stmt *> broken;
};

} // namespace pantile
