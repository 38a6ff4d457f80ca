//===- BuildCommand.cpp - `pantilec build`: ahead-of-time compilation ----------------------===//
// Needs: kernels and their specialisations, on the command line or one per line in a list.
// Gives: one artifact that pantile loads; or a C header with a C file or an object, which need
//        only the driver.
// How:   A line of the list has the same arguments as the command line. Every kernel is compiled
//        for every target, on as many threads as there are cores; the output is in the order of the
//        arguments.
//===-----------------------------------------------------------------------------------===//
#include "CLauncher.h"
#include "Commands.h"
#include "KernelFlags.h"
#include "pantile/Artifact.h"
#include "pantile/Request.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

namespace pantile {
namespace {

namespace fs = std::filesystem;

/// One requested kernel, with all its targets.
struct BuildItem {
  KernelFlags kernel;
  std::string grid, symbol;
  std::vector<std::string> targets;
  bool withLineInfo = false, isCooperative = false;
};

struct BuildLine {
  std::string list, output;
  bool quiet = false;
};

void describe(CLI::App &app, BuildItem &item) {
  addKernelFlags(app, item.kernel);
  addSignatureFlag(app, item.kernel);
  app.add_option("--target", item.targets, "sm_80 ... sm_121a; once for each; default: sm_90a")
      ->allow_extra_args(false);
  app.add_option("--grid", item.grid,
                 "up to three C expressions over parameters and constants, `cdiv(n, BLOCK)` say; "
                 "without it the function in C takes the grid");
  app.add_option("--name", item.symbol, "name in C; default: the kernel's");
  app.add_flag("--cooperative", item.isCooperative,
               "for programs that wait for one another: they all run at once, or the function in C "
               "returns 720 and launches none");
  addCodeFlags(app, item.kernel);
  addChoiceFlags(app, item.kernel);
  app.add_flag("--line-info", item.withLineInfo, option_meanings::lineInfo);
}

/// The items of a list: one per line, `#` starts a comment. Paths are relative to the list.
Result<std::vector<BuildItem>> readList(const std::string &path) {
  std::optional<std::string> text = readFile(path);
  if (!text)
    return makeError(ErrorKind::Launch, "cannot read `" + path + "`");
  std::vector<BuildItem> items;
  std::istringstream lines(*text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos || line[begin] == '#')
      continue;
    CLI::App words;
    BuildItem item;
    describe(words, item);
    try {
      words.parse(line);
    } catch (const CLI::ParseError &error) {
      return makeError(ErrorKind::Launch,
                       path + ":" + std::to_string(number) + ": " + error.what());
    }
    item.kernel.file = (fs::path(path).parent_path() / item.kernel.file).string();
    items.push_back(std::move(item));
  }
  return items;
}

/// Completes a request; an error says which argument is wrong.
Result<void> prepare(BuildItem &item) {
  if (item.targets.empty())
    item.targets = {"sm_90a"};
  Result<Definitions> definitions = parseDefinitions(item.kernel.definitions);
  if (!definitions)
    return definitions.error();
  CompileRequest &request = item.kernel.request;
  request.definitions = *definitions;
  takeFlags(item.kernel);
  request.options.lineInfo = item.withLineInfo;
  if (item.isCooperative)
    request.options.disabledPasses.insert({"nv-make-persistent", "nv-split-over-cluster"});
  return {};
}

/// A kernel for one target, to be compiled on some thread.
struct BuildJob {
  const BuildItem *item;
  std::string target;
  std::optional<Result<CVariant>> made;
  Specialized specialized;
};

Result<CVariant> compileJob(BuildJob &job) {
  std::optional<std::string> text = readFile(job.item->kernel.file);
  if (!text)
    return makeError(ErrorKind::Launch, "cannot read `" + job.item->kernel.file + "`");
  CompileRequest request = job.item->kernel.request;
  request.options.target = job.target;
  Result<Specialized> specialized = specializeText(*text, job.item->kernel.file, request);
  if (!specialized)
    return specialized.error();
  job.specialized = *specialized;
  Result<std::vector<ParameterInfo>> parameters = kernelParameters(specialized->program);
  if (!parameters)
    return parameters.error();
  CVariant variant{{},
                   {},
                   *parameters,
                   job.item->grid,
                   job.item->symbol,
                   request.signature,
                   job.item->isCooperative};
  if (job.target == "cpu")
    return variant;
  Result<Kernel> kernel =
      Compiler().compile(specialized->program, specialized->specialization, request.options);
  if (!kernel)
    return kernel.error();
  variant.kernel = *kernel;
  if ((*kernel)->compilePlain) {
    Result<Kernel> plain = (*kernel)->compilePlain();
    if (!plain)
      return plain.error();
    variant.plain = *plain;
  }
  return variant;
}

std::vector<BuildJob> compileAll(const std::vector<BuildItem> &items) {
  std::vector<BuildJob> jobs;
  for (const BuildItem &item : items)
    for (const std::string &target : item.targets)
      jobs.push_back({&item, target, {}, {}});
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++)
      jobs[i].made.emplace(compileJob(jobs[i]));
  };
  std::vector<std::thread> threads;
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  for (size_t i = 1; i < std::min(cores, jobs.size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  return jobs;
}

ExitStatus writeArtifact(const std::vector<BuildJob> &jobs, const std::string &output) {
  Artifact artifact;
  for (const BuildJob &job : jobs) {
    if (job.item->isCooperative)
      return wrongUsage("`--cooperative` is for code in C; launches of an artifact have "
                        "`LaunchOptions::cooperative`");
    Options options = job.item->kernel.request.options;
    options.target = job.target;
    Result<void> added = job.target == "cpu" ? artifact.add(job.specialized.program,
                                                            job.specialized.specialization, options)
                                             : artifact.add((**job.made).kernel);
    if (!added)
      return fail(added.error(), CompileFailure);
  }
  Result<void> saved = artifact.save(output);
  return saved ? Success : fail(saved.error(), CompileFailure);
}

bool writeText(const fs::path &path, const std::string &text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text << std::flush;
  return bool(stream);
}

std::string quoted(const std::string &text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// Compiles a C file by $CC, else `cc`.
ExitStatus compileC(const fs::path &source, const std::string &object) {
  const char *chosen = std::getenv("CC");
  std::string command = std::string(chosen && *chosen ? chosen : "cc") +
                        " -std=gnu11 -O2 -fPIC -c " + quoted(source.string()) + " -o " +
                        quoted(object);
  int status = std::system(command.c_str());
  return status == 0 ? Success
                     : wrongUsage("`" + command +
                                  "` failed; an output that ends in `.h` writes the "
                                  "C file for another compiler");
}

/// A name in C from the stem of a file.
std::string identifier(const std::string &stem) {
  std::string name = stem.empty() || std::isdigit(static_cast<unsigned char>(stem[0])) ? "k_" : "";
  for (char c : stem)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

ExitStatus writeC(const std::vector<BuildJob> &jobs, const std::string &output) {
  std::vector<CVariant> variants;
  for (const BuildJob &job : jobs) {
    if (job.target == "cpu")
      return wrongUsage("code in C is for GPUs; an artifact holds kernels for the CPU");
    variants.push_back(**job.made);
  }
  const fs::path base = fs::path(output).replace_extension();
  const fs::path header = base.string() + ".h", source = base.string() + ".c";
  Result<CFiles> files =
      launchersInC(variants, identifier(base.filename().string()), header.filename().string());
  if (!files)
    return fail(files.error(), CompileFailure);
  for (const auto &[path, text] : {std::pair(header, files->header), {source, files->source}})
    if (!writeText(path, text))
      return wrongUsage("cannot write `" + path.string() + "`");
  if (!output.ends_with(".o"))
    return Success;
  ExitStatus status = compileC(source, output);
  std::error_code ignored;
  fs::remove(source, ignored);
  return status;
}

int build(const BuildLine &line, std::vector<BuildItem> items) {
  for (BuildItem &item : items)
    if (Result<void> ready = prepare(item); !ready)
      return fail(ready.error(), UsageFailure);
  std::vector<BuildJob> jobs = compileAll(items);
  for (const BuildJob &job : jobs)
    if (!*job.made)
      return fail(job.made->error(), CompileFailure);
  const bool inC =
      line.output.ends_with(".h") || line.output.ends_with(".c") || line.output.ends_with(".o");
  ExitStatus status = inC ? writeC(jobs, line.output) : writeArtifact(jobs, line.output);
  if (status == Success && !line.quiet)
    std::printf("%s: %zu kernel%s\n", line.output.c_str(), jobs.size(),
                jobs.size() == 1 ? "" : "s");
  return status;
}

} // namespace

int runBuildCommand(int argc, char **argv) {
  CLI::App app("pantilec build: compiles kernels ahead of time, for one or several targets",
               "pantilec build");
  BuildLine line;
  BuildItem item;
  describe(app, item);
  app.add_option("--list", line.list, "file with one kernel per line, with the same arguments");
  app.add_option("-o", line.output,
                 "NAME.h: a header and NAME.c; NAME.o: a header and an object, by $CC or cc; any "
                 "other name: an artifact for pantile")
      ->required();
  app.add_flag("-q", line.quiet, "print nothing");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? Success : UsageFailure;
  }
  if (item.kernel.file.empty() == line.list.empty())
    return wrongUsage("give either a file with a kernel or `--list`");
  if (line.list.empty())
    return build(line, {item});
  Result<std::vector<BuildItem>> items = readList(line.list);
  return items ? build(line, *items) : fail(items.error(), UsageFailure);
}

} // namespace pantile
