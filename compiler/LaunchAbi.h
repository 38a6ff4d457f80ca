//===- LaunchAbi.h - what kernels of an ABI may ask of their launches ---------------------===//
// Needs: the options of a compilation, or a kernel that was compiled.
// Gives: the options its passes run under; what launches of the kernel need beyond its arguments.
// How:   here alone stands which passes need a launcher that knows the kernel.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"

namespace pantile {

/// `options` without the passes that need more than `options.launchAbi` gives, even where they were
/// switched on.
Options withinAbi(Options options);

/// What passes made launches of a kernel need or do beyond Triton's, in words.
std::vector<std::string> needsOfPasses(const Kernel::Data &kernel);

} // namespace pantile
