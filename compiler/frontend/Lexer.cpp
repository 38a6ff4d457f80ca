//===- Lexer.cpp - text to tokens -------------------------------------------------------===//
// How:   Errors wait in a list until the end: if a bracket turns out never to be closed, what was
//        read since is dropped, with its errors, and reading continues after its line.
//===------------------------------------------------------------------------------------===//
#include "frontend/Lexer.h"
#include "frontend/LexLiterals.h"
#include "support/Utf8.h"
#include <algorithm>
#include <array>

namespace pantile {

namespace {

constexpr int maxUnclosed = 50;

struct Spelling {
  std::string_view text;
  Tok kind;
};
constexpr Spelling keywords[] = {
#define KEYWORD(name, text) {text, Tok::Kw##name},
#include "frontend/Tokens.def"
};
constexpr Spelling operators[] = {
#define OPERATOR(name, text) {text, Tok::name},
#include "frontend/Tokens.def"
};

Tok closerOf(Tok open) {
  return open == Tok::LParen ? Tok::RParen : open == Tok::LBracket ? Tok::RBracket : Tok::RBrace;
}

/// Words with which only a statement can start: inside brackets, they say that one was not closed.
bool startsOnlyStatements(Tok kind) {
  static constexpr std::array words = {
      Tok::KwAssert, Tok::KwBreak,  Tok::KwClass,   Tok::KwContinue, Tok::KwDef,    Tok::KwDel,
      Tok::KwElif,   Tok::KwExcept, Tok::KwFinally, Tok::KwGlobal,   Tok::KwImport, Tok::KwNonlocal,
      Tok::KwPass,   Tok::KwRaise,  Tok::KwReturn,  Tok::KwTry,      Tok::KwWhile,  Tok::KwWith};
  return std::ranges::find(words, kind) != words.end();
}

class Lexer {
public:
  Lexer(BufferId buffer, std::string_view text, uint32_t begin, bool joined)
      : buffer(buffer), text(text), pos(begin), joined(joined), lineStart(!joined) {}

  TokenStream run(DiagnosticEngine &diagnostics) {
    if (text.substr(0, 3) == "\uFEFF")
      pos = 3;
    do {
      while (pos < text.size())
        step();
    } while (!brackets.empty() && recoverUnclosed(nextLine(brackets.front().span.begin)));
    finish();
    for (Diagnostic &diagnostic : errors)
      if (diagnostics.errorCount() < maxSyntaxErrors)
        diagnostics.report(std::move(diagnostic));
    return std::move(stream);
  }

private:
  struct Bracket {
    Tok kind;
    SourceSpan span;
    size_t tokenIndex;
  };
  /// `tabs8` counts a tab up to the next multiple of 8, `tabs1` as one: they must agree in order.
  struct Indentation {
    int tabs8 = 0, tabs1 = 0;
  };

  char at(uint32_t i) const { return i < text.size() ? text[i] : '\0'; }
  SourceSpan span(uint32_t from, uint32_t to) const { return {buffer, from, to}; }
  uint32_t lineEnd(uint32_t from) const {
    return static_cast<uint32_t>(std::min(text.find_first_of("\r\n", from), text.size()));
  }
  uint32_t nextLine(uint32_t from) const {
    const uint32_t end = lineEnd(from);
    return end + (at(end) == '\r' && at(end + 1) == '\n' ? 2 : end < text.size());
  }

  void push(Tok kind, uint32_t from, uint32_t to, size_t payload = 0) {
    stream.tokens.push_back({kind, span(from, to), static_cast<uint32_t>(payload)});
  }
  Diagnostic &error(uint32_t from, uint32_t to, std::string message,
                    ErrorKind kind = ErrorKind::Syntax) {
    return errors.emplace_back(
        Diagnostic{Severity::Error, kind, span(from, to), std::move(message), {}});
  }
  void errorToken(uint32_t from, uint32_t to, std::string message,
                  ErrorKind kind = ErrorKind::Syntax) {
    error(from, to, std::move(message), kind);
    push(Tok::Error, from, to);
  }

  void step() {
    if (lineStart && !lexIndentation())
      return;
    const char c = at(pos);
    if (c == ' ' || c == '\t' || c == '\f')
      ++pos;
    else if (c == '#')
      pos = lineEnd(pos);
    else if (c == '\n' || c == '\r')
      lexLineEnd();
    else if (c == '\\')
      lexContinuation();
    else
      lexToken();
  }

  //===- Lines ------------------------------------------------------------------------------===//

  void lexLineEnd() {
    const uint32_t start = pos;
    pos = nextLine(pos);
    if (joined || !brackets.empty()) {
      firstOnLine = true;
      return;
    }
    push(Tok::Newline, start, pos);
    lineStart = true;
  }

  void lexContinuation() {
    const char next = at(pos + 1);
    if ((next == '\n' || next == '\r') && nextLine(pos) < text.size()) {
      pos = nextLine(pos);
      return;
    }
    const bool atEnd = next == '\n' || next == '\r' || pos + 1 >= text.size();
    errorToken(pos, pos + 1,
               atEnd ? "the file ends after `\\`"
                     : "`\\` joins lines only as the last of its line");
    pos = atEnd ? static_cast<uint32_t>(text.size()) : pos + 1;
  }

  /// False where the line is blank, which has no meaning.
  bool lexIndentation() {
    Indentation indent;
    const uint32_t start = pos;
    for (;; ++pos) {
      if (at(pos) == ' ')
        ++indent.tabs8, ++indent.tabs1;
      else if (at(pos) == '\t')
        indent.tabs8 += 8 - indent.tabs8 % 8, ++indent.tabs1;
      else if (at(pos) == '\f')
        indent = {};
      else
        break;
    }
    if (pos >= text.size())
      return false;
    if (at(pos) == '#' || at(pos) == '\n' || at(pos) == '\r') {
      pos = nextLine(pos);
      return false;
    }
    lineStart = false;
    firstOnLine = true;
    setIndentation(indent, start);
    return true;
  }

  void setIndentation(Indentation indent, uint32_t start) {
    const Indentation top = indents.back();
    if (indent.tabs8 > top.tabs8) {
      if (indent.tabs1 <= top.tabs1)
        return mixedTabs(start);
      if (indents.size() > static_cast<size_t>(ast::maxBlockDepth))
        return (void)errorToken(start, pos, "blocks nest too deeply");
      indents.push_back(indent);
      push(Tok::Indent, start, pos);
      return;
    }
    while (indents.size() > 1 && indents[indents.size() - 2].tabs8 >= indent.tabs8) {
      indents.pop_back();
      push(Tok::Dedent, pos, pos);
    }
    if (indents.back().tabs8 != indent.tabs8) {
      error(start, pos, "this line is indented like no line before it");
      indents.back() = indent;
    } else if (indents.back().tabs1 != indent.tabs1) {
      mixedTabs(start);
    }
  }

  void mixedTabs(uint32_t start) {
    error(start, pos, "tabs and spaces are mixed so that the indentation is not clear");
  }

  void finish() {
    const uint32_t end = static_cast<uint32_t>(text.size());
    if (!joined) {
      if (!stream.tokens.empty() && stream.tokens.back().kind != Tok::Newline &&
          stream.tokens.back().kind != Tok::Dedent)
        push(Tok::Newline, end, end);
      for (; indents.size() > 1; indents.pop_back())
        push(Tok::Dedent, end, end);
    }
    push(Tok::Eof, end, end);
  }

  //===- Brackets ---------------------------------------------------------------------------===//

  /// A closer of another kind still closes: it is more often mistyped than forgotten.
  void closeBracket(Tok kind, SourceSpan where) {
    if (brackets.empty()) {
      errorToken(where.begin, where.end, "`" + std::string(describe(kind)) + "` closes nothing");
      return;
    }
    const Bracket open = brackets.back();
    brackets.pop_back();
    if (closerOf(open.kind) == kind)
      return push(kind, where.begin, where.end);
    error(where.begin, where.end,
          "`" + std::string(describe(kind)) + "` does not close `" +
              std::string(describe(open.kind)) + "`")
        .notes.push_back({open.span, "opened here"});
    push(Tok::Error, where.begin, where.end);
  }

  /// Drops what was read since the outermost open bracket and continues at `resume`. False if that
  /// does not help.
  bool recoverUnclosed(uint32_t resume) {
    const Bracket open = brackets.front();
    brackets.clear();
    // A wrong token on the line is the likelier cause: a string without an end hides the closer.
    const uint32_t lineStop = lineEnd(open.span.begin);
    const bool explained = std::ranges::any_of(errors, [&](const Diagnostic &e) {
      return e.span.begin >= open.span.begin && e.span.begin < lineStop;
    });
    std::erase_if(errors, [&](const Diagnostic &e) { return e.span.begin >= lineStop; });
    stream.tokens.resize(open.tokenIndex);
    if (explained)
      push(Tok::Error, open.span.begin, open.span.end);
    else
      errorToken(open.span.begin, open.span.end,
                 "`" + std::string(describe(open.kind)) + "` is never closed");
    if (joined || ++unclosed > maxUnclosed) {
      pos = static_cast<uint32_t>(text.size());
      return false;
    }
    push(Tok::Newline, resume, resume);
    lineStart = true;
    pos = resume;
    return true;
  }

  uint32_t startOfLine(uint32_t from) const {
    const size_t end = from == 0 ? text.npos : text.find_last_of("\r\n", from - 1);
    return end == text.npos ? 0 : static_cast<uint32_t>(end + 1);
  }

  //===- Tokens -----------------------------------------------------------------------------===//

  void lexToken() {
    const bool first = std::exchange(firstOnLine, false);
    const char c = at(pos);
    if (const auto prefix = stringPrefixAt(text, pos))
      return takeString(*prefix);
    if (isDigit(c) || (c == '.' && isDigit(at(pos + 1))))
      return takeNumber();
    if (isIdentifierStart(text, pos))
      return takeWord(first);
    for (const Spelling &op : operators)
      if (text.substr(pos, op.text.size()) == op.text)
        return takeOperator(op);
    takeUnknown();
  }

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }

  void takeWord(bool first) {
    const uint32_t start = pos, end = skipIdentifier(text, pos);
    const std::string_view word = text.substr(start, end - start);
    const auto keyword = std::ranges::find(keywords, word, &Spelling::text);
    const Tok kind = keyword == std::end(keywords) ? Tok::Name : keyword->kind;
    if (first && !brackets.empty() && startsOnlyStatements(kind)) {
      recoverUnclosed(startOfLine(start));
      return;
    }
    pos = end;
    push(kind, start, end);
  }

  void takeNumber() {
    const uint32_t start = pos;
    NumberLiteral number = lexNumber(text, pos);
    pos = number.end;
    if (number.error)
      return errorToken(start, pos, std::move(number.error->message), number.error->kind);
    push(Tok::Number, start, pos, stream.literals.size());
    stream.literals.push_back(std::move(number.value));
  }

  void takeString(StringPrefix prefix) {
    const uint32_t start = pos;
    StringLiteral string = lexString(text, buffer, pos, prefix);
    pos = string.end;
    if (LiteralError *e = string.error ? &*string.error : nullptr) {
      error(e->begin, e->end, std::move(e->message), e->kind);
      push(Tok::Error, start, pos);
    } else if (prefix.format) {
      push(Tok::FString, start, pos, stream.fstrings.size());
      stream.fstrings.push_back(std::move(string.chunks));
    } else if (prefix.bytes) {
      push(Tok::Bytes, start, pos);
    } else {
      push(Tok::String, start, pos, stream.literals.size());
      stream.literals.emplace_back(std::move(string.value));
    }
  }

  void takeOperator(const Spelling &op) {
    const SourceSpan where = span(pos, pos + static_cast<uint32_t>(op.text.size()));
    pos = where.end;
    if (op.kind == Tok::LParen || op.kind == Tok::LBracket || op.kind == Tok::LBrace)
      brackets.push_back({op.kind, where, stream.tokens.size()});
    else if (op.kind == Tok::RParen || op.kind == Tok::RBracket || op.kind == Tok::RBrace)
      return closeBracket(op.kind, where);
    push(op.kind, where.begin, where.end);
  }

  void takeUnknown() {
    const Utf8Char character = decodeUtf8(text.substr(pos));
    const uint32_t start = pos;
    pos += character.length;
    if (!character.valid)
      return errorToken(start, pos, "this byte is not valid UTF-8");
    const bool shown = character.codePoint > 0x20 && character.codePoint != 0x7F;
    errorToken(start, pos,
               shown ? "`" + std::string(text.substr(start, character.length)) +
                           "` has no meaning in the language"
                     : "a control character cannot stand here");
  }

  BufferId buffer;
  std::string_view text;
  uint32_t pos;
  bool joined, lineStart;
  bool firstOnLine = false;
  int unclosed = 0;
  std::vector<Bracket> brackets;
  std::vector<Indentation> indents{{}};
  std::vector<Diagnostic> errors;
  TokenStream stream;
};

/// Letters of any script may stand in names; punctuation and spaces outside ASCII may not.
bool isNameCodePoint(char32_t c) {
  const bool latin1Sign = c < 0xC0 && c != 0xAA && c != 0xB5 && c != 0xB7 && c != 0xBA;
  const bool punctuation = (c >= 0x2000 && c <= 0x206F) || (c >= 0x2190 && c <= 0x2BFF) ||
                           (c >= 0x3000 && c <= 0x3004) || (c >= 0x3008 && c <= 0x3020) ||
                           (c >= 0xFF01 && c <= 0xFF0F) || (c >= 0xFF1A && c <= 0xFF20);
  return !latin1Sign && !punctuation && c != 0xD7 && c != 0xF7 && c != 0xFEFF;
}

} // namespace

bool isIdentifierStart(std::string_view text, uint32_t at) {
  if (at >= text.size())
    return false;
  const char c = text[at];
  if (static_cast<unsigned char>(c) < 0x80)
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  const Utf8Char character = decodeUtf8(text.substr(at));
  return character.valid && isNameCodePoint(character.codePoint);
}

uint32_t skipIdentifier(std::string_view text, uint32_t at) {
  while (at < text.size() && (isIdentifierStart(text, at) || (text[at] >= '0' && text[at] <= '9')))
    at += decodeUtf8(text.substr(at)).length;
  return at;
}

std::string_view describe(Tok kind) {
  switch (kind) {
  case Tok::Eof:
    return "the end of the file";
  case Tok::Newline:
    return "the end of the line";
  case Tok::Indent:
    return "an indented line";
  case Tok::Dedent:
    return "the end of the block";
  case Tok::Error:
    return "an error";
  case Tok::Name:
    return "a name";
  case Tok::Number:
    return "a number";
  case Tok::String:
  case Tok::Bytes:
  case Tok::FString:
    return "a string";
#define KEYWORD(name, text)                                                                        \
  case Tok::Kw##name:                                                                              \
    return text;
#define OPERATOR(name, text)                                                                       \
  case Tok::name:                                                                                  \
    return text;
#include "frontend/Tokens.def"
  }
  return "";
}

bool isKeyword(Tok kind) { return kind >= Tok::KwFalse && kind <= Tok::KwYield; }

TokenStream tokenize(const SourceManager &sources, BufferId buffer, DiagnosticEngine &diagnostics) {
  return Lexer(buffer, sources.text(buffer), 0, /*joined=*/false).run(diagnostics);
}

TokenStream tokenizeJoined(const SourceManager &sources, SourceSpan span,
                           DiagnosticEngine &diagnostics) {
  return Lexer(span.buffer, sources.text(span.buffer).substr(0, span.end), span.begin,
               /*joined=*/true)
      .run(diagnostics);
}

} // namespace pantile
