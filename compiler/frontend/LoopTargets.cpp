//===- LoopTargets.cpp - see LoopTargets.h ----------------------------------------------===//
#include "frontend/LoopTargets.h"

using namespace pantile;
using llvm::dyn_cast;

void pantile::collectTargets(const ast::Expr &target, NameSet &names) {
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
  else if (auto *indexed = dyn_cast<ast::Subscript>(&target))
    collectTargets(*indexed->value, names);
}

namespace {
void collectReads(const ast::Block &block, NameSet &names);

void collectReads(const ast::Expr &expr, NameSet &names) {
  if (auto *name = dyn_cast<ast::Name>(&expr)) {
    names.insert(name->id);
  } else if (auto *lambda = dyn_cast<ast::Lambda>(&expr)) {
    collectReads(lambda->body(), names);
  } else if (auto *comprehension = dyn_cast<ast::Comprehension>(&expr)) {
    NameSet inner, own;
    forEachChild(expr, [&](const ast::Expr &child) { collectReads(child, inner); });
    for (const ast::CompFor &clause : comprehension->clauses)
      collectTargets(*clause.target, own);
    for (const ast::CompFor &clause : comprehension->clauses)
      collectReads(*clause.iter, names);
    for (llvm::StringRef name : inner)
      if (!own.contains(name))
        names.insert(name);
    return;
  }
  forEachChild(expr, [&](const ast::Expr &child) { collectReads(child, names); });
}

/// What a target of an assignment reads: a name does not, what is assigned to by index does.
void targetReads(const ast::Expr &target, NameSet &names) {
  if (llvm::isa<ast::Name>(&target))
    return;
  if (llvm::isa<ast::Tuple, ast::List, ast::Starred>(&target))
    forEachChild(target, [&](const ast::Expr &child) { targetReads(child, names); });
  else
    collectReads(target, names);
}

/// What the statement itself reads.
void ownReads(const ast::Stmt &stmt, NameSet &names) {
  if (auto *assign = dyn_cast<ast::Assign>(&stmt)) {
    collectReads(*assign->value, names);
    for (const ast::ExprPtr &target : assign->targets)
      targetReads(*target, names);
  } else if (auto *ann = dyn_cast<ast::AnnAssign>(&stmt)) {
    if (ann->value) {
      collectReads(*ann->value, names);
      targetReads(*ann->target, names);
    }
  } else if (auto *loop = dyn_cast<ast::For>(&stmt)) {
    collectReads(*loop->iter, names);
    targetReads(*loop->target, names);
  } else {
    forEachExpr(stmt, [&](const ast::Expr &expr) { collectReads(expr, names); });
  }
}

/// Every read in the statement and its blocks: of a function inside the function.
void collectReads(const ast::Block &block, NameSet &names) {
  for (const ast::StmtPtr &stmt : block) {
    ownReads(*stmt, names);
    forEachBlock(*stmt, [&](const ast::Block &inner) { collectReads(inner, names); });
  }
}

/// Whether a `break` (or also a `continue`) in `stmt` goes to the loop around it.
bool jumps(const ast::Stmt &stmt, bool alsoContinue) {
  if (llvm::isa<ast::Break>(&stmt) || (alsoContinue && llvm::isa<ast::Continue>(&stmt)))
    return true;
  bool found = false;
  auto look = [&](const ast::Block &inner) {
    found |= llvm::any_of(inner, [&](auto &part) { return jumps(*part, alsoContinue); });
  };
  if (auto *loop = dyn_cast<ast::For>(&stmt)) // its own jumps are those of its body
    look(loop->orelse);
  else if (auto *whileLoop = dyn_cast<ast::While>(&stmt))
    look(whileLoop->orelse);
  else if (!llvm::isa<ast::FunctionDef>(&stmt))
    forEachBlock(stmt, look);
  return found;
}

/// The names that `stmt` gives other values before anything later reads them.
NameSet overwritten(const ast::Stmt &stmt) {
  NameSet names;
  if (auto *assign = dyn_cast<ast::Assign>(&stmt)) {
    for (const ast::ExprPtr &target : assign->targets)
      collectTargets(*target, names);
  } else if (auto *ann = dyn_cast<ast::AnnAssign>(&stmt); ann && ann->value) {
    collectTargets(*ann->target, names);
  }
  return names;
}
} // namespace

LoopTargets::LoopTargets(const ast::FunctionDef &function) { walk(function.body, {}, {}); }

void LoopTargets::readsOf(const ast::Block &block, NameSet &names) {
  for (const ast::StmtPtr &stmt : block) {
    const NameSet &own = readsOf(*stmt);
    names.insert(own.begin(), own.end());
  }
}

/// What `stmt` and its blocks read; a loop's body finds the targets of the loop assigned.
const NameSet &LoopTargets::readsOf(const ast::Stmt &stmt) {
  if (auto known = reads.find(&stmt); known != reads.end())
    return known->second;
  NameSet names;
  ownReads(stmt, names);
  if (auto *loop = dyn_cast<ast::For>(&stmt)) {
    NameSet inner, targets;
    readsOf(loop->body, inner);
    collectTargets(*loop->target, targets);
    for (llvm::StringRef name : inner)
      if (!targets.contains(name))
        names.insert(name);
    readsOf(loop->orelse, names);
  } else if (llvm::isa<ast::FunctionDef>(&stmt)) {
    forEachBlock(stmt, [&](const ast::Block &inner) { collectReads(inner, names); });
  } else {
    forEachBlock(stmt, [&](const ast::Block &inner) { readsOf(inner, names); });
  }
  return reads[&stmt] = std::move(names);
}

void LoopTargets::noteLoop(const ast::For &loop, const NameSet &later) {
  NameSet after = later, targets, result;
  readsOf(loop.orelse, after);
  collectTargets(*loop.target, targets);
  for (llvm::StringRef target : targets)
    if (after.contains(target))
      result.insert(target);
  kept[&loop] = std::move(result);
  if (llvm::any_of(loop.body, [](auto &stmt) { return jumps(*stmt, false); }))
    broken.insert(&loop);
}

/// `later`: what is read after the block, on any path; `exits`: after a jump out of it.
void LoopTargets::walk(const ast::Block &block, const NameSet &later, const NameSet &exits) {
  NameSet live = later;
  for (const ast::StmtPtr &stmt : llvm::reverse(block)) {
    const NameSet &own = readsOf(*stmt);
    auto *loop = dyn_cast<ast::For>(stmt.get());
    auto *whileLoop = dyn_cast<ast::While>(stmt.get());
    if (jumps(*stmt, true))
      live.insert(exits.begin(), exits.end());
    if (loop)
      noteLoop(*loop, live);
    if (loop || whileLoop) {
      NameSet inside = live;
      inside.insert(own.begin(), own.end());
      walk(loop ? loop->body : whileLoop->body, inside, inside);
      walk(loop ? loop->orelse : whileLoop->orelse, live, exits);
    } else if (!llvm::isa<ast::FunctionDef>(stmt.get())) {
      forEachBlock(*stmt, [&](const ast::Block &inner) { walk(inner, live, exits); });
    }
    for (llvm::StringRef name : overwritten(*stmt))
      live.remove(name);
    live.insert(own.begin(), own.end());
  }
}
