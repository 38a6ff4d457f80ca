//===- AssignedNames.cpp - see AssignedNames.h ------------------------------------------===//
#include "frontend/AssignedNames.h"

using namespace pantile;
using llvm::dyn_cast;

void pantile::collectTargets(const ast::Expr &target, AssignedNames::Names &names) {
  if (auto *name = dyn_cast<ast::Name>(&target))
    names.insert(name->id);
  else if (auto *tuple = dyn_cast<ast::Tuple>(&target))
    for (const ast::ExprPtr &element : tuple->elements)
      collectTargets(*element, names);
  else if (auto *list = dyn_cast<ast::List>(&target))
    for (const ast::ExprPtr &element : list->elements)
      collectTargets(*element, names);
  else if (auto *starred = dyn_cast<ast::Starred>(&target))
    collectTargets(*starred->value, names);
}

AssignedNames::AssignedNames(const ast::FunctionDef &function) {
  Names all;
  visit(function.body, all);
}

void AssignedNames::visit(const ast::Block &block, Names &names) {
  for (const ast::StmtPtr &stmt : block)
    visit(*stmt, names);
}

void AssignedNames::visit(const ast::Stmt &stmt, Names &names) {
  if (auto *assign = dyn_cast<ast::Assign>(&stmt)) {
    for (const ast::ExprPtr &target : assign->targets)
      collectTargets(*target, names);
  } else if (auto *aug = dyn_cast<ast::AugAssign>(&stmt)) {
    collectTargets(*aug->target, names);
  } else if (auto *ann = dyn_cast<ast::AnnAssign>(&stmt)) {
    if (ann->value)
      collectTargets(*ann->target, names);
  } else if (auto *branch = dyn_cast<ast::If>(&stmt)) {
    visit(branch->body, names);
    visit(branch->orelse, names);
  } else if (auto *with = dyn_cast<ast::With>(&stmt)) {
    visit(with->body, names);
  } else if (auto *function = dyn_cast<ast::FunctionDef>(&stmt)) {
    names.insert(function->name);
  } else if (auto *loop = dyn_cast<ast::For>(&stmt)) {
    Names inner;
    visit(loop->body, inner);
    Names targets;
    collectTargets(*loop->target, targets);
    for (llvm::StringRef target : targets)
      inner.remove(target);
    names.insert(inner.begin(), inner.end());
    loops[&stmt] = std::move(inner);
    visit(loop->orelse, names);
  } else if (auto *loop = dyn_cast<ast::While>(&stmt)) {
    Names inner;
    visit(loop->body, inner);
    names.insert(inner.begin(), inner.end());
    loops[&stmt] = std::move(inner);
    visit(loop->orelse, names);
  }
}
