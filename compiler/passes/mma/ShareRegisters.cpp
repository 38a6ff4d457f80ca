//===- ShareRegisters.cpp - registers of the producer go to those who multiply ------------===//
// Needs: the passes before: the rings stand, and the size of shared memory is known.
// Gives: `nv.registers` (at launch, of the producer, of the others) on a module whose loops need
//        more registers than every warp can have; its producer is then a group of four warps.
// How:   registers are allotted to groups of four warps at launch, so one extra warp already costs
//        as much as four. A thread of the others needs the sums, the left operands and the carried
//        tiles of its largest loop, and some for addresses. As many blocks as have room for that,
//        and for their shared memory, run at once.
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
constexpr int64_t forAddresses = 40, mostBlocks = 4;

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

/// Registers of a thread when so many blocks share a multiprocessor.
struct Budget {
  const Target &target;
  int warps;
  static constexpr int32_t producer = 24, unit = 8, most = 240;

  int64_t launch(int64_t blocks) const {
    return target.registersPerBlock() / blocks / (32 * (warps + 4)) / unit * unit;
  }
  int64_t consumer(int64_t blocks) const {
    const int64_t left = launch(blocks) * (warps + 4) - producer * 4;
    return std::min<int64_t>(left / warps / unit * unit, most);
  }
};

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
    const int64_t shared = moduleInt(module, names::sharedBytes, 0) + 1024;
    const Budget budget{*target, warps};
    auto fits = [&](int64_t blocks) {
      // The assembler wants each instruction to fit into the registers at launch.
      return blocks * shared <= target->maxSharedBytes() && needed <= budget.consumer(blocks) &&
             ofInstruction + forAddresses <= budget.launch(blocks);
    };
    int64_t blocks = mostBlocks;
    while (blocks > 0 && !fits(blocks))
      --blocks;
    if (blocks == 0 || needed <= budget.launch(blocks))
      return;
    Builder b(module);
    const int32_t shares[] = {static_cast<int32_t>(budget.launch(blocks)), budget.producer,
                              static_cast<int32_t>(budget.consumer(blocks))};
    module->setAttr(names::registers, b.getDenseI32ArrayAttr(shares));
    module->setAttr(names::producerWarps, b.getI32IntegerAttr(4));
  }
};
} // namespace
} // namespace pantile
