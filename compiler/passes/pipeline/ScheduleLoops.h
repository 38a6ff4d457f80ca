//===- ScheduleLoops.h - what a kernel that does not fit asks of the schedule -------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile {

namespace names {
/// unit, on the module: loops prefetch through one buffer less than they have stages
constexpr llvm::StringLiteral fewerBuffers = "nv.fewer_buffers";
} // namespace names

} // namespace pantile
