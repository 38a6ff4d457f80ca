//===- pantilec.cpp - the compiler on the command line ----------------------------------===//
// Needs: a file with jit functions, a signature, values for the constexpr parameters.
// Gives: the text of one stage, or machine code. Exit status 0; 1: the kernel did not compile;
//        2: the command line is wrong.
// How:   the public interface alone: scan the file, specialise, compile, print.
//===-----------------------------------------------------------------------------------===//
#include "Commands.h"
#include "KernelFlags.h"
#include "pantile/Request.h"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <unistd.h>

using namespace pantile;

namespace {

const std::vector<std::string> stages = {
#define STAGE(name, text, meaning) text,
#include "pantile/Stages.def"
};

struct CommandLine {
  KernelFlags kernel;
  std::string emit = "ptx", output = "-";
  Observe observe;
  bool list = false, time = false, noCache = false, noLineInfo = false;
};

void describe(CLI::App &app, CommandLine &line) {
  app.set_version_flag("--version", [] {
    std::string text = versionText();
    return text.substr(0, text.find_last_not_of('\n') + 1);
  });
  addKernelFlags(app, line.kernel)->required();
  addSignatureFlag(app, line.kernel);
  app.add_option("--emit", line.emit, "stage to stop after; its text is the output")
      ->check(CLI::IsMember(stages))
      ->capture_default_str();
  app.add_option("-o", line.output, "output file; - is standard output")->capture_default_str();
  app.add_flag("--list", line.list, "list the kernels of the file");
}

/// One line per pass; a star marks passes that cannot be disabled.
std::string passTable() {
  std::ostringstream table;
  for (const PassListing &pass : listPasses())
    table << (!pass.isDefault   ? "+ "
              : pass.isOptional ? "  "
                                : "* ")
          << std::left << std::setw(28) << pass.name << pass.summary << "\n";
  table << "* cannot be left out\n+ runs where it is switched on only";
  return table.str();
}

void describeOptions(CLI::App &app, CommandLine &line) {
  Options &options = line.kernel.request.options;
  options.target = "sm_90a";
  app.add_option("--target", options.target, option_meanings::target)->capture_default_str();
  addCodeFlags(app, line.kernel);
  addChoiceFlags(app, line.kernel);
  app.add_flag("--no-line-info", line.noLineInfo, "leave source lines out of the PTX");
  app.add_flag("--debug", options.debug, option_meanings::debug);
  app.add_flag_callback(
      "--list-passes", [] { throw CLI::CallForVersion(passTable(), Success); },
      "list the passes over the tile IR, in order");
  app.add_flag("--remarks", line.observe.remarks,
               "say what was done for speed, what was not, and why")
      ->envname("PANTILE_REMARKS");
  app.add_option("--dump-dir", line.observe.dumpDir, "folder for the IR after every pass");
  app.add_flag("--time", line.time, "print the time of each stage");
  app.add_flag("--no-cache", line.noCache, "compile even if the result is in the cache");
}

ExitStatus writeOutput(const CommandLine &line, const std::string &bytes) {
  bool needsNewline = line.emit != "cubin" && !bytes.ends_with('\n');
  std::string text = needsNewline ? bytes + "\n" : bytes;
  if (line.output == "-") {
    if (line.emit == "cubin" && isatty(STDOUT_FILENO))
      return wrongUsage("machine code is not printed to a terminal: give `-o FILE`");
    std::cout.write(text.data(), std::streamsize(text.size())).flush();
    return std::cout ? Success : CompileFailure;
  }
  std::ofstream stream(line.output, std::ios::binary);
  stream.write(text.data(), std::streamsize(text.size())).flush();
  return stream ? Success : wrongUsage("cannot write `" + line.output + "`");
}

ExitStatus printKernels(const std::string &text, const std::string &fileName) {
  Result<std::vector<KernelListing>> kernels = listKernels(text, fileName);
  if (!kernels)
    return fail(kernels.error(), CompileFailure);
  for (const KernelListing &kernel : *kernels) {
    std::cout << fileName << ":" << kernel.line << ": " << kernel.name << "(";
    for (size_t i = 0; i < kernel.parameters.size(); ++i)
      std::cout << (i ? ", " : "") << kernel.parameters[i];
    std::cout << ")\n";
  }
  return Success;
}

void printTimes(const Kernel &kernel) {
  double total = 0;
  for (const auto &[stage, milliseconds] : kernel->timings) {
    std::fprintf(stderr, "%-24s %9.2f ms\n", stage.c_str(), milliseconds);
    total += milliseconds;
  }
  std::fprintf(stderr, "%-24s %9.2f ms\n", kernel->fromCache ? "total (cached)" : "total", total);
}

Result<Kernel> compileKernel(const Program &program, const Specialization &specialization,
                             CommandLine &line) {
  Options &options = line.kernel.request.options;
  takeFlags(line.kernel);
  options.lineInfo = !line.noLineInfo;
  line.observe.stopAfter = *stageNamed(line.emit);
  line.observe.useCache = !line.noCache;
  Compiler compiler;
  return compiler.compile(program, specialization, options, line.observe);
}

ExitStatus emit(const Program &program, const Specialization &specialization, CommandLine &line) {
  Result<Kernel> kernel = compileKernel(program, specialization, line);
  if (!kernel)
    return fail(kernel.error(), CompileFailure);
  std::cerr << (*kernel)->warnings;
  for (const Remark &remark : (*kernel)->remarks)
    std::cerr << remark.rendered;
  if (line.time)
    printTimes(*kernel);
  if (line.emit == "cubin")
    return writeOutput(line, (*kernel)->cubin);
  auto text = (*kernel)->text.find(line.emit);
  if (text == (*kernel)->text.end())
    return wrongUsage("target `" + line.kernel.request.options.target + "` has no stage `" +
                      line.emit + "`");
  return writeOutput(line, text->second);
}

ExitStatus compileFile(const std::string &text, const std::string &fileName, CommandLine &line) {
  const CompileRequest &request = line.kernel.request;
  Result<Definitions> definitions = parseDefinitions(line.kernel.definitions);
  if (!definitions)
    return fail(definitions.error(), UsageFailure);
  Result<Program> program =
      scanFile(text, fileName, ScanOptions{request.kernel, *definitions, request.includeFiles});
  if (!program)
    return fail(program.error(), CompileFailure);
  if (line.emit == "ast") // The tree is the same whatever the arguments are.
    return emit(*program, {}, line);
  Result<std::vector<ParameterInfo>> parameters = kernelParameters(*program);
  if (!parameters)
    return fail(parameters.error(), CompileFailure);
  for (const std::string &name : unusedDefinitions(*program, *parameters, *definitions))
    std::cerr << "warning: `" << name << "` is neither a parameter nor a global of the kernel\n";
  Result<Specialization> specialization = specialize(*parameters, request.signature, *definitions);
  if (!specialization)
    return fail(specialization.error(), UsageFailure);
  return emit(*program, *specialization, line);
}

} // namespace

int main(int argc, char **argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "cache")
    return runCacheCommand(argc - 1, argv + 1);
  if (command == "build")
    return runBuildCommand(argc - 1, argv + 1);
  if (command == "run")
    return runRunCommand(argc - 1, argv + 1);
  CLI::App app("pantilec: compiles a kernel of a Python file", "pantilec");
  app.footer(
      "pantilec build, pantilec run and pantilec cache make artifacts, run a kernel and look\n"
      "after the kernel cache; each has a --help of its own");
  CommandLine line;
  describe(app, line);
  describeOptions(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? Success : UsageFailure;
  }
  std::optional<std::string> text = readFile(line.kernel.file);
  if (!text)
    return wrongUsage("cannot read `" + line.kernel.file + "`");
  std::string fileName = line.kernel.file == "-" ? "<stdin>" : line.kernel.file;
  return line.list ? printKernels(*text, fileName) : compileFile(*text, fileName, line);
}
