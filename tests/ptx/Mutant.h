//===- Mutant.h - PTX with one deliberate mistake, and a record of what was launched ----------===//
// Needs: the text of a module, before it is parsed.
// Gives: mutantOf; recordText and recordLaunch, by which the tests that reach a mutant are found.
// How:   see Mutant.cpp for the environment variables.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include <string>
#include <string_view>

namespace pantile::ptx {

/// The text with the mistake that the environment asks for; a Fault if that cannot be read.
std::string mutantOf(std::string_view text);

/// Keeps the text of a module where the environment asks for a record; returns its name there.
std::string recordText(std::string_view text);
void recordLaunch(const std::string &nameOfText);

} // namespace pantile::ptx
