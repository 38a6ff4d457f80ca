//===- Occupancy.cpp - CTAs per SM to request from the assembler -----------------===//
#include "lower/Occupancy.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "ir/Registers.h"
#include "mlir/Analysis/Liveness.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace pantile;

namespace {

/// 32-bit registers per thread that hold `value`; 0 for tiles that are computed from indices.
int heldRegisters(Value value) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  if (!tile)
    return 0;
  Type element = tile.getElementType();
  const bool isComputed = !isa<BlockArgument>(value) && !isa<LoadOp>(value.getDefiningOp());
  if (isa<PtrType>(element) || element.isInteger(1) || (element.isIntOrIndex() && isComputed) ||
      (!isa<BlockArgument>(value) && value.getDefiningOp()->hasTrait<OpTrait::ConstantLike>()) ||
      isa_and_nonnull<SplatOp, BroadcastOp, ExpandDimsOp>(value.getDefiningOp()))
    return 0;
  return static_cast<int>((layoutOf(tile).numRegs() * storageBits(element) + 31) / 32);
}

bool isReduction(Operation *op) { return isa<ReduceOp, ScanOp>(op); }

/// Whether a reduction reads the elements of `value` as they are computed, and nothing reads them
/// later.
bool passesThrough(Value value, Operation *reduction, const Liveness &liveness) {
  return !isa_and_nonnull<LoadOp>(value.getDefiningOp()) && liveness.isDeadAfter(value, reduction);
}

/// The most registers that tiles occupy at a load or a reduction. Element-by-element computation in
/// between needs few more. Outside loops, loads after a reduction mostly hit a cache, so they need
/// not all be in flight at once.
int mostRegisters(Block &block, const Liveness &liveness, bool hasLoops) {
  const LivenessBlockInfo *info = liveness.getLiveness(&block);
  llvm::DenseMap<Value, int> registers;
  int most = 0;
  bool wasReduced = false;
  for (Operation &op : block) {
    if (!isReduction(&op) && (!isa<LoadOp>(op) || (wasReduced && !hasLoops)))
      continue;
    wasReduced |= isReduction(&op);
    int here = 0;
    for (Value value : info->currentlyLiveValues(&op)) {
      if (!hasLoops && isReduction(&op) && passesThrough(value, &op, liveness))
        continue;
      auto [entry, isNew] = registers.try_emplace(value, 0);
      if (isNew)
        entry->second = heldRegisters(value);
      here += entry->second;
    }
    most = std::max(most, here);
  }
  return most;
}

bool isLoopOfLoads(Operation *op) {
  return isa<LoopLikeOpInterface>(op) && op->walk([](LoadOp load) {
                                             return isa<RankedTensorType>(load.getType())
                                                        ? WalkResult::interrupt()
                                                        : WalkResult::advance();
                                           }).wasInterrupted();
}

/// Whether a loop loads a tile from addresses that it has loaded: without a limit ptxas unrolls the
/// loop, but makes the loads wait for one another.
bool gathersInLoop(LoadOp load) {
  auto loop = load->getParentOfType<LoopLikeOpInterface>();
  if (!loop || !isa<RankedTensorType>(load.getType()))
    return false;
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  return succeeded(getBackwardSlice(load.getPtr(), &slice, options)) &&
         llvm::any_of(slice, llvm::IsaPred<LoadOp>);
}

bool gathers(func::FuncOp kernel) {
  return kernel
      .walk([](LoadOp load) {
        return gathersInLoop(load) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether `op` converts the layout of a whole vector, not of the few elements after a reduction.
bool convertsVectors(Operation *op) {
  auto convert = dyn_cast<ConvertLayoutOp>(op);
  return convert && layoutOf(convert.getType()).numRegs() >= machineOf(op).registers.vectorOfLoads;
}

/// Whether loaded vectors are live after `reduction`.
bool keepsLoads(Operation *reduction, const Liveness &liveness) {
  const int64_t vector = machineOf(reduction).registers.vectorOfLoads;
  auto parent = reduction->getParentOfType<func::FuncOp>();
  return parent
      .walk([&](LoadOp load) {
        return heldRegisters(load.getResult()) >= vector && !liveness.isDeadAfter(load, reduction)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether the kernel computes element by element, one register each, with at most a reduction at
/// the end.
bool isElementwise(func::FuncOp kernel, const Liveness &liveness) {
  return !kernel.getBody()
              .walk([&](Operation *op) {
                const bool isOther =
                    (isReduction(op) ? keepsLoads(op, liveness) : op->getNumRegions() > 0) ||
                    convertsVectors(op) || llvm::any_of(op->getResultTypes(), [](Type type) {
                      return elementTypeOf(type).isF64();
                    });
                return isOther ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

/// For kernels with dots: a limit if a CTA reduces partial tiles, so that all loads of a partial
/// tile are in flight at once; else nothing.
std::optional<int> ctasForPartialTiles(func::FuncOp kernel, int threads, const Target &target) {
  int registers = 0;
  kernel.walk([&](nv::LoadPartialOp part) {
    registers = std::max(registers, static_cast<int>(registersOf(part.getResult())));
  });
  if (registers == 0)
    return std::nullopt;
  const MachineModel &machine = target.machine();
  return machine.ctasToAskFor(2 * (registers + machine.registers.overheadWithoutMma), threads);
}

/// Registers of the loop-carried tiles and of all fragments of the loop's dots on mma.sync.
int64_t registersOfDots(scf::ForOp loop) {
  int64_t registers = 0;
  for (Value argument : loop.getRegionIterArgs())
    registers += registersOf(argument);
  for (auto dot : loop.getBody()->getOps<DotOp>())
    registers +=
        registersOf(dot.getResult()) + registersOf(dot.getLhs()) + registersOf(dot.getRhs());
  return registers;
}

/// Where 128 registers hold all fragments at once, ptxas may still use a few more, which costs a
/// CTA of four warps per SM.
std::optional<int> ctasOfSmallDots(func::FuncOp kernel, int threads, const Target &target) {
  const MachineModel &machine = target.machine();
  const int64_t budget = machine.registers.budgetOfMmaSync;
  int64_t registers = 0;
  bool others = false;
  kernel.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && !loop.getBody()->getOps<DotOp>().empty())
      registers = std::max(registers, registersOfDots(loop));
    others |= isa<nv::WgmmaOp, nv::FmaOp, nv::ProducerOp>(op);
  });
  const int ctas = machine.ctasToAskFor(budget, threads);
  const int64_t shared = Launch::of(kernel).sharedBytes;
  if (others || registers == 0 || registers > budget || ctas < 2 ||
      ctas > machine.ctasByShared(shared))
    return std::nullopt;
  return ctas;
}

/// CTAs that leave registers for the largest wgmma, which ptxas refuses to split (C7602).
int ctasOfLargestMma(func::FuncOp kernel, int threads, const Target &target) {
  const MachineModel &machine = target.machine();
  int64_t registers = 0;
  kernel.walk([&](nv::WgmmaOp mma) {
    registers = std::max(registers, registersOf(mma.getResult()) + registersOf(mma.getLhs()));
  });
  if (registers == 0)
    return machine.occupancy.mostCtasToAskFor;
  const int64_t needed =
      llvm::alignTo(registers + machine.registers.overheadOfMma, machine.sm.registerUnit);
  return machine.ctasToAskFor(needed, threads);
}

bool isDot(Operation *op) { return isa<DotOp, nv::WgmmaOp, nv::FmaOp, nv::ProducerOp>(op); }
} // namespace

std::optional<int> lower::minCtasPerSm(func::FuncOp kernel, int threads, const Target &target) {
  bool loads = false, dots = false;
  kernel.walk([&](Operation *op) {
    loads |= isLoopOfLoads(op);
    dots |= isDot(op);
  });
  if (dots)
    if (auto ctas = ctasForPartialTiles(kernel, threads, target))
      return ctas;
  if (const auto ctas = static_cast<int>(Launch::of(kernel).ctasPerSm))
    return std::min(ctas, ctasOfLargestMma(kernel, threads, target));
  if (dots)
    return ctasOfSmallDots(kernel, threads, target);
  const Liveness liveness(kernel);
  int most = 0;
  kernel.walk([&](Block *block) { most = std::max(most, mostRegisters(*block, liveness, loads)); });
  const MachineModel &machine = target.machine();
  const RegisterThresholds &limits = machine.registers;
  const bool streams = isElementwise(kernel, liveness);
  const bool waitsTwice = most > limits.vectorOfLoads && streams;
  const int64_t needed = most + limits.overheadWithoutMma;
  if (needed <= limits.withoutBudget && !waitsTwice)
    return gathers(kernel)
               ? std::optional<int>(machine.ctasToAskFor(limits.budgetOfGathers, threads))
               : std::nullopt;
  if (needed <= limits.smallBudget)
    return machine.ctasToAskFor(limits.smallBudget, threads);
  if (needed > limits.largeBudget)
    return 1;
  // A CTA alone on its SM loads, computes and stores in turn; of two, one loads while the other
  // stores. What is computed element by element may be loaded in two parts.
  const int ctas = machine.ctasToAskFor(limits.largeBudget, threads);
  return ctas == 1 && streams ? machine.ctasToAskFor(limits.smallBudget, threads) : ctas;
}
