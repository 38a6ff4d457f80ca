//===- MachineModelTest.cpp - the table against the CUDA guide's ---------------===//
// How: limits by "Technical specifications per compute capability" of the CUDA C++ programming guide;
//      CTAs per SM by NVIDIA's occupancy calculator and cudaOccupancyMaxActiveBlocksPerMultiprocessor.
//===--------------------------------------------------------------------------===//
#include "support/Target.h"

#include <gtest/gtest.h>

using pantile::InstructionSet;
using pantile::MachineModel;
using pantile::Target;

namespace {
const MachineModel &machineOf(const char *target) { return Target::parse(target)->machine(); }
} // namespace

TEST(MachineModel, LimitsAreThoseOfTheGuide) {
  struct Row {
    const char *target;
    int warps, ctas, sharedKiB, sharedKiBOfCta;
  };
  const Row rows[] = {{"sm_80", 64, 32, 164, 163},   {"sm_86", 48, 16, 100, 99},
                      {"sm_87", 48, 16, 164, 163},   {"sm_89", 48, 24, 100, 99},
                      {"sm_90a", 64, 32, 228, 227},  {"sm_100a", 64, 32, 228, 227},
                      {"sm_103a", 64, 32, 228, 227}, {"sm_110a", 48, 24, 228, 227},
                      {"sm_120a", 48, 24, 100, 99},  {"sm_121a", 48, 24, 100, 99}};
  for (const Row &row : rows) {
    const MachineModel &machine = machineOf(row.target);
    EXPECT_EQ(machine.sm.warps, row.warps) << row.target;
    EXPECT_EQ(machine.sm.ctas, row.ctas) << row.target;
    EXPECT_EQ(machine.sm.sharedBytes, row.sharedKiB * 1024) << row.target;
    EXPECT_EQ(machine.sm.sharedBytesOfCta, row.sharedKiBOfCta * 1024) << row.target;
  }
}

TEST(MachineModel, EveryArchitectureHasItsRow) {
  for (const std::string &name : Target::names()) {
    const auto target = *Target::parse(name);
    const MachineModel &machine = target.machine();
    EXPECT_EQ(machine.architecture, target.sm()) << name;
    EXPECT_EQ(machine.sm.registers, 65536) << name;
    EXPECT_EQ(machine.sm.registersOfThread, 255) << name;
    EXPECT_EQ(machine.sm.registerUnit * InstructionSet::warpThreads, 256) << name;
    EXPECT_EQ(machine.sm.sharedReserve, 1024) << name;
    EXPECT_EQ(machine.sm.sharedBytesByDefault, 48 * 1024) << name;
    EXPECT_EQ(machine.sm.threadsOfCta, 1024) << name;
    EXPECT_EQ(machine.sm.ctasOfCluster, target.hasClusters() ? 8 : 1) << name;
    EXPECT_EQ(machine.perCycle.fp8 > 0, target.sm() >= 89) << name;
  }
}

// Peaks of the whitepapers in TFLOP/s, dense.
TEST(MachineModel, ThroughputGivesThePeaksOfTheWhitepapers) {
  const std::pair<const char *, double> peaks[] = {{"sm_80", 312},    {"sm_86", 149.7},
                                                   {"sm_89", 362},    {"sm_90a", 989},
                                                   {"sm_100a", 2250}, {"sm_103a", 2250}};
  for (auto [name, peak] : peaks) {
    const MachineModel &machine = machineOf(name);
    const double tflops = machine.perCycle.fp16 * machine.sms * machine.clockGHz / 1e3;
    EXPECT_NEAR(tflops, peak, 0.02 * peak) << name;
  }
  const MachineModel &h200 = machineOf("sm_90a");
  EXPECT_NEAR(h200.perCycle.dramBytes * h200.sms * h200.clockGHz, 4800, 50);
}

TEST(MachineModel, AnMmaTakesAsLongAsItsThroughputSays) {
  const MachineModel &hopper = machineOf("sm_90a");
  EXPECT_EQ(2.0 * 64 * 256 * 16 / hopper.perCycle.fp16, static_cast<double>(hopper.cycles.mma));
}

TEST(MachineModel, CountsCtasAsTheOccupancyCalculator) {
  struct Row {
    const char *target;
    pantile::CtaDemand demand;
    int ctas;
  };
  const Row rows[] = {
      {"sm_80", {4, 32, 0}, 16},        // 64 warps
      {"sm_80", {1, 32, 0}, 32},        // places for CTAs
      {"sm_86", {1, 32, 0}, 16},        // fewer of them
      {"sm_89", {1, 32, 0}, 24},        //
      {"sm_80", {8, 37, 0}, 6},         // 40 registers: 48 warps
      {"sm_80", {8, 128, 0}, 2},        // 16 warps
      {"sm_80", {8, 129, 0}, 1},        // 136 registers: 3 warps in each partition
      {"sm_80", {4, 255, 0}, 2},        // 256 registers: 2 warps in each partition
      {"sm_90a", {12, 168, 0}, 1},      // three warp groups
      {"sm_90a", {3, 168, 0}, 4},       // 12 warps
      {"sm_90a", {5, 80, 0}, 4},        // 24 warps: not 5 CTAs
      {"sm_80", {4, 32, 48 << 10}, 3},  // 49 KiB each of 164
      {"sm_80", {4, 32, 163 << 10}, 1}, // the most
      {"sm_86", {4, 32, 48 << 10}, 2},  // of 100
      {"sm_86", {4, 32, 49 << 10}, 2},  // two halves, with their reserves
      {"sm_86", {4, 32, (49 << 10) + 1}, 1},
      {"sm_90a", {4, 32, 113 << 10}, 2}, // two halves
      {"sm_90a", {4, 32, 114 << 10}, 1}, //
      {"sm_90a", {4, 32, 227 << 10}, 1}, //
      {"sm_90a", {4, 32, 228 << 10}, 0}, // it does not start
      {"sm_120a", {8, 32, 0}, 6},        // 48 warps
      {"sm_120a", {4, 32, 99 << 10}, 1}, //
  };
  for (const Row &row : rows)
    EXPECT_EQ(machineOf(row.target).ctasPerSm(row.demand), row.ctas)
        << row.target << ": " << row.demand.warps << " warps, " << row.demand.registersOfThread
        << " registers, " << row.demand.sharedBytes << " bytes";
}

// A CTA that the model counts fits, and one more does not, whatever limits it.
TEST(MachineModel, CountsNeitherTooManyNorTooFew) {
  const MachineModel &machine = machineOf("sm_90a");
  for (int64_t bytes = 0; bytes <= machine.sm.sharedBytesOfCta; bytes += 517) {
    const int64_t ctas = machine.ctasByShared(bytes), each = bytes + machine.sm.sharedReserve;
    EXPECT_LE(ctas * each, machine.sm.sharedBytes);
    EXPECT_GT((ctas + 1) * each, machine.sm.sharedBytes);
  }
  for (int64_t warps : {1, 2, 3, 4, 5, 8, 12, 16, 32})
    for (int64_t registers = 1; registers <= 255; ++registers) {
      const int64_t ofWarp = (registers + 7) / 8 * 256, inPartition = 16384 / ofWarp;
      const int64_t ctas = machine.ctasByRegisters(registers, warps);
      EXPECT_LE(ctas * warps, 4 * inPartition);
      EXPECT_GT((ctas + 1) * warps, 4 * inPartition);
    }
}

TEST(MachineModel, RegistersOfAThreadAreWholeUnitsAndFit) {
  const MachineModel &machine = machineOf("sm_90a");
  EXPECT_EQ(machine.registersOfThread(128), 255);
  EXPECT_EQ(machine.registersOfThread(256), 255);
  EXPECT_EQ(machine.registersOfThread(384), 168);
  EXPECT_EQ(machine.registersOfThread(1024), 64);
  EXPECT_EQ(machine.registersOfThread(256, 2), 128);
  for (int64_t warps : {4, 8, 12, 16})
    for (int64_t ctas : {1, 2, 3, 4})
      EXPECT_GE(machine.ctasByRegisters(machine.registersOfThread(32 * warps, ctas), warps), ctas);
}

TEST(MachineModel, NeverAsksPtxasForMoreCtasThanAnyRowHolds) {
  int64_t least = 1 << 20;
  for (const std::string &name : Target::names())
    least = std::min(least, Target::parse(name)->machine().sm.ctas);
  for (const std::string &name : Target::names()) {
    const MachineModel &machine = Target::parse(name)->machine();
    EXPECT_EQ(machine.occupancy.mostCtasToAskFor, least) << name;
    EXPECT_EQ(machine.ctasToAskFor(1, 32), least) << name;
    EXPECT_EQ(machine.ctasToAskFor(255, 1024), 1) << name;
    EXPECT_EQ(machine.ctasToAskFor(64, 256), 4) << name;
  }
}
