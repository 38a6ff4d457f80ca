//===- library.cpp - the public interface, by an application outside of the tree ------------===//
// Requests, stages, artifacts, tuning and many threads; on the CPU, and the machine code for GPUs
// where an assembler is found. Each check names itself when it fails.
//===------------------------------------------------------------------------------------===//
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <pantile/Artifact.h>
#include <pantile/Language.h>
#include <pantile/Request.h>
#include <pantile/Runtime.h>
#include <pantile/Tuner.h>
#include <random>
#include <span>
#include <thread>

using namespace pantile;

namespace {

int failures = 0;

void expect(bool holds, const std::string &what) {
  if (!holds)
    ++failures, std::fprintf(stderr, "failed: %s\n", what.c_str());
}

template <typename T> bool succeeded(const Result<T> &result, const char *what) {
  if (!result)
    expect(false, std::string(what) + ": " + result.error().rendered);
  return bool(result);
}

constexpr const char *source = R"(
import pantile as triton
import pantile.language as tl

OFFSET: tl.constexpr = 3

@triton.jit
def twice(x):
    return x + x

@triton.jit
def shifted(out_ptr, x_ptr, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, twice(x) * scale + OFFSET, mask=i < n)
)";

CompileRequest requestFor(const std::string &target, int64_t block = 128,
                          const char *signature = "*fp32:16, *fp32:16, i32, fp32") {
  CompileRequest request;
  request.kernel = "shifted";
  request.signature = signature;
  request.definitions = {{"BLOCK", block}};
  request.options.target = target;
  return request;
}

std::vector<float> randomValues(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(engine);
  return values;
}

/// Launches and checks every element; products of floats by 2 and 1.5 are compared in double.
bool runs(const Kernel &kernel, int n, unsigned seed) {
  std::vector<float> x = randomValues(n, seed), out(n);
  auto args = launchArgs(LaunchArg::host(std::span(out)), LaunchArg::host(std::span(x)), n, 1.5f);
  if (!succeeded(launch(kernel, {(n + 127) / 128, 1, 1}, args), "launch"))
    return false;
  for (int i = 0; i < n; ++i)
    if (std::abs(out[i] - (2.0 * x[i] * 1.5 + 3)) > 1e-5)
      return false;
  return true;
}

/// A span of constants is read from, and not written to.
void checkConstants(const Kernel &kernel) {
  const std::vector<float> x = randomValues(128, 3);
  std::vector<float> out(128);
  const LaunchArg input = LaunchArg::host(std::span(x)), output = LaunchArg::host(std::span(out));
  if (succeeded(launch(kernel, {1, 1, 1}, launchArgs(output, input, 128, 1.5f)), "constants"))
    for (int i = 0; i < 128; ++i)
      expect(std::abs(out[i] - (2.0 * x[i] * 1.5 + 3)) < 1e-5, "results from constants");
  Result<void> refused = launch(kernel, {1, 1, 1}, launchArgs(input, output, 128, 1.5f));
  expect(!refused && refused.error().message.find("`out_ptr`") != std::string::npos,
         "a store to constants is refused");
}

void checkRequests(const std::string &folder) {
  Result<Kernel> kernel = compileText(source, "shifted.py", requestFor("cpu"));
  if (succeeded(kernel, "compiling from a string")) {
    expect(runs(*kernel, 1000, 1), "results of a kernel from a string");
    checkConstants(*kernel);
  }

  const std::string path = folder + "/shifted.py";
  std::ofstream(path) << source;
  CompileRequest byName =
      requestFor("cpu", 128, "n=i32, scale=fp32, out_ptr=*fp32, x_ptr=*fp32:16");
  kernel = compileFile(path, byName);
  if (succeeded(kernel, "compiling from a file"))
    expect(runs(*kernel, 777, 2), "results of a kernel from a file");

  Result<Kernel> missing = compileFile(folder + "/none.py", byName);
  expect(!missing && missing.error().message.find("none.py") != std::string::npos,
         "a missing file is named");
  CompileRequest unknown = requestFor("cpu");
  unknown.definitions["WIDTH"] = int64_t(1);
  Result<Kernel> refused = compileText(source, "shifted.py", unknown);
  expect(!refused && refused.error().kind == ErrorKind::Launch, "unknown definitions are refused");
  Result<Kernel> noTarget = compileText(source, "shifted.py", requestFor("sm_1"));
  expect(!noTarget && noTarget.error().kind == ErrorKind::Unsupported, "unknown targets");
}

void checkStages() {
  CompileRequest request = requestFor("sm_90a");
  Result<Specialized> made = specializeText(source, "shifted.py", request);
  if (!succeeded(made, "specialising"))
    return;
  const std::pair<Stage, const char *> marks[] = {
      {Stage::Ast, "shifted"},        {Stage::Tile, "tile.load"}, {Stage::Layout, "tile.layout"},
      {Stage::Pipeline, "tile.load"}, {Stage::Mma, "tile.store"}, {Stage::Llvm, "define"},
      {Stage::Ptx, ".entry shifted"}};
  for (auto [stage, mark] : marks) {
    Result<std::string> text =
        stageText(made->program, made->specialization, request.options, stage);
    std::string name(stageName(stage));
    if (succeeded(text, name.c_str()))
      expect(text->find(mark) != std::string::npos, "the text of stage " + name);
    expect(stageNamed(name) == stage, "the name of stage " + name);
  }
  expect(!stageNamed("object"), "an unknown stage");
  Options cpu = request.options;
  cpu.target = "cpu";
  expect(!stageText(made->program, made->specialization, cpu, Stage::Ptx), "the CPU has no PTX");
  expect(languageFunctions().size() > 200, "the language's functions");
}

/// Kernels for the CPU and, where there is an assembler, for two GPUs.
Artifact artifactOf() {
  Artifact artifact;
  for (const char *target : {"cpu", "sm_80", "sm_90a"})
    for (const char *signature : {"*fp32, *fp32, i32, fp32", "*fp32:16, *fp32:16, i32:16, fp32"}) {
      CompileRequest request = requestFor(target, 128, signature);
      Result<Specialized> made = specializeText(source, "shifted.py", request);
      if (!succeeded(made, "specialising"))
        continue;
      Result<void> added = artifact.add(made->program, made->specialization, request.options);
      if (!added && added.error().kind == ErrorKind::Assembler)
        std::printf("no %s: %s\n", target, added.error().message.c_str());
      else
        succeeded(added, "adding to an artifact");
    }
  return artifact;
}

void checkArtifacts(const std::string &folder) {
  Artifact made = artifactOf();
  const std::string path = folder + "/kernels.pta";
  succeeded(made.save(path), "saving an artifact");
  Result<Artifact> loaded = Artifact::load(path);
  if (!succeeded(loaded, "loading an artifact"))
    return;
  expect(loaded->kernels().size() == made.kernels().size(), "number of kernels");
  alignas(16) static float aligned[16];
  auto args = [&](int n) {
    return launchArgs(LaunchArg::ptr(aligned), LaunchArg::ptr(aligned), n, 1.f);
  };
  Result<Kernel> wide = loaded->find("shifted", "cpu", args(1024));
  Result<Kernel> any = loaded->find("shifted", "cpu", args(1000));
  if (succeeded(wide, "the aligned kernel") && succeeded(any, "the other kernel")) {
    expect((*wide)->args[2].divisibility == 16 && (*any)->args[2].divisibility == 1,
           "the choice among specialisations");
    expect(runs(*any, 1000, 3), "results of a kernel from an artifact");
  }
  expect(!loaded->find("shifted", "cpu", launchArgs(1, 2)), "arguments that no kernel takes");
  expect(!loaded->find("shift", "cpu"), "a kernel that is not there");
  if (made.kernels().size() == 6) {
    Result<Kernel> ampere = loaded->find("shifted", "sm_86");
    if (succeeded(ampere, "code of an older minor"))
      expect((*ampere)->options.target == "sm_80" && !(*ampere)->cubin.empty(), "code for sm_86");
    Result<Kernel> hopper = loaded->find("shifted", "sm_90a");
    expect(hopper && (*hopper)->options.target == "sm_90a", "code for the device itself");
    expect(!loaded->find("shifted", "sm_120a"), "no code for another major");
  }
}

void checkDamage(const std::string &folder) {
  const std::string bytes = artifactOf().serialize();
  std::mt19937 engine(std::random_device{}());
  for (int i = 0; i < 50; ++i) {
    std::string damaged = bytes;
    if (i % 2)
      damaged.resize(engine() % bytes.size());
    else
      damaged[engine() % bytes.size()] ^= char(1 + engine() % 255);
    Result<Artifact> parsed = Artifact::parse(damaged);
    expect(!parsed && parsed.error().kind == ErrorKind::Launch, "damaged bytes are refused");
  }
  expect(bool(Artifact::parse(bytes)), "whole bytes are taken");
  expect(!Artifact::load(folder + "/nothing.pta"), "a missing artifact");
  expect(!Artifact().save(folder + "/no/such/folder/k.pta"), "an artifact that cannot be written");
}

void checkTuning() {
  const int n = 5000;
  std::vector<float> x = randomValues(n, 4), out(n);
  std::vector<TuneCandidate> candidates(4);
  const int64_t blocks[] = {2, 512, -1, 4096}; // -1 is no size of a tile
  for (size_t i = 0; i < candidates.size(); ++i)
    candidates[i].definitions["BLOCK"] = blocks[i];
  TuneOptions options;
  options.grid = [&](const Definitions &values) {
    return Grid{(n + std::get<int64_t>(values.at("BLOCK")) - 1) /
                    std::get<int64_t>(values.at("BLOCK")),
                1, 1};
  };
  options.args =
      launchArgs(LaunchArg::host(std::span(out)), LaunchArg::host(std::span(x)), n, 1.5f);
  int prepared = 0;
  options.prepare = [&] { return ++prepared, Result<void>(); };
  options.milliseconds = 2;
  Result<TuneResult> best = tune(source, "shifted.py", requestFor("cpu"), candidates, options);
  if (!succeeded(best, "tuning"))
    return;
  expect(best->best == 1 || best->best == 3, "blocks of two elements are slow");
  expect(!best->measurements[2].error.empty(), "a candidate that does not compile is left out");
  expect(prepared > 8, "`prepare` is called before runs");
  std::fill(out.begin(), out.end(), 0.f);
  succeeded(launch(best->kernel, best->grid, options.args), "launching the tuned kernel");
  for (int i = 0; i < n; ++i)
    if (std::abs(out[i] - (2.0 * x[i] * 1.5 + 3)) > 1e-5)
      return expect(false, "results of the tuned kernel");
  candidates.resize(1);
  candidates[0].definitions["BLOCK"] = int64_t(-1);
  Result<TuneResult> none = tune(source, "shifted.py", requestFor("cpu"), candidates, options);
  expect(!none && none.error().range.file == "shifted.py", "no candidate compiles");
}

/// One compiler and one kernel, shared by threads that compile and launch at once.
void checkThreads() {
  Compiler compiler;
  Result<Kernel> shared = compileText(source, "shifted.py", requestFor("cpu"));
  if (!succeeded(shared, "compiling"))
    return;
  std::atomic<int> wrong = 0;
  auto work = [&](unsigned id) {
    for (int i = 0; i < 5; ++i) {
      CompileRequest request = requestFor("cpu", 128);
      Result<Specialized> made = specializeText(source, "shifted.py", request);
      Result<Kernel> own =
          made ? compiler.compile(made->program, made->specialization, request.options)
               : made.error();
      const int n = 100 + 37 * int(id) + i;
      wrong += !own || !runs(*own, n, id) || !runs(*shared, n, id + 100);
      request.options.target = "sm_90a";
      wrong += !stageText(made->program, made->specialization, request.options, Stage::Ptx);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 8; ++id)
    threads.emplace_back(work, id);
  for (std::thread &thread : threads)
    thread.join();
  expect(wrong == 0, std::to_string(wrong) + " wrong results on threads");
}

} // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "pantile-embed-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    return std::perror("a temporary folder"), 1;
  setenv("PANTILE_CACHE_DIR", (folder + "/cache").c_str(), 1);
  checkRequests(folder);
  checkStages();
  checkArtifacts(folder);
  checkDamage(folder);
  checkTuning();
  checkThreads();
  std::filesystem::remove_all(folder);
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
