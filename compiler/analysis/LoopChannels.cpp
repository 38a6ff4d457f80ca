//===- LoopChannels.cpp - the channels through which tiles reach a loop's iterations ---===//
// Gives: see LoopChannels.h.
//===-----------------------------------------------------------------------------------===//
#include "analysis/LoopChannels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include <optional>

using namespace mlir;

namespace pantile {
namespace {

int depthOf(Operation *op) {
  int depth = 0;
  for (auto loop = loopAround(op); loop; loop = loopAround(loop))
    ++depth;
  return depth;
}

/// How one buffer is filled and read by one loop.
class BufferUse {
public:
  explicit BufferUse(scf::ForOp loop) : loop(loop), depth(depthOf(loop) + 1) {}

  void follow(Value buffer) {
    for (OpOperand &use : buffer.getUses())
      if (isa<nv::SelectStageOp, nv::BufferTransOp>(use.getOwner()))
        follow(use.getOwner()->getResult(0));
      else
        note(use);
  }

  /// Nothing where the iterations of the loop have no stages.
  std::optional<nv::Transport> transport() const {
    if (isCopied)
      return nv::Transport::CpAsync;
    if (isLoaded && isRead)
      return nv::Transport::Tma;
    return isStored ? std::optional(nv::Transport::Shared) : std::nullopt;
  }

private:
  void note(OpOperand &use) {
    Operation *op = use.getOwner();
    const bool isHere = loopAround(op) == loop;
    auto copy = dyn_cast<nv::AsyncOpInterface>(op);
    const bool fills = copy && llvm::is_contained(copy.getBuffersWritten(), use.get());
    if (fills && copy.getEngine() == nv::Engine::Tma)
      isLoaded |= depthOf(op) == depth;
    else if (fills)
      isCopied |= isHere;
    else if (isa<nv::LocalStoreOp>(op))
      isStored |= isHere;
    else
      isRead |= isHere;
  }

  scf::ForOp loop;
  int depth;
  bool isLoaded = false, isCopied = false, isStored = false, isRead = false;
};

/// For how many iterations a loaded tile is carried in registers until it is used as argument
/// `index`; 0 if the argument is no loaded tile.
unsigned carriedFor(scf::ForOp loop, unsigned index) {
  unsigned iterations = 0;
  const unsigned most = loop.getNumRegionIterArgs();
  while (iterations < most) {
    ++iterations;
    Value yielded = loop.getYieldedValues()[index];
    if (auto argument = dyn_cast<BlockArgument>(yielded)) {
      if (argument.getOwner() != loop.getBody() || argument == loop.getInductionVar())
        return 0;
      index = argument.getArgNumber() - loop.getNumInductionVars();
      continue;
    }
    return isa<LoadOp>(yielded.getDefiningOp()) && loopAround(yielded.getDefiningOp()) == loop
               ? iterations
               : 0;
  }
  return 0;
}

/// Whether an operation other than the yield reads argument `index`, the last of a chain.
bool isComputedWith(scf::ForOp loop, unsigned index) {
  return llvm::any_of(loop.getRegionIterArg(index).getUsers(),
                      [&](Operation *user) { return user != loop.getBody()->getTerminator(); });
}

} // namespace

LoopLikeOpInterface loopAround(Operation *op) { return op->getParentOfType<LoopLikeOpInterface>(); }

void forEachInIteration(scf::ForOp loop, llvm::function_ref<void(Operation *)> visit) {
  loop.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    visit(op);
    return isa<LoopLikeOpInterface>(op) ? WalkResult::skip() : WalkResult::advance();
  });
}

SmallVector<nv::ChannelAttr> channelsOf(scf::ForOp loop) {
  SmallVector<nv::ChannelAttr> channels;
  loop->getParentOfType<func::FuncOp>().walk([&](nv::AllocOp alloc) {
    BufferUse use(loop);
    use.follow(alloc);
    nv::BufferType type = alloc.getType();
    if (auto transport = use.transport())
      channels.push_back(nv::ChannelAttr::get(loop.getContext(), type.getDepth(), type.getShape(),
                                              type.getElementType(), *transport));
  });
  for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index) {
    auto tile = dyn_cast<RankedTensorType>(loop.getRegionIterArg(index).getType());
    if (!tile || !isComputedWith(loop, index))
      continue;
    if (const unsigned depth = carriedFor(loop, index))
      channels.push_back(nv::ChannelAttr::get(loop.getContext(), depth, tile.getShape(),
                                              tile.getElementType(), nv::Transport::Registers));
  }
  return channels;
}

unsigned mmasInFlight(scf::ForOp loop) {
  unsigned pending = 0;
  auto run = [&](Operation *op) {
    if (auto mma = dyn_cast<nv::AsyncOpInterface>(op);
        mma && mma.getCompletion() == nv::Completion::MmaGroup)
      ++pending;
    else if (auto wait = dyn_cast<nv::MmaWaitOpInterface>(op))
      pending = std::min(pending, static_cast<unsigned>(wait.getPending().value_or(0)));
  };
  forEachInIteration(loop, run);
  forEachInIteration(loop, run); // begins with what the first iteration left
  return pending;
}

} // namespace pantile
