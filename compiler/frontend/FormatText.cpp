//===- FormatText.cpp - see FormatText.h ------------------------------------------------===//
// How:   a specification is [[fill]align][sign][#][0][width][,|_][.precision][type], in this
//        order; the digits are made first, then grouped, then padded.
//===------------------------------------------------------------------------------------===//
#include "frontend/FormatText.h"
#include <cmath>
#include <llvm/ADT/StringExtras.h>

using namespace pantile;
using llvm::StringRef;

namespace {
constexpr int maxWidth = 1000;

struct Spec {
  char fill = ' ', align = 0, sign = '-', group = 0, type = 0;
  bool isAlternate = false;
  int width = 0, precision = -1;
};

bool isAlign(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

bool takeNumber(StringRef &text, int &number) {
  return !text.consumeInteger(10, number) && number >= 0 && number <= maxWidth;
}

char takeOneOf(StringRef &text, StringRef set) {
  if (text.empty() || !set.contains(text.front()))
    return 0;
  char taken = text.front();
  text = text.drop_front();
  return taken;
}

std::optional<Spec> parseSpec(StringRef text) {
  Spec spec;
  if (text.size() > 1 && isAlign(text[1])) {
    spec.fill = text[0];
    spec.align = text[1];
    text = text.drop_front(2);
  } else {
    spec.align = takeOneOf(text, "<>^=");
  }
  if (char sign = takeOneOf(text, "+- "))
    spec.sign = sign;
  spec.isAlternate = takeOneOf(text, "#") != 0;
  if (text.starts_with("0") && !spec.align) {
    spec.fill = '0';
    spec.align = '=';
  }
  if (!text.empty() && llvm::isDigit(text.front()) && !takeNumber(text, spec.width))
    return std::nullopt;
  spec.group = takeOneOf(text, ",_");
  if (takeOneOf(text, ".") && !takeNumber(text, spec.precision))
    return std::nullopt;
  spec.type = takeOneOf(text, "bcdeEfFgGosxX%");
  return text.empty() ? std::optional(spec) : std::nullopt;
}

std::string digitsOf(BigInt value, unsigned base, bool isUpper) {
  std::string digits;
  do {
    digits.insert(digits.begin(), llvm::hexdigit(unsigned(value % base), !isUpper));
    value /= base;
  } while (value != 0);
  return digits;
}

std::string grouped(std::string digits, char separator, size_t every) {
  size_t end = digits.find_first_not_of("0123456789abcdefABCDEF");
  size_t at = end == std::string::npos ? digits.size() : end;
  for (; at > every; at -= every)
    digits.insert(at - every, 1, separator);
  return digits;
}

std::string padded(const Spec &spec, const std::string &sign, const std::string &body,
                   char defaultAlign) {
  size_t used = sign.size() + body.size(), width = size_t(spec.width);
  size_t gap = width > used ? width - used : 0;
  switch (spec.align ? spec.align : defaultAlign) {
  case '<':
    return sign + body + std::string(gap, spec.fill);
  case '^':
    return std::string(gap / 2, spec.fill) + sign + body + std::string(gap - gap / 2, spec.fill);
  case '=':
    return sign + std::string(gap, spec.fill) + body;
  default:
    return std::string(gap, spec.fill) + sign + body;
  }
}

std::string signText(const Spec &spec, bool isNegative) {
  return isNegative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string formatInteger(const Spec &spec, BigInt value) {
  char type = spec.type ? spec.type : 'd';
  unsigned base = type == 'b' ? 2 : type == 'o' ? 8 : type == 'd' ? 10 : 16;
  std::string digits = digitsOf(value < 0 ? -value : value, base, type == 'X');
  if (spec.group)
    digits = grouped(std::move(digits), spec.group, base == 10 ? 3 : 4);
  std::string sign = signText(spec, value < 0);
  if (spec.isAlternate && base != 10)
    sign += std::string("0") + type;
  return padded(spec, sign, digits, '>');
}

/// Without a type, a float has the digits of str(), and at least one after the point.
std::string formatFloat(const Spec &spec, double value) {
  double magnitude = std::fabs(value);
  bool isPercent = spec.type == '%';
  std::string digits;
  if (!spec.type && spec.precision < 0) {
    digits = constantText(Value(magnitude));
  } else {
    std::string pattern = std::string(spec.isAlternate ? "%#" : "%") + ".*";
    pattern += isPercent ? 'f' : spec.type ? spec.type : 'g';
    char buffer[2048];
    int precision = spec.precision < 0 ? 6 : spec.precision;
    snprintf(buffer, sizeof buffer, pattern.c_str(), precision,
             isPercent ? magnitude * 100 : magnitude);
    digits = buffer;
  }
  if (spec.group)
    digits = grouped(std::move(digits), spec.group, 3);
  return padded(spec, signText(spec, std::signbit(value)), digits + (isPercent ? "%" : ""), '>');
}
} // namespace

Folded pantile::formatText(const Value &value, StringRef text) {
  if (text.empty())
    return {constantText(value), {}};
  std::string wrong = "`" + text.str() + "` is no format of a " + kindText(value);
  std::optional<Spec> spec = parseSpec(text);
  if (!spec)
    return {{}, wrong};
  bool wantsInteger = StringRef("bcdoxX").contains(spec->type) && spec->type;
  bool wantsFloat = StringRef("eEfFgG%").contains(spec->type) && spec->type;
  auto integer = constantInt(value);
  if (value.isNumber() && spec->type != 's' && spec->type != 'c') {
    bool isText = value.is<bool>() && !spec->type;
    if (integer && !wantsFloat && spec->precision < 0 && !isText)
      return {formatInteger(*spec, *integer), {}};
    if (!wantsInteger && !isText)
      return {formatFloat(*spec, *constantDouble(value)), {}};
    if (isText)
      return {padded(*spec, "", constantText(value), '<'), {}};
  }
  if (!value.is<std::string>() || (spec->type && spec->type != 's') || spec->align == '=')
    return {{}, wrong};
  StringRef body = value.as<std::string>();
  if (spec->precision >= 0)
    body = body.take_front(size_t(spec->precision));
  return {padded(*spec, "", body.str(), '<'), {}};
}
