//===- MachineModel.cpp - occupancy: CTAs per SM -----------------------------===//
// Needs: MachineModel.h.
// Gives: its member functions, except the table.
//===--------------------------------------------------------------------------===//
#include "support/MachineModel.h"

#include <algorithm>
#include <limits>

namespace pantile {
namespace {
int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
int64_t roundDown(int64_t value, int64_t unit) { return value / unit * unit; }
} // namespace

int64_t MachineModel::ctasByShared(int64_t bytesOfCta) const {
  return sm.sharedBytes / (bytesOfCta + sm.sharedReserve);
}

int64_t MachineModel::ctasByRegisters(int64_t registersOfThread, int64_t warps) const {
  if (registersOfThread == 0)
    return std::numeric_limits<int64_t>::max();
  const int64_t ofWarp = InstructionSet::warpThreads * roundUp(registersOfThread, sm.registerUnit);
  return sm.registers / sm.partitions / ofWarp * sm.partitions / warps;
}

int64_t MachineModel::ctasByWarps(int64_t warps) const {
  return std::min(sm.ctas, sm.warps / warps);
}

int64_t MachineModel::ctasPerSm(const CtaDemand &demand) const {
  if (demand.sharedBytes > sm.sharedBytesOfCta)
    return 0;
  return std::min({ctasByWarps(demand.warps), ctasByShared(demand.sharedBytes),
                   ctasByRegisters(demand.registersOfThread, demand.warps)});
}

int64_t MachineModel::registersOfThread(int64_t threads, int64_t ctas) const {
  return std::min(roundDown(sm.registers / ctas / threads, sm.registerUnit), sm.registersOfThread);
}

int64_t MachineModel::ctasToAskFor(int64_t registersOfThread, int64_t threads) const {
  return std::clamp<int64_t>(sm.registers / (registersOfThread * threads), 1,
                             occupancy.mostCtasToAskFor);
}

} // namespace pantile
