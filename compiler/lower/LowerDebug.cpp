//===- LowerDebug.cpp - device-side print and assert ------------------------------------------===//
// How:   Both call functions of the driver, vprintf and __assertfail, under a branch: one thread
//        per element. A line is "pid (x, y, z) idx (i, j) prefix: value".
//===-----------------------------------------------------------------------------------===//
#include "lower/When.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
/// A generic pointer to a constant string.
llvm::Value *stringConstant(Lowering &l, StringRef text) {
  auto *data = llvm::ConstantDataArray::getString(l.module.getContext(), text);
  auto *global =
      new llvm::GlobalVariable(l.module, data->getType(), true, llvm::GlobalValue::InternalLinkage,
                               data, "text", nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  return l.b.CreateAddrSpaceCast(global, l.b.getPtrTy());
}

/// Runs `body` in a block that is entered where `condition` holds (null: everywhere).
void guarded(Lowering &l, llvm::Value *condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto *then = l.newBlock("act");
  auto *after = l.newBlock("go");
  l.b.CreateCondBr(condition, then, after);
  l.b.SetInsertPoint(then);
  body();
  l.b.CreateBr(after);
  l.b.SetInsertPoint(after);
}

/// The format of a value for vprintf, and the value with C's default argument promotions.
std::pair<std::string, llvm::Value *> formatOf(Lowering &l, llvm::Value *value, Type element,
                                               bool isSigned, bool hex) {
  auto &b = l.b;
  llvm::Type *type = value->getType();
  if (type->isPointerTy())
    return {"%p", b.CreatePtrToInt(value, b.getInt64Ty())};
  if (type->isFloatingPointTy() && !hex)
    return {"%f", b.CreateFPCast(value, b.getDoubleTy())};
  const unsigned bits = storageBits(element);
  llvm::Value *integer = type->isIntegerTy() ? value : l.toInteger(value, bits);
  const bool wide = bits == 64;
  llvm::Type *to = wide ? b.getInt64Ty() : b.getInt32Ty();
  integer = isSigned && !hex && !element.isInteger(1) ? b.CreateSExt(integer, to)
                                                      : b.CreateZExt(integer, to);
  if (hex)
    return {"0x%0" + std::to_string(bits / 4) + (wide ? "llx" : "x"), integer};
  return {std::string("%") + (wide ? "ll" : "") + (isSigned ? "d" : "u"), integer};
}

void callPrintf(Lowering &l, const std::string &format, ValueList arguments) {
  auto &b = l.b;
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  auto *record = llvm::StructType::get(l.module.getContext(), types);
  llvm::Value *buffer;
  {
    llvm::IRBuilderBase::InsertPointGuard guard(b);
    b.SetInsertPoint(&l.function->getEntryBlock(), l.function->getEntryBlock().begin());
    buffer = b.CreateAlloca(record);
  }
  for (auto [i, argument] : llvm::enumerate(arguments))
    b.CreateStore(argument, b.CreateStructGEP(record, buffer, i));
  auto callee = l.module.getOrInsertFunction("vprintf", b.getInt32Ty(), b.getPtrTy(), b.getPtrTy());
  b.CreateCall(callee, {stringConstant(l, format), buffer});
}

struct ProgramIds {
  explicit ProgramIds(Lowering &l) {
    for (auto id :
         {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
          llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z})
      values.push_back(l.b.CreateIntrinsic(l.b.getInt32Ty(), id, {}));
  }
  Values values;
};

std::string escaped(StringRef text) {
  std::string result;
  for (char c : text)
    result += c == '%' ? "%%" : std::string(1, c);
  return result;
}

void printOperand(Lowering &l, PrintOp op, Value operand, bool isSigned, const std::string &which) {
  Type element = elementTypeOf(operand.getType());
  const bool tile = isa<RankedTensorType>(operand.getType());
  std::vector<Values> indices;
  unsigned replicas = 0;
  if (tile) {
    const LinearLayout &layout = l.layout(operand.getType());
    replicas = layout.freeBits().reg;
    for (int d = 0; d < layout.rank(); ++d)
      indices.push_back(l.coordinates(layout, d));
  }
  const Values inside = l.inside(operand.getType());
  guarded(l, l.firstReplica(operand.getType()), [&] {
    const ProgramIds programs(l);
    for (auto [reg, value] : llvm::enumerate(l.get(operand))) {
      if (reg & replicas || !l.isPresent(operand.getType(), reg))
        continue;
      const When when(l, inside[reg]);
      Values arguments = programs.values;
      std::string format = "pid (%d, %d, %d) idx (";
      for (size_t d = 0; d < indices.size(); ++d) {
        format += d ? ", %d" : "%d";
        arguments.push_back(indices[d][reg]);
      }
      auto [how, argument] = formatOf(l, value, element, isSigned, op.getHex());
      arguments.push_back(argument);
      callPrintf(l, format + ") " + escaped(op.getPrefix()) + ": " + which + how + "\n", arguments);
    }
  });
}

LogicalResult lowerPrint(Lowering &l, PrintOp op) {
  if (op.getValues().empty())
    guarded(l, l.isFirstThread(), [&] {
      callPrintf(l, "pid (%d, %d, %d) idx () " + escaped(op.getPrefix()) + "\n",
                 ProgramIds(l).values);
    });
  for (auto [i, operand, sign] : llvm::enumerate(op.getValues(), op.getSigns()))
    printOperand(l, op, operand, sign != 0,
                 op.getValues().size() > 1 ? "(operand " + std::to_string(i) + ") " : "");
  return success();
}

LogicalResult lowerAssert(Lowering &l, AssertOp op) {
  auto &b = l.b;
  llvm::Value *holds = b.getTrue();
  const Type type = op.getCondition().getType();
  const Values inside = l.inside(type);
  for (auto [reg, value] : llvm::enumerate(l.get(op.getCondition()))) {
    if (!l.isPresent(type, reg))
      continue;
    holds = b.CreateAnd(holds,
                        inside[reg] ? b.CreateLogicalOr(b.CreateNot(inside[reg]), value) : value);
  }
  auto place = op.getLoc()->findInstanceOf<FileLineColLoc>();
  guarded(l, b.CreateNot(holds), [&] {
    auto callee =
        l.module.getOrInsertFunction("__assertfail", b.getVoidTy(), b.getPtrTy(), b.getPtrTy(),
                                     b.getInt32Ty(), b.getPtrTy(), b.getInt64Ty());
    const std::string file = place ? place.getFilename().str() : "unknown";
    b.CreateCall(callee, {stringConstant(l, op.getMessage()), stringConstant(l, file),
                          b.getInt32(place ? place.getLine() : 0),
                          stringConstant(l, l.function->getName()), b.getInt64(1)});
  });
  return success();
}
} // namespace

void lower::addDebug(Handlers &h) {
  h.add<PrintOp>(lowerPrint);
  h.add<AssertOp>(lowerAssert);
}
