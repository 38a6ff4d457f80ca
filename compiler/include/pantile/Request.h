//===- Request.h - compile a kernel from source text and a signature ----------------------===//
// A shorter interface than Compiler.h: from a file or a string, a signature in `pantilec`'s syntax
// and values of the compile-time parameters to a kernel, or to the text of one stage.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

/// Values of compile-time parameters and of global names.
using Definitions = std::map<std::string, ConstValue>;

/// What is to be compiled, and how.
struct CompileRequest {
  std::string kernel;      ///< may be empty if the text has one jit function
  std::string signature;   ///< "*fp16:16, i32, fp32": types in order, or "x=*fp16:16" by name
  Definitions definitions; ///< values of compile-time parameters and of globals
  std::vector<std::string> includeFiles; ///< further files whose jit functions may be called
  Options options;                       ///< what changes the output
  Observe observe;                       ///< where to stop, what to record
};

/// A kernel of the program and how the request specialises it.
struct Specialized {
  Program program;               ///< the kernel with all that it can reach
  Specialization specialization; ///< the types and constants of its parameters
};

/// Scans `text` and specialises its kernel as `request` says. Messages call it `fileName`.
PANTILE_API Result<Specialized> specializeText(std::string_view text, const std::string &fileName,
                                               const CompileRequest &request);

/// Compiles the kernel of `text`, which messages call `fileName`, as `request` says.
PANTILE_API Result<Kernel> compileText(std::string_view text, const std::string &fileName,
                                       const CompileRequest &request);
/// Compiles the kernel of the file `path` as `request` says; an Error of kind Launch if the file
/// cannot be read.
PANTILE_API Result<Kernel> compileFile(const std::string &path, const CompileRequest &request);

/// Compiles the kernel of `program`, specialised as `specialization` says, with `options` up to
/// `stage`, and returns the text of that stage or the machine code. An Error of kind Unsupported if
/// the target has no such stage.
PANTILE_API Result<std::string> stageText(const Program &program,
                                          const Specialization &specialization,
                                          const Options &options, Stage stage);

/// Returns "ast", "tile", ... "cubin", for `stage`, the names of `pantilec --emit`.
PANTILE_API std::string_view stageName(Stage stage);
/// Returns the stage called `name`; nothing for any other text.
PANTILE_API std::optional<Stage> stageNamed(std::string_view name);

/// Parses `text` as a value: an integer, a float, `True`, `None`, `tl.float16`, a quoted or bare
/// string.
PANTILE_API ConstValue parseConstant(std::string_view text);

/// Evaluates `text`, an expression of Python such as "cdiv(n, BLOCK), 4", where `names` have values:
/// operators, comparisons, tuples and Python's functions on numbers, with `cdiv` and
/// `next_power_of_2`. An Error of kind Launch says what has no value.
PANTILE_API Result<ConstValue> evaluateExpression(std::string_view text, const Definitions &names);

/// Parses every `NAME=value` of `definitions`; an Error of kind Launch for any other text.
PANTILE_API Result<Definitions> parseDefinitions(const std::vector<std::string> &definitions);

/// Makes one ArgSpec for each of `parameters`: from `definitions`, else from `signature`, else from
/// its default. An Error of kind Launch says what is missing or superfluous.
PANTILE_API Result<Specialization> specialize(const std::vector<ParameterInfo> &parameters,
                                              std::string_view signature,
                                              const Definitions &definitions);

/// Lists the names of `definitions` that are neither in `parameters` nor those of a global of
/// `program`.
PANTILE_API std::vector<std::string> unusedDefinitions(const Program &program,
                                                       const std::vector<ParameterInfo> &parameters,
                                                       const Definitions &definitions);

} // namespace pantile
