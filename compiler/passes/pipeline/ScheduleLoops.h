//===- ScheduleLoops.h - what a kernel that does not fit asks of the schedule -------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile {

namespace names {
/// unit, on the module: loops prefetch through one buffer less than they have stages
constexpr llvm::StringLiteral fewerBuffers = "nv.fewer_buffers";
/// unit, on the module: products outside of loops take no operand by way of a buffer that is not
/// needed
constexpr llvm::StringLiteral operandsInPlace = "nv.operands_in_place";
} // namespace names

} // namespace pantile
