//===- Launch.cpp - see Launch.h ------------------------------------------------------------===//
#include "ir/Launch.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace pantile {

Launch Launch::of(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  auto attribute = module ? module->getAttrOfType<nv::LaunchAttr>(names::launch) : nv::LaunchAttr();
  if (!attribute)
    return {};
  Launch launch;
  launch.producerWarps = attribute.getProducerWarps();
  launch.persistent = attribute.getPersistent();
  launch.partialBytes = attribute.getPartialBytes();
  launch.programsPerCta = attribute.getProgramsPerCta();
  launch.ctasPerProgram = attribute.getCtasPerProgram();
  launch.sharedBytes = attribute.getSharedBytes();
  launch.ctasPerSm = attribute.getCtasPerSm();
  if (auto registers = attribute.getRegisters())
    launch.registers = {registers[0], registers[1], registers[2]};
  if (auto spills = attribute.getSpills())
    launch.spills = {spills[0], spills[1]};
  return launch;
}

void Launch::storeOn(ModuleOp module) const {
  MLIRContext *context = module.getContext();
  auto array = [&](std::initializer_list<int32_t> numbers) {
    return DenseI32ArrayAttr::get(context, numbers);
  };
  DenseI32ArrayAttr all, spilled;
  if (registers)
    all = array({registers->atLaunch, registers->ofProducer, registers->ofConsumers});
  if (spills)
    spilled = array({spills->offset, spills->registers});
  module->setAttr(names::launch, nv::LaunchAttr::get(context, producerWarps, persistent,
                                                     partialBytes, programsPerCta, ctasPerProgram,
                                                     sharedBytes, ctasPerSm, all, spilled));
}

} // namespace pantile
