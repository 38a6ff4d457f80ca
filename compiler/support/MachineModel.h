//===- MachineModel.h - limits, throughputs and thresholds of a GPU -----------===//
// Needs: the number of an architecture, such as 90.
// Gives: limits of an SM, throughputs, latencies, thresholds; occupancy (CTAs per SM).
// How:   One row per architecture (MachineTable.cpp). Passes query the model and contain no number
//        of a GPU themselves. Facts have their source in the table, fitted numbers theirs in
//        MachineThresholds.h. docs/machine-constants.md explains all fields.
//===--------------------------------------------------------------------------===//
#ifndef PANTILE_SUPPORT_MACHINEMODEL_H
#define PANTILE_SUPPORT_MACHINEMODEL_H

#include "support/MachineThresholds.h"

#include <cstdint>

namespace pantile {

/// Properties of instructions, the same on every architecture that has them (PTX ISA).
struct InstructionSet {
  static constexpr int warpThreads = 32;
  static constexpr int warpsOfGroup = 4;     ///< of a warp group, as wgmma and setmaxnreg have it
  static constexpr int64_t sectorBytes = 32; ///< of L2
  static constexpr int64_t lineBytes = 128;  ///< of L1 and L2
  static constexpr int64_t bankBytes = 128;  ///< that the banks of shared memory serve at once
  static constexpr int64_t vectorBytes = 16; ///< widest access of one thread
  static constexpr int64_t globalReach = 1 << 23; ///< bytes that LDG and STG add, either way
  static constexpr int64_t copyReach = 1 << 11;   ///< bytes that LDGSTS adds, either way
  static constexpr int tensorMapRank = 5;         ///< most dimensions of a tensor map
  static constexpr int64_t boxExtent = 256;       ///< most elements of a TMA box along a dimension
  static constexpr int64_t boxAlignment = 1024;   ///< bytes, of a swizzled TMA box
  static constexpr int64_t wgmmaRows = 64;        ///< M
  static constexpr int64_t wgmmaColumns = 256;    ///< widest N
  static constexpr int64_t wgmmaFewest = 8;       ///< narrowest N
  static constexpr int64_t leastRegisters = 24;   ///< fewest per thread that setmaxnreg accepts
};

/// Limits of an SM. "Technical specifications per compute capability" of the CUDA C++ programming
/// guide.
struct SmLimits {
  int64_t warps, ctas;       ///< resident at once
  int64_t sharedBytes;       ///< of all CTAs, with the reserve of each
  int64_t sharedBytesOfCta;  ///< dynamic, after opting in
  int64_t ctasOfCluster = 1; ///< largest portable cluster; 1: no clusters
  int64_t registers = 65536; ///< of 32 bits; a CTA may have as many
  int64_t registersOfThread = 255;
  int64_t registerUnit = 8; ///< per thread, which is 256 per warp: granularity of allocation
  int64_t partitions = 4;   ///< each with a part of the registers; a warp stays in one
  int64_t sharedBytesByDefault = 48 * 1024; ///< of a CTA that does not opt in
  int64_t sharedReserve = 1024;             ///< per CTA, taken by the driver
  int64_t threadsOfCta = 1024;
};

/// Per SM and cycle. A multiply-add counts 2; tensor cores multiply dense tiles and add in fp32.
struct Throughput {
  double fp16, tf32, fp8, int8, fp64; ///< of tensor cores; 0: they do not multiply this type
  double fp32Lanes = 128;             ///< results of FMA without tensor cores
  double mufu = 16;                   ///< results of exp2, log2, rcp, sqrt, sin, cos
  double sharedBytes = 128;
  double l2Bytes, dramBytes; ///< the GPU's, divided by its SMs
  double portBytes = 64;     ///< that one SM may read of L2, whatever the others do
};

/// Cycles.
struct Latency {
  int64_t globalLoad; ///< that misses L2
  int64_t l2Load, sharedLoad;
  int64_t tmaLoad;              ///< from issue to the mbarrier, of a box in DRAM
  int64_t mma;                  ///< of one MMA: wgmma m64n256k16 on Hopper, else mma.sync m16n8k16
  int64_t mbarrierHandOff = 92; ///< from an arrival to the waiting warp
  int64_t namedBarrier = 30;
};

/// What a CTA needs of an SM.
struct CtaDemand {
  int64_t warps = 0, registersOfThread = 0, sharedBytes = 0;
};

struct MachineModel {
  int architecture; ///< 90 for sm_90 and sm_90a
  int sms;          ///< of the GPU that the row describes, if no device is given
  double clockGHz;  ///< of that GPU, boosted
  int64_t l2Bytes;
  int64_t memoryGiB; ///< most that a GPU of the architecture has
  SmLimits sm;
  Throughput perCycle;
  Latency cycles;
  RegisterThresholds registers{};
  OccupancyThresholds occupancy{};
  MemoryThresholds memory{};
  TileThresholds tiles{};
  PredictionThresholds predictions{};

  /// The row of an architecture that Target has.
  static const MachineModel &of(int architecture);
  /// The row on which everything was measured, for queries without a target: of a layout alone, or
  /// of IR that has none.
  static const MachineModel &reference() { return of(90); }

  /// CTAs per SM that shared memory allows, for CTAs of so many bytes.
  int64_t ctasByShared(int64_t bytesOfCta) const;
  /// CTAs per SM that registers allow. Each warp takes whole units of one partition.
  int64_t ctasByRegisters(int64_t registersOfThread, int64_t warps) const;
  /// CTAs per SM that the limits of CTAs and warps allow.
  int64_t ctasByWarps(int64_t warps) const;
  /// CTAs per SM, as NVIDIA's occupancy calculator computes them. More registers per thread than
  /// are possible are counted as given: estimates may be too large.
  int64_t ctasPerSm(const CtaDemand &demand) const;

  /// Registers per thread with `ctas` CTAs of so many threads per SM.
  int64_t registersOfThread(int64_t threads, int64_t ctas = 1) const;
  /// CTAs per SM if ptxas uses at most so many registers: the value for `.minnctapersm`. ptxas
  /// rounds to whole units itself; at most as many CTAs as it accepts on every architecture.
  int64_t ctasToAskFor(int64_t registersOfThread, int64_t threads) const;
};

} // namespace pantile

#endif // PANTILE_SUPPORT_MACHINEMODEL_H
