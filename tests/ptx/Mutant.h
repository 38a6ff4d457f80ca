//===- Mutant.h - PTX with one deliberate mistake, and a record of launches ----------===//
// Needs: the text of a module, before it is parsed.
// Gives: mutantOf; recordText and recordLaunch, which find the tests that run a mutant.
// How:   See Mutant.cpp for the environment variables.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include <string>
#include <string_view>

namespace pantile::ptx {

/// The text with the mistake that the environment specifies; a Fault if it cannot be parsed.
std::string mutantOf(std::string_view text);

/// Records the text of a module if the environment requests it; returns its name there.
std::string recordText(std::string_view text);
void recordLaunch(const std::string &nameOfText);

} // namespace pantile::ptx
