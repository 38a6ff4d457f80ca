//===- RebuildLoop.h - loops with early exits, unrolled loops ---------------------------===//
// Needs: a complete scf.for or scf.while whose results are unused so far.
// Gives: an equivalent scf.while that ends when its body was left, or a loop with several bodies
//        per iteration.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// A loop that control may leave: an scf.while that carries, in addition to the variables, whether
/// control left and what was returned.
struct EarlyExit {
  Emitter &e;
  FlowState flow; ///< at the end of the body
  mlir::Region *body;
  llvm::SmallVector<mlir::Value> inits, finals; ///< of additional loop-carried values

  void carry(mlir::Value init, mlir::Value final) {
    inits.push_back(init);
    finals.push_back(final);
  }
  bool isInside(mlir::Value ir) const { return body->isAncestor(ir.getParentRegion()); }
  /// `value` with placeholders for values that only the body has.
  Value plan(const Value &value) {
    if (value.isStruct()) {
      std::vector<Value> elements;
      for (const Value &element : value.elements())
        elements.push_back(plan(element));
      return value.withElements(std::move(elements));
    }
    auto *runtime = value.dynAs<Runtime>();
    if (!runtime || !isInside(runtime->ir))
      return value;
    mlir::OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPoint(body->getParentOp());
    carry(e.zero(runtime->type).ir, runtime->ir);
    return Runtime{{}, runtime->type};
  }
  static Value fill(const Value &value, mlir::ValueRange results, size_t &next) {
    if (value.isStruct()) {
      std::vector<Value> elements;
      for (const Value &element : value.elements())
        elements.push_back(fill(element, results, next));
      return value.withElements(std::move(elements));
    }
    auto *runtime = value.dynAs<Runtime>();
    return runtime && !runtime->ir ? Value(Runtime{results[next++], runtime->type}) : value;
  }
  void planFlow() {
    flow.value = plan(flow.value);
    for (Value &flag : flow.left) {
      if (!flag.isRuntime() && !flag.as<bool>())
        continue;
      carry(e.isSet(false).ir, e.isSet(flag).ir);
      flag = Runtime{{}, {Scalar::I1, {}}};
    }
  }
  /// The flow with the results of the loop, or with its arguments.
  FlowState fillFlow(mlir::ValueRange results) const {
    FlowState filled = flow;
    size_t next = 0;
    filled.value = fill(flow.value, results, next);
    for (Value &flag : filled.left)
      flag = fill(flag, results, next);
    return filled;
  }
};

/// Replaces `loop` by an scf.while that ends as `exit` says; its first results are those of `loop`.
mlir::scf::WhileOp leaveEarly(mlir::scf::ForOp loop, EarlyExit &exit);
/// The same for a loop with a test, which is not evaluated once control has left.
mlir::scf::WhileOp leaveEarly(mlir::scf::WhileOp loop, EarlyExit &exit);

/// Makes `loop` count its iterations from 0 if its bounds are further apart than MLIR's folds
/// assume bounds to be.
void countLong(Emitter &e, mlir::scf::ForOp loop);

/// Unrolls `loop` by `factor`; the remaining iterations are run by `loop` itself.
void unroll(Emitter &e, mlir::scf::ForOp loop, int64_t factor);

} // namespace pantile
