//===- Program.h - what is compiled: sources, names, specialisation ---------------------===//
// A Program is an immutable snapshot: the text of the kernel and of every jit function that it
// can reach, with the meaning of each global name. The Python front builds it from function
// objects; `scanFile` (Compiler.h) builds it from a file's text without Python.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pantile {

/// Element types by their short names: "i1" "i8" .. "i64" "u8" .. "u64" "fp16" "bf16" "fp32" "fp64"
/// "fp8e5" "fp8e4nv".
struct DTypeName {
  std::string name;
  bool operator==(const DTypeName &) const = default;
};
/// A jit function, by its index in Program::functions.
struct FunctionRef {
  size_t index = 0;
  bool operator==(const FunctionRef &) const = default;
};
/// A name of the language: "load" for `tl.load`; a module is written with a trailing dot: "tl.",
/// "tl.math.", "triton.", "math.". Host functions that kernels use are "triton.cdiv",
/// "triton.next_power_of_2".
struct BuiltinRef {
  std::string name;
  bool operator==(const BuiltinRef &) const = default;
};
/// A global that exists but means nothing inside a kernel; `description` says what it is, for the
/// message.
struct OpaqueRef {
  std::string description;
  bool operator==(const OpaqueRef &) const = default;
};
struct ConstTuple;

/// A compile-time value. std::monostate is None.
using ConstValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, DTypeName, FunctionRef,
                 BuiltinRef, OpaqueRef, std::shared_ptr<const ConstTuple>>;
struct ConstTuple {
  std::vector<ConstValue> elements;
  std::vector<std::string> fields; ///< names, for a NamedTuple; else empty
};

/// One jit function. `text` starts at line `firstLine` of `file`, with `indent` columns cut from
/// each line.
struct FunctionSource {
  std::string name;
  std::string text;
  std::string file;
  int firstLine = 1;
  int indent = 0;
  std::map<std::string, ConstValue> globals; ///< what each global or captured name means
  bool noinline_ = false;
};

struct Program {
  std::vector<FunctionSource> functions;
  size_t kernel = 0; ///< index of the entry
};

/// One kernel parameter as specialised. A constant parameter takes no argument at launch.
struct ArgSpec {
  enum class Kind { Pointer, Scalar, Constant } kind = Kind::Constant;
  std::string dtype;         ///< element type of a pointer, type of a scalar
  bool constPointer = false; ///< `tl.const` pointer: stores are errors
  int divisibility = 1;      ///< 16: address (bytes) or value is a multiple of 16
  ConstValue value;          ///< Kind::Constant only
};

/// How a program is specialised: one ArgSpec a parameter, in order.
struct Specialization {
  std::vector<ArgSpec> args;
};

} // namespace pantile
