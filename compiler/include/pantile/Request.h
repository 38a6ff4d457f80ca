//===- Request.h - from a text and a few words to a kernel --------------------------------===//
// The short way through Compiler.h: a file or a string, a signature as `pantilec` takes it, and
// values for the compile-time parameters give a kernel, or the text of one stage.
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
  Observe observe;                       ///< where to stop, what to note
};

/// A kernel of the program and how the request specialises it.
struct Specialized {
  Program program;               ///< the kernel with all that it can reach
  Specialization specialization; ///< the types and constants of its parameters
};

/// Scans `text` and specialises its kernel as `request` says. `fileName` is what messages call it.
PANTILE_API Result<Specialized> specializeText(std::string_view text, const std::string &fileName,
                                               const CompileRequest &request);

/// Compiles the kernel of `text`, which messages call `fileName`, as `request` says.
PANTILE_API Result<Kernel> compileText(std::string_view text, const std::string &fileName,
                                       const CompileRequest &request);
/// The same with `request` for the text of the file `path`; an Error of kind Launch where it cannot be read.
PANTILE_API Result<Kernel> compileFile(const std::string &path, const CompileRequest &request);

/// The text of `stage`, or the machine code, of the kernel of `program`, specialised as
/// `specialization` says and compiled again up to there with `options`. An Error of kind Unsupported
/// where the target has no such stage.
PANTILE_API Result<std::string> stageText(const Program &program,
                                          const Specialization &specialization,
                                          const Options &options, Stage stage);

/// "ast", "tile", ... "cubin", for `stage`, as `pantilec --emit` has them.
PANTILE_API std::string_view stageName(Stage stage);
/// The stage called `name`; nothing for another text.
PANTILE_API std::optional<Stage> stageNamed(std::string_view name);

/// The value that `text` stands for: an integer, a float, `True`, `None`, `tl.float16`, a quoted or
/// bare string.
PANTILE_API ConstValue parseConstant(std::string_view text);

/// Parses every `NAME=value` of `definitions`; an Error of kind Launch for another text.
PANTILE_API Result<Definitions> parseDefinitions(const std::vector<std::string> &definitions);

/// One ArgSpec for each of `parameters`: its entry in `definitions`, else in `signature`, else its
/// default. An
/// Error of kind Launch says what is missing or superfluous.
PANTILE_API Result<Specialization> specialize(const std::vector<ParameterInfo> &parameters,
                                              std::string_view signature,
                                              const Definitions &definitions);

/// The names of `definitions` that are neither in `parameters` nor those of a global of `program`.
PANTILE_API std::vector<std::string> unusedDefinitions(const Program &program,
                                                       const std::vector<ParameterInfo> &parameters,
                                                       const Definitions &definitions);

} // namespace pantile
