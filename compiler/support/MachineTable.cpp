//===- MachineTable.cpp - the rows of MachineModel -----------------------------===//
// Needs: MachineModel.h.
// Gives: MachineModel::of.
// How:   Limits are from the table of compute capabilities of the CUDA C++ programming guide 13.0.
//        SMs, clocks, L2, memory and dense tensor throughput are those of one GPU, from the
//        whitepaper that the row names: its peak divided by SMs and clock. FMA and MUFU results per
//        cycle are from the guide's table of arithmetic throughput. Latencies of loads and of
//        mma.sync are from Luo et al., "Dissecting the NVIDIA Hopper Architecture"
//        (arXiv:2402.13499), those of barriers from "Twill" (arXiv:2512.18134). No pass reads
//        latencies yet. Only sm_90a was measured here: what a source does not have is the nearest
//        row's, as its comment says.
//===--------------------------------------------------------------------------===//
#include "support/MachineModel.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace pantile {
namespace {

constexpr int64_t mebi = 1 << 20;

/// `sharedKiB` is per SM; a CTA may use all of it except its reserve.
constexpr SmLimits limits(int64_t warps, int64_t ctas, int64_t sharedKiB, int64_t cluster = 1) {
  return {.warps = warps,
          .ctas = ctas,
          .sharedBytes = sharedKiB * 1024,
          .sharedBytesOfCta = (sharedKiB - 1) * 1024,
          .ctasOfCluster = cluster};
}

/// A100 SXM4 80 GB (NVIDIA A100 whitepaper). L2 reads 5120 bytes per cycle. There is no TMA; its
/// latency is that of a load.
constexpr MachineModel ampere = {
    .architecture = 80,
    .sms = 108,
    .clockGHz = 1.41,
    .l2Bytes = 40 * mebi,
    .memoryGiB = 80,
    .sm = limits(64, 32, 164),
    .perCycle = {.fp16 = 2048,
                 .tf32 = 1024,
                 .fp8 = 0,
                 .int8 = 4096,
                 .fp64 = 128,
                 .fp32Lanes = 64,
                 .l2Bytes = 47,
                 .dramBytes = 13.4},
    .cycles = {.globalLoad = 466, .l2Load = 262, .sharedLoad = 29, .tmaLoad = 466, .mma = 33}};

/// A40 (NVIDIA GA102 whitepaper). Bytes per cycle of L2 and latencies: as of sm_89, the same SM.
constexpr MachineModel ampereOfGraphics = {
    .architecture = 86,
    .sms = 84,
    .clockGHz = 1.74,
    .l2Bytes = 6 * mebi,
    .memoryGiB = 48,
    .sm = limits(48, 16, 100),
    .perCycle = {.fp16 = 1024,
                 .tf32 = 512,
                 .fp8 = 0,
                 .int8 = 2048,
                 .fp64 = 0,
                 .l2Bytes = 47,
                 .dramBytes = 4.8},
    .cycles = {.globalLoad = 541, .l2Load = 273, .sharedLoad = 30, .tmaLoad = 541, .mma = 33}};

/// L40S (NVIDIA Ada whitepaper). Bytes per cycle of L2: as of sm_80.
constexpr MachineModel ada = {
    .architecture = 89,
    .sms = 142,
    .clockGHz = 2.52,
    .l2Bytes = 96 * mebi,
    .memoryGiB = 48,
    .sm = limits(48, 24, 100),
    .perCycle = {.fp16 = 1024,
                 .tf32 = 512,
                 .fp8 = 2048,
                 .int8 = 2048,
                 .fp64 = 0,
                 .l2Bytes = 47,
                 .dramBytes = 2.4},
    .cycles = {.globalLoad = 541, .l2Load = 273, .sharedLoad = 30, .tmaLoad = 541, .mma = 33}};

/// H200 SXM (NVIDIA H100 whitepaper, H200 datasheet); memory: the largest, of GH200 with 144 GB.
/// Bytes per cycle of L2: the most that GEMMs reached
/// (docs/measurements/plan-cycles-2026-11-23.json). One wgmma m64n256k16 keeps the tensor cores
/// busy for 128 cycles. TMA: estimated as a load and an mbarrier hand-off.
constexpr MachineModel hopper = {
    .architecture = 90,
    .sms = 132,
    .clockGHz = 1.83,
    .l2Bytes = 50 * mebi,
    .memoryGiB = 144,
    .sm = limits(64, 32, 228, 8),
    .perCycle = {.fp16 = 4096,
                 .tf32 = 2048,
                 .fp8 = 8192,
                 .int8 = 8192,
                 .fp64 = 256,
                 .l2Bytes = 36,
                 .dramBytes = 19.9},
    .cycles = {.globalLoad = 479, .l2Load = 263, .sharedLoad = 29, .tmaLoad = 571, .mma = 128}};

/// B200 (NVIDIA Blackwell datasheet). Bytes per cycle of L2 and all latencies: as of sm_90.
constexpr MachineModel blackwell = {.architecture = 100,
                                    .sms = 148,
                                    .clockGHz = 1.85,
                                    .l2Bytes = 126 * mebi,
                                    .memoryGiB = 192,
                                    .sm = limits(64, 32, 228, 8),
                                    .perCycle = {.fp16 = 8192,
                                                 .tf32 = 4096,
                                                 .fp8 = 16384,
                                                 .int8 = 16384,
                                                 .fp64 = 128,
                                                 .l2Bytes = 36,
                                                 .dramBytes = 29.2},
                                    .cycles = hopper.cycles};

/// B300 (NVIDIA Blackwell Ultra datasheet), which has twice the MUFU and hardly any int8 and fp64
/// on tensor cores: 0 here. All else as of sm_100.
constexpr MachineModel blackwellUltra = [] {
  MachineModel row = blackwell;
  row.architecture = 103;
  row.memoryGiB = 288;
  row.perCycle.int8 = row.perCycle.fp64 = 0;
  row.perCycle.mufu = 32;
  return row;
}();

/// RTX PRO 6000 (NVIDIA RTX Blackwell whitepaper). Bytes per cycle of L2 and latencies: as of
/// sm_89.
constexpr MachineModel blackwellOfGraphics = {.architecture = 120,
                                              .sms = 188,
                                              .clockGHz = 2.6,
                                              .l2Bytes = 128 * mebi,
                                              .memoryGiB = 96,
                                              .sm = limits(48, 24, 100),
                                              .perCycle = {.fp16 = 1024,
                                                           .tf32 = 512,
                                                           .fp8 = 2048,
                                                           .int8 = 2048,
                                                           .fp64 = 0,
                                                           .l2Bytes = 47,
                                                           .dramBytes = 3.7},
                                              .cycles = ada.cycles};

/// `row` for another architecture, with its own limits.
constexpr MachineModel like(MachineModel row, int architecture, SmLimits limits) {
  row.architecture = architecture;
  row.sm = limits;
  return row;
}

/// Architectures of embedded processors and small systems have the throughput and latencies of the
/// nearest row. sm_88 is not in the guide's table: limits of sm_86.
constexpr MachineModel table[] = {ampere,
                                  ampereOfGraphics,
                                  like(ampere, 87, limits(48, 16, 164)),
                                  like(ampereOfGraphics, 88, ampereOfGraphics.sm),
                                  ada,
                                  hopper,
                                  blackwell,
                                  blackwellUltra,
                                  like(blackwell, 110, limits(48, 24, 228, 8)),
                                  blackwellOfGraphics,
                                  like(blackwellOfGraphics, 121, blackwellOfGraphics.sm)};
} // namespace

const MachineModel &MachineModel::of(int architecture) {
  const auto *row = std::ranges::find(table, architecture, &MachineModel::architecture);
  assert(row != std::end(table) && "every architecture of Target has a row");
  return *row;
}

} // namespace pantile
