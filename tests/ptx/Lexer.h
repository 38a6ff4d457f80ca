//===- Lexer.h - the tokens of PTX --------------------------------------------------------===//
// Needs: the text, which must outlive the tokens.
// Gives: Tokens: peek, take, accept, expect; the line of the next token.
// How:   an opcode with its dots is one word, and so is a register with its percent sign.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Program.h"
#include <cctype>

namespace pantile::ptx {

class Tokens {
public:
  explicit Tokens(std::string_view text) {
    int line = 1;
    for (size_t at = 0; at < text.size();)
      at = read(text, at, line);
  }

  bool atEnd() const { return next >= tokens.size(); }
  int line() const { return atEnd() ? 0 : tokens[next].line; }

  std::string_view peek(size_t ahead = 0) const {
    return next + ahead < tokens.size() ? tokens[next + ahead].text : std::string_view(" ");
  }
  std::string_view take() {
    if (atEnd())
      throw Fault("the PTX ends too early");
    return tokens[next++].text;
  }
  bool accept(std::string_view text) {
    if (peek() != text)
      return false;
    ++next;
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text))
      throw Fault("line " + std::to_string(line()) + " of the PTX: `" + std::string(peek()) +
                  "` instead of `" + std::string(text) + "`");
  }
  void skipLine() {
    const int here = tokens[next - 1].line;
    while (!atEnd() && tokens[next].line == here)
      ++next;
  }

private:
  struct Token {
    std::string_view text;
    int line;
  };

  static bool isWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' ||
           c == '.';
  }

  /// Reads the token at `at`; returns where it ends.
  size_t read(std::string_view text, size_t at, int &line) {
    const char c = text[at];
    if (c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\0') {
      line += c == '\n';
      return at + 1;
    }
    if (c == '/' && at + 1 < text.size() && text[at + 1] == '/')
      return std::min(text.find('\n', at), text.size());
    size_t end = at + 1;
    if (c == '"')
      end = std::min(text.find('"', at + 1), text.size() - 1) + 1;
    else if (isWord(c))
      while (end < text.size() && (isWord(text[end]) || isScope(text, end)))
        end += isScope(text, end) ? 2 : 1;
    tokens.push_back({text.substr(at, end - at), line});
    return end;
  }

  static bool isScope(std::string_view text, size_t at) { return text.substr(at, 2) == "::"; }

  std::vector<Token> tokens;
  size_t next = 0;
};

} // namespace pantile::ptx
