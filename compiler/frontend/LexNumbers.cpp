//===- LexNumbers.cpp - numbers of the source -------------------------------------------===//
#include "frontend/LexLiterals.h"
#include <algorithm>
#include <array>
#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Error.h>

namespace pantile {

namespace {

class NumberLexer {
public:
  NumberLexer(std::string_view text, uint32_t begin) : text(text), begin(begin), pos(begin) {}

  NumberLiteral lex() {
    const int radix = prefixRadix();
    if (radix != 10)
      lexPrefixed(radix);
    else
      lexDecimal();
    if (!result.error)
      checkEnd();
    result.end = pos;
    return std::move(result);
  }

private:
  char at(uint32_t i) const { return i < text.size() ? text[i] : '\0'; }

  int prefixRadix() const {
    if (at(begin) != '0')
      return 10;
    switch (at(begin + 1) | 0x20) {
    case 'x':
      return 16;
    case 'o':
      return 8;
    case 'b':
      return 2;
    default:
      return 10;
    }
  }

  static bool isDigit(char c, int radix) {
    const unsigned value = llvm::hexDigitValue(c);
    return value < static_cast<unsigned>(radix);
  }

  /// Digits with single underscores between them; false if there is none.
  bool skipDigits(int radix) {
    const uint32_t start = pos;
    while (isDigit(at(pos), radix) ||
           (pos > start && at(pos) == '_' && isDigit(at(pos + 1), radix)))
      ++pos;
    return pos > start;
  }

  std::string digits(uint32_t from) const {
    std::string kept(text.substr(from, pos - from));
    std::erase(kept, '_');
    return kept;
  }

  void fail(std::string message, ErrorKind kind = ErrorKind::Syntax) {
    pos = std::max(pos, skipIdentifier(text, pos));
    result.error = LiteralError{begin, pos, kind, std::move(message)};
  }

  void lexPrefixed(int radix) {
    pos = begin + 2;
    if (at(pos) == '_')
      ++pos;
    const uint32_t start = pos;
    if (!skipDigits(radix))
      return fail("`" + std::string(text.substr(begin, 2)) + "` is not followed by a digit");
    setInteger(digits(start), radix);
  }

  void lexDecimal() {
    bool isFloat = false;
    skipDigits(10);
    const uint32_t intEnd = pos;
    if (at(pos) == '.') {
      isFloat = true;
      ++pos;
      skipDigits(10);
    }
    const bool sign = at(pos + 1) == '+' || at(pos + 1) == '-';
    if ((at(pos) | 0x20) == 'e' && isDigit(at(pos + 1 + sign), 10)) {
      isFloat = true;
      pos += 1 + sign;
      skipDigits(10);
    }
    if ((at(pos) | 0x20) == 'j')
      return lexImaginary();
    if (isFloat)
      return setFloat(digits(begin));
    const std::string kept = digits(begin);
    if (kept.size() > 1 && kept.front() == '0' && kept.find_first_not_of('0') != kept.npos)
      return fail("a decimal integer cannot start with `0`; octal numbers start with `0o`");
    pos = intEnd;
    setInteger(kept, 10);
  }

  void lexImaginary() {
    setFloat(digits(begin));
    ++pos;
    if (!result.error)
      result.value = std::complex<double>(0, std::get<double>(result.value));
  }

  void setInteger(const std::string &kept, int radix) {
    uint64_t value = 0;
    if (llvm::StringRef(kept).getAsInteger(radix, value))
      return fail("this integer does not fit in 64 bits");
    if (value <= static_cast<uint64_t>(INT64_MAX))
      result.value = static_cast<int64_t>(value);
    else
      result.value = value;
  }

  /// Rounds to nearest; too large gives infinity, as in Python.
  void setFloat(const std::string &kept) {
    llvm::APFloat value(llvm::APFloat::IEEEdouble());
    auto status = value.convertFromString(kept, llvm::APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return fail("this is not a number");
    }
    result.value = value.convertToDouble();
  }

  /// `1if x else y` is Python; `1abc` is not.
  void checkEnd() {
    if (!isIdentifierStart(text, pos) && at(pos) != '_' && !isDigit(at(pos), 10))
      return;
    const uint32_t end = skipIdentifier(text, pos);
    const std::string_view word = text.substr(pos, end - pos);
    static constexpr std::array<std::string_view, 7> mayFollow = {"and", "else", "for", "if",
                                                                  "in",  "is",   "or"};
    if (std::ranges::find(mayFollow, word) != mayFollow.end() || word == "not")
      return;
    fail("`" + std::string(text.substr(begin, end - begin)) + "` is neither a number nor a name");
  }

  std::string_view text;
  uint32_t begin, pos;
  NumberLiteral result;
};

} // namespace

NumberLiteral lexNumber(std::string_view text, uint32_t begin) {
  return NumberLexer(text, begin).lex();
}

} // namespace pantile
