//===- Value.h - the value of an expression during emission -----------------------------===//
// Needs: Types; MLIR values for run-time values.
// Gives: one variant: a run-time scalar or tile, a compile-time value, a tuple, or a reference to a
//        function, operation, module, type or method.
// How:   Values are copied freely; copies of tuples and methods refer to the same parts, which
//        never change. `Failed` marks values whose error was reported, so that one mistake gives
//        one message.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Types.h"
#include "support/Source.h"
#include <memory>
#include <mlir/IR/Value.h>
#include <string>
#include <variant>
#include <vector>

namespace pantile {

struct BuiltinRow;
struct ClosureValue;
class Value;

/// Reported already; whatever is computed from it fails silently.
struct Failed {};
struct None {
  bool operator==(const None &) const = default;
};
/// A scalar or tile that the kernel computes.
struct Runtime {
  mlir::Value ir;
  Type type;
};
/// What a structured value is: this decides what can be done with it. All kinds go through loops,
/// branches and calls alike, part by part.
/// The parts of a complex number are two fp32 tiles or scalars of one shape, or two floats.
enum class StructKind : uint8_t { Tuple, Aggregate, BlockPointer, Descriptor, Complex };
struct ClassSource;
/// Parts, each of them a run-time or a compile-time value, or structured itself.
struct TupleValue {
  std::vector<Value> elements;
  std::vector<std::string> fields; ///< names; none of a plain tuple
  StructKind kind = StructKind::Tuple;
  const ClassSource *cls = nullptr; ///< of an aggregate; of a named tuple if it is known
};
using TupleRef = std::shared_ptr<const TupleValue>;
/// A jit function: of the program, or of the library.
struct FunctionValue {
  size_t index = 0;
  bool inLibrary = false;
  bool operator==(const FunctionValue &) const = default;
};
struct BuiltinValue {
  const BuiltinRow *row = nullptr;
  bool operator==(const BuiltinValue &) const = default;
};
/// "tl.", "tl.math.", "triton.", "math.".
struct ModuleValue {
  std::string prefix;
  bool operator==(const ModuleValue &) const = default;
};
/// A global without meaning in a kernel; `description` says what it is.
struct OpaqueValue {
  std::string description;
};
/// `x.type`.
struct TypeValue {
  Type type;
  bool isPointer = false; ///< the type of a pointer to a tile: of a block pointer
};
/// `int`, `tl.tensor`, ...: for isinstance, annotations and conversions; or a class of the program.
struct ClassValue {
  std::string name;
  const ClassSource *source = nullptr;
  bool operator==(const ClassValue &) const = default;
};
/// `x.sum`, before its call.
struct MethodValue {
  std::shared_ptr<const Value> self;
  std::string name;
};
/// `:` in a subscript.
struct SliceValue {
  std::shared_ptr<const Value> lower, upper, step; ///< null where left out
};
/// What a `for` runs over.
struct RangeValue {
  std::shared_ptr<const Value> start, stop, step;
  bool isStatic = false;
  std::vector<std::pair<std::string, BigInt>> hints; ///< keyword arguments of `tl.range`
};
/// A variable that has no single value here; reading it reports `message`.
struct DefectValue {
  std::string message;
  std::vector<std::pair<SourceSpan, std::string>> notes;
};

class Value {
public:
  using Variant =
      std::variant<Failed, None, bool, BigInt, double, std::string, DType, Runtime, TupleRef,
                   FunctionValue, BuiltinValue, ModuleValue, OpaqueValue, TypeValue, ClassValue,
                   MethodValue, SliceValue, RangeValue, std::shared_ptr<const DefectValue>,
                   std::shared_ptr<const ClosureValue>>;
  Value() = default;
  template <typename T>
    requires(!std::is_same_v<std::decay_t<T>, Value>)
  Value(T &&part) : data(std::forward<T>(part)) {}

  template <typename T> bool is() const { return std::holds_alternative<T>(data); }
  template <typename T> const T &as() const { return std::get<T>(data); }
  template <typename T> const T *dynAs() const { return std::get_if<T>(&data); }

  bool failed() const { return is<Failed>(); }
  bool isNone() const { return is<None>(); }
  bool isRuntime() const { return is<Runtime>(); }
  /// A jit function, or a function of the kernel's own text.
  bool isFunction() const {
    return is<FunctionValue>() || is<std::shared_ptr<const ClosureValue>>();
  }
  /// A tuple, named or not.
  bool isTuple() const { return isStruct(StructKind::Tuple); }
  bool isStruct() const { return is<TupleRef>(); }
  bool isStruct(StructKind kind) const { return is<TupleRef>() && as<TupleRef>()->kind == kind; }
  bool isComplex() const { return isStruct(StructKind::Complex); }
  const std::vector<Value> &elements() const { return as<TupleRef>()->elements; }
  /// bool, int or float, without a type of its own.
  bool isNumber() const { return is<bool>() || is<BigInt>() || is<double>(); }
  /// A number or a string, without a type of its own.
  bool isLiteral() const { return isNumber() || is<std::string>(); }

  static Value tuple(std::vector<Value> elements, std::vector<std::string> fields = {}) {
    return TupleRef(
        std::make_shared<TupleValue>(TupleValue{std::move(elements), std::move(fields)}));
  }
  static Value structure(TupleValue parts) {
    return TupleRef(std::make_shared<TupleValue>(std::move(parts)));
  }
  /// The same structure with other parts.
  Value withElements(std::vector<Value> elements) const {
    const TupleValue &old = *as<TupleRef>();
    return structure({std::move(elements), old.fields, old.kind, old.cls});
  }

private:
  Variant data;
};

/// Whether both are structured, of one kind (and class, of aggregates) and with as many parts.
inline bool sameStructure(const Value &a, const Value &b) {
  if (!a.isStruct() || !b.isStruct() || a.elements().size() != b.elements().size())
    return false;
  const TupleValue &x = *a.as<TupleRef>(), &y = *b.as<TupleRef>();
  return x.kind == y.kind && (x.kind != StructKind::Aggregate || x.cls == y.cls);
}

} // namespace pantile
