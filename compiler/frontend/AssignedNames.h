//===- AssignedNames.h - which variables a loop's body assigns --------------------------===//
// Needs: the syntax tree of one function.
// Gives: for each `for` and `while`, the names assigned in its body, in source order. The target of
//        a `for` is among them if it must be loop-carried: if it is read later, and the index alone
//        does not determine its last value.
// How:   One walk of the function; results of inner blocks are merged into outer ones, so emission
//        looks each loop up and never walks a body twice.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/LoopTargets.h"

namespace pantile {

class AssignedNames {
public:
  using Names = NameSet;
  AssignedNames() = default;
  explicit AssignedNames(const ast::FunctionDef &function);
  /// `loop` is a For or a While of the function.
  const Names &of(const ast::Stmt &loop) const { return loops.at(&loop); }
  /// Targets of the loops inside `loop` that are read after them.
  const Names &innerTargets(const ast::Stmt &loop) const { return inside.at(&loop); }
  bool isReadAfter(const ast::For &loop, llvm::StringRef target) const {
    return targets.readAfter(loop).contains(target);
  }

private:
  void visit(const ast::Block &block, Names &names, Names &kept);
  void visit(const ast::Stmt &stmt, Names &names, Names &kept);
  void visit(const ast::For &loop, Names &names, Names &kept);
  LoopTargets targets;
  llvm::DenseMap<const ast::Stmt *, Names> loops, inside;
};

} // namespace pantile
