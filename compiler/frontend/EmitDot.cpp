//===- EmitDot.cpp - dots ----------------------------------------------------===//
// Needs: two matrices, or two batches of them with equal leading dimensions.
// Gives: tile.dot onto `acc`, or onto zeros.
// How:   The operands determine the type of the result: int8 gives int32, bf16 and fp32 give fp32,
//        fp64 gives fp64, for fp16 and fp8 `out_dtype` chooses.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/TritonWords.h"

using namespace pantile;

namespace {
bool checkTypes(Emitter &e, const BoundCall &call, DType lhs, DType rhs) {
  auto isOperand = [](DType dtype) { return dtype.isFloat() || dtype == DType(Scalar::I8); };
  for (auto [dtype, name] : {std::pair{lhs, "input"}, {rhs, "other"}})
    if (!isOperand(dtype)) {
      std::string message = "`dot` takes int8 or floats, got `" + dtype.name() + "`";
      if (dtype == DType(Scalar::U8))
        message += "; of the integers only int8 is supported";
      e.error(call.at(name), message);
      return false;
    }
  if (lhs == rhs || (lhs.isFp8() && rhs.isFp8()))
    return true;
  e.error(call.span, "`dot` takes operands of one type, got `" + lhs.name() + "` and `" +
                         rhs.name() + "`" + inTriton("Both operands must be same dtype"));
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
  if (rank != rhs.rank() || rank < 2) {
    e.error(call.span, "`dot` takes two matrices or two batches of them, got `" + lhs.name() +
                           "` and `" + rhs.name() + "`" +
                           inTriton("Both inputs must be either 2D or 3D"));
    return false;
  }
  if (lhs.shape[rank - 1] != rhs.shape[rank - 2]) {
    e.error(call.span,
            "cannot multiply a " + byText(lhs) + " tile by a " + byText(rhs) +
                " tile: they are not compatible for matmul",
            ErrorKind::Type,
            {{call.at("other"), "expected " + std::to_string(lhs.shape[rank - 1]) + " rows"}});
    return false;
  }
  if (!std::equal(lhs.shape.begin(), lhs.shape.end() - 2, rhs.shape.begin())) {
    e.error(call.span, "the batches of `" + lhs.name() + "` and `" + rhs.name() + "` differ");
    return false;
  }
  const int64_t least = lhs.element.bits() == 8 ? 32 : 16, k = lhs.shape[rank - 1];
  if (k < least) {
    const std::string sizes = "M >= 1, N >= 1 and K >= " + std::to_string(least);
    e.error(call.span, "`dot` of `" + lhs.element.name() + "` needs " + sizes + ", got K = " +
                           std::to_string(k) + inTriton("Input shapes should have " + sizes));
    return false;
  }
  return true;
}

std::optional<DType> resultType(Emitter &e, const BoundCall &call, DType operand) {
  std::optional<DType> wanted = DType(Scalar::F32);
  if (!call["out_dtype"].isNone())
    wanted = e.needDType(call["out_dtype"], call.at("out_dtype"), "`out_dtype`");
  if (wanted == DType(Scalar::BF16)) {
    e.error(call.at("out_dtype"),
            "`out_dtype` cannot be bf16; take fp32 and cast the result with `.to(...)`");
    return std::nullopt;
  }
  if (operand.isInt())
    return DType(Scalar::I32);
  if (operand == DType(Scalar::BF16) || operand == DType(Scalar::F32))
    return DType(Scalar::F32);
  if (operand == DType(Scalar::F64))
    return operand;
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
    if (!call["input_precision"].isNone()) {
      e.error(call.at("allow_tf32"), "only one of `input_precision` and `allow_tf32` can be given");
      return std::nullopt;
    }
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
  auto precision = symbolizePrecision(name);
  if (!precision)
    e.error(at, "unknown input precision \"" + name +
                    "\"; it is \"tf32\", \"tf32x3\", \"ieee\", \"bf16x3\" or \"bf16x6\"");
  return precision;
}

/// 0: no limit to imprecise accumulation.
std::optional<int32_t> maxImprecise(Emitter &e, const BoundCall &call, const Type &lhs) {
  const Value &given = call["max_num_imprecise_acc"];
  if (given.isNone())
    return 0;
  SourceSpan at = call.at("max_num_imprecise_acc");
  auto most = e.needInt(given, at, "`max_num_imprecise_acc`");
  if (!most)
    return std::nullopt;
  if (!lhs.element.isFp8())
    return 0;
  const int64_t k = lhs.shape.back();
  if (*most < 0 || *most > k) {
    e.error(at, "max_num_imprecise_acc (" + constantText(given) + ") must be <= K (" +
                    std::to_string(k) + ") and not negative");
    return std::nullopt;
  }
  return std::max<int32_t>(static_cast<int32_t>(*most), 1);
}

std::optional<Runtime> accumulator(Emitter &e, const BoundCall &call, const Type &type) {
  const Value &acc = call["acc"];
  if (acc.isNone())
    return e.filled(type, 0);
  SourceSpan at = call.at("acc");
  if (acc.isComplex()) {
    e.error(at, "the accumulator of this dot must be `" + type.name() + "`, got " + kindText(acc));
    return std::nullopt;
  }
  auto value = e.runtime(acc, at, acc.isNumber() ? std::optional(type.element) : std::nullopt);
  if (value && !value->type.isTile() && value->type.element == type.element)
    return e.broadcastTo(*value, type.shape);
  if (value && value->type != type) {
    e.error(at, "the accumulator of this dot must be `" + type.name() + "`, got `" +
                    value->type.name() + "`");
    return std::nullopt;
  }
  return value;
}
/// All dimensions before the last two as one.
Runtime asBatch(Emitter &e, const Runtime &tile) {
  const Shape &shape = tile.type.shape;
  if (shape.size() <= 3)
    return tile;
  int64_t batch = 1;
  for (int64_t size : llvm::ArrayRef<int64_t>(shape).drop_back(2))
    batch *= size;
  Type type{tile.type.element, {batch, shape[shape.size() - 2], shape.back()}};
  return {ReshapeOp::create(e.b, e.loc(), e.irType(type), tile.ir, false), type};
}

/// Both operands. Where an instruction lacks the format of one of 8 bits, both enter as fp16.
std::optional<Emitter::Pair> dotOperands(Emitter &e, const BoundCall &call) {
  auto lhs = e.needTile(call["input"], call.at("input"), "`input`");
  auto rhs = e.needTile(call["other"], call.at("other"), "`other`");
  if (!lhs || !rhs)
    return std::nullopt;
  const DType a = lhs->type.element, b = rhs->type.element;
  if (!a.isFp8() || !b.isFp8() || (!a.isSoftFp8() && !b.isSoftFp8()))
    return Emitter::Pair{*lhs, *rhs};
  return Emitter::Pair{*e.cast(*lhs, Scalar::F16, call.at("input")),
                       *e.cast(*rhs, Scalar::F16, call.at("other"))};
}
} // namespace

Value pantile::emitDot(Emitter &e, const BoundCall &call) {
  if (call["input"].isComplex() || call["other"].isComplex())
    return complexDot(e, call);
  auto operands = dotOperands(e, call);
  auto precision = precisionOf(e, call);
  if (!operands || !precision)
    return Failed();
  const auto &[lhs, rhs] = *operands;
  if (!checkTypes(e, call, lhs.type.element, rhs.type.element) ||
      !checkShapes(e, call, lhs.type, rhs.type))
    return Failed();
  auto element = resultType(e, call, lhs.type.element);
  auto imprecise = maxImprecise(e, call, lhs.type);
  if (!element || !imprecise)
    return Failed();
  Type type{*element, lhs.type.shape};
  type.shape.back() = rhs.type.shape.back();
  auto acc = accumulator(e, call, type);
  if (!acc)
    return Failed();
  bool isFp32 = lhs.type.element == DType(Scalar::F32);
  mlir::Value sum = asBatch(e, *acc).ir;
  mlir::Value dot =
      DotOp::create(e.b, e.loc(), sum.getType(), asBatch(e, lhs).ir, asBatch(e, rhs).ir, sum,
                    isFp32 ? *precision : Precision::Tf32, *imprecise, MmaAttr());
  if (type.rank() > 3)
    dot = ReshapeOp::create(e.b, e.loc(), e.irType(type), dot, false);
  return Runtime{dot, type};
}
