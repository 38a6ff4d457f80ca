//===- Error.h - errors as values ------------------------------------------------------===//
// Every call of the public interface that can fail returns a Result. No exception crosses
// the library's border.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace pantile {

/// Where the fault is: in the kernel (Syntax, Type, Unsupported, Assertion), in the call of a
/// launch (Launch), in the machine (Resources, Assembler, Driver), or in the compiler (Internal).
enum class ErrorKind {
  Syntax,      ///< the text is no Python, or no kernel
  Type,        ///< operands of types that do not fit
  Unsupported, ///< a construct, an option or a target that is not supported
  Assertion,   ///< `static_assert` does not hold
  Launch,      ///< arguments, options or files that do not fit
  Resources,   ///< more shared memory or registers than there are
  Assembler,   ///< the assembler refused the code, or there is none
  Driver,      ///< the CUDA driver refused a call, or there is none
  Internal     ///< a bug of the compiler
};

/// A range of source text. Lines and columns count from 1; `endColumn` is one past the last column.
struct SourceRange {
  std::string file;                                     ///< path; empty where there is no place
  int line = 0, column = 0, endLine = 0, endColumn = 0; ///< 0 where there is no place
};

/// `message` is one line; `rendered` adds the source line, the underlined range and the notes.
struct Error {
  ErrorKind kind = ErrorKind::Internal; ///< where the fault is
  std::string message;                  ///< one line
  std::string rendered;                 ///< with the source line and notes
  SourceRange range;                    ///< the text that it is about
  int calls = 0;                        ///< depth of calls of the kernel's own functions there
  bool inBuiltin = false;               ///< an operation of the language refused its arguments
};

/// Makes an error of `kind` that says `message` and has no source range.
inline Error makeError(ErrorKind kind, std::string message) {
  std::string rendered = "error: " + message;
  return {kind, std::move(message), std::move(rendered), {}};
}

/// A T or an Error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  Result(Error error) : state(std::move(error)) {}
  explicit operator bool() const { return std::holds_alternative<T>(state); }
  T &operator*() { return std::get<T>(state); }
  const T &operator*() const { return std::get<T>(state); }
  T *operator->() { return &std::get<T>(state); }
  const T *operator->() const { return &std::get<T>(state); }
  /// Why there is no T; only where this is false.
  const Error &error() const { return std::get<Error>(state); }

private:
  std::variant<T, Error> state;
};

/// Success, or an Error.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failure(std::move(error)), failed(true) {}
  explicit operator bool() const { return !failed; }
  /// What went wrong; only where this is false.
  const Error &error() const { return failure; }

private:
  Error failure;
  bool failed = false;
};

} // namespace pantile
