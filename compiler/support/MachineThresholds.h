//===- MachineThresholds.h - numbers that were fitted to a GPU ----------------===//
// Gives: thresholds of heuristics that stand for a machine: parts of MachineModel.
// How:   All were measured on an H200 (sm_90a), by the kernels and commits that
//        docs/machine-constants.md lists. Other rows have the same values, by assumption. Where one
//        quantity has several values, each comment says what it counts that the others do not.
//===--------------------------------------------------------------------------===//
#ifndef PANTILE_SUPPORT_MACHINETHRESHOLDS_H
#define PANTILE_SUPPORT_MACHINETHRESHOLDS_H

#include <cstdint>

namespace pantile {

/// 32-bit registers per thread, if nothing else is said.
struct RegisterThresholds {
  // What ptxas needs in addition to the values that an estimate counts. The more values it leaves
  // out, the larger the number.
  int64_t overheadWithoutMma = 16;  ///< no MMA; all live tiles are counted: addresses and masks
  int64_t overheadOfMma = 26;       ///< of one wgmma, whose accumulator alone is counted (C7602)
  int64_t overheadOfFp64Mma = 48;   ///< of m16n8k16 of fp64, where all fragments are counted
  int64_t overheadOfOverlap = 32;   ///< two iterations in flight; accumulators and left operands
  int64_t overheadOfRescaling = 40; ///< the same where accumulators are rescaled, not counted
  int64_t overheadOfLoop = 40;      ///< any loop with MMA; carried values and left operands

  int64_t maxOfConsumer = 240; ///< of a consumer thread, after setmaxnreg

  // What a loop may load before it is needed.
  int64_t earlyLoad = 16;      ///< read before the first MMA of an iteration
  int64_t carriedLoads = 32;   ///< carried by a loop without MMA
  int64_t carriedWithMma = 16; ///< of one load, carried by a loop with MMA
  int64_t carriedIndices = 32; ///< indices of gathered loads, carried
  int64_t unrolledLoads = 64;  ///< of all iterations of a loop that is unrolled completely
  int64_t vectorOfLoads = 4;   ///< fewer need not be in flight together: one 16-byte vector

  // Register budgets for ptxas, set as CTAs per SM.
  int64_t smallBudget = 64, largeBudget = 128; ///< the least of these that holds the live values
  int64_t budgetOfMmaSync = 128;               ///< four CTAs of four warps
  int64_t budgetOfGathers = 48;                ///< registers for four gathered rows in flight
  int64_t withoutBudget = 32; ///< kernels that need no more get none: ptxas gives them as many

  int64_t fewForStrengthReduction = 64; ///< with so few it spills
  int64_t warpsWithFew = 32;            ///< warps per CTA whose threads have so few

  int64_t usesOfSpilled = 4;  ///< uses; a value with more is a scalar of a row and is not spilled
  int64_t reloadDistance = 4; ///< uses between a reload and the use that it is for
  int64_t addressesOfProducer = 8; ///< of a lane that copies a vector: two registers each
  int64_t ofCopyingProducer = 40;  ///< where consumers can do without these
};

/// CTAs per SM, if nothing else is said.
struct OccupancyThresholds {
  int64_t ctasToKeep = 2;          ///< no stage and no scratch may cost the second CTA per SM
  int64_t ctasToKeepOnRequest = 3; ///< the same with `third-cta`
  int64_t ctasWithSetmaxnreg = 4;  ///< most CTAs per SM for which registers are reallocated
  int64_t ctasWorthStage = 3;      ///< with more, no stage is given up for another CTA
  int64_t mostCtasToAskFor = 16;   ///< the least that an SM of any row holds; ptxas warns of more
  int64_t programsOfCta = 4;       ///< one-warp programs packed: an SM has more warps than CTAs

  int64_t stagesOfOverlap = 3;       ///< stages: two are read while a third is filled
  int64_t barriersOfCta = 128;       ///< bytes: mbarriers of a CTA, before its stages are known
  int64_t plentyOfShared = 16 << 10; ///< bytes per CTA that cost no other CTA
  int64_t scratchApart = 2 << 10;    ///< bytes of scratch that is not aliased, to save barriers
};

/// Bytes, if nothing else is said.
struct MemoryThresholds {
  // L2.
  int64_t prefetchAhead = 4 << 20; ///< DRAM bandwidth times latency, and a margin
  int64_t residentRows = 15 << 20; ///< so much of L2 keeps a prefetched row until it is read
  int64_t rasterRows = 1024;       ///< rows: 1024 of 16384 fp16 elements fit L2
  int64_t rasterGroups = 4;        ///< groups of so many rows that fit L2 together

  // Stream-K: a partial tile is written to L2 and read from there.
  double partialBytesPerCycle = 32; ///< bytes per cycle and CTA
  double flagCycles = 2000;         ///< cycles: two round trips to L2, with fences
  double partialLoadCycles = 1500;  ///< cycles: latency of the first partial tile
  double leastStreamKSpeedup = 1.2; ///< ratio: predicted, with which launches choose stream-K

  // Layout conversion: shuffles or shared memory, and its pieces.
  int64_t shuffles = 8;                 ///< shuffles, wherever registers come from
  int64_t shufflesInPlace = 32;         ///< shuffles, if each reads a fixed register
  int64_t gatherShuffles = 8;           ///< shuffles of a gather within a warp
  int64_t selectsOfShuffle = 4;         ///< selects that take the issue slots of a shuffle
  int64_t smallLoads = 8;               ///< loads per thread that L1 serves at lower cost
  int64_t layoutsOfSmallLoad = 2;       ///< in which a vector is loaded, once in each
  double turnedScratch = 0.75;          ///< of the cycles: rows along another dimension
  int64_t pieceOfConversion = 16 << 10; ///< for all warps: several accesses in flight

  // Accesses that are wide enough.
  int64_t leastRowOfWarp = 64;    ///< shortest run of a row that a warp stores by itself
  int64_t leastBox = 1 << 10;     ///< smaller boxes are stored faster by threads than by TMA
  int64_t enoughForBox = 4 << 10; ///< larger boxes gain nothing
  int64_t elementsForTmaStore = 64 * 128; ///< elements; smaller results gain nothing
  int64_t leastCopy = 8;                  ///< narrowest cp.async that costs less than a producer
  int64_t leastTransposedStore = 8; ///< narrowest store of an operand that ldmatrix transposes
};

/// Elements, if nothing else is said.
struct TileThresholds {
  // Rows: layer norm, softmax.
  int64_t leastPrefetchedRow = 2048;       ///< shorter rows have enough loads in flight anyway
  int64_t leastPrefetchedBytes = 4 << 10;  ///< bytes: the same
  int64_t mostPrefetchedBytes = 128 << 10; ///< bytes: longer rows keep an SM busy
  int64_t leastRowOfCluster = 128 << 10;   ///< more than registers and shared memory of an SM hold

  // Dots without tensor cores.
  int64_t columnsOfFma = 4; ///< per thread
  int64_t lanesOfFma = 8;   ///< lanes with the same row
  int64_t stepsOfFma = 8;   ///< steps of K unrolled

  int64_t packedElements = 8;   ///< rows of a packed word: eight int4 in 32 bits
  int64_t leastStagedAxis = 8;  ///< smallest extent of a tile that is worth a buffer
  int64_t remaindersByLoop = 8; ///< per thread, by subtraction
};

/// Scale factors of predictions of whole launches.
struct PredictionThresholds {
  double sustainedMma = 0.74;  ///< of the tensor cores' peak: the clock falls at the power limit
  int64_t tripsToMemory = 2;   ///< per program, not hidden: its first load, its last store
  int64_t sampledPrograms = 5; ///< programs of a grid whose loop iterations are counted
};

} // namespace pantile

#endif // PANTILE_SUPPORT_MACHINETHRESHOLDS_H
