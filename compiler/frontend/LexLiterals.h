//===- LexLiterals.h - numbers and strings of the source --------------------------------===//
// Needs: the text, and the offset where the literal starts.
// Gives: its value and where it ends; errors with their own narrower range.
// How:   pure functions over the text; the Lexer turns offsets into spans.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Lexer.h"
#include <optional>

namespace pantile {

struct LiteralError {
  uint32_t begin = 0, end = 0;
  ErrorKind kind = ErrorKind::Syntax;
  std::string message;
};

struct NumberLiteral {
  uint32_t end = 0;
  ast::Literal value;
  std::optional<LiteralError> error;
};
NumberLiteral lexNumber(std::string_view text, uint32_t begin);

/// The letters before the quote. `length` is their number.
struct StringPrefix {
  uint32_t length = 0;
  bool raw = false, bytes = false, format = false;
};
/// The prefix of the string that starts at `begin`, if one does.
std::optional<StringPrefix> stringPrefixAt(std::string_view text, uint32_t begin);

struct StringLiteral {
  uint32_t end = 0;
  bool closed = false;
  std::string value;                ///< not of an f-string or of bytes
  std::vector<FStringChunk> chunks; ///< of an f-string; spans are of `buffer`
  std::optional<LiteralError> error;
};
StringLiteral lexString(std::string_view text, BufferId buffer, uint32_t begin,
                        StringPrefix prefix);

bool isIdentifierStart(std::string_view text, uint32_t at);
/// One past the identifier characters at `at`.
uint32_t skipIdentifier(std::string_view text, uint32_t at);

} // namespace pantile
