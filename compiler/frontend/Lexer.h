//===- Lexer.h - text to tokens ---------------------------------------------------------===//
// Needs: a buffer of a SourceManager.
// Gives: all its tokens, by Python's rules: logical lines end with Newline; Indent and Dedent
//        enclose blocks; brackets and `\` join lines; comments and blank lines are dropped.
// How:   Invalid text is reported once and becomes an Error token, after which the parser stays
//        silent for the statement. A bracket that is never closed ends with its line, so that the
//        rest of the file is still read.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include "support/Diagnostics.h"
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

/// Enough tokens for errors that a person would read; a text in another language has thousands.
inline constexpr size_t maxSyntaxErrors = 20;

enum class Tok : uint8_t {
  Eof,
  Newline,
  Indent,
  Dedent,
  Error,
  Name,
  Number,
  String,
  Bytes,
  FString,
#define KEYWORD(name, text) Kw##name,
#define OPERATOR(name, text) name,
#include "frontend/Tokens.def"
};

/// The text of a keyword or operator; a description ("a name", "end of line") of any other.
std::string_view describe(Tok kind);
bool isKeyword(Tok kind);

struct Token {
  Tok kind = Tok::Eof;
  SourceSpan span;
  uint32_t payload = 0; ///< Number, String: index into literals; FString: index into fstrings
};

/// A piece of an f-string: text, or a field `{expr=!r:spec}`.
struct FStringChunk {
  std::string literal; ///< of a text
  SourceSpan expr;     ///< of a field: the expression
  SourceSpan echo;     ///< of a field with `=`: the text to repeat, which ends with `=`
  char conversion = 0;
  bool hasSpec = false;
  std::vector<FStringChunk> spec;
  bool isField() const { return expr.isValid(); }
};

struct TokenStream {
  std::vector<Token> tokens; ///< ends with Eof
  std::vector<ast::Literal> literals;
  std::vector<std::vector<FStringChunk>> fstrings;
};

TokenStream tokenize(const SourceManager &sources, BufferId buffer, DiagnosticEngine &diagnostics);

/// The tokens of a part of a buffer, as if in parentheses: no Newline, no Indent.
TokenStream tokenizeJoined(const SourceManager &sources, SourceSpan span,
                           DiagnosticEngine &diagnostics);

} // namespace pantile
