//===- EmitConst.cpp - values that must be known at compile time ------------------------===//
// Gives: integers, shapes, types, ... from arguments that have to be constants, or an error that
//        names the argument.
// How:   A run-time scalar counts as known if its operation is a constant: `x = 4` makes x a
//        run-time value, and `tl.arange(0, x)` works all the same.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include "frontend/TritonWords.h"
#include "mlir/IR/Matchers.h"

using namespace pantile;

std::optional<Value> Emitter::knownValue(const Value &value) {
  auto *runtime = value.dynAs<Runtime>();
  if (!runtime)
    return value.failed() ? std::nullopt : std::optional(value);
  mlir::Attribute attr;
  if (runtime->type.isTile() || !mlir::matchPattern(runtime->ir, mlir::m_Constant(&attr)))
    return std::nullopt;
  DType dtype = runtime->type.element;
  if (auto real = mlir::dyn_cast<mlir::FloatAttr>(attr))
    return Value(real.getValueAsDouble());
  auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attr);
  if (!integer)
    return std::nullopt;
  if (dtype.isBool())
    return Value(!integer.getValue().isZero());
  return Value(dtype.isSigned() ? BigInt(integer.getValue().getSExtValue())
                                : BigInt(integer.getValue().getZExtValue()));
}

std::optional<BigInt> Emitter::knownInt(const Value &value) {
  std::optional<Value> known = knownValue(value);
  return known ? constantInt(*known) : std::nullopt;
}

std::optional<bool> Emitter::knownTruth(const Value &value) {
  std::optional<Value> known = knownValue(value);
  return known ? constantTruth(*known) : std::nullopt;
}

namespace {
std::string describe(const Value &value) {
  if (value.isNone())
    return "`None`";
  if (value.isLiteral())
    return "`" + constantText(value, true) + "`";
  if (value.isRuntime())
    return "a run-time value of type " + kindText(value);
  return "a " + kindText(value);
}

/// Where `value` is a parameter of the kernel itself: how it becomes a compile-time one.
llvm::SmallVector<std::pair<SourceSpan, std::string>, 1> constexprNotes(const Frame &here,
                                                                        const Value &value) {
  const Frame *kernel = &here;
  while (kernel->caller)
    kernel = kernel->caller;
  auto *wanted = value.dynAs<Runtime>();
  for (const ast::Param &param : kernel->function->def->params) {
    auto found = kernel->variables.find(param.name);
    auto *held = found == kernel->variables.end() ? nullptr : found->second.value.dynAs<Runtime>();
    if (wanted && held && held->ir == wanted->ir)
      return {
          {param.nameSpan, "`" + param.name + ": tl.constexpr` makes it known to the compiler"}};
  }
  return {};
}
} // namespace

std::optional<BigInt> Emitter::needInt(const Value &value, SourceSpan span, llvm::StringRef what) {
  std::optional<BigInt> known = knownInt(value);
  if (!known && !value.failed())
    error(span, what.str() + " must be a compile-time integer, got " + describe(value),
          ErrorKind::Type, constexprNotes(*frame, value));
  return known;
}

std::optional<bool> Emitter::needBool(const Value &value, SourceSpan span, llvm::StringRef what) {
  std::optional<bool> known = knownTruth(value);
  if (!known && !value.failed())
    error(span, what.str() + " must be known at compile time, got " + describe(value));
  return known;
}

std::optional<std::string> Emitter::needString(const Value &value, SourceSpan span,
                                               llvm::StringRef what) {
  if (auto *text = value.dynAs<std::string>())
    return *text;
  if (!value.failed())
    error(span, what.str() + " must be a string, got " + describe(value));
  return std::nullopt;
}

std::optional<std::string> Emitter::stringOrNone(const Value &value, SourceSpan span,
                                                 llvm::StringRef what) {
  return value.isNone() ? std::string() : needString(value, span, what);
}

std::optional<DType> Emitter::needDType(const Value &value, SourceSpan span, llvm::StringRef what) {
  if (auto *dtype = value.dynAs<DType>())
    return *dtype;
  if (auto *type = value.dynAs<TypeValue>())
    return type->type.element;
  if (auto *text = value.dynAs<std::string>())
    if (auto dtype = parseDType(*text))
      return dtype;
  if (auto *type = value.dynAs<ClassValue>()) {
    if (type->name == "int")
      return DType(Scalar::I32);
    if (type->name == "float")
      return DType(Scalar::F32);
    if (type->name == "bool")
      return DType(Scalar::I1);
  }
  if (!value.failed())
    error(span, what.str() + " must be a type such as `tl.float32`, got " + describe(value));
  return std::nullopt;
}

std::optional<llvm::SmallVector<int64_t, 4>> Emitter::needInts(const Value &value, SourceSpan span,
                                                               llvm::StringRef what) {
  llvm::SmallVector<int64_t, 4> result;
  if (!value.isTuple()) {
    std::optional<BigInt> single = needInt(value, span, what);
    if (!single)
      return std::nullopt;
    result.push_back(int64_t(*single));
    return result;
  }
  for (const Value &element : value.elements()) {
    std::optional<BigInt> integer = needInt(element, span, what);
    if (!integer)
      return std::nullopt;
    result.push_back(int64_t(*integer));
  }
  return result;
}

std::optional<Shape> Emitter::needShape(const Value &value, SourceSpan span, llvm::StringRef what) {
  constexpr int64_t maxElements = 1 << 20;
  const Value *dims = &value;
  if (value.isTuple() && value.elements().size() == 1 && value.elements()[0].isTuple())
    dims = &value.elements()[0];
  auto ints = needInts(*dims, span, what);
  if (!ints)
    return std::nullopt;
  int64_t count = 1;
  for (auto [i, size] : llvm::enumerate(*ints)) {
    if (size <= 0) {
      error(span, "shape " + shapeText(*ints) + " has a dimension of " + std::to_string(size) +
                      ", which is not positive" +
                      inTriton("Shape element " + std::to_string(i) + " must be a power of 2"));
      return std::nullopt;
    }
    count *= std::min(size, maxElements * 2);
    if (count > maxElements) {
      error(span, "shape " + shapeText(*ints) + " has more than " + std::to_string(maxElements) +
                      " elements: it exceeds triton maximum tensor numel");
      return std::nullopt;
    }
  }
  return Shape(*ints);
}

std::optional<int64_t> Emitter::needAxis(const Value &value, SourceSpan span, size_t rank) {
  if (auto *tile = value.dynAs<Runtime>(); tile && tile->type.isTile()) {
    error(span, "`axis` must be a compile-time integer, got " + describe(value) +
                    "; `tl.maximum` and `tl.minimum` take two tiles");
    return std::nullopt;
  }
  std::optional<BigInt> axis = needInt(value, span, "`axis`");
  if (!axis)
    return std::nullopt;
  BigInt normal = *axis < 0 ? *axis + BigInt(rank) : *axis;
  if (normal < 0 || normal >= BigInt(rank)) {
    error(span, "invalid axis " + bigIntText(*axis) +
                    ": it is out of the range of a tile of rank " + std::to_string(rank));
    return std::nullopt;
  }
  return int64_t(normal);
}

std::optional<Runtime> Emitter::needTile(const Value &value, SourceSpan span,
                                         llvm::StringRef what) {
  if (auto *runtime = value.dynAs<Runtime>(); runtime && runtime->type.isTile())
    return *runtime;
  if (!value.failed())
    error(span, what.str() + " must be a tile, got " + describe(value));
  return std::nullopt;
}
