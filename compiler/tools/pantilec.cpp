//===- pantilec.cpp - the compiler on the command line ----------------------------------===//
// Needs: a file with jit functions, a signature, values for the constexpr parameters.
// Gives: the text of one stage, or machine code. Exit status 0; 1: the kernel did not compile;
//        2: the command line is wrong.
// How:   the public interface alone: scan the file, specialise, compile, print.
//===-----------------------------------------------------------------------------------===//
#include "Commands.h"
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

const std::map<std::string, Stage> stages = {
    {"ast", Stage::Ast},           {"tile", Stage::Tile}, {"layout", Stage::Layout},
    {"pipeline", Stage::Pipeline}, {"mma", Stage::Mma},   {"plan", Stage::Plan},
    {"llvm", Stage::Llvm},         {"ptx", Stage::Ptx},   {"cubin", Stage::Cubin}};

struct CommandLine {
  std::string file, kernel, signature, emit = "ptx", output = "-";
  std::vector<std::string> definitions, includes, disabledPasses, enabledPasses;
  Options options;
  Observe observe;
  bool list = false, time = false, noCache = false, noLineInfo = false, noFpFusion = false;
};

void describe(CLI::App &app, CommandLine &line) {
  app.set_version_flag("--version", [] {
    std::string text = versionText();
    return text.substr(0, text.find_last_not_of('\n') + 1);
  });
  app.add_option("file", line.file, "Python file with the kernel; - reads standard input")
      ->required();
  app.add_option("--kernel", line.kernel, "name of the kernel, if the file has several");
  app.add_option("--signature", line.signature,
                 "types of the run-time parameters, in order or as name=type: "
                 "\"*fp16:16, i32:16, fp32\" (:16 a multiple of 16, :1 the constant 1)");
  app.add_option("-D", line.definitions, "NAME=value of a constexpr parameter or a global")
      ->allow_extra_args(false);
  app.add_option("--include", line.includes, "further file whose jit functions may be called")
      ->allow_extra_args(false);
  app.add_option("--emit", line.emit, "stage to stop after")->check(CLI::IsMember(stages));
  app.add_option("-o", line.output, "output file; - is standard output");
  app.add_flag("--list", line.list, "list the kernels of the file");
}

/// One line a pass; a star marks what cannot be left out.
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
  line.options.target = "sm_90a";
  app.add_option("--target", line.options.target, "sm_80 ... sm_121a, or cpu")
      ->capture_default_str();
  app.add_option("--num-warps", line.options.numWarps, "warps of a program")
      ->check(CLI::IsMember({1, 2, 4, 8, 16, 32}))
      ->capture_default_str();
  app.add_option("--num-stages", line.options.numStages, "buffers of a pipelined loop")
      ->check(CLI::Range(0, 16))
      ->capture_default_str();
  app.add_option("--max-registers", line.options.maxRegisters, "registers a thread; 0: no limit")
      ->check(CLI::Range(0, 255));
  app.add_option("--input-precision", line.options.inputPrecision, "default of fp32 products")
      ->check(CLI::IsMember({"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"}));
  app.add_flag("--no-fp-fusion", line.noFpFusion, "keep a*b+c as two roundings");
  app.add_flag("--no-line-info", line.noLineInfo, "leave source lines out of the PTX");
  app.add_flag("--debug", line.options.debug, "compile device assertions in");
  app.add_option("--disable-pass", line.disabledPasses, "pass to leave out; see --list-passes")
      ->allow_extra_args(false);
  app.add_option("--enable-pass", line.enabledPasses, "pass to switch on that is off by default")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--launch-abi",
         [&line](const std::string &name) { line.options.launchAbi = *launchAbiNamed(name); },
         "triton: launches pass arguments and two null pointers, so any launcher can start the "
         "kernel")
      ->check(CLI::IsMember({"full", "triton"}));
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
  line.options.enableFpFusion = !line.noFpFusion;
  line.options.lineInfo = !line.noLineInfo;
  line.options.disabledPasses = {line.disabledPasses.begin(), line.disabledPasses.end()};
  line.options.enabledPasses = {line.enabledPasses.begin(), line.enabledPasses.end()};
  line.observe.stopAfter = stages.at(line.emit);
  line.observe.useCache = !line.noCache;
  Compiler compiler;
  return compiler.compile(program, specialization, line.options, line.observe);
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
    return wrongUsage("target `" + line.options.target + "` has no stage `" + line.emit + "`");
  return writeOutput(line, text->second);
}

ExitStatus compileFile(const std::string &text, const std::string &fileName, CommandLine &line) {
  Result<Definitions> definitions = parseDefinitions(line.definitions);
  if (!definitions)
    return fail(definitions.error(), UsageFailure);
  Result<Program> program =
      scanFile(text, fileName, ScanOptions{line.kernel, *definitions, line.includes});
  if (!program)
    return fail(program.error(), CompileFailure);
  if (line.emit == "ast") // The tree is the same whatever the arguments are.
    return emit(*program, {}, line);
  Result<std::vector<ParameterInfo>> parameters = kernelParameters(*program);
  if (!parameters)
    return fail(parameters.error(), CompileFailure);
  for (const std::string &name : unusedDefinitions(*program, *parameters, *definitions))
    std::cerr << "warning: `" << name << "` is neither a parameter nor a global of the kernel\n";
  Result<Specialization> specialization = specialize(*parameters, line.signature, *definitions);
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
      "after the store; each has a --help of its own");
  CommandLine line;
  describe(app, line);
  describeOptions(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? Success : UsageFailure;
  }
  std::optional<std::string> text = readFile(line.file);
  if (!text)
    return wrongUsage("cannot read `" + line.file + "`");
  std::string fileName = line.file == "-" ? "<stdin>" : line.file;
  return line.list ? printKernels(*text, fileName) : compileFile(*text, fileName, line);
}
