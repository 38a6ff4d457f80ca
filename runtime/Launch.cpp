//===- Launch.cpp - run a kernel over a grid ----------------------------------------------===//
// Needs: a compiled kernel; on the GPU a driver.
// Gives: launch and takeWarnings of pantile/Runtime.h.
// How:   arguments are packed into 8-byte slots on the stack. The CPU's interpreter reads the
//        unpacked LaunchArgs, after the same checks.
//===------------------------------------------------------------------------------------===//
#include "runtime/Launch.h"
#include "interp/Interpreter.h"
#include "interp/Warnings.h"
#include "runtime/Module.h"
#include "runtime/StreamKChoice.h"
#include "llvm/ADT/SmallVector.h"
#include <fmt/format.h>

namespace pantile {
namespace {

Result<void> launchOnCpu(const Kernel &kernel, const Grid &grid, std::span<const LaunchArg> args,
                         int workers) {
  auto *program = static_cast<InterpretedKernel *>(kernel->interpreted.get());
  if (!program)
    return makeError(ErrorKind::Launch,
                     fmt::format("kernel `{}` has nothing to run on the CPU", kernel->name));
  return program->run(grid, {args.begin(), args.end()}, workers);
}

bool isPlain(const LaunchOptions &options) {
  return !options.cooperative && !options.programmatic && options.cluster == std::array{1, 1, 1};
}

/// Whether a CTA may run several programs of this launch. Cooperative, programmatic and cluster
/// launches need one CTA per program.
bool mayPersist(const Grid &grid, const LaunchOptions &options) {
  return isPlain(options) && mayRunSeveralPerCta(grid);
}

/// Whether the launch allows the kernel's mapping of programs to CTAs. If not, the plain variant runs.
bool suits(const Kernel &kernel, const Grid &grid, const LaunchOptions &options) {
  return (!kernel->persistent || mayPersist(grid, options)) &&
         (kernel->ctasPerProgram == 1 ||
          (isPlain(options) && mayUseClusters(grid, kernel->ctasPerProgram)));
}

/// Graphs that are instantiated from one capture may run side by side, and would share a workspace.
bool isCaptured(const Driver &driver, uint64_t stream) {
  constexpr uint64_t legacyStream = 1;
  int status = 0;
  return stream > legacyStream && driver.streamIsCapturing &&
         (driver.streamIsCapturing(reinterpret_cast<CUstream>(stream), &status) != 0 ||
          status != 0);
}

/// The stream-K variant, where it is predicted to be faster; else null.
Kernel betterVariant(const Driver &driver, const Kernel &kernel, const Grid &grid,
                     llvm::ArrayRef<uint64_t> slots, const LaunchOptions &options) {
  const bool isBetter =
      kernel->streamK &&
      choosesStreamK(driver, kernel, options.device, tileCountOf(kernel, slots, grid)) &&
      !isCaptured(driver, options.stream);
  return isBetter ? streamKVariant(kernel) : Kernel();
}

} // namespace

Result<void> launch(const Kernel &kernel, Grid grid, std::span<const LaunchArg> args,
                    const LaunchOptions &options) {
  if (!kernel)
    return makeError(ErrorKind::Launch, "there is no kernel to launch");
  const LaunchState &state = launchStateOf(*kernel);
  if (!state.planned.load(std::memory_order_acquire)) [[unlikely]]
    if (Result<void> planned = planLaunches(kernel); !planned)
      return planned;
  llvm::SmallVector<uint64_t, 32> slots;
  slots.resize_for_overwrite(state.plan.size());
  const llvm::ArrayRef<LaunchArg> given(args.data(), args.size());
  if (!tryPack(state.plan, given, slots.data()))
    if (Result<void> packed = packArguments(state.plan, given, slots.data()); !packed)
      return packed;
  slots.append(scratchPointers, 0);
  if (!isSurelyValid(grid)) [[unlikely]]
    if (Result<void> checked = checkGrid(grid); !checked)
      return checked;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
    return {};
  if (kernel->options.target == "cpu")
    return launchOnCpu(kernel, grid, args, options.workers);
  const auto &driver = Driver::shared();
  if (!driver)
    return driver.error();
  EncodedTensorMaps maps;
  const bool fits = encodeTensorMaps(**driver, kernel->tensorMaps, state.maps, slots, grid, maps);
  if (fits && suits(kernel, grid, options)) {
    // What keeps the variant from being launched need not keep the kernel.
    if (Kernel split = betterVariant(**driver, kernel, grid, slots, options);
        split && launch(split, grid, args, options))
      return {};
    return launchOnGpu(**driver, kernel, grid, slots, maps, options);
  }
  Result<Kernel> plain = plainVariant(kernel);
  return plain ? launch(*plain, grid, args, options) : Result<void>(plain.error());
}

std::string takeWarnings() { return takeRunWarnings(); }

} // namespace pantile
