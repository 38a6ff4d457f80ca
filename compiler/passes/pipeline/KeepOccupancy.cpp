//===- KeepOccupancy.cpp - no producer where it takes the place of blocks -----------------===//
// Needs: StageOperands ran; MakePersistent and SpecialiseWarps come next.
// Gives: `nv.without_producer` on a module whose products are waited for in the iteration, as those
//        of attention are, where more blocks share a multiprocessor without a producer: then other
//        blocks fill the waits.
// How:   a producer takes as many registers as four warps at launch, and gives back what it can. A
//        thread's registers are estimated from the tiles that its loops hold, a block's shared
//        memory from the slots of its rings and the operands that loops read.
//===------------------------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/RegisterBudget.h"
#include "passes/pipeline/SpecialiseWarps.h"
#include "passes/pipeline/StagedLoad.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_KEEPOCCUPANCY
#include "passes/Passes.h.inc"
namespace {

/// What a block of the kernel takes, as far as its loops with staged loads tell.
struct Demand {
  int64_t registers = 0, ringBytes = 0, otherBytes = 0;
  bool isWaitedFor = false;   ///< some product's sum is needed before the iteration ends
  std::optional<Location> at; ///< of the first loop
};

bool isSummed(nv::WgmmaOp product, scf::ForOp loop) {
  auto isYielded = [&](Operation *user) { return user == loop.getBody()->getTerminator(); };
  return product.getAcc().getDefiningOp() == nullptr &&
         llvm::all_of(product->getUsers(), [&](Operation *user) {
           return isa<nv::WgmmaWaitOp>(user) && llvm::all_of(user->getUsers(), isYielded);
         });
}

int64_t registersWithoutAddresses(scf::ForOp loop) {
  int64_t registers = registersOfLoop(loop);
  for (Value argument : loop.getRegionIterArgs())
    if (auto tile = dyn_cast<RankedTensorType>(argument.getType()))
      if (isa<PtrType>(tile.getElementType()))
        registers -= registersOf(argument);
  return registers;
}

int64_t stagesOf(scf::ForOp loop) {
  auto own = loop->getAttrOfType<IntegerAttr>(names::numStages);
  return own ? own.getInt() : moduleInt(loop, names::numStages, 3);
}

void addLoop(Demand &demand, scf::ForOp loop) {
  int64_t slotBytes = 0;
  for (StagedLoad &staged : findStagedLoads(loop))
    slotBytes += staged.alloc.getType().getSlotBytes();
  auto products = loop.getBody()->getOps<nv::WgmmaOp>();
  if (slotBytes == 0 || products.empty())
    return;
  demand.at = demand.at ? demand.at : loop.getLoc();
  demand.ringBytes = std::max(demand.ringBytes, stagesOf(loop) * slotBytes);
  demand.registers = std::max(demand.registers, registersWithoutAddresses(loop));
  demand.isWaitedFor |=
      llvm::any_of(products, [&](nv::WgmmaOp product) { return !isSummed(product, loop); });
}

Demand demandOf(ModuleOp module) {
  Demand demand;
  module.walk([&](scf::ForOp loop) { addLoop(demand, loop); });
  module.walk([&](nv::AllocOp alloc) {
    if (!alloc->getParentOfType<scf::ForOp>())
      demand.otherBytes += alloc.getType().getSlotBytes();
  });
  return demand;
}

int64_t blocksByShared(const Demand &demand, int64_t barriers, const Target &target) {
  constexpr int64_t reserved = 1024; // of each block, beside what one block may have
  return (target.maxSharedBytes() + reserved) /
         (demand.ringBytes + demand.otherBytes + barriers + reserved);
}

int64_t blocksAlone(const Demand &demand, int warps, const Target &target) {
  const int64_t registers = llvm::alignTo(demand.registers, RegisterBudget::unit);
  if (registers > target.maxRegistersPerThread())
    return 1;
  return std::min(blocksByShared(demand, 0, target),
                  target.registersPerBlock() / (registers * 32 * warps));
}

int64_t blocksWithProducer(const Demand &demand, int warps, const Target &target) {
  constexpr int64_t barriers = 128;
  const RegisterBudget budget{target, warps};
  int64_t blocks = blocksByShared(demand, barriers, target);
  while (blocks > 1 && demand.registers > budget.consumer(blocks))
    --blocks;
  return blocks;
}

struct KeepOccupancyPass : impl::KeepOccupancyBase<KeepOccupancyPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    const int warps = moduleInt(module, names::numWarps, 4);
    if (!target || !target->hasWgmma() || warps % 4 != 0)
      return;
    const Demand demand = demandOf(module);
    if (!demand.isWaitedFor)
      return;
    const int64_t alone = blocksAlone(demand, warps, *target);
    const int64_t with = blocksWithProducer(demand, warps, *target);
    if (alone <= with)
      return;
    module->setAttr(names::withoutProducer, UnitAttr::get(&getContext()));
    remarkMissed(*demand.at, Technique::WarpSpecialisation)
        << "warps are not specialised: " << alone
        << " blocks fill each other's waits, and a producer leaves room for " << with;
  }
};
} // namespace
} // namespace pantile
