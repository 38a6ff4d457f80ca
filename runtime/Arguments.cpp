//===- Arguments.cpp - launch arguments, checked and packed -------------------------------===//
// Needs: see Arguments.h.
// Gives: planArguments, packArguments, checkGrid.
// How:   integers are checked against their width; u64 takes any 64 bits, since callers pass
//        large values as negative ones. An integer is accepted for a float parameter, a float
//        never for an integer parameter.
//===------------------------------------------------------------------------------------===//
#include "runtime/Arguments.h"
#include "llvm/ADT/APFloat.h"
#include <bit>
#include <fmt/format.h>
#include <optional>

namespace pantile {
namespace {

/// Cheaper than a Result for launches without an error.
using Failure = std::optional<Error>;

Error argumentError(const ArgSlot &slot, std::string text) {
  return makeError(ErrorKind::Launch, fmt::format("argument {}: {}", slot.parameter, text));
}

std::string typeName(const ArgSlot &slot) {
  switch (slot.kind) {
  case ArgSlot::Kind::Pointer:
    return "a pointer";
  case ArgSlot::Kind::Bool:
    return "`i1`";
  case ArgSlot::Kind::Signed:
    return fmt::format("`i{}`", slot.bits);
  case ArgSlot::Kind::Unsigned:
    return fmt::format("`u{}`", slot.bits);
  case ArgSlot::Kind::Fp16:
    return "`fp16`";
  case ArgSlot::Kind::Bf16:
    return "`bf16`";
  case ArgSlot::Kind::Fp32:
    return "`fp32`";
  case ArgSlot::Kind::Fp64:
    return "`fp64`";
  }
  return "";
}

bool fits(const ArgSlot &slot, int64_t value) {
  if (slot.kind == ArgSlot::Kind::Bool)
    return value == 0 || value == 1;
  if (slot.bits == 64)
    return true;
  if (slot.kind == ArgSlot::Kind::Unsigned)
    return value >= 0 && value < int64_t(1) << slot.bits;
  int64_t limit = int64_t(1) << (slot.bits - 1);
  return value >= -limit && value < limit;
}

/// `value` rounded to nearest even in the 16-bit type of `semantics`.
uint64_t roundTo16(double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat number(value);
  bool inexact;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.bitcastToAPInt().getZExtValue();
}

uint64_t packFloat(ArgSlot::Kind kind, double value) {
  switch (kind) {
  case ArgSlot::Kind::Fp16:
    return roundTo16(value, llvm::APFloat::IEEEhalf());
  case ArgSlot::Kind::Bf16:
    return roundTo16(value, llvm::APFloat::BFloat());
  case ArgSlot::Kind::Fp32:
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  default:
    return std::bit_cast<uint64_t>(value);
  }
}

Failure packInteger(const ArgSlot &slot, int64_t value, uint64_t &out) {
  if (!fits(slot, value))
    return argumentError(slot, fmt::format("{} does not fit {}", value, typeName(slot)));
  if (slot.divisibility > 1 && value % slot.divisibility != 0)
    return argumentError(slot,
                         fmt::format("{} is no multiple of {}, for which the kernel was compiled",
                                     value, slot.divisibility));
  out = static_cast<uint64_t>(value);
  return std::nullopt;
}

Failure packPointer(const ArgSlot &slot, const LaunchArg &arg, uint64_t &out) {
  uint64_t address =
      arg.kind == LaunchArg::Kind::Pointer ? arg.pointer : static_cast<uint64_t>(arg.integer);
  if (slot.divisibility > 1 && address % slot.divisibility != 0)
    return argumentError(
        slot, fmt::format("address {:#x} is no multiple of {}, for which the kernel was compiled",
                          address, slot.divisibility));
  out = address;
  return std::nullopt;
}

Failure packOne(const ArgSlot &slot, const LaunchArg &arg, uint64_t &out) {
  using Kind = ArgSlot::Kind;
  switch (slot.kind) {
  case Kind::Pointer:
    if (arg.kind == LaunchArg::Kind::Float)
      return argumentError(slot, fmt::format("{} was given for a pointer", arg.real));
    return packPointer(slot, arg, out);
  case Kind::Bool:
  case Kind::Signed:
  case Kind::Unsigned:
    if (arg.kind != LaunchArg::Kind::Int)
      return argumentError(slot,
                           fmt::format("a {} was given for {}",
                                       arg.kind == LaunchArg::Kind::Float ? "float" : "pointer",
                                       typeName(slot)));
    return packInteger(slot, arg.integer, out);
  default:
    if (arg.kind == LaunchArg::Kind::Pointer)
      return argumentError(slot, fmt::format("a pointer was given for {}", typeName(slot)));
    out = packFloat(slot.kind,
                    arg.kind == LaunchArg::Kind::Int ? static_cast<double>(arg.integer) : arg.real);
    return std::nullopt;
  }
}

/// Whether `value` is a multiple of what the kernel was compiled for. For a power of two this holds
/// of the bits of negative values, too.
bool isDivisible(const ArgSlot &slot, uint64_t value) {
  const uint64_t divisor = slot.divisibility;
  return divisor <= 1 || (!(divisor & (divisor - 1)) && !(value & (divisor - 1)));
}

/// Packs the usual kinds of arguments. False: packOne decides.
bool tryPackOne(const ArgSlot &slot, const LaunchArg &arg, uint64_t &out) {
  using Kind = ArgSlot::Kind;
  switch (slot.kind) {
  case Kind::Pointer:
    out = arg.pointer;
    return arg.kind == LaunchArg::Kind::Pointer && isDivisible(slot, out);
  case Kind::Signed:
    out = static_cast<uint64_t>(arg.integer);
    return arg.kind == LaunchArg::Kind::Int && isDivisible(slot, out) &&
           (slot.bits == 64 || (slot.bits == 32 && arg.integer == int32_t(arg.integer)));
  case Kind::Bool:
    out = static_cast<uint64_t>(arg.integer);
    return arg.kind == LaunchArg::Kind::Int && out <= 1 && isDivisible(slot, out);
  case Kind::Fp32:
    out = std::bit_cast<uint32_t>(static_cast<float>(arg.real));
    return arg.kind == LaunchArg::Kind::Float;
  default:
    return false;
  }
}

Result<ArgSlot> planScalar(const std::string &dtype, int parameter, int divisibility) {
  using Kind = ArgSlot::Kind;
  static constexpr struct {
    const char *name;
    Kind kind;
    uint8_t bits;
  } rows[] = {{"i1", Kind::Bool, 1},       {"i8", Kind::Signed, 8},     {"i16", Kind::Signed, 16},
              {"i32", Kind::Signed, 32},   {"i64", Kind::Signed, 64},   {"u1", Kind::Bool, 1},
              {"u8", Kind::Unsigned, 8},   {"u16", Kind::Unsigned, 16}, {"u32", Kind::Unsigned, 32},
              {"u64", Kind::Unsigned, 64}, {"fp16", Kind::Fp16, 0},     {"bf16", Kind::Bf16, 0},
              {"fp32", Kind::Fp32, 0},     {"fp64", Kind::Fp64, 0}};
  for (const auto &row : rows)
    if (dtype == row.name)
      return ArgSlot{row.kind, row.bits, parameter, divisibility};
  return makeError(
      ErrorKind::Launch,
      fmt::format("argument {}: a scalar of type `{}` cannot be passed", parameter, dtype));
}

} // namespace

Result<ArgPlan> planArguments(const std::vector<ArgSpec> &specs) {
  ArgPlan plan;
  for (size_t i = 0; i < specs.size(); ++i) {
    std::vector<ArgSpec> leaves;
    appendLaunchSpecs(specs[i], leaves);
    for (const ArgSpec &spec : leaves) {
      if (spec.kind == ArgSpec::Kind::Pointer) {
        plan.push_back({ArgSlot::Kind::Pointer, 64, static_cast<int>(i), spec.divisibility});
        continue;
      }
      Result<ArgSlot> slot = planScalar(spec.dtype, static_cast<int>(i), spec.divisibility);
      if (!slot)
        return slot.error();
      plan.push_back(*slot);
    }
  }
  return plan;
}

bool tryPack(const ArgPlan &plan, llvm::ArrayRef<LaunchArg> args, uint64_t *slots) {
  if (args.size() != plan.size())
    return false;
  for (size_t i = 0; i < plan.size(); ++i)
    if (!tryPackOne(plan[i], args[i], slots[i]))
      return false;
  return true;
}

Result<void> packArguments(const ArgPlan &plan, llvm::ArrayRef<LaunchArg> args, uint64_t *slots) {
  if (args.size() != plan.size())
    return makeError(ErrorKind::Launch,
                     fmt::format("the kernel takes {} run-time argument{}, {} {} given",
                                 plan.size(), plan.size() == 1 ? "" : "s", args.size(),
                                 args.size() == 1 ? "was" : "were"));
  for (size_t i = 0; i < plan.size(); ++i)
    if (Failure failure = packOne(plan[i], args[i], slots[i]))
      return std::move(*failure);
  return {};
}

Result<void> checkGrid(const Grid &grid) {
  static constexpr int64_t limits[] = {0x7fffffff, 65535, 65535};
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] < 0)
      return makeError(ErrorKind::Launch,
                       fmt::format("grid axis {} is {}, below 0", axis, grid[axis]));
    if (grid[axis] > limits[axis])
      return makeError(ErrorKind::Launch, fmt::format("grid axis {} is {}, above the limit of {}",
                                                      axis, grid[axis], limits[axis]));
  }
  return {};
}

} // namespace pantile
