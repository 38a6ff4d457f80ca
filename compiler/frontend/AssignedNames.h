//===- AssignedNames.h - which variables a loop's body assigns --------------------------===//
// Needs: the syntax tree of one function.
// Gives: for each `for` and `while`, the names assigned in its body, in order of the text.
// How:   one walk of the function, results of inner blocks merged into outer ones, so that
//        emission looks each loop up and never walks a body twice.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/StringRef.h>

namespace pantile {

class AssignedNames {
public:
  using Names = llvm::SmallSetVector<llvm::StringRef, 8>;
  AssignedNames() = default;
  explicit AssignedNames(const ast::FunctionDef &function);
  /// `loop` is a For (its target is not among the names) or a While of the function.
  const Names &of(const ast::Stmt &loop) const { return loops.at(&loop); }

private:
  void visit(const ast::Block &block, Names &names);
  void visit(const ast::Stmt &stmt, Names &names);
  llvm::DenseMap<const ast::Stmt *, Names> loops;
};

/// Adds the names that assignment to `target` binds.
void collectTargets(const ast::Expr &target, AssignedNames::Names &names);

} // namespace pantile
