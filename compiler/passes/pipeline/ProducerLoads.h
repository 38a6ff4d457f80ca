//===- ProducerLoads.h - loads that a producer can issue by TMA ----------------------------===//
// Needs: StageOperands ran; loads still write the buffers that the MMAs read.
// Gives: how TMA does a load of a loop, or the reason why it cannot; and which loads share mbarriers.
//        Whether the producer may issue the load, and can compute its coordinates, is for the caller
//        (SpecialisableLoops.cpp).
//===---------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/MmaWaits.h"
#include "analysis/TmaAccess.h"
#include "passes/pipeline/StageValues.h"

namespace pantile {

/// A load that the producer issues by TMA.
struct TmaLoad {
  StagedLoad staged; ///< an operand, or a value once it is staged (StageValues.h); else its load
  nv::BufferType buffer; ///< of one stage
  /// What reads the buffer first and last: MMAs, or loads into registers. Of a value that is not
  /// staged, what uses it.
  mlir::Operation *first, *last;
  nv::AsyncMmaOpInterface mma; ///< the first MMA that reads it; null for a value
  TmaAccess access;
  bool isReadByThreads = false; ///< into registers
  unsigned group = 0;           ///< loads that share an mbarrier per stage: those for one MMA
  mlir::Value map = {};         ///< the tensor map, once it is made
  nv::ChannelOp channel = {};   ///< likewise

  /// After which operation of the loop the buffer has been read: the wait for the last MMA.
  mlir::Operation *end() const {
    auto lastMma = llvm::dyn_cast<nv::AsyncMmaOpInterface>(last);
    return lastMma ? waitOf(lastMma).getOperation() : last;
  }
};

/// A load that TMA cannot do, and that the consumers copy by cp.async next to the producer's.
struct CopiedLoad {
  StagedLoad staged;     ///< as that of a TmaLoad
  nv::BufferType buffer; ///< of one stage
  int bytes = 0;         ///< of one cp.async
  std::string reason;    ///< why TMA cannot do it
};

/// The load of an operand, whose tile MMAs of `body` alone read.
std::optional<TmaLoad> loadOfOperand(AffineAnalysis &affine, const AxisInfoAnalysis &axes,
                                     StagedLoad staged, mlir::Block *body, std::string &reason);

/// The load of a tile that threads read.
std::optional<TmaLoad> loadOfValue(AffineAnalysis &affine, const AxisInfoAnalysis &axes,
                                   StagedValue value, std::string &reason);

/// The group of `load`, next to `others` in groups below `groups`; that number if none shares it.
/// Loads for one MMA share a group. A matrix that threads read shares that of operands whose stage is
/// released after it is read last: the fence of the release waits for the warp's loads from global
/// memory, too, which have had the time of the MMA by then. A vector does where the operands' stage
/// is also full before; it shares that of other vectors else.
/// All coordinates of a group must be known before its first reader.
unsigned groupOf(AffineAnalysis &affine, const TmaLoad &load, llvm::ArrayRef<TmaLoad> others,
                 unsigned groups);

} // namespace pantile
