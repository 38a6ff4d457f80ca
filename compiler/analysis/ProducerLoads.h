//===- ProducerLoads.h - loads that a producer can issue ------------------------------------===//
// Needs: StageOperands ran; loads still write the buffers that the MMAs read.
// Gives: how TMA does a load of a loop, or cp.async that of a vector, or the reason why it cannot;
//        and which loads share mbarriers. Whether the producer may issue the load, and can compute
//        its coordinates or addresses, is for the caller (SpecialisableLoops.cpp).
//===---------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/MmaWaits.h"
#include "analysis/StagedValues.h"
#include "analysis/TmaAccess.h"

namespace pantile {

/// A load that the producer issues: by TMA, or by cp.async without an `access`.
struct ProducerLoad {
  StagedLoad staged; ///< an operand, or a value once it is staged (StageValues.h); else its load
  nv::BufferType buffer; ///< of one stage
  /// What reads the buffer first and last: MMAs, or loads into registers. Of a value that is not
  /// staged, what uses it.
  mlir::Operation *first, *last;
  nv::AsyncMmaOpInterface mma; ///< the first MMA that reads it; null for a value
  std::optional<TmaAccess> access;
  bool isReadByThreads = false; ///< into registers
  int bytes = 0;                ///< of one cp.async
  int warp = 0;                 ///< of the producer: 0 loads by TMA, each other one copies a vector
  unsigned group = 0;           ///< loads that share an mbarrier per stage: those for one MMA
  mlir::Value map = {};         ///< the tensor map, once it is made
  nv::ChannelOp channel = {};   ///< likewise

  /// After which operation of the loop the buffer has been read: the wait for the last MMA.
  mlir::Operation *end() const {
    auto lastMma = llvm::dyn_cast<nv::AsyncMmaOpInterface>(last);
    return lastMma ? waitOf(lastMma).getOperation() : last;
  }
  /// What its address is computed from.
  mlir::Value base() const;
  /// How often the warp that copies it, and its lanes, arrive at the full barrier of a stage.
  int64_t arrivals() const;
};

/// A load that TMA cannot do, and that the consumers copy by cp.async next to the producer's.
struct CopiedLoad {
  StagedLoad staged;     ///< as that of a ProducerLoad
  nv::BufferType buffer; ///< of one stage
  int bytes = 0;         ///< of one cp.async
  std::string reason;    ///< why TMA cannot do it
};

/// The load of an operand, whose tile MMAs of `body` read, and threads may, too.
std::optional<ProducerLoad> loadOfOperand(AffineAnalysis &affine, const AxisInfoAnalysis &axes,
                                          StagedLoad staged, mlir::Block *body,
                                          std::string &reason);

/// The load of a tile that threads read.
std::optional<ProducerLoad> loadOfValue(AffineAnalysis &affine, const AxisInfoAnalysis &axes,
                                        StagedValue value, std::string &reason);

/// How `warp` of the producer copies a vector that threads read, by cp.async of 4 or 8 bytes. Its
/// addresses are those of an argument, as for TMA: another one's stores may then be distinguished.
std::optional<ProducerLoad> copyOfVector(mlir::scf::ForOp loop, const AxisInfoAnalysis &axes,
                                         StagedValue vector, int warp);

/// Moves arithmetic on scalars to the start of the loop's body.
void advanceScalars(mlir::scf::ForOp loop);

/// The group of `load`, next to `others` in groups below `groups`; that number if none shares it.
/// Loads for one MMA share a group. A matrix that threads read shares that of operands whose stage is
/// released after it is read last: the fence of the release waits for the warp's loads from global
/// memory, too, which have had the time of the MMA by then. A vector does where the operands' stage
/// is also full before, or where it is read after the wait for the last MMA before it, unless that is
/// in flight over an iteration (`inFlight`): the stage is then released after the vector is read. It
/// shares that of other vectors else. Those by cp.async share a pair, too: next to operands, MMAs
/// would wait for their longer way.
/// All coordinates and addresses of a group must be known before its first reader.
unsigned groupOf(AffineAnalysis &affine, const ProducerLoad &load,
                 llvm::ArrayRef<ProducerLoad> others, unsigned groups, bool inFlight);

} // namespace pantile
