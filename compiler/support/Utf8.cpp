//===- Utf8.cpp - characters of a source text -------------------------------------------===//
#include "support/Utf8.h"

namespace pantile {

bool isScalarValue(char32_t codePoint) {
  return codePoint < 0xD800 || (codePoint > 0xDFFF && codePoint <= 0x10FFFF);
}

Utf8Char decodeUtf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80)
    return {lead, 1, true};
  const uint32_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                          : lead >= 0xE0 && lead < 0xF0 ? 3
                          : lead >= 0xC2 && lead < 0xE0 ? 2
                                                        : 1;
  if (length == 1 || text.size() < length)
    return {lead, 1, false};
  char32_t codePoint = lead & (0x7F >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80)
      return {lead, 1, false};
    codePoint = codePoint << 6 | (byte(i) & 0x3F);
  }
  const char32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (codePoint < least || !isScalarValue(codePoint))
    return {lead, 1, false};
  return {codePoint, length, true};
}

void appendUtf8(std::string &text, char32_t codePoint) {
  const auto put = [&](char32_t bits) { text.push_back(static_cast<char>(bits)); };
  const auto tail = [&](int shift) { put(0x80 | (codePoint >> shift & 0x3F)); };
  if (codePoint < 0x80) {
    put(codePoint);
  } else if (codePoint < 0x800) {
    put(0xC0 | codePoint >> 6);
    tail(0);
  } else if (codePoint < 0x10000) {
    put(0xE0 | codePoint >> 12);
    tail(6);
    tail(0);
  } else {
    put(0xF0 | codePoint >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

} // namespace pantile
