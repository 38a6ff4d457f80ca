//===- Warnings.h - warnings of CPU runs, kept until they are taken -----------------------===//
// Gives: addRunWarning and takeRunWarnings, for any thread. Of equal warnings the first is kept.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <string>

namespace pantile {

/// `key` is the file and line; a second warning of the same key is dropped.
void addRunWarning(const std::string &key, std::string rendered);
/// Everything since the last call, rendered.
std::string takeRunWarnings();

} // namespace pantile
