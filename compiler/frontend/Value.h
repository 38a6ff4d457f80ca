//===- Value.h - what an expression of a kernel stands for during emission --------------===//
// Needs: Types; MLIR values for what exists at run time.
// Gives: one variant: a run-time scalar or tile, a compile-time value, a tuple, or one of the
//        things that only name something (function, operation, module, type, method).
// How:   values are copied freely; tuples and methods share their parts, which never change.
//        `Failed` marks what was already reported, so that one mistake gives one message.
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
struct TupleValue {
  std::vector<Value> elements;
  std::vector<std::string> fields; ///< names, of a named tuple
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
};
/// `int`, `tl.tensor`, ...: for isinstance, annotations and conversions.
struct ClassValue {
  std::string name;
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
                   MethodValue, SliceValue, RangeValue, std::shared_ptr<const DefectValue>>;
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
  bool isTuple() const { return is<TupleRef>(); }
  const std::vector<Value> &elements() const { return as<TupleRef>()->elements; }
  /// bool, int or float, without a type of its own.
  bool isNumber() const { return is<bool>() || is<BigInt>() || is<double>(); }
  /// A number or a string, without a type of its own.
  bool isLiteral() const { return isNumber() || is<std::string>(); }

  static Value tuple(std::vector<Value> elements, std::vector<std::string> fields = {}) {
    return TupleRef(
        std::make_shared<TupleValue>(TupleValue{std::move(elements), std::move(fields)}));
  }

private:
  Variant data;
};

} // namespace pantile
