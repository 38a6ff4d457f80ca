//===- EngineCycles.cpp - how long an iteration keeps each unit of an SM busy ------===//
// Gives: see EngineCycles.h.
//===-------------------------------------------------------------------------------===//
#include "analysis/EngineCycles.h"
#include "analysis/LoopChannels.h"
#include "ir/LoopSchedule.h"
#include "ir/Machine.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace pantile {
namespace {

/// A multiply-add counts 2. A type without MMAs is widened to fp16 first.
double flopsPerCycle(Type element, const Throughput &perCycle) {
  double flops = perCycle.fp16;
  if (element.isF64())
    flops = perCycle.fp64;
  else if (element.isF32())
    flops = perCycle.tf32;
  else if (element.isInteger())
    flops = perCycle.int8;
  else if (storageBits(element) == 8)
    flops = perCycle.fp8;
  return flops > 0 ? flops : perCycle.fp16;
}

/// How many MMAs a dot of fp32 operands is split into.
int64_t mmasOfPrecision(Precision precision) {
  switch (precision) {
  case Precision::Tf32x3:
  case Precision::Bf16x3:
    return 3;
  case Precision::Bf16x6:
    return 6;
  case Precision::Tf32:
  case Precision::Ieee:
    return 1;
  }
  return 1;
}

int64_t elementsOf(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

/// Bytes of a tile, each element once.
int64_t bytesOf(RankedTensorType tile) {
  return elementsOf(tile.getShape()) * storageBits(tile.getElementType()) / 8;
}

/// Whether `op` needs a special function unit for each element.
bool isSpecial(Operation *op) {
  return isa<math::Exp2Op, math::ExpOp, math::LogOp, math::Log2Op, math::SqrtOp, math::RsqrtOp,
             math::SinOp, math::CosOp, math::TanhOp, math::ErfOp, arith::DivFOp, PreciseDivOp,
             PreciseSqrtOp>(op);
}

/// Whether a dot whose instruction is not chosen yet will run on tensor cores.
bool runsOnTensorCores(DotOp dot) {
  const Type element = elementTypeOf(dot.getLhs().getType());
  return !element.isF32() || dot.getPrecision() != Precision::Ieee;
}

/// Whether `op` moves no data: it only reinterprets the tile, or is constant.
bool isFree(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<SplatOp, BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp, UnsplatOp>(op);
}

class Engines {
public:
  explicit Engines(Operation *within)
      : machine(machineOf(within)), perCycle(machine.perCycle),
        threads(InstructionSet::warpThreads * moduleInt(within, names::numWarps, 4)) {}

  void add(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](nv::AsyncMmaOpInterface mma) { addMma(mma); })
        .Case([&](DotOp dot) { addDot(dot); })
        .Case([&](nv::FmaOp fma) {
          issue(elementsOf(fma.getAcc().getType().getShape()) *
                fma.getLhs().getType().getShape().back());
        })
        .Case([&](nv::LocalLoadOp load) { addShared(load.getType(), repeatsOf(load)); })
        .Case([&](nv::LocalStoreOp store) { addShared(store.getValue().getType()); })
        .Case([&](nv::CopyAsyncOp copy) {
          issue(copy.getBuffer().getType().getStageBytes() / copy.getVectorBytes());
        })
        .Case([&](nv::TmaStoreOp store) { addTmaStore(store.getValue().getType()); })
        .Case([&](LoadOp load) { addGlobal(load.getType()); })
        .Case([&](StoreOp store) { addGlobal(store.getValue().getType()); })
        .Case([&](AtomicRmwOp rmw) { addGlobal(rmw.getValue().getType()); })
        .Case([&](ConvertLayoutOp convert) { addConversion(convert); })
        .Case([&](ReduceOp reduce) {
          for (Value source : reduce.getSrcs())
            addArithmetic(source.getType());
        })
        .Default([&](Operation *other) { addElementwise(other); });
  }

  /// Adds what asynchronous copies write into the loop's stages.
  void add(nv::ChannelAttr channel) {
    const bool isCopied = channel.getTransport() == nv::Transport::Tma ||
                          channel.getTransport() == nv::Transport::CpAsync;
    if (!isCopied)
      return;
    at(nv::Limiter::SharedMemory) += channel.getStageBytes() / perCycle.sharedBytes;
    at(nv::Limiter::L2) += channel.getStageBytes() / perCycle.l2Bytes;
  }

  const EngineCycles &cycles() const { return work; }

private:
  double &at(nv::Limiter engine) { return work.at(engine); }

  /// Instructions per thread, of which `fp32Lanes` are executed per cycle.
  void issue(int64_t count) { at(nv::Limiter::Issue) += count / perCycle.fp32Lanes; }
  /// Instructions per warp.
  void issueWarps(int64_t count) {
    at(nv::Limiter::Issue) += static_cast<double>(count) / machine.sm.partitions;
  }

  /// Elements that all threads hold, replicas included.
  int64_t heldElements(RankedTensorType tile) const {
    if (!tile.getEncoding())
      return elementsOf(tile.getShape());
    return layoutOf(tile).numPresentRegs() * threads;
  }
  int64_t heldBytes(RankedTensorType tile) const {
    return heldElements(tile) * storageBits(tile.getElementType()) / 8;
  }

  /// Each group of four warps reads its rows of A, once per column of instructions, and all of B.
  void addMma(nv::AsyncMmaOpInterface mma) {
    const MmaAttr instruction = mma.getMma();
    const ArrayRef<int64_t> acc = mma.getAcc().getType().getShape();
    const Type element = mma.getRhs().getType().getElementType();
    const int64_t k = mma.getRhs().getType().getShape()[0], bytes = storageBits(element) / 8;
    const int64_t rows = acc[0] / instruction.getM(),
                  columns = std::max<int64_t>(acc[1] / instruction.getN(), 1);
    at(nv::Limiter::TensorCore) += 2.0 * acc[0] * acc[1] * k / flopsPerCycle(element, perCycle);
    int64_t read = rows * k * acc[1] * bytes;
    if (isa<nv::BufferType>(mma.getLhs().getType()))
      read += columns * acc[0] * k * bytes;
    at(nv::Limiter::SharedMemory) += read / perCycle.sharedBytes;
    issueWarps(InstructionSet::warpsOfGroup * rows * columns * (k / instruction.getK()));
  }

  void addDot(DotOp dot) {
    auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
    const int64_t madds = elementsOf(cast<RankedTensorType>(dot.getAcc().getType()).getShape()) *
                          lhs.getShape().back() * mmasOfPrecision(dot.getPrecision());
    const auto instruction = dot.getMma();
    if (!lhs.getEncoding() && runsOnTensorCores(dot))
      return addUndecided(dot, madds);
    if (!instruction || instruction->getKind() == MmaKind::Fma)
      return issue(madds);
    at(nv::Limiter::TensorCore) += 2.0 * madds / flopsPerCycle(lhs.getElementType(), perCycle);
    issueWarps(madds / (instruction->getM() * instruction->getN() * instruction->getK()));
  }

  /// As a wgmma: both operands go through shared memory, and are read as in `addMma`.
  void addUndecided(DotOp dot, int64_t madds) {
    auto lhs = cast<RankedTensorType>(dot.getLhs().getType()),
         rhs = cast<RankedTensorType>(dot.getRhs().getType());
    const int64_t rows = llvm::divideCeil(lhs.getShape()[lhs.getRank() - 2],
                                          InstructionSet::wgmmaRows),
                  columns = llvm::divideCeil(rhs.getShape().back(), InstructionSet::wgmmaColumns);
    at(nv::Limiter::TensorCore) += 2.0 * madds / flopsPerCycle(lhs.getElementType(), perCycle);
    at(nv::Limiter::SharedMemory) +=
        ((1 + columns) * bytesOf(lhs) + (1 + rows) * bytesOf(rhs)) / perCycle.sharedBytes;
  }

  /// A tile between registers and shared memory, in the widest vectors.
  /// `repeats`: registers for each element that is accessed.
  void addShared(Type type, double repeats = 1) {
    const double bytes = heldBytes(cast<RankedTensorType>(type)) / repeats;
    at(nv::Limiter::SharedMemory) += bytes / perCycle.sharedBytes;
    issue(bytes / InstructionSet::vectorBytes);
  }

  static double repeatsOf(nv::LocalLoadOp load) {
    double repeats = 1;
    if (const auto runs = load.getRuns())
      for (const auto &basis : layoutOf(load.getType()).reg())
        repeats *= llvm::all_of(llvm::zip_equal(basis, *runs),
                                [](auto step) { return std::get<0>(step) < std::get<1>(step); })
                       ? 2
                       : 1;
    return repeats;
  }

  void addGlobal(Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile)
      return;
    at(nv::Limiter::L2) += bytesOf(tile) / perCycle.l2Bytes;
    issue(bytesOf(tile) / InstructionSet::vectorBytes);
  }

  /// Threads write the tile to shared memory, and TMA reads it.
  void addTmaStore(RankedTensorType tile) {
    addShared(tile);
    at(nv::Limiter::SharedMemory) += bytesOf(tile) / perCycle.sharedBytes;
    at(nv::Limiter::L2) += bytesOf(tile) / perCycle.l2Bytes;
  }

  void addConversion(ConvertLayoutOp convert) {
    if (!convert->hasAttr(names::scratch))
      return addArithmetic(convert.getType());
    addShared(convert.getSrc().getType());
    addShared(convert.getType());
  }

  /// An instruction per 32 bits.
  void addArithmetic(Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    if (tile && isa<FloatType>(tile.getElementType()))
      issue(heldBytes(tile) / 4);
  }

  void addElementwise(Operation *op) {
    if (op->getNumResults() != 1 || isFree(op))
      return;
    addArithmetic(op->getResult(0).getType());
    if (auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType()); tile && isSpecial(op))
      at(nv::Limiter::SpecialFunction) += heldElements(tile) / perCycle.mufu;
  }

  const MachineModel &machine;
  const Throughput &perCycle;
  const int64_t threads;
  EngineCycles work;
};

} // namespace

BusiestEngine EngineCycles::busiest() const {
  const auto *most = std::max_element(cycles.begin(), cycles.end());
  return {std::llround(std::ceil(*most)), static_cast<nv::Limiter>(most - cycles.begin())};
}

EngineCycles engineCycles(scf::ForOp loop, ArrayRef<nv::ChannelAttr> channels) {
  Engines engines(loop);
  forEachInIteration(loop, [&](Operation *op) { engines.add(op); });
  for (int64_t copy = 0; copy < copiesIn(loop); ++copy)
    for (nv::ChannelAttr channel : channels)
      engines.add(channel);
  return engines.cycles();
}

EngineCycles engineCyclesOutside(func::FuncOp kernel) {
  Engines engines(kernel);
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<LoopLikeOpInterface, nv::ProducerOp>(op))
      return WalkResult::skip();
    engines.add(op);
    return WalkResult::advance();
  });
  return engines.cycles();
}

BusiestEngine busiestEngine(scf::ForOp loop, ArrayRef<nv::ChannelAttr> channels) {
  return engineCycles(loop, channels).busiest();
}

} // namespace pantile
