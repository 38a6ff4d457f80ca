//===- Program.h - what is compiled: sources, names, specialisation ---------------------===//
// A Program is an immutable snapshot: the text of the kernel and of every jit function that it
// can reach, with the value of each global name. The Python package builds it from function
// objects; `scanFile` (Compiler.h) builds it from a file's text without Python.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include <complex>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pantile {

/// Element types by their short names: "i1" "i8" .. "i64" "u8" .. "u64" "fp16" "bf16" "fp32" "fp64"
/// "fp8e5" "fp8e4nv" "c64".
struct DTypeName {
  std::string name; ///< "fp16"
  bool operator==(const DTypeName &) const = default;
};
/// A jit function, by its index in Program::functions.
struct FunctionRef {
  size_t index = 0; ///< in Program::functions
  bool operator==(const FunctionRef &) const = default;
};
/// A name of the language: "load" for `tl.load`; a module is written with a trailing dot: "tl.",
/// "tl.math.", "triton.", "math.". Host functions that kernels use are "triton.cdiv",
/// "triton.next_power_of_2".
struct BuiltinRef {
  std::string name; ///< "load", "tl."
  bool operator==(const BuiltinRef &) const = default;
};
/// A global that exists but that kernels cannot use; messages say what it is by `description`.
struct OpaqueRef {
  std::string description; ///< "a module", say
  bool operator==(const OpaqueRef &) const = default;
};
/// A class whose objects kernels can use, by its index in Program::classes.
struct ClassRef {
  size_t index = 0; ///< in Program::classes
  bool operator==(const ClassRef &) const = default;
};
struct ConstTuple;

/// A compile-time value. std::monostate is None; integers that int64_t does not hold are uint64_t.
using ConstValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, DTypeName, FunctionRef,
                 BuiltinRef, OpaqueRef, std::shared_ptr<const ConstTuple>, ClassRef, uint64_t,
                 std::complex<double>>;
/// A tuple, or an object with fields.
struct ConstTuple {
  std::vector<ConstValue> elements;   ///< in order
  std::vector<std::string> fields;    ///< names, for a NamedTuple or an aggregate; else empty
  std::optional<size_t> classIndex{}; ///< in Program::classes, of an object of such a class
};

/// A function that runs on the host while the kernel is compiled (`constexpr_function`): positional
/// arguments first, the last ones by name. It may be called from any thread.
using HostCall = std::function<Result<ConstValue>(const std::vector<ConstValue> &args,
                                                  const std::vector<std::string> &names)>;

/// One jit function. `text` starts at line `firstLine` of `file`, with `indent` columns removed
/// from each line.
struct FunctionSource {
  std::string name;                            ///< of the function
  std::string text;                            ///< from `def` on
  std::string file;                            ///< path, for messages
  int firstLine = 1;                           ///< of `text`, in the file
  int indent = 0;                              ///< columns that were removed
  std::map<std::string, ConstValue> globals{}; ///< value of each global or captured name
  bool noinline_ = false;                      ///< a hint not to inline calls of it
  HostCall host{}; ///< set: what calls run; `text` is then used in the cache key only
};

/// A NamedTuple class, or an aggregate: named fields, and functions whose first argument is the
/// object.
struct ClassSource {
  /// An annotated name of the class.
  struct Field {
    std::string name;                ///< as written
    bool isConstexpr = false;        ///< annotated `constexpr`: a compile-time value
    std::optional<ConstValue> value; ///< its default
  };
  std::string name;                          ///< as written
  bool isAggregate = false;                  ///< constructed by `__init__`; else field by field
  std::vector<Field> fields;                 ///< in order
  std::map<std::string, ConstValue> members; ///< functions and constants
  std::vector<std::string> staticMembers;    ///< functions that take no object
  std::vector<std::string> properties;       ///< functions that reading the attribute calls
};

/// A kernel with all that it can reach.
struct Program {
  std::vector<FunctionSource> functions; ///< FunctionRef names them by index
  std::vector<ClassSource> classes;      ///< ClassRef names them by index
  size_t kernel = 0;                     ///< index of the entry
};

/// One kernel parameter as specialised. A constant parameter takes no argument at launch; a tuple
/// takes those of its elements; a tensor descriptor takes its base, then the sizes as i32, then the
/// strides in elements as i64.
struct ArgSpec {
  enum class Kind { Pointer, Scalar, Constant, Tuple, Descriptor } kind = Kind::Constant; ///< of it
  std::string dtype;                  ///< element type of a pointer, type of a scalar
  bool constPointer = false;          ///< `tl.const` pointer: stores are errors
  int divisibility = 1;               ///< 16: address (bytes) or value is a multiple of 16
  ConstValue value;                   ///< Kind::Constant only
  std::vector<ArgSpec> elements{};    ///< Kind::Tuple: also of a named tuple or an aggregate
  std::vector<std::string> fields{};  ///< Kind::Tuple: their names, if they have some
  std::optional<size_t> classIndex{}; ///< Kind::Tuple: in Program::classes, of an object
  std::vector<int64_t> blockShape{};  ///< Kind::Descriptor: shape of the tile that one load reads
  bool padsWithNan = false;           ///< Kind::Descriptor: elements outside are NaN, else 0
};

/// Appends the pointers and scalars that a launch passes for `spec`, in order, to `leaves`.
void appendLaunchSpecs(const ArgSpec &spec, std::vector<ArgSpec> &leaves);

/// How a program is specialised: one ArgSpec per parameter, in order.
struct Specialization {
  std::vector<ArgSpec> args; ///< as many as parameters
};

} // namespace pantile
