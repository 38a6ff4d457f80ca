//===- Arguments.h - launch arguments, checked and packed ---------------------------------===//
// Needs: the ArgSpecs of a kernel and the LaunchArgs of one launch.
// Gives: one 8-byte slot per argument, with its value in the low bytes as the kernel's ABI
//        expects it: pointers 8 bytes, i1 and 8-bit 1, 16-bit 2, 32-bit 4, 64-bit 8.
// How:   the plan is made once per kernel, so that a launch compares no strings. A value that its
//        type cannot hold, or that breaks the specialisation, is an error with the parameter's
//        index.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Runtime.h"
#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace pantile {

/// How one argument is packed.
struct ArgSlot {
  enum class Kind : uint8_t { Pointer, Bool, Signed, Unsigned, Fp16, Bf16, Fp32, Fp64 } kind;
  uint8_t bits;     ///< of an integer
  int parameter;    ///< index among all parameters, constants counted
  int divisibility; ///< that the kernel was compiled for
};
using ArgPlan = std::vector<ArgSlot>;

Result<ArgPlan> planArguments(const std::vector<ArgSpec> &specs);

/// Writes one slot per argument to `slots`, which has room for `plan.size()`.
Result<void> packArguments(const ArgPlan &plan, llvm::ArrayRef<LaunchArg> args, uint64_t *slots);

/// The same for pointers and the usual scalars, without errors: false leaves the arguments to
/// packArguments. Launches try it first, since a Result costs more than the packing.
bool tryPack(const ArgPlan &plan, llvm::ArrayRef<LaunchArg> args, uint64_t *slots);

/// An error for a grid that no GPU accepts.
Result<void> checkGrid(const Grid &grid);

} // namespace pantile
