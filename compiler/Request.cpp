//===- Request.cpp - compile a kernel from source text and a signature -------------===//
// Needs: see pantile/Request.h.
// Gives: specializeText, compileText, compileFile, stageText and the stages' names.
// How:   Scan, parameters, specialise, compile: an application could do the same by the public API.
//===-------------------------------------------------------------------------------===//
#include "pantile/Request.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace pantile {
namespace {

constexpr std::pair<Stage, std::string_view> stageNames[] = {
#define STAGE(name, text, meaning) {Stage::name, text},
#include "pantile/Stages.def"
};

Result<std::string> readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (stream)
    text << stream.rdbuf();
  if (!stream || stream.bad())
    return makeError(ErrorKind::Launch,
                     fmt::format("cannot read `{}`: {}", path, std::strerror(errno ? errno : EIO)));
  return text.str();
}

} // namespace

std::string_view stageName(Stage stage) {
  for (auto [value, name] : stageNames)
    if (value == stage)
      return name;
  return {};
}

std::optional<Stage> stageNamed(std::string_view name) {
  for (auto [value, known] : stageNames)
    if (known == name)
      return value;
  return std::nullopt;
}

Result<Specialized> specializeText(std::string_view text, const std::string &fileName,
                                   const CompileRequest &request) {
  Result<Program> program = scanFile(
      text, fileName, ScanOptions{request.kernel, request.definitions, request.includeFiles});
  if (!program)
    return program.error();
  Result<std::vector<ParameterInfo>> parameters = kernelParameters(*program);
  if (!parameters)
    return parameters.error();
  if (auto unused = unusedDefinitions(*program, *parameters, request.definitions); !unused.empty())
    return makeError(
        ErrorKind::Launch,
        fmt::format("`{}` is neither a parameter nor a global of the kernel", unused.front()));
  Result<Specialization> specialization =
      specialize(*parameters, request.signature, request.definitions);
  if (!specialization)
    return specialization.error();
  return Specialized{std::move(*program), std::move(*specialization)};
}

Result<Kernel> compileText(std::string_view text, const std::string &fileName,
                           const CompileRequest &request) {
  Result<Specialized> made = specializeText(text, fileName, request);
  if (!made)
    return made.error();
  return Compiler().compile(made->program, made->specialization, request.options, request.observe);
}

Result<Kernel> compileFile(const std::string &path, const CompileRequest &request) {
  Result<std::string> text = readFile(path);
  return text ? compileText(*text, path, request) : Result<Kernel>(text.error());
}

Result<std::string> stageText(const Program &program, const Specialization &specialization,
                              const Options &options, Stage stage) {
  Observe observe;
  observe.stopAfter = stage;
  Result<Kernel> kernel = Compiler().compile(program, specialization, options, observe);
  if (!kernel)
    return kernel.error();
  if (stage == Stage::Cubin && !(*kernel)->cubin.empty())
    return (*kernel)->cubin;
  auto text = (*kernel)->text.find(std::string(stageName(stage)));
  if (text == (*kernel)->text.end())
    return makeError(ErrorKind::Unsupported, fmt::format("target `{}` has no stage `{}`",
                                                         options.target, stageName(stage)));
  return text->second;
}

} // namespace pantile
