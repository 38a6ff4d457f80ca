//===- LowerExtern.cpp - calls of functions of bitcode libraries ------------------------------===//
// How:   A declaration of the symbol, marked with the library that defines it, and one call per
//        register. The library is linked after lowering. A call that is not pure runs once per
//        register, even if several threads hold the same element.
//===-----------------------------------------------------------------------------------===//
#include "lower/Elementwise.h"
#include "target/Libdevice.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
llvm::FunctionCallee declare(Lowering &l, ExternCallOp op) {
  llvm::SmallVector<llvm::Type *> operands;
  for (Type type : op.getArgs().getTypes())
    operands.push_back(l.type(elementTypeOf(type)));
  llvm::Type *result = l.type(elementTypeOf(op.getType()));
  auto callee = l.module.getOrInsertFunction(op.getSymbol(),
                                             llvm::FunctionType::get(result, operands, false));
  if (auto *fn = dyn_cast<llvm::Function>(callee.getCallee()))
    fn->addFnAttr(externLibraryAttribute, op.getLibrary());
  return callee;
}

LogicalResult lowerExternCall(Lowering &l, ExternCallOp op) {
  const llvm::FunctionCallee callee = declare(l, op);
  auto call = [&](ValueList operands) -> llvm::Value * {
    llvm::CallInst *made = l.b.CreateCall(callee, operands);
    if (op.getPure()) {
      made->setDoesNotAccessMemory();
      made->setDoesNotThrow();
    }
    return made;
  };
  if (op.getPure())
    return mapElements(l, op, call);
  Values results;
  for (int reg = 0, count = l.count(op.getType()); reg < count; ++reg) {
    if (!l.isPresent(op.getType(), reg)) {
      results.push_back(llvm::PoisonValue::get(l.type(elementTypeOf(op.getType()))));
      continue;
    }
    Values operands;
    for (Value arg : op.getArgs())
      operands.push_back(l.get(arg).size() == 1 ? l.scalar(arg) : l.get(arg)[reg]);
    results.push_back(call(operands));
  }
  l.set(op.getResult(), results);
  return success();
}
} // namespace

void lower::addExtern(Handlers &h) { h.add<ExternCallOp>(lowerExternCall); }
