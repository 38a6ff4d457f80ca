//===- Utf8.h - characters of a source text ---------------------------------------------===//
// Gives: one character at a time, so that all columns are counted in the same way: a code point is
//        one column, and so is each byte that is not part of one.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace pantile {

struct Utf8Char {
  char32_t codePoint = 0;
  uint32_t length = 1; ///< bytes; 1 for a bad byte
  bool valid = false;
};

/// The character at the front of `text`, which is not empty.
Utf8Char decodeUtf8(std::string_view text);

/// `codePoint` is a Unicode scalar value: no surrogate, at most U+10FFFF.
bool isScalarValue(char32_t codePoint);
void appendUtf8(std::string &text, char32_t codePoint);

} // namespace pantile
