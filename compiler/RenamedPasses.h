//===- RenamedPasses.h - former names of passes ------------------------------------------===//
#pragma once
#include "pantile/Options.h"
#include <string>

namespace pantile {

/// `options` with the current name of each pass that has a former name in them; `warnings` gets a
/// line for each. Former names are accepted for one version (CHANGELOG.md says since when).
Options withCurrentPassNames(Options options, std::string &warnings);

} // namespace pantile
