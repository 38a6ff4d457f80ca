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

bool isIn(scf::ForOp loop, Operation *op) { return loopAround(op) == loop; }

/// Whether an iteration of `loop` selects a stage of `channel`; and, if a producer fills it, whether
/// that does as deep in loops.
bool serves(nv::ChannelOp channel, scf::ForOp loop) {
  const int depth = depthOf(loop) + 1;
  auto isFilled = [&](Operation *user) {
    return user->getParentOfType<nv::ProducerOp>() && depthOf(user) == depth;
  };
  auto isHere = [&](Operation *user) { return isa<nv::SelectStageOp>(user) && isIn(loop, user); };
  return llvm::any_of(channel->getUsers(), isHere) &&
         (!channel.isFilledByProducer() || llvm::any_of(channel->getUsers(), isFilled));
}

/// Whether threads store tiles of an iteration of `loop` into a buffer.
bool isStoredIn(nv::AllocOp alloc, scf::ForOp loop) {
  return llvm::any_of(alloc->getUsers(), [&](Operation *user) {
    return isa<nv::LocalStoreOp>(user) && isIn(loop, user);
  });
}

/// How `buffer` gets the tiles of `loop`; nothing if it does not.
std::optional<nv::Transport> transportOf(nv::BufferOpInterface buffer, scf::ForOp loop) {
  if (auto channel = dyn_cast<nv::ChannelOp>(*buffer))
    return serves(channel, loop) ? std::optional(channel.getVia()) : std::nullopt;
  const bool isStored = isStoredIn(cast<nv::AllocOp>(*buffer), loop);
  return isStored ? std::optional(nv::Transport::Shared) : std::nullopt;
}

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
  loop->getParentOfType<func::FuncOp>().walk([&](nv::BufferOpInterface buffer) {
    const nv::BufferType type = buffer.getBuffer().getType();
    if (auto transport = transportOf(buffer, loop))
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
