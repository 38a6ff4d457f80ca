//===- TritonWords.h - Triton's own words, quoted in a message ----------------------------------===//
// Gives: the end of a message that holds the phrase which programs and their tests look for, where
//        it cannot be part of a sentence of ours: Triton's sentences begin with a capital letter.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <string>

namespace pantile {

inline std::string inTriton(const std::string &words) { return " (Triton: \"" + words + "\")"; }

} // namespace pantile
