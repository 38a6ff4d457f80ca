//===- OperandSource.cpp - see OperandSource.h --------------------------------------------===//
#include "analysis/OperandSource.h"
#include "analysis/RegisterBudget.h"
#include "ir/Machine.h"
#include "ir/Registers.h"

using namespace mlir;

namespace pantile {

OperandSource sourceOf(Value operand) {
  OperandSource source{operand};
  while (true) {
    if (auto convert = source.value.getDefiningOp<ConvertLayoutOp>()) {
      source.value = convert.getSrc();
    } else if (auto trans = source.value.getDefiningOp<TransOp>();
               trans && trans.getSrc().getType().getRank() == 2) {
      source.value = trans.getSrc();
      source.transposed ^= trans.getOrder()[0] == 1;
    } else {
      return source;
    }
  }
}

Operation *outermostUser(Operation *dot, Value value) {
  Operation *user = dot;
  for (auto loop = user->getParentOfType<scf::ForOp>();
       loop && loop == user->getParentOp() && loop.isDefinedOutsideOfLoop(value);
       loop = user->getParentOfType<scf::ForOp>())
    user = loop;
  return user;
}

bool isKept(DotOp dot, OperandSource source) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  return loop && source.value.getDefiningOp<LoadOp>() && loop.isDefinedOutsideOfLoop(source.value);
}

llvm::DenseSet<Operation *> crowdedLoops(ModuleOp module) {
  llvm::DenseSet<Operation *> crowded;
  module.walk([&](scf::ForOp loop) {
    int64_t kept = 0;
    llvm::DenseSet<Value> counted; // several dots can read one operand
    for (auto dot : loop.getBody()->getOps<DotOp>())
      if (dot.getMma() && dot.getMma()->getKind() == MmaKind::MmaSync)
        for (Value operand : {dot.getLhs(), dot.getRhs()})
          if (isKept(dot, sourceOf(operand)) && counted.insert(operand).second)
            kept += registersOf(operand);
    if (kept > 0 && registersOfMmaSync(loop) + kept > machineOf(loop).sm.registersOfThread)
      crowded.insert(loop);
  });
  return crowded;
}

} // namespace pantile
