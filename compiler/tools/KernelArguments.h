//===- KernelArguments.h - the command line's description of a kernel's arguments -------===//
// Needs: nothing but the public interface.
// Gives: values of `-D NAME=value`, and a Specialization from a signature and such values.
// How:   a signature lists the parameters that no definition settles, in order or by name; a
//        parameter that neither settles takes its default.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

using Definitions = std::map<std::string, ConstValue>;

/// The value written on the command line: an integer, a float, `True`, `None`, `tl.float16`, a
/// quoted or bare string.
ConstValue parseConstant(std::string_view text);

/// Parses every `NAME=value` of `definitions`.
Result<Definitions> parseDefinitions(const std::vector<std::string> &definitions);

/// One ArgSpec a parameter. An Error of kind Launch says what is missing or superfluous.
Result<Specialization> specialize(const std::vector<ParameterInfo> &parameters,
                                  std::string_view signature, const Definitions &definitions);

/// The names of `definitions` that neither a parameter nor any global of `program` bears.
std::vector<std::string> unusedDefinitions(const Program &program,
                                           const std::vector<ParameterInfo> &parameters,
                                           const Definitions &definitions);

} // namespace pantile
