//===- AssignedNames.cpp - see AssignedNames.h ------------------------------------------===//
#include "frontend/AssignedNames.h"

using namespace pantile;
using llvm::dyn_cast;

AssignedNames::AssignedNames(const ast::FunctionDef &function) : targets(function) {
  Names all, kept;
  visit(function.body, all, kept);
}

void AssignedNames::visit(const ast::Block &block, Names &names, Names &kept) {
  for (const ast::StmtPtr &stmt : block)
    visit(*stmt, names, kept);
}

void AssignedNames::visit(const ast::For &loop, Names &names, Names &kept) {
  Names inner, innerKept, own;
  visit(loop.body, inner, innerKept);
  collectTargets(*loop.target, own);
  const Names &read = targets.readAfter(loop);
  for (llvm::StringRef target : own) {
    const bool isChanged = inner.remove(target) || targets.breaks(loop);
    if (read.contains(target) && isChanged)
      inner.insert(target);
  }
  names.insert(inner.begin(), inner.end());
  names.insert(read.begin(), read.end());
  kept.insert(innerKept.begin(), innerKept.end());
  kept.insert(read.begin(), read.end());
  loops[&loop] = std::move(inner);
  inside[&loop] = std::move(innerKept);
  visit(loop.orelse, names, kept);
}

void AssignedNames::visit(const ast::Stmt &stmt, Names &names, Names &kept) {
  if (auto *assign = dyn_cast<ast::Assign>(&stmt)) {
    for (const ast::ExprPtr &target : assign->targets)
      collectTargets(*target, names);
  } else if (auto *aug = dyn_cast<ast::AugAssign>(&stmt)) {
    collectTargets(*aug->target, names);
  } else if (auto *ann = dyn_cast<ast::AnnAssign>(&stmt)) {
    if (ann->value)
      collectTargets(*ann->target, names);
  } else if (auto *branch = dyn_cast<ast::If>(&stmt)) {
    visit(branch->body, names, kept);
    visit(branch->orelse, names, kept);
  } else if (auto *with = dyn_cast<ast::With>(&stmt)) {
    visit(with->body, names, kept);
  } else if (auto *function = dyn_cast<ast::FunctionDef>(&stmt)) {
    names.insert(function->name);
  } else if (auto *loop = dyn_cast<ast::For>(&stmt)) {
    visit(*loop, names, kept);
  } else if (auto *loop = dyn_cast<ast::While>(&stmt)) {
    Names inner, innerKept;
    visit(loop->body, inner, innerKept);
    names.insert(inner.begin(), inner.end());
    kept.insert(innerKept.begin(), innerKept.end());
    loops[&stmt] = std::move(inner);
    inside[&stmt] = std::move(innerKept);
    visit(loop->orelse, names, kept);
  }
}
