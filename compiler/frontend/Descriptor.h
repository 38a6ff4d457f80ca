//===- Descriptor.h - what a tensor descriptor tells of itself ----------------------------===//
// Needs: a tensor descriptor, made by the kernel or by the host.
// Gives: its properties and, as methods, its operations (space `desc` of Builtins.def).
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

/// Failed where it has no such attribute.
Value descriptorAttribute(Emitter &e, const Value &descriptor, llvm::StringRef name);

} // namespace pantile
