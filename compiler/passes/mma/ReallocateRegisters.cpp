//===- ReallocateRegisters.cpp - registers of the producer go to those who multiply ------------===//
// Needs: the passes before: the circular buffers stand, and the size of shared memory is known.
// Gives: `registers` of `nv.launch` (at launch, of the producer, of the others) on a module whose loops need
//        more registers than every warp can have; its producer is then a group of four warps.
//        A thread of the others needs the sums, the left operands and the carried tiles of its
//        largest loop, and some for addresses.
// How:   As many blocks as have room for that, and for their shared memory, run at once.
//===------------------------------------------------------------------------------------===//
#include "analysis/RegisterBudget.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_REALLOCATEREGISTERS
#include "passes/Passes.h.inc"

namespace {
struct ShareRegistersPass : impl::ReallocateRegistersBase<ShareRegistersPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    Launch launch = Launch::of(module);
    if (!target || !target->hasSetMaxRegisters() || launch.producerWarps == 0)
      return;
    int64_t needed = 0, ofInstruction = 0;
    module.walk([&](nv::AsyncMmaOpInterface product) {
      ofInstruction = std::max<int64_t>(ofInstruction, product.getMma().getN() / 2);
    });
    module.walk([&](scf::ForOp loop) {
      if (!loop.getBody()->getOps<nv::AsyncMmaOpInterface>().empty())
        needed = std::max(needed, registersOfLoop(loop));
    });
    const int warps = moduleInt(module, names::numWarps, 4);
    const MachineModel &machine = target->machine();
    const int64_t shared = launch.sharedBytes + machine.sm.sharedReserve;
    const RegisterBudget budget{machine, warps};
    auto allows = [&](int64_t blocks) {
      // The assembler wants each instruction to fit into the registers at launch.
      // A reserve less than the SM has: the reallocation was fitted so.
      return blocks * shared <= machine.sm.sharedBytesOfCta &&
             ofInstruction + machine.registers.besideLoop <= budget.launch(blocks);
    };
    int64_t blocks = machine.occupancy.ctasWithSetmaxnreg;
    while (blocks > 0 && !(allows(blocks) && needed <= budget.consumer(blocks)))
      --blocks;
    // Three warp groups have 128 registers at launch where two have 168, and 160 then: what an estimate
    // asks for beyond these is no reason to stay with 128.
    if (blocks == 0 && !llvm::isPowerOf2_32(warps) && allows(1))
      blocks = 1;
    if (blocks == 0 || needed <= budget.launch(blocks))
      return;
    launch.registers = {static_cast<int32_t>(budget.launch(blocks)),
                        static_cast<int32_t>(budget.producer),
                        static_cast<int32_t>(budget.consumer(blocks))};
    launch.producerWarps = budget.producerWarps;
    launch.storeOn(module);
  }
};
} // namespace
} // namespace pantile
