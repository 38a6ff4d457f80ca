//===- ProgramValues.cpp - integers of a kernel, for one program of one launch -------------===//
// Gives: see ProgramValues.h.
//===------------------------------------------------------------------------------------===//
#include "analysis/ProgramValues.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pantile {

int64_t programsOf(const LaunchShape &launch) {
  return launch.grid[0] * launch.grid[1] * launch.grid[2];
}

std::optional<int64_t> ProgramValues::of(Value value) {
  if (!value.getType().isIntOrIndex())
    return std::nullopt;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  known[value] = std::nullopt; // a value that depends on itself is unknown
  return known[value] = compute(value);
}

std::optional<int64_t> ProgramValues::trips(scf::ForOp loop) {
  const auto begin = of(loop.getLowerBound()), end = of(loop.getUpperBound()),
             step = of(loop.getStep());
  if (!begin || !end || !step || *step <= 0)
    return std::nullopt;
  int64_t span = 0;
  if (*end <= *begin)
    return 0;
  if (llvm::SubOverflow(*end, *begin, span))
    return std::nullopt;
  return llvm::divideCeilSigned(span, *step);
}

std::optional<int64_t> ProgramValues::compute(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument);
  auto numberOf = [&]() {
    return program[0] + launch.grid[0] * (program[1] + launch.grid[1] * program[2]);
  };
  using Known = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Known>(value.getDefiningOp())
      .Case([&](ProgramIdOp id) { return Known(program[id.getAxis()]); })
      .Case([&](NumProgramsOp count) { return Known(launch.grid[count.getAxis()]); })
      .Case([&](nv::ProgramAtOp at) { return Known(program[at.getAxis()]); })
      .Case([&](nv::ProgramCountOp) { return Known(programsOf(launch)); })
      .Case<nv::CtaIdOp, nv::RasterProgramOp>([&](Operation *) { return Known(numberOf()); })
      .Default([&](Operation *) { return fold(cast<OpResult>(value)); });
}

std::optional<int64_t> ProgramValues::ofArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (isa<func::FuncOp>(parent))
    return argument.getArgNumber() < launch.integers.size()
               ? launch.integers[argument.getArgNumber()]
               : std::nullopt;
  auto loop = dyn_cast<scf::ForOp>(parent);
  if (!loop || argument != loop.getInductionVar())
    return std::nullopt;
  const auto count = trips(loop);
  if (!count) // else the bounds are known, too
    return std::nullopt;
  return *of(loop.getLowerBound()) + *count / 2 * *of(loop.getStep());
}

std::optional<int64_t> ProgramValues::fold(OpResult result) {
  Operation *op = result.getOwner();
  if (op->getNumRegions() != 0 || op->getNumResults() != 1 || !isMemoryEffectFree(op))
    return std::nullopt;
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    const auto value = of(operand);
    if (!value)
      return std::nullopt;
    operands.push_back(Builder(op).getIntegerAttr(operand.getType(), *value));
  }
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(operands, folded)) || folded.size() != 1)
    return std::nullopt;
  auto attribute = dyn_cast_if_present<Attribute>(folded.front());
  auto integer = dyn_cast_if_present<IntegerAttr>(attribute);
  if (!integer)
    return std::nullopt;
  return integer.getType().isInteger(1) ? integer.getValue().getZExtValue()
                                        : integer.getValue().getSExtValue();
}

} // namespace pantile
