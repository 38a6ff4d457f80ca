//===- EmitDot.cpp - matrix products ----------------------------------------------------===//
// Needs: two tiles of rank 2, or of rank 3 with equal leading dimensions.
// Gives: tile.dot onto `acc`, or onto zeros.
// How:   the result's type follows the operands': int8 gives int32, bf16 and fp32 give fp32,
//        fp64 itself, fp16 and fp8 what `out_dtype` says.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include <llvm/ADT/StringSwitch.h>

using namespace pantile;

namespace {
bool checkTypes(Emitter &e, const BoundCall &call, DType lhs, DType rhs) {
  auto isOperand = [](DType dtype) { return dtype.isFloat() || dtype == DType(Scalar::I8); };
  for (auto [dtype, name] : {std::pair{lhs, "input"}, {rhs, "other"}})
    if (!isOperand(dtype)) {
      e.error(call.at(name), "`dot` takes int8 or floats, got `" + dtype.name() + "`");
      return false;
    }
  if (lhs == rhs || (lhs.isFp8() && rhs.isFp8()))
    return true;
  e.error(call.span,
          "`dot` takes operands of one type, got `" + lhs.name() + "` and `" + rhs.name() + "`");
  return false;
}

std::string byText(const Type &type) {
  std::string text;
  for (int64_t size : type.shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

bool checkShapes(Emitter &e, const BoundCall &call, const Type &lhs, const Type &rhs) {
  size_t rank = lhs.rank();
  if (rank != rhs.rank() || rank < 2 || rank > 3) {
    e.error(call.span, "`dot` takes two tiles of rank 2 or two of rank 3, got `" + lhs.name() +
                           "` and `" + rhs.name() + "`");
    return false;
  }
  if (lhs.shape[rank - 1] != rhs.shape[rank - 2]) {
    e.error(call.span, "cannot multiply a " + byText(lhs) + " tile by a " + byText(rhs) + " tile",
            ErrorKind::Type,
            {{call.at("other"), "expected " + std::to_string(lhs.shape[rank - 1]) + " rows"}});
    return false;
  }
  if (rank == 3 && lhs.shape[0] != rhs.shape[0]) {
    e.error(call.span, "the batches of `" + lhs.name() + "` and `" + rhs.name() + "` differ");
    return false;
  }
  return true;
}

std::optional<DType> resultType(Emitter &e, const BoundCall &call, DType operand) {
  if (operand.isInt())
    return DType(Scalar::I32);
  if (operand == DType(Scalar::BF16) || operand == DType(Scalar::F32))
    return DType(Scalar::F32);
  if (operand == DType(Scalar::F64))
    return operand;
  if (call["out_dtype"].isNone())
    return DType(Scalar::F32);
  auto wanted = e.needDType(call["out_dtype"], call.at("out_dtype"), "`out_dtype`");
  if (wanted && *wanted != DType(Scalar::F32) && *wanted != DType(Scalar::F16)) {
    e.error(call.at("out_dtype"), "`out_dtype` must be fp32 or fp16, got `" + wanted->name() + "`");
    return std::nullopt;
  }
  return wanted;
}

std::optional<Precision> precisionOf(Emitter &e, const BoundCall &call) {
  std::string name = e.options.inputPrecision;
  SourceSpan at = call.at("input_precision");
  if (!call["allow_tf32"].isNone()) {
    auto allowed = e.needBool(call["allow_tf32"], call.at("allow_tf32"), "`allow_tf32`");
    if (!allowed)
      return std::nullopt;
    name = *allowed ? "tf32" : "ieee";
  }
  if (!call["input_precision"].isNone()) {
    auto given = e.needString(call["input_precision"], at, "`input_precision`");
    if (!given)
      return std::nullopt;
    name = *given;
  }
  auto precision = llvm::StringSwitch<std::optional<Precision>>(name)
                       .Case("tf32", Precision::Tf32)
                       .Cases({"ieee", "bf16x6"}, Precision::Ieee)
                       .Cases({"tf32x3", "bf16x3"}, Precision::Tf32x3)
                       .Default(std::nullopt);
  if (!precision)
    e.error(at, "unknown input precision \"" + name + "\"");
  return precision;
}

std::optional<Runtime> accumulator(Emitter &e, const BoundCall &call, const Type &type) {
  const Value &acc = call["acc"];
  if (acc.isNone())
    return e.filled(type, 0);
  SourceSpan at = call.at("acc");
  auto value = e.runtime(acc, at, acc.isNumber() ? std::optional(type.element) : std::nullopt);
  if (value && !value->type.isTile() && value->type.element == type.element)
    return e.broadcastTo(*value, type.shape);
  if (value && value->type != type) {
    e.error(at, "the accumulator of this product must be `" + type.name() + "`, got `" +
                    value->type.name() + "`");
    return std::nullopt;
  }
  return value;
}
} // namespace

Value pantile::emitDot(Emitter &e, const BoundCall &call) {
  auto lhs = e.needTile(call["input"], call.at("input"), "`input`");
  auto rhs = e.needTile(call["other"], call.at("other"), "`other`");
  auto precision = precisionOf(e, call);
  if (!lhs || !rhs || !precision || !checkTypes(e, call, lhs->type.element, rhs->type.element) ||
      !checkShapes(e, call, lhs->type, rhs->type))
    return Failed();
  auto element = resultType(e, call, lhs->type.element);
  if (!element)
    return Failed();
  Type type{*element, lhs->type.shape};
  type.shape.back() = rhs->type.shape.back();
  auto acc = accumulator(e, call, type);
  if (!acc)
    return Failed();
  bool isFp32 = lhs->type.element == DType(Scalar::F32);
  return Runtime{DotOp::create(e.b, e.loc(), acc->ir.getType(), lhs->ir, rhs->ir, acc->ir,
                               isFp32 ? *precision : Precision::Tf32, 0, MmaAttr()),
                 type};
}
