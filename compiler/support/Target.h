//===- Target.h - what a GPU can do -------------------------------------------===//
// Needs: a name such as "sm_90a", or a device's compute capability.
// Gives: capabilities, the machine model, and the names that LLVM and the assembler use.
// How:   A table of the architectures in Target.cpp. Only this and MachineModel have SM numbers:
//        passes query "has wgmma", never "is 90".
//===--------------------------------------------------------------------------===//
#ifndef PANTILE_SUPPORT_TARGET_H
#define PANTILE_SUPPORT_TARGET_H

#include "support/MachineModel.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

class Target {
public:
  /// "sm_80" to "sm_121a"; nothing for any other text.
  static std::optional<Target> parse(std::string_view name);
  /// The target with the most features that runs on a device of this compute capability; an unknown
  /// newer minor of a known major gets the newest known plain target below it.
  static std::optional<Target> forDevice(int major, int minor);
  /// All names that parse() takes without a suffix, for messages.
  static std::vector<std::string> names();

  /// "sm_90a": also the assembler's name and LLVM's processor.
  std::string name() const;
  std::string llvmCpu() const { return name(); }
  /// LLVM's feature string; the oldest PTX version that has all that we emit for this target.
  std::string ptxFeature() const;
  /// 80 for PTX ISA 8.0.
  int ptxVersion() const { return ptx; }
  /// 90 for sm_90a.
  int sm() const { return number; }
  /// Whether code built for this target runs on the device.
  bool runsOn(int major, int minor) const;

  // Memory.
  bool hasCpAsync() const;
  bool hasLdmatrix() const;
  bool hasStmatrix() const;
  bool hasMbarrier() const;
  bool hasTma() const;
  bool hasClusters() const;
  /// Vector reductions: one `red` for several consecutive elements.
  bool hasVectorReductions() const;
  /// The most dynamic shared memory per CTA, after opting in.
  int64_t maxSharedBytes() const { return model->sm.sharedBytesOfCta; }
  /// Shared memory per CTA without opting in.
  int64_t defaultSharedBytes() const { return model->sm.sharedBytesByDefault; }

  // Tensor cores.
  bool hasMmaSync() const;
  bool hasBf16Mma() const;
  bool hasTf32Mma() const;
  bool hasFp8Mma() const;
  /// mma.sync m8n8k4 of fp64. If the model has no throughput for it, it is no faster than FMA.
  bool hasFp64Mma() const;
  /// Its larger shapes: m16n8k4, k8 and k16.
  bool hasLargeFp64Mma() const;
  bool hasWgmma() const;
  /// Asynchronous MMAs: see `nv::AsyncMmaOpInterface`.
  bool hasAsyncMma() const { return hasWgmma(); }

  // Arithmetic and registers.
  bool hasBf16Arithmetic() const;
  bool hasFp8Convert() const;
  bool hasSetMaxRegisters() const;
  int maxThreadsPerBlock() const { return static_cast<int>(model->sm.threadsOfCta); }

  /// Limits, throughputs, latencies and thresholds of the architecture.
  const MachineModel &machine() const { return *model; }

  bool operator==(const Target &) const = default;

private:
  Target(int number, char suffix, int ptx)
      : number(number), suffix(suffix), ptx(ptx), model(&MachineModel::of(number)) {}

  int number;
  char suffix; // 'a' (this architecture only), 'f' (its family), or 0
  int ptx;
  const MachineModel *model;
};

} // namespace pantile

#endif // PANTILE_SUPPORT_TARGET_H
