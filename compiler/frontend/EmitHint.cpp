//===- EmitHint.cpp - hints, assertions, printing, and ranges ---------------------------===//
// Gives: attributes on the operations to which hints apply; tile.assert, print and barrier; the
//        ranges of loops.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include "frontend/TritonWords.h"
#include "ir/Hints.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cstdio>
#include <numeric>

using namespace pantile;
using llvm::StringRef;

namespace {
StringRef hintAttribute(StringRef name) {
  return name == "multiple_of"      ? StringRef(names::divisibility)
         : name == "max_contiguous" ? StringRef(names::contiguity)
                                    : StringRef(names::constancy);
}
} // namespace

Value pantile::emitHint(Emitter &e, const BoundCall &call) {
  auto values = e.needInts(call["values"], call.at("values"), "`values`");
  auto *input = call["input"].dynAs<Runtime>();
  if (!values || !input)
    return values ? call["input"] : Value(Failed());
  size_t wanted = std::max<size_t>(1, input->type.rank());
  if (values->size() != wanted)
    return e.error(call.at("values"), "`" + call.row->name +
                                          "` takes a value a dimension: " + std::to_string(wanted) +
                                          ", got " + std::to_string(values->size()));
  if (llvm::any_of(*values, [](int64_t value) { return value < 1 || value > INT32_MAX; }))
    return e.error(call.at("values"), "`" + call.row->name +
                                          "` takes positive values of 32 bits, got " +
                                          constantText(call["values"]));
  StringRef name = hintAttribute(call.row->name);
  llvm::SmallVector<int32_t> ints(values->begin(), values->end());
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(input->ir)) {
    auto func = mlir::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
    if (func && name == names::divisibility) {
      unsigned number = argument.getArgNumber();
      auto known = func.getArgAttrOfType<mlir::IntegerAttr>(number, name);
      int64_t divisor = known ? std::lcm<int64_t>(known.getInt(), ints[0]) : ints[0];
      func.setArgAttr(number, name, e.b.getI32IntegerAttr(int32_t(divisor)));
    }
    auto loop = mlir::dyn_cast<mlir::scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument == loop.getInductionVar() && name == names::divisibility)
      loop->setAttr(indexDivisibility, e.b.getI32IntegerAttr(ints[0]));
  } else if (!input->ir.getDefiningOp<mlir::arith::ConstantOp>()) {
    auto result = mlir::cast<mlir::OpResult>(input->ir);
    result.getOwner()->setAttr(hintName(name, result), e.b.getDenseI32ArrayAttr(ints));
  }
  return *input;
}

Value pantile::emitAssume(Emitter &e, const BoundCall &call) {
  if (e.knownTruth(call["cond"]) == false)
    e.warning(call.at("cond"), "this assumption is false");
  if (call["cond"].isNumber())
    return None();
  auto condition = e.toBool(call["cond"], call.at("cond"));
  if (!condition)
    return Failed();
  if (condition->type.isTile())
    return e.error(call.at("cond"),
                   "`assume` takes a scalar condition, got `" + condition->type.name() + "`");
  AssumeOp::create(e.b, e.loc(), condition->ir);
  return None();
}

Value pantile::emitBarrier(Emitter &e, const BoundCall &call) {
  BarrierOp::create(e.b, e.loc());
  return None();
}

Value pantile::emitStaticAssert(Emitter &e, const BoundCall &call) {
  auto holds = e.needBool(call["cond"], call.at("cond"),
                          "the condition of `static_assert`" +
                              inTriton("could not be determined at compile-time"));
  if (!holds)
    return Failed();
  std::string message = constantText(call["msg"]);
  if (!*holds)
    return e.error(call.span, message.empty() ? "the static assertion does not hold" : message,
                   ErrorKind::Assertion);
  return None();
}

/// For the library: at the user's call of it.
Value pantile::emitLibraryRemark(Emitter &e, const BoundCall &call) {
  mlir::emitRemark(e.userCalls().front()->callerLoc) << constantText(call["text"]);
  return None();
}

namespace {
std::string joined(Emitter &e, const Value &values, const std::string &separator) {
  std::string text;
  for (auto [i, value] : llvm::enumerate(values.elements()))
    text += (i ? separator : "") + constantText(e.knownValue(value).value_or(value));
  return text;
}

Value print(Emitter &e, std::string prefix, llvm::ArrayRef<Value> values, bool hex,
            SourceSpan span) {
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<int32_t> signs;
  for (const Value &value : values) {
    if (value.is<std::string>()) {
      prefix += " " + value.as<std::string>();
      continue;
    }
    auto operand = e.runtime(value, span);
    if (operand && operand->type.element.isFp8() && !hex)
      operand = e.cast(*operand, Scalar::F32, span);
    if (!operand)
      return Failed();
    operands.push_back(operand->ir);
    signs.push_back(operand->type.element.isSigned() ? 1 : 0);
  }
  PrintOp::create(e.b, e.loc(), prefix, operands, signs, hex);
  return None();
}
} // namespace

Value pantile::emitStaticPrint(Emitter &e, const BoundCall &call) {
  std::string text =
      joined(e, call["values"], constantText(call["sep"])) + constantText(call["end"]);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return None();
}

Value pantile::emitDevicePrint(Emitter &e, const BoundCall &call) {
  auto prefix = e.needString(call["prefix"], call.at("prefix"), "the prefix of `device_print`");
  auto hex = e.needBool(call["hex"], call.at("hex"), "`hex`");
  if (!prefix || !hex)
    return Failed();
  return print(e, *prefix, call["args"].elements(), *hex, call.span);
}

Value pantile::emitPrint(Emitter &e, const BoundCall &call) {
  auto hex = e.needBool(call["hex"], call.at("hex"), "`hex`");
  if (!hex)
    return Failed();
  llvm::ArrayRef<Value> values = call["args"].elements();
  std::string prefix;
  if (!values.empty() && values[0].is<std::string>()) {
    prefix = values[0].as<std::string>();
    values = values.drop_front();
  }
  return print(e, prefix, values, *hex, call.span);
}

Value pantile::emitDeviceAssert(Emitter &e, const BoundCall &call) {
  if (!e.options.debug)
    return None();
  auto flag = e.toBool(call["cond"], call.at("cond"));
  if (!flag)
    return Failed();
  Value condition = *flag;
  if (!call["mask"].isNone())
    condition = e.logical(false, condition,
                          e.unary(ast::UnaryOp::Not, call["mask"], call.at("mask")), call.span);
  if (condition.failed())
    return condition;
  std::string message = constantText(call["msg"]);
  AssertOp::create(e.b, e.loc(), condition.as<Runtime>().ir,
                   message.empty() ? "assertion failed" : message);
  return None();
}

namespace {
RangeValue rangeOf(const BoundCall &call) {
  bool hasStart = !call["arg2"].isNone();
  auto share = [](const Value &value) { return std::make_shared<const Value>(value); };
  RangeValue range;
  range.start = share(hasStart ? call["arg1"] : Value(BigInt(0)));
  range.stop = share(hasStart ? call["arg2"] : call["arg1"]);
  range.step = share(call["step"].isNone() ? Value(BigInt(1)) : call["step"]);
  return range;
}
} // namespace

Value pantile::emitRange(Emitter &e, const BoundCall &call) {
  RangeValue range = rangeOf(call);
  for (const BuiltinParam &param : llvm::drop_begin(call.row->params, 3)) {
    const Value &value = call[param.name];
    if (value.isNone())
      continue;
    auto known = e.needInt(value, call.at(param.name), "`" + param.name + "`");
    if (!known)
      return Failed();
    if (!value.is<bool>() || *known != 0)
      range.hints.push_back({param.name, *known});
  }
  return range;
}

Value pantile::emitCondition(Emitter &e, const BoundCall &call) {
  auto isKnown = e.needBool(call["disable_licm"], call.at("disable_licm"), "`disable_licm`");
  if (!isKnown)
    return Failed();
  e.keepsInvariants |= *isKnown;
  return call["arg1"];
}

Value pantile::emitStaticRange(Emitter &e, const BoundCall &call) {
  RangeValue range = rangeOf(call);
  range.isStatic = true;
  return range;
}
