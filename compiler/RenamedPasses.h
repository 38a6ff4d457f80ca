//===- RenamedPasses.h - former names of passes ------------------------------------------===//
#pragma once
#include "pantile/Options.h"
#include <string>

namespace pantile {

/// `options` with today's name of each pass that they give by a former one; `warnings` gets a line for
/// each. A former name is taken for one version (CHANGELOG.md says since when).
Options withCurrentPassNames(Options options, std::string &warnings);

} // namespace pantile
