//===- Parser.h - text to syntax tree ---------------------------------------------------===//
// Needs: a buffer of a SourceManager.
// Gives: the tree, by the grammar of Python 3.12. Every syntax error of the text is reported:
//        after one, parsing goes on with the next statement.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include "support/Diagnostics.h"

namespace pantile {

/// The one function of a buffer, perhaps with decorators. Null where an error was reported.
std::unique_ptr<ast::FunctionDef> parseFunction(const SourceManager &sources, BufferId buffer,
                                                DiagnosticEngine &diagnostics);

/// A whole file, with nested functions as FunctionDef. Statements with errors are missing; of a
/// function with errors, what could be read is there.
ast::Module parseModule(const SourceManager &sources, BufferId buffer,
                        DiagnosticEngine &diagnostics);

/// One expression, such as a value given on the command line. Null where an error was reported.
ast::ExprPtr parseExpression(const SourceManager &sources, BufferId buffer,
                             DiagnosticEngine &diagnostics);

} // namespace pantile
