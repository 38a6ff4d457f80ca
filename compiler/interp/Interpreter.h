//===- Interpreter.h - runs layout-free tile IR on the CPU --------------------------------===//
// Needs: a verified module of layout-free tile IR with one kernel, calls inlined. No LLVM code
//        generation.
// Gives: a kernel that runs over a grid on the thread pool, with exact masks, the GPU's arithmetic,
//        real atomics and a check of every access against the arguments' storage.
// How:   create() translates the module once into a sequence of instructions on whole tiles; MLIR
//        is not needed afterwards. A read out of bounds gives 0 and a warning (Warnings.h), a write
//        is an error; PANTILE_CHECK=bounds makes both errors. A single worker runs the programs in
//        a fixed order, axis 0 fastest. Programs that wait for one another in a loop are suspended
//        and resumed in a round robin.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "pantile/Runtime.h"
#include <memory>
#include <vector>

namespace pantile {

class SourceManager;
namespace interp {
struct Code;
struct State;
class ArenaPool;
} // namespace interp

/// Immutable; may run on several threads at once.
class InterpretedKernel {
public:
  /// `sources` is used for messages during the call only; may be null.
  static Result<std::shared_ptr<InterpretedKernel>> create(mlir::ModuleOp module,
                                                           const SourceManager *sources);
  ~InterpretedKernel();

  /// `workers` 0: the pool's default.
  Result<void> run(Grid grid, const std::vector<LaunchArg> &args, int workers) const;
  /// The same without the states of `compareWith`. `strict`: a read out of bounds is an error.
  Result<void> runAlone(Grid grid, const std::vector<LaunchArg> &args, int workers,
                        bool strict) const;
  /// Frees the memory that launches have left for later ones. Must not be called while one runs.
  void freeMemory() const;
  /// Makes each launch run this state of the kernel as well and compare the results. Must not be
  /// called while a launch runs.
  void compareWith(interp::State state);

private:
  InterpretedKernel();
  std::unique_ptr<const interp::Code> code;
  std::unique_ptr<interp::ArenaPool> arenas;
  std::vector<interp::State> states;
};

} // namespace pantile
