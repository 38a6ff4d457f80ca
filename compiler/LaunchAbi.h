//===- LaunchAbi.h - which passes a launch ABI allows ------------------------------===//
// Needs: the options of a compilation, or a compiled kernel.
// Gives: the options under which its passes run; what launches of the kernel need beyond its
//        arguments.
// How:   This is the only place that lists the passes whose kernels need a launcher of Pantile.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"

namespace pantile {

/// `options` without the passes that need more than `options.launchAbi` provides, even where they
/// were enabled.
Options withinAbi(Options options);

/// What launches of a kernel need because of passes, and Triton's launches do not have; as text.
std::vector<std::string> needsOfPasses(const Kernel::Data &kernel);

} // namespace pantile
