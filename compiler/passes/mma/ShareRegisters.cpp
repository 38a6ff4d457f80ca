//===- ShareRegisters.cpp - registers of the producer go to those who multiply ------------===//
// Needs: the passes before: the rings stand, and the size of shared memory is known.
// Gives: `nv.registers` (at launch, of the producer, of the others) on a module whose loops need
//        more registers than every warp can have; its producer is then a group of four warps.
// How:   registers are allotted to groups of four warps at launch, so one extra warp already costs
//        as much as four. A thread of the others needs the sums, the left operands and the carried
//        tiles of its largest loop, and some for addresses. Eight warps then have the
//        multiprocessor to themselves; four share it with a second block, if memory allows.
//===------------------------------------------------------------------------------------===//
#include "ir/Registers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SHAREREGISTERS
#include "passes/Passes.h.inc"

namespace {
constexpr int64_t forAddresses = 40;

/// Sums that start anew in each iteration, or are carried; what else is carried, and left operands.
int64_t registersOfLoop(scf::ForOp loop) {
  int64_t registers = forAddresses;
  for (Value argument : loop.getRegionIterArgs())
    registers += registersOf(argument);
  for (auto product : loop.getBody()->getOps<nv::WgmmaOp>()) {
    if (matchPattern(product.getAcc(), m_AnyZeroFloat()))
      registers += registersOf(product.getResult());
    if (!isa<BlockArgument>(product.getLhs()))
      registers += registersOf(product.getLhs());
  }
  return registers;
}

struct ShareRegistersPass : impl::ShareRegistersBase<ShareRegistersPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    if (!target || !target->hasSetMaxRegisters() || moduleInt(module, names::producerWarps, 0) == 0)
      return;
    int64_t needed = 0, ofInstruction = 0;
    module.walk([&](nv::WgmmaOp product) {
      ofInstruction = std::max<int64_t>(ofInstruction, product.getMma().getN() / 2);
    });
    module.walk([&](scf::ForOp loop) {
      if (!loop.getBody()->getOps<nv::WgmmaOp>().empty())
        needed = std::max(needed, registersOfLoop(loop));
    });
    const int warps = moduleInt(module, names::numWarps, 4);
    const bool fitsTwice =
        2 * (moduleInt(module, names::sharedBytes, 0) + 1024) <= target->maxSharedBytes();
    Builder b(module);
    auto share = [&](int32_t launch, int32_t producer, int32_t consumer) {
      // The assembler wants each instruction to fit into the registers at launch.
      if (needed <= launch || needed > consumer || ofInstruction + forAddresses > launch)
        return;
      module->setAttr(names::registers, b.getDenseI32ArrayAttr({launch, producer, consumer}));
      module->setAttr(names::producerWarps, b.getI32IntegerAttr(4));
    };
    if (warps == 8)
      share(168, 24, 240);
    else if (warps == 4 && fitsTwice)
      share(128, 24, 232);
  }
};
} // namespace
} // namespace pantile
