//===- NvPlan.cpp - verifiers of the plan ------------------------------------------------===//
// Gives: the verifiers that NvPlan.td declares, and that of operations with `nv.plan`.
//===-----------------------------------------------------------------------------------===//
#include "ir/LoopSchedule.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::nv;

/// PTX ISA, setmaxnreg.
static bool isCountOfSetmaxnreg(int64_t registers) {
  constexpr int64_t unit = 8, least = 24, most = 256;
  return registers % unit == 0 && registers >= least && registers <= most;
}

LogicalResult PartitionAttr::verify(function_ref<InFlightDiagnostic()> emitError, Role,
                                    unsigned warps, unsigned registers) {
  constexpr unsigned mostWarps = 64;
  if (warps < 1 || warps > mostWarps)
    return emitError() << "partition_c1: " << warps << " warps, expected 1 to " << mostWarps;
  if (registers != 0 && !isCountOfSetmaxnreg(registers))
    return emitError() << "partition_c2: " << registers
                       << " registers, expected 0 or a multiple of 8 from 24 to 256";
  return success();
}

LogicalResult ChannelAttr::verify(function_ref<InFlightDiagnostic()> emitError, unsigned depth,
                                  ArrayRef<int64_t> shape, Type elementType, Transport) {
  if (depth < 1)
    return emitError() << "channel_c1: there is no stage";
  if (shape.empty() || llvm::any_of(shape, [](int64_t extent) { return extent < 1; }))
    return emitError() << "channel_c2: an extent of a stage is not positive";
  if (!isa<IntegerType, FloatType, PtrType>(elementType))
    return emitError() << "channel_c3: " << elementType << " is no type of elements";
  return success();
}

int64_t ChannelAttr::getStageBytes() const {
  int64_t bits = storageBits(getElementType());
  for (int64_t extent : getShape())
    bits *= extent;
  return bits / 8;
}

static LogicalResult verifyRoles(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<PartitionAttr> partitions) {
  llvm::SmallSet<Role, 4> roles;
  for (PartitionAttr partition : partitions)
    if (!roles.insert(partition.getRole()).second)
      return emitError() << "kernel_plan_c3: two partitions have the role `"
                         << stringifyRole(partition.getRole()) << "`";
  if (roles.contains(Role::All) ? roles.size() != 1 : !roles.contains(Role::Consumer))
    return emitError() << "kernel_plan_c3: expected one partition of role `all`, or a `consumer`";
  auto isLimited = [](PartitionAttr partition) { return partition.getRegisters() != 0; };
  if (llvm::any_of(partitions, isLimited) && !llvm::all_of(partitions, isLimited))
    return emitError() << "kernel_plan_c4: some partitions have registers of their own";
  return success();
}

LogicalResult CandidateAttr::verify(function_ref<InFlightDiagnostic()> emitError, ProgramMap, bool,
                                    int64_t sharedBytes, int64_t ctasPerSm, StringAttr refused,
                                    bool chosen) {
  if (sharedBytes < 0 || ctasPerSm < 0)
    return emitError() << "candidate_c1: a number is negative";
  if (refused && chosen)
    return emitError() << "candidate_c2: what was refused is chosen";
  return success();
}

LogicalResult StreamKEstimateAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                          AffineMap dividend, int64_t divisor, int64_t smCycles,
                                          int64_t l2Cycles, int64_t leastGain,
                                          int64_t partialBytes) {
  if (dividend.getNumDims() != 0 || dividend.getNumResults() != 1)
    return emitError() << "stream_k_estimate_c1: " << dividend.getNumDims() << " dimensions, "
                       << dividend.getNumResults() << " results";
  if (divisor < 1 || smCycles < 1 || l2Cycles < 0 || leastGain < 1 || partialBytes < 0)
    return emitError() << "stream_k_estimate_c2: a number is too small";
  return success();
}

StreamKEstimate StreamKEstimateAttr::getEstimate(HostPolynomial dividend) const {
  return {std::move(dividend), getDivisor(),   getSmCycles(),
          getL2Cycles(),       getLeastGain(), getPartialBytes()};
}

LogicalResult LaunchAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t producerWarps, bool persistent, int64_t partialBytes,
                                 int64_t programsPerCta, int64_t ctasPerProgram,
                                 int64_t sharedBytes, int64_t ctasPerSm,
                                 DenseI32ArrayAttr registers, DenseI32ArrayAttr spills) {
  auto isCount = [](int64_t number) { return number > 0 && llvm::isPowerOf2_64(number); };
  if (producerWarps < 0 || partialBytes < 0 || sharedBytes < 0 || ctasPerSm < 0)
    return emitError() << "launch_c1: a number is negative";
  if (!isCount(programsPerCta) || !isCount(ctasPerProgram) ||
      (programsPerCta > 1 && ctasPerProgram > 1))
    return emitError() << "launch_c1: " << programsPerCta << " programs per CTA, and "
                       << ctasPerProgram << " CTAs per program";
  if (partialBytes > 0 && !persistent)
    return emitError() << "launch_c2: tiles are split, but CTAs are not persistent";
  if (registers && (registers.size() != 3 || producerWarps == 0 ||
                    !llvm::all_of(registers.asArrayRef(), isCountOfSetmaxnreg)))
    return emitError() << "launch_c3: " << registers << " with " << producerWarps
                       << " warps of a producer";
  if (spills && (spills.size() != 2 || spills[0] < 0 || spills[1] < 0 || spills[0] > sharedBytes))
    return emitError() << "launch_c4: " << spills << " in " << sharedBytes << " bytes";
  return success();
}

LogicalResult KernelPlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, ProgramMap map,
                                     unsigned of, unsigned rasterGroup,
                                     ArrayRef<PartitionAttr> partitions, int64_t sharedBytes,
                                     int64_t ctasPerSm, int64_t registers) {
  const StringRef name = stringifyProgramMap(map);
  const bool isShared = map == ProgramMap::Cluster || map == ProgramMap::Packed;
  if (isShared ? of < 2 : of != 1)
    return emitError() << "kernel_plan_c1: `" << name << "` of " << of;
  if (rasterGroup != 0 && map != ProgramMap::Persistent && map != ProgramMap::StreamK)
    return emitError() << "kernel_plan_c2: `" << name << "` has no raster group";
  if (sharedBytes < 0 || ctasPerSm < 0 || registers < 0)
    return emitError() << "kernel_plan_c5: a number is negative";
  return verifyRoles(emitError, partitions);
}

LogicalResult LoopPlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<ChannelAttr>, unsigned, int64_t cycles, Limiter) {
  if (cycles < 0)
    return emitError() << "loop_plan_c1: `cycles` is negative";
  return success();
}

LogicalResult NvDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (llvm::is_contained({names::stage, names::cluster, names::expand}, attribute.getName()))
    return verifySchedule(op, attribute);
  if (attribute.getName() == names::launch &&
      !(isa<ModuleOp>(op) && isa<LaunchAttr>(attribute.getValue())))
    return op->emitError("`nv.launch` is a `#nv.launch` of a module");
  if (attribute.getName() == names::streamKEstimate &&
      !(isa<func::FuncOp>(op) && isa<StreamKEstimateAttr>(attribute.getValue())))
    return op->emitError("`nv.stream_k_estimate` is a `#nv.stream_k_estimate` of a kernel");
  if (attribute.getName() == names::candidates) {
    auto all = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!isa<func::FuncOp>(op) || !all || !llvm::all_of(all, llvm::IsaPred<CandidateAttr>))
      return op->emitError("`nv.candidates` lists `#nv.candidate`s of a kernel");
  }
  if (attribute.getName() != names::plan)
    return success();
  if (isa<func::FuncOp>(op) && isa<KernelPlanAttr>(attribute.getValue()))
    return success();
  if (isa<scf::ForOp>(op) && isa<LoopPlanAttr>(attribute.getValue()))
    return success();
  return op->emitError("plan_c1: `nv.plan` is a kernel's `#nv.kernel_plan` or a loop's "
                       "`#nv.loop_plan`");
}
