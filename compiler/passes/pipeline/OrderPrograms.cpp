//===- OrderPrograms.cpp - programs with the most work start first ------------------------===//
// Needs: loops stand as written; the lowering reads what is given.
// Gives: `nv.last_first`: the axes of the grid along which programs have more and more to do, as
//        under the mask of causal attention. Begun from the end, short programs fill the
//        multiprocessors that the last long ones leave; begun from the start, most of them wait.
// How:   Programs must not meet, nor be seen while they run. How many rounds a loop makes more from
//        one program to the next is read off the arithmetic of its bounds; what cannot be read, in
//        any loop, leaves the order as it is.
//===------------------------------------------------------------------------------------===//
#include "ir/ProgramOrder.h"
#include "ir/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/pipeline/Programs.h"
#include "llvm/ADT/TypeSwitch.h"
#include <optional>

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_ORDERPROGRAMS
#include "passes/Passes.h.inc"
namespace {

std::optional<double> constantOf(Value value) {
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return static_cast<double>(constant.getSExtValue());
  return std::nullopt;
}

/// By how much values change from one program to the next along an axis.
class Growth {
public:
  using Rate = std::optional<double>;
  explicit Growth(uint32_t axis) : axis(axis) {}

  Rate of(Value value) {
    if (auto known = rates.find(value); known != rates.end())
      return known->second;
    const Rate rate = compute(value);
    rates[value] = rate;
    return rate;
  }

  /// Rounds of `loop`; steps that are no constants are taken for one.
  Rate ofRounds(scf::ForOp loop) {
    const Rate lower = of(loop.getLowerBound()), upper = of(loop.getUpperBound());
    if (!lower || !upper || of(loop.getStep()) != 0.0)
      return std::nullopt;
    return (*upper - *lower) / constantOf(loop.getStep()).value_or(1.0);
  }

private:
  Rate compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op) {
      auto *parent = cast<BlockArgument>(value).getOwner()->getParentOp();
      return isa<FunctionOpInterface>(parent) ? Rate(0.0) : std::nullopt;
    }
    if (auto id = dyn_cast<ProgramIdOp>(op))
      return id.getAxis() == axis ? 1.0 : 0.0;
    if (op->getNumRegions() != 0)
      return std::nullopt;
    SmallVector<double> rates;
    for (Value operand : op->getOperands()) {
      const Rate rate = of(operand);
      if (!rate)
        return std::nullopt;
      rates.push_back(*rate);
    }
    if (llvm::all_of(rates, [](double rate) { return rate == 0.0; }))
      return 0.0;
    return ofArithmetic(op, rates);
  }

  static Rate scaled(double rate, Value factor, bool isDivided) {
    const auto constant = constantOf(factor);
    if (!constant || *constant == 0)
      return std::nullopt;
    return isDivided ? rate / *constant : rate * *constant;
  }

  static Rate ofArithmetic(Operation *op, ArrayRef<double> rates) {
    return llvm::TypeSwitch<Operation *, Rate>(op)
        .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>(
            [&](auto) { return rates[0]; })
        .Case<arith::AddIOp>([&](auto) { return rates[0] + rates[1]; })
        .Case<arith::SubIOp>([&](auto) { return rates[0] - rates[1]; })
        .Case<arith::MulIOp>([&](auto) {
          return rates[1] == 0.0   ? scaled(rates[0], op->getOperand(1), false)
                 : rates[0] == 0.0 ? scaled(rates[1], op->getOperand(0), false)
                                   : std::nullopt;
        })
        .Case<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>([&](auto) {
          return rates[1] == 0.0 ? scaled(rates[0], op->getOperand(1), true) : std::nullopt;
        })
        // A limit that does not move binds some of the programs only.
        .Case<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>([&](auto) {
          const bool isOne = rates[0] == 0.0 || rates[1] == 0.0 || rates[0] == rates[1];
          return isOne ? Rate(rates[0] == 0.0 ? rates[1] : rates[0]) : std::nullopt;
        })
        .Default([](Operation *) { return std::nullopt; });
  }

  uint32_t axis;
  llvm::DenseMap<Value, Rate> rates;
};

/// Of all loops together; none where one of them cannot be read.
std::optional<double> growthOfWork(func::FuncOp kernel, uint32_t axis) {
  Growth growth(axis);
  double sum = 0.0;
  auto end = kernel.walk([&](Operation *op) {
    if (isa<scf::WhileOp>(op))
      return WalkResult::interrupt();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      const auto rounds = growth.ofRounds(loop);
      if (!rounds)
        return WalkResult::interrupt();
      sum += *rounds;
    }
    return WalkResult::advance();
  });
  return end.wasInterrupted() ? std::nullopt : std::optional(sum);
}

struct OrderProgramsPass : impl::OrderProgramsBase<OrderProgramsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = llvm::to_vector(module.getOps<func::FuncOp>());
    if (kernels.size() != 1)
      return;
    func::FuncOp kernel = kernels[0];
    if (kernel
            .walk([](Operation *op) {
              return meetsOthers(op) ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted())
      return;
    SmallVector<int32_t> axes;
    for (int32_t axis = 0; axis < 3; ++axis)
      if (growthOfWork(kernel, axis).value_or(0.0) > 0.0)
        axes.push_back(axis);
    if (axes.empty())
      return;
    module->setAttr(names::lastFirst, Builder(module).getDenseI32ArrayAttr(axes));
    remarkApplied(kernel.getLoc(), Technique::Persistence)
        << "programs start from the end of axis " << axes.front()
        << ", where they have the most to do";
  }
};
} // namespace
} // namespace pantile
