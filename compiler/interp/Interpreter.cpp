//===- Interpreter.cpp - launches of an interpreted kernel --------------------------------===//
// Needs: see Interpreter.h.
// Gives: InterpretedKernel.
// How:   arguments are checked against the kernel's parameters and turned into register contents.
//===------------------------------------------------------------------------------------===//
#include "interp/Interpreter.h"
#include "interp/EachState.h"
#include "interp/Schedule.h"
#include "interp/Translate.h"
#include "interp/kernels/Narrow.h"
#include "support/CpuPool.h"
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <string_view>

namespace pantile {
namespace {
using namespace interp;

bool checksAreStrict() {
  const char *text = std::getenv("PANTILE_CHECK");
  return text && std::string_view(text).find("bounds") != std::string_view::npos;
}

uint64_t floatBits(Elem elem, double value) {
  switch (elem) {
  case Elem::F8E4M3:
    return toE4M3(roundToOdd(value)).bits;
  case Elem::F8E5M2:
    return toE5M2(roundToOdd(value)).bits;
  case Elem::F16:
    return toHalf(roundToOdd(value)).bits;
  case Elem::BF16:
    return toBFloat(roundToOdd(value)).bits;
  case Elem::F32:
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  default:
    return std::bit_cast<uint64_t>(value);
  }
}

/// Accepts signed and unsigned values of the parameter's width.
bool fits(Elem elem, int64_t value) {
  unsigned bits = elem == Elem::I1 ? 1 : 8 * sizeOf(elem);
  if (bits == 64)
    return true;
  return value >= -(int64_t(1) << (bits - 1)) && value < int64_t(1) << bits;
}

Result<uint64_t> argumentBits(const Argument &parameter, const LaunchArg &arg) {
  using Kind = LaunchArg::Kind;
  auto wrongKind = [&](const char *seen) {
    return makeError(ErrorKind::Launch, fmt::format("argument `{}` is {}", parameter.name, seen));
  };
  if (parameter.elem == Elem::Ptr)
    return arg.kind == Kind::Pointer ? Result<uint64_t>(arg.pointer)
                                     : wrongKind("a pointer and got a number");
  if (arg.kind == Kind::Pointer)
    return wrongKind("a number and got a pointer");
  if (isFloat(parameter.elem))
    return floatBits(parameter.elem,
                     arg.kind == Kind::Float ? arg.real : static_cast<double>(arg.integer));
  if (arg.kind == Kind::Float)
    return wrongKind("an integer and got a float");
  if (!fits(parameter.elem, arg.integer))
    return makeError(ErrorKind::Launch,
                     fmt::format("argument `{}`: {} does not fit {} bits", parameter.name,
                                 arg.integer, 8 * sizeOf(parameter.elem)));
  return static_cast<uint64_t>(arg.integer) & (parameter.elem == Elem::I1 ? 1 : ~uint64_t(0));
}

/// A null pointer without bounds is storage of no bytes: any access through it is out of bounds.
Bounds boundsOf(const LaunchArg &arg) {
  if (arg.kind != LaunchArg::Kind::Pointer)
    return {};
  bool known = arg.begin != 0 || arg.end != 0 || arg.pointer == 0;
  return {arg.begin, arg.end, true, known, arg.isReadOnly};
}

} // namespace

InterpretedKernel::InterpretedKernel() = default;
InterpretedKernel::~InterpretedKernel() = default;

Result<std::shared_ptr<InterpretedKernel>> InterpretedKernel::create(mlir::ModuleOp module,
                                                                     const SourceManager *sources) {
  Result<std::unique_ptr<Code>> code = translateKernel(module, sources);
  if (!code)
    return code.error();
  std::shared_ptr<InterpretedKernel> kernel(new InterpretedKernel);
  kernel->code = std::move(*code);
  kernel->arenas = std::make_unique<ArenaPool>(*kernel->code);
  return kernel;
}

void InterpretedKernel::freeMemory() const { arenas->clear(); }

void InterpretedKernel::compareWith(State state) { states.push_back(std::move(state)); }

Result<void> InterpretedKernel::run(Grid grid, const std::vector<LaunchArg> &args,
                                    int workers) const {
  return states.empty() ? runAlone(grid, args, workers, checksAreStrict())
                        : runStates(*this, *code, states, grid, args);
}

Result<void> InterpretedKernel::runAlone(Grid grid, const std::vector<LaunchArg> &args, int workers,
                                         bool strict) const {
  const auto &parameters = code->arguments;
  if (args.size() != parameters.size())
    return makeError(ErrorKind::Launch, fmt::format("kernel `{}` takes {} arguments and got {}",
                                                    code->name, parameters.size(), args.size()));
  for (int axis = 0; axis < 3; ++axis)
    if (grid[axis] < 0 || grid[axis] > INT32_MAX)
      return makeError(ErrorKind::Launch,
                       fmt::format("grid axis {} has size {}", axis, grid[axis]));
  Launch launch(*code, grid, strict);
  std::vector<uint64_t> bits;
  for (size_t i = 0; i < args.size(); ++i) {
    Result<uint64_t> value = argumentBits(parameters[i], args[i]);
    if (!value)
      return value.error();
    bits.push_back(*value);
    launch.bounds.push_back(boundsOf(args[i]));
    launch.allKnown &= launch.bounds.back().known || !launch.bounds.back().pointer;
  }
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
    return {};
  runGrid(launch, *arenas, bits, workers > 0 ? workers : CpuPool::defaultWorkers());
  if (std::optional<Error> error = launch.takeError())
    return std::move(*error);
  return {};
}

} // namespace pantile
