//===- LexStrings.cpp - strings of the source -------------------------------------------===//
// How:   one scanner for all kinds. Fields of f-strings are only delimited here: the parser
//        tokenizes them again. While a field is being delimited, the strings in it are skipped
//        by scanners of their own that keep no value.
//===------------------------------------------------------------------------------------===//
#include "frontend/LexLiterals.h"
#include "support/Utf8.h"
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Unicode.h>

namespace pantile {

namespace {

constexpr int maxFStringDepth = 100;

class StringLexer {
public:
  StringLexer(std::string_view text, BufferId buffer, uint32_t begin, StringPrefix prefix,
              int depth)
      : text(text), buffer(buffer), begin(begin), pos(begin + prefix.length), prefix(prefix),
        depth(depth) {}

  StringLiteral lex() {
    quote = at(pos);
    triple = at(pos + 1) == quote && at(pos + 2) == quote;
    pos += triple ? 3 : 1;
    if (prefix.format)
      lexChunks(result.chunks, /*inSpec=*/false);
    else
      lexText(result.value);
    if (closed)
      pos += triple ? 3 : 1;
    else
      reportUnclosed();
    result.end = pos;
    result.closed = closed;
    return std::move(result);
  }

private:
  char at(uint32_t i) const { return i < text.size() ? text[i] : '\0'; }
  bool atLineEnd() const { return at(pos) == '\n' || at(pos) == '\r'; }
  bool atQuote() const {
    return at(pos) == quote && (!triple || (at(pos + 1) == quote && at(pos + 2) == quote));
  }

  void fail(uint32_t from, uint32_t to, std::string message, ErrorKind kind = ErrorKind::Syntax) {
    if (!result.error)
      result.error = LiteralError{from, to, kind, std::move(message)};
  }

  /// The string ends with its first line, so that the lines after it are still read.
  void reportUnclosed() {
    pos = static_cast<uint32_t>(std::min(text.find_first_of("\r\n", begin), text.size()));
    const uint32_t opened = begin + prefix.length + (triple ? 3 : 1);
    fail(begin, triple ? opened : pos,
         triple ? "this string is never closed" : "this string is not closed on its line");
  }

  /// Stops at the closing quote, or where the string cannot go on; in an f-string also at a brace.
  void lexText(std::string &value) {
    while (pos < text.size()) {
      if (atQuote()) {
        closed = true;
        return;
      }
      if (atLineEnd() && !triple)
        return;
      if (prefix.format && (at(pos) == '{' || at(pos) == '}'))
        return;
      if (at(pos) == '\\')
        lexBackslash(value);
      else
        takeChar(value);
    }
  }

  /// Line ends become "\n".
  void takeChar(std::string &value) {
    if (at(pos) == '\r') {
      pos += at(pos + 1) == '\n' ? 2 : 1;
      value += '\n';
      return;
    }
    value += at(pos++);
  }

  void lexBackslash(std::string &value) {
    if (prefix.raw) {
      value += at(pos++);
      if (pos < text.size() && !(prefix.format && (at(pos) == '{' || at(pos) == '}')))
        takeChar(value);
      return;
    }
    const uint32_t start = pos++;
    const char escape = at(pos);
    if (pos >= text.size())
      return;
    static constexpr std::string_view letters = "\\'\"abfnrtv";
    static constexpr std::string_view meanings = "\\'\"\a\b\f\n\r\t\v";
    if (const size_t index = letters.find(escape); index != letters.npos) {
      ++pos;
      value += meanings[index];
    } else if (atLineEnd()) {
      std::string dropped;
      takeChar(dropped);
    } else if (escape >= '0' && escape <= '7') {
      lexOctal(value);
    } else if (escape == 'x') {
      lexHex(value, start, 2);
    } else if (!prefix.bytes && (escape == 'u' || escape == 'U')) {
      lexHex(value, start, escape == 'u' ? 4 : 8);
    } else if (!prefix.bytes && escape == 'N') {
      lexNamed(value, start);
    } else {
      value += '\\'; // an unknown escape stands for itself
    }
  }

  void lexOctal(std::string &value) {
    char32_t code = 0;
    for (int i = 0; i < 3 && at(pos) >= '0' && at(pos) <= '7'; ++i)
      code = code * 8 + (at(pos++) - '0');
    appendUtf8(value, code);
  }

  void lexHex(std::string &value, uint32_t start, int count) {
    char32_t code = 0;
    ++pos;
    for (int i = 0; i < count; ++i, ++pos) {
      const unsigned digit = llvm::hexDigitValue(at(pos));
      if (digit > 15)
        return fail(start, pos,
                    "this escape needs " + std::to_string(count) + " hexadecimal digits");
      code = code << 4 | digit;
    }
    if (!isScalarValue(code))
      return fail(start, pos, "this escape is not a Unicode character");
    appendUtf8(value, code);
  }

  void lexNamed(std::string &value, uint32_t start) {
    const size_t end = text.find_first_of("}\r\n\"'", pos);
    if (at(++pos) != '{' || end == text.npos || text[end] != '}')
      return fail(start, pos, "`\\N` is written `\\N{name}`");
    const std::string_view name = text.substr(pos + 1, end - pos - 1);
    pos = static_cast<uint32_t>(end + 1);
    const auto code = llvm::sys::unicode::nameToCodepointStrict({name.data(), name.size()});
    if (!code)
      return fail(start, pos, "there is no Unicode character of this name");
    appendUtf8(value, *code);
  }

  //===- f-strings ------------------------------------------------------------------------===//

  /// Text and fields alternating, up to the closing quote; those of a format specification up to
  /// its `}`.
  void lexChunks(std::vector<FStringChunk> &chunks, bool inSpec) {
    std::string literal;
    while (!closed && pos < text.size() && (triple || !atLineEnd())) {
      lexText(literal);
      const char brace = at(pos);
      if (closed || pos >= text.size() || (brace != '{' && brace != '}'))
        break;
      if (at(pos + 1) == brace && !inSpec) {
        literal += brace;
        pos += 2;
      } else if (brace == '{') {
        addText(chunks, literal);
        lexField(chunks);
        if (stuck)
          return;
      } else if (inSpec) {
        break;
      } else {
        fail(pos, pos + 1, "a single `}` in an f-string is written `}}`");
        ++pos;
      }
    }
    addText(chunks, literal);
  }

  static void addText(std::vector<FStringChunk> &chunks, std::string &literal) {
    if (literal.empty())
      return;
    chunks.emplace_back().literal = std::move(literal);
    literal.clear();
  }

  void lexField(std::vector<FStringChunk> &chunks) {
    const uint32_t open = pos++;
    FStringChunk field;
    const uint32_t exprBegin = pos;
    skipFieldExpr();
    uint32_t exprEnd = pos;
    if (at(pos) == '=') {
      ++pos;
      skipSpace();
      field.echo = {buffer, exprBegin, pos};
    }
    while (exprEnd > exprBegin && isSpace(text[exprEnd - 1]))
      --exprEnd;
    field.expr = {buffer, exprBegin, exprEnd};
    if (at(pos) == '!')
      lexConversion(field);
    if (at(pos) == ':') {
      ++pos;
      field.hasSpec = true;
      if (++depth > maxFStringDepth)
        return stop(open, "f-strings nest too deeply");
      lexChunks(field.spec, /*inSpec=*/true);
      --depth;
    }
    if (stuck)
      return;
    if (at(pos) != '}' || closed)
      return stop(open, "`{` is never closed in this f-string");
    if (text.substr(exprBegin, exprEnd - exprBegin).find_first_not_of(" \t\r\n\f") ==
        std::string_view::npos)
      fail(open, pos + 1, "expected an expression in `{}` of an f-string");
    ++pos;
    chunks.push_back(std::move(field));
  }

  void lexConversion(FStringChunk &field) {
    ++pos;
    skipSpace();
    const uint32_t end = skipIdentifier(text, pos);
    const std::string_view name = text.substr(pos, end - pos);
    if (name != "r" && name != "s" && name != "a")
      fail(pos - 1, std::max(end, pos), "a conversion in an f-string is `!r`, `!s` or `!a`");
    else
      field.conversion = name[0];
    pos = end;
    skipSpace();
  }

  void stop(uint32_t open, std::string message) {
    fail(open, open + 1, std::move(message));
    closed = false;
    stuck = true;
    pos = static_cast<uint32_t>(text.size());
  }

  static bool isSpace(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
  }
  void skipSpace() {
    while (isSpace(at(pos)))
      ++pos;
  }

  /// Moves to the `}`, `!`, `:` or `=` that ends the expression of a field, outside brackets and
  /// strings.
  void skipFieldExpr() {
    int open = 0;
    while (pos < text.size()) {
      const char c = at(pos);
      if (const auto inner = stringPrefixAt(text, pos)) {
        skipString(*inner);
      } else if (isIdentifierStart(text, pos)) {
        pos = skipIdentifier(text, pos);
      } else if (c == '#') {
        pos = static_cast<uint32_t>(std::min(text.find_first_of("\r\n", pos), text.size()));
      } else if (c == '(' || c == '[' || c == '{') {
        ++open;
        ++pos;
      } else if (open == 0 && endsFieldExpr()) {
        return;
      } else {
        open -= c == ')' || c == ']' || c == '}';
        pos += isComparison() ? 2 : 1;
      }
    }
  }

  bool isComparison() const {
    return at(pos + 1) == '=' && std::string_view("=!<>").find(at(pos)) != std::string_view::npos;
  }
  bool endsFieldExpr() const {
    if (isComparison())
      return false;
    const char c = at(pos);
    if (c == '}' || c == '!' || c == ':')
      return true;
    if (c != '=')
      return false;
    uint32_t next = pos + 1;
    while (isSpace(at(next)))
      ++next;
    return at(next) == '}' || at(next) == '!' || at(next) == ':';
  }

  void skipString(StringPrefix inner) {
    if (depth >= maxFStringDepth) {
      fail(pos, pos + 1, "f-strings nest too deeply");
      pos = static_cast<uint32_t>(text.size());
      return;
    }
    const StringLiteral literal = StringLexer(text, buffer, pos, inner, depth + 1).lex();
    // Going on after an open string would read the rest twice, at each level.
    pos = literal.closed ? literal.end : static_cast<uint32_t>(text.size());
  }

  std::string_view text;
  BufferId buffer;
  uint32_t begin, pos;
  StringPrefix prefix;
  int depth;
  char quote = 0;
  bool triple = false, closed = false, stuck = false;
  StringLiteral result;
};

} // namespace

std::optional<StringPrefix> stringPrefixAt(std::string_view text, uint32_t begin) {
  StringPrefix prefix;
  bool unicode = false;
  for (uint32_t i = begin; i < text.size() && i < begin + 3; ++i, ++prefix.length) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      const int exclusive = prefix.bytes + prefix.format + unicode;
      return exclusive <= 1 && !(unicode && prefix.raw) ? std::optional(prefix) : std::nullopt;
    }
    bool &flag = (c | 0x20) == 'r'   ? prefix.raw
                 : (c | 0x20) == 'b' ? prefix.bytes
                 : (c | 0x20) == 'f' ? prefix.format
                                     : unicode;
    if ((&flag == &unicode && (c | 0x20) != 'u') || flag)
      return std::nullopt;
    flag = true;
  }
  return std::nullopt;
}

StringLiteral lexString(std::string_view text, BufferId buffer, uint32_t begin,
                        StringPrefix prefix) {
  return StringLexer(text, buffer, begin, prefix, /*depth=*/0).lex();
}

} // namespace pantile
