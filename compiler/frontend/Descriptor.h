//===- Descriptor.h - attributes of tensor descriptors ----------------------------------===//
// Needs: a tensor descriptor, made by the kernel or by the host.
// Gives: its properties and, as methods, its operations (space `desc` of Builtins.def).
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

/// Fails if it has no such attribute.
Value descriptorAttribute(Emitter &e, const Value &descriptor, llvm::StringRef name);

} // namespace pantile
