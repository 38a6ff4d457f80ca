//===- Occupancy.cpp - blocks that should share an SM ----------------------------===//
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

/// Registers of 32 bits that a tile takes in each thread; 0 for what is computed from its place.
int wordsOf(Value value) {
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

/// Whether a reduction takes the elements of `value` as they are computed, and nobody afterwards.
bool passesThrough(Value value, Operation *reduction, const Liveness &liveness) {
  return !isa_and_nonnull<LoadOp>(value.getDefiningOp()) && liveness.isDeadAfter(value, reduction);
}

/// The most that is alive in tiles at a load or a reduction. What is computed element by element
/// in between passes through few registers. Outside of loops what is loaded behind a reduction is
/// most often found in a cache, and need not be under way all at once.
int mostWords(Block &block, const Liveness &liveness, bool hasLoops) {
  const LivenessBlockInfo *info = liveness.getLiveness(&block);
  llvm::DenseMap<Value, int> words;
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
      auto [entry, isNew] = words.try_emplace(value, 0);
      if (isNew)
        entry->second = wordsOf(value);
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

/// Whether a loop reads memory to know where to load a tile: the assembler unrolls it, but has the
/// loads wait for each other where it is told nothing.
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

/// Not what a reduction leaves of them.
bool convertsVectors(Operation *op) {
  auto convert = dyn_cast<ConvertLayoutOp>(op);
  return convert && layoutOf(convert.getType()).numRegs() >= machineOf(op).registers.vectorOfLoads;
}

/// Whether vectors that are loaded live on behind a reduction, or come from behind one.
bool keepsLoads(Operation *reduction, const Liveness &liveness) {
  const int64_t vector = machineOf(reduction).registers.vectorOfLoads;
  auto parent = reduction->getParentOfType<func::FuncOp>();
  return parent
      .walk([&](LoadOp load) {
        return wordsOf(load.getResult()) >= vector && !liveness.isDeadAfter(load, reduction)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether all is computed element by element, in single words, at most to be summed up then.
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

/// With products: told where a block adds a part of a sum, whose vectors shall all be under way, to
/// its own; nothing elsewhere.
std::optional<int> blocksThatAdd(func::FuncOp kernel, int threads, const Target &target) {
  int words = 0;
  kernel.walk([&](nv::LoadPartialOp part) {
    words = std::max(words, static_cast<int>(registersOf(part.getResult())));
  });
  if (words == 0)
    return std::nullopt;
  const MachineModel &machine = target.machine();
  return machine.ctasToAskFor(2 * (words + machine.registers.overheadWithoutMma), threads);
}

/// What a loop carries, and all fragments of its products on mma.sync.
int64_t wordsOfProducts(scf::ForOp loop) {
  int64_t words = 0;
  for (Value argument : loop.getRegionIterArgs())
    words += registersOf(argument);
  for (auto dot : loop.getBody()->getOps<DotOp>())
    words += registersOf(dot.getResult()) + registersOf(dot.getLhs()) + registersOf(dot.getRhs());
  return words;
}

/// Where 128 registers hold even all fragments at once, the assembler may still take some more,
/// and a block of four warps has no room then.
std::optional<int> blocksOfSmallProducts(func::FuncOp kernel, int threads, const Target &target) {
  const MachineModel &machine = target.machine();
  const int64_t budget = machine.registers.budgetOfMmaSync;
  int64_t words = 0;
  bool others = false;
  kernel.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && !loop.getBody()->getOps<DotOp>().empty())
      words = std::max(words, wordsOfProducts(loop));
    others |= isa<nv::WgmmaOp, nv::FmaOp, nv::ProducerOp>(op);
  });
  const int blocks = machine.ctasToAskFor(budget, threads);
  const int64_t shared = Launch::of(kernel).sharedBytes;
  if (others || words == 0 || words > budget || blocks < 2 || blocks > machine.ctasByShared(shared))
    return std::nullopt;
  return blocks;
}

/// CTAs that leave registers for the largest wgmma, which ptxas refuses to split (C7602).
int blocksOfLargestMma(func::FuncOp kernel, int threads, const Target &target) {
  const MachineModel &machine = target.machine();
  int64_t words = 0;
  kernel.walk([&](nv::WgmmaOp mma) {
    words = std::max(words, registersOf(mma.getResult()) + registersOf(mma.getLhs()));
  });
  if (words == 0)
    return machine.occupancy.mostCtasToAskFor;
  const int64_t registers =
      llvm::alignTo(words + machine.registers.overheadOfMma, machine.sm.registerUnit);
  return machine.ctasToAskFor(registers, threads);
}

bool isProduct(Operation *op) { return isa<DotOp, nv::WgmmaOp, nv::FmaOp, nv::ProducerOp>(op); }
} // namespace

std::optional<int> lower::leastBlocks(func::FuncOp kernel, int threads, const Target &target) {
  bool loads = false, products = false;
  kernel.walk([&](Operation *op) {
    loads |= isLoopOfLoads(op);
    products |= isProduct(op);
  });
  if (products)
    if (auto blocks = blocksThatAdd(kernel, threads, target))
      return blocks;
  if (const auto ctas = static_cast<int>(Launch::of(kernel).ctasPerSm))
    return std::min(ctas, blocksOfLargestMma(kernel, threads, target));
  if (products)
    return blocksOfSmallProducts(kernel, threads, target);
  const Liveness liveness(kernel);
  int most = 0;
  kernel.walk([&](Block *block) { most = std::max(most, mostWords(*block, liveness, loads)); });
  const MachineModel &machine = target.machine();
  const RegisterThresholds &limits = machine.registers;
  const bool waitsTwice = most > limits.vectorOfLoads && isElementwise(kernel, liveness);
  const int64_t needed = most + limits.overheadWithoutMma;
  const bool isSmall = // warps serve it better
      needed <= (loads ? limits.smallWithLoads : limits.smallWithoutLoads);
  if (isSmall && !waitsTwice)
    return gathers(kernel)
               ? std::optional<int>(machine.ctasToAskFor(limits.budgetOfGathers, threads))
               : std::nullopt;
  for (int64_t budget : {limits.smallBudget, limits.largeBudget})
    if (needed <= budget)
      return machine.ctasToAskFor(budget, threads);
  return 1;
}
