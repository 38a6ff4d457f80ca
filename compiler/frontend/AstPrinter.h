//===- AstPrinter.h - the syntax tree as text -------------------------------------------===//
// Needs: a tree and the sources of its spans.
// Gives: one node per line, indented by its depth, as `role: Kind detail line:col-line:col`; the
//        text of `--emit=ast`. The last column is one past the node.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include <string>

namespace pantile {

std::string printAst(const SourceManager &sources, const ast::FunctionDef &function);
std::string printAst(const SourceManager &sources, const ast::Module &module);
std::string printAst(const SourceManager &sources, const ast::Expr &expr);

} // namespace pantile
