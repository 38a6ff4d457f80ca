//===- Parser.h - text to syntax tree ---------------------------------------------------===//
// Needs: a buffer of a SourceManager.
// Gives: the tree, by the grammar of Python 3.12. Every syntax error of the text is reported:
//        after one, parsing goes on with the next statement.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include "support/Diagnostics.h"

namespace pantile {

/// Parses the only function of a buffer, with its decorators. Null if an error was reported.
std::unique_ptr<ast::FunctionDef> parseFunction(const SourceManager &sources, BufferId buffer,
                                                DiagnosticEngine &diagnostics);

/// Parses a whole file, with nested functions as FunctionDef. Statements with errors are missing; a
/// function with errors has the statements that could be read.
ast::Module parseModule(const SourceManager &sources, BufferId buffer,
                        DiagnosticEngine &diagnostics);

/// Parses one expression, such as a value on the command line. Null if an error was reported.
ast::ExprPtr parseExpression(const SourceManager &sources, BufferId buffer,
                             DiagnosticEngine &diagnostics);

} // namespace pantile
