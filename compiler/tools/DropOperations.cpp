//===- DropOperations.cpp - shrink a module that shows a fault --------------------------===//
// Needs: a script that exits with 1 as long as the file that it is given shows the fault.
// Gives: a module from which no single operation, loop or function can be dropped any more.
// How:   From the last operation to the first, on a clone: an operation without uses is erased with
//        its regions; the result of another is replaced by an operand of its type. A change is
//        undone if the module does not verify or no longer shows the fault. Repeated until nothing
//        changes.
//===-----------------------------------------------------------------------------------===//
#include "DropOperations.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Reducer/Tester.h"

namespace pantile {
namespace {

/// Everything inside `module` that may be dropped, inner operations before the outer.
llvm::SmallVector<mlir::Operation *> candidates(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> operations;
  module.walk([&](mlir::Operation *op) {
    if (op != module.getOperation() && !op->hasTrait<mlir::OpTrait::IsTerminator>())
      operations.push_back(op);
  });
  return operations;
}

/// Erases `op`, its results replaced by operands of their types; false if there are none.
bool drop(mlir::Operation *op) {
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> replacements;
  for (mlir::Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    auto same = llvm::find_if(op->getOperands(), [&](mlir::Value operand) {
      return operand.getType() == result.getType();
    });
    if (same == op->operand_end())
      return false;
    replacements.emplace_back(result, *same);
  }
  for (auto [result, operand] : replacements)
    result.replaceAllUsesWith(operand);
  op->erase();
  return true;
}

struct DropOperations : mlir::PassWrapper<DropOperations, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropOperations)
  DropOperations() = default;
  DropOperations(const DropOperations &other) : PassWrapper(other) {}
  llvm::StringRef getArgument() const override { return "drop-operations"; }
  llvm::StringRef getDescription() const override {
    return "drop operations as long as a script still finds the module's fault";
  }
  Option<std::string> script{*this, "test", llvm::cl::desc("script that exits with 1 on a fault")};

  bool isInteresting(mlir::ModuleOp module) const {
    return mlir::Tester(script, {}).isInteresting(module).first ==
           mlir::Tester::Interestingness::True;
  }

  /// The module without candidate number `index`, if it still shows the fault.
  mlir::OwningOpRef<mlir::ModuleOp> without(mlir::ModuleOp module, size_t index) const {
    mlir::OwningOpRef<mlir::ModuleOp> smaller = module.clone();
    // A module that does not verify is a failed attempt and not reported.
    mlir::ScopedDiagnosticHandler silence(module.getContext(), [](mlir::Diagnostic &) {});
    if (!drop(candidates(*smaller)[index]) || mlir::failed(mlir::verify(*smaller)) ||
        !isInteresting(*smaller))
      return {};
    return smaller;
  }

  bool shrinkOnce(mlir::ModuleOp module) const {
    bool changed = false;
    for (size_t index = candidates(module).size(); index-- > 0;) {
      if (index >= candidates(module).size())
        continue;
      if (auto smaller = without(module, index)) {
        module.getBodyRegion().takeBody(smaller->getBodyRegion());
        changed = true;
      }
    }
    return changed;
  }

  void runOnOperation() override {
    if (!isInteresting(getOperation())) {
      getOperation().emitError("the script finds no fault in the whole module");
      return signalPassFailure();
    }
    while (shrinkOnce(getOperation())) {
    }
  }
};

} // namespace

void registerDropOperations() { mlir::PassRegistration<DropOperations>(); }

} // namespace pantile
