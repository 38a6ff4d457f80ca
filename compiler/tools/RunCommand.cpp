//===- RunCommand.cpp - `pantilec run`: a kernel on given or random arrays -------------------===//
// Needs: a kernel, an argument for each of its run-time parameters, a grid.
// Gives: what the kernel changed, as statistics and .npy files, and how long it takes.
// How:   Arguments determine the signature, as in Python: arrays are 16-byte aligned, integers are
//        specialised if they are 1 or multiples of 16. The result is that of one launch; then the
//        tuner measures the time, on fresh copies.
//===-----------------------------------------------------------------------------------===//
#include "Commands.h"
#include "HostArray.h"
#include "KernelFlags.h"
#include "pantile/Tuner.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace pantile {
namespace {

struct RunLine {
  KernelFlags kernel;
  std::string grid = "1", device = "auto";
  std::vector<std::string> arguments, outputs;
  uint64_t seed = 0;
  double milliseconds = 50;
  bool noTime = false;
};

/// One run-time argument: an array with its address on the device, or a number.
struct Argument {
  std::string name;
  std::optional<HostArray> array;
  std::vector<char> before; ///< the array's bytes at the start
  uint64_t address = 0;
  LaunchArg value;
  std::string spec;
  bool isConstant = false; ///< constant by the signature: a launch does not pass it
};

/// All arguments, and the memory of the arrays. GPU memory is freed with it.
class Arguments {
public:
  explicit Arguments(bool onGpu) : onGpu(onGpu) {}
  Arguments(const Arguments &) = delete;
  ~Arguments() {
    for (const Argument &argument : list)
      if (onGpu && argument.address)
        deviceFree(argument.address);
  }

  Result<void> upload() {
    for (Argument &argument : list) {
      if (!argument.array)
        continue;
      std::copy(argument.before.begin(), argument.before.end(), argument.array->bytes.begin());
      if (onGpu)
        if (Result<void> copied =
                copyToDevice(argument.address, argument.before.data(), argument.before.size());
            !copied)
          return copied;
    }
    return {};
  }

  Result<void> download() {
    for (Argument &argument : list)
      if (onGpu && argument.array)
        if (Result<void> copied = copyFromDevice(argument.array->bytes.data(), argument.address,
                                                 argument.array->bytes.size());
            !copied)
          return copied;
    return {};
  }

  std::vector<Argument> list;
  const bool onGpu;
};

Error wrong(const std::string &message) { return makeError(ErrorKind::Launch, message); }

/// An integer or a float, `12`, `1.5`, `true`, optionally followed by a type: `12:i64`.
Result<void> parseNumber(Argument &argument, std::string_view text) {
  const size_t colon = text.find(':');
  std::string type(colon == text.npos ? "" : text.substr(colon + 1));
  ConstValue value = parseConstant(text.substr(0, colon));
  if (auto *flag = std::get_if<bool>(&value)) {
    argument.value = LaunchArg::i(*flag);
    argument.spec = type.empty() ? "i1" : type;
    return {};
  }
  if (auto *real = std::get_if<double>(&value)) {
    argument.value = LaunchArg::f(*real);
    argument.spec = type.empty() ? "fp32" : type;
    return {};
  }
  auto *integer = std::get_if<int64_t>(&value);
  if (!integer)
    return wrong("`" + std::string(text) + "` is no number");
  argument.value = LaunchArg::i(*integer);
  const bool fits = *integer >= INT32_MIN && *integer <= INT32_MAX;
  argument.spec = !type.empty() ? type : fits ? "i32" : "i64";
  argument.isConstant = *integer == 1 && type.empty();
  argument.spec += argument.isConstant ? ":1" : *integer % 16 == 0 && type[0] != 'f' ? ":16" : "";
  return {};
}

Result<void> placeArray(Arguments &arguments, Argument &argument) {
  HostArray &array = *argument.array;
  argument.before = array.bytes;
  argument.spec = "*" + array.dtype + ":16";
  if (!arguments.onGpu) {
    const auto begin = reinterpret_cast<uint64_t>(array.bytes.data());
    argument.value = LaunchArg::ptr(array.bytes.data(), begin, begin + array.bytes.size());
    return {};
  }
  Result<uint64_t> address = deviceAlloc(std::max<size_t>(array.bytes.size(), 16));
  if (!address)
    return address.error();
  argument.address = *address;
  argument.value = LaunchArg::device(*address);
  return {};
}

Result<void> readArguments(const RunLine &line, Arguments &arguments) {
  arguments.list.reserve(line.arguments.size());
  for (const std::string &text : line.arguments) {
    const size_t equals = text.find('=');
    if (equals == text.npos)
      return wrong("expected `--arg NAME=value`, not `--arg " + text + "`");
    Argument &argument = arguments.list.emplace_back();
    argument.name = text.substr(0, equals);
    const std::string_view what = std::string_view(text).substr(equals + 1);
    if (what.find('[') == what.npos && what.find('@') == what.npos) {
      if (Result<void> number = parseNumber(argument, what); !number)
        return number;
      continue;
    }
    Result<HostArray> array = makeArray(what, line.seed + arguments.list.size());
    if (!array)
      return array.error();
    argument.array = std::move(*array);
    if (Result<void> placed = placeArray(arguments, argument); !placed)
      return placed;
  }
  return {};
}

std::string signatureOf(const Arguments &arguments) {
  std::string signature;
  for (const Argument &argument : arguments.list)
    signature += (signature.empty() ? "" : ", ") + argument.name + "=" + argument.spec;
  return signature;
}

/// The launch arguments in the order of the kernel's parameters.
std::vector<LaunchArg> launchArguments(const std::vector<ParameterInfo> &parameters,
                                       const Arguments &arguments) {
  std::vector<LaunchArg> result;
  for (const ParameterInfo &parameter : parameters)
    for (const Argument &argument : arguments.list)
      if (argument.name == parameter.name && !argument.isConstant)
        result.push_back(argument.value);
  return result;
}

/// The extents of `text`, up to three, from the numbers among parameters and constants.
Result<Grid> gridOf(const std::string &text, const Arguments &arguments,
                    const std::vector<ParameterInfo> &parameters, const Definitions &definitions) {
  Definitions names = definitions;
  for (const ParameterInfo &parameter : parameters)
    if (parameter.hasDefault)
      names.emplace(parameter.name, parameter.defaultValue);
  for (const Argument &argument : arguments.list)
    if (!argument.array && argument.value.kind == LaunchArg::Kind::Int)
      names[argument.name] = argument.value.integer;
  Result<ConstValue> value = evaluateExpression(text, names);
  if (!value)
    return makeError(ErrorKind::Launch, "grid " + value.error().message);
  const auto *tuple = std::get_if<std::shared_ptr<const ConstTuple>>(&*value);
  const std::vector<ConstValue> extents = tuple ? (*tuple)->elements : std::vector{*value};
  Grid grid = {1, 1, 1};
  if (extents.empty() || extents.size() > grid.size())
    return makeError(ErrorKind::Launch, "grid `" + text + "` has " +
                                            std::to_string(extents.size()) +
                                            " extents, and not one to three");
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto *extent = std::get_if<int64_t>(&extents[i]);
    if (!extent)
      return makeError(ErrorKind::Launch, "grid `" + text + "`: extent " + std::to_string(i) +
                                              " is no integer; `//` divides integers");
    grid[i] = *extent;
  }
  return grid;
}

/// What a launch changed: mean, deviation and range of the finite numbers, and how many are not.
void describeResult(const Argument &argument) {
  const HostArray &array = *argument.array;
  double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
  int64_t finite = 0;
  for (int64_t i = 0, n = array.size(); i < n; ++i) {
    const double value = array.at(i);
    if (!std::isfinite(value))
      continue;
    ++finite, sum += value, squares += value * value;
    low = std::min(low, value), high = std::max(high, value);
  }
  const double mean = finite ? sum / double(finite) : 0;
  const double deviation =
      finite ? std::sqrt(std::max(squares / double(finite) - mean * mean, 0.0)) : 0;
  std::printf("%s %s: mean %.6g, deviation %.6g, from %.6g to %.6g", argument.name.c_str(),
              describeType(array).c_str(), mean, deviation, finite ? low : 0, finite ? high : 0);
  if (finite < array.size())
    std::printf(", %lld not finite", static_cast<long long>(array.size() - finite));
  std::printf("\n");
}

ExitStatus report(const RunLine &line, const Arguments &arguments) {
  for (const Argument &argument : arguments.list)
    if (argument.array && argument.array->bytes != argument.before)
      describeResult(argument);
  for (const std::string &output : line.outputs) {
    const size_t equals = output.find('=');
    const std::string name = output.substr(0, equals);
    auto it = std::find_if(arguments.list.begin(), arguments.list.end(), [&](const Argument &one) {
      return one.name == name && one.array.has_value();
    });
    if (equals == output.npos || it == arguments.list.end())
      return wrongUsage("expected `--out NAME=FILE.npy` with the name of an array, not `--out " +
                        output + "`");
    if (Result<void> written = writeNpy(*it->array, output.substr(equals + 1)); !written)
      return fail(written.error(), CompileFailure);
  }
  return Success;
}

ExitStatus printTime(const RunLine &line, const std::string &text, const Grid &grid,
                     Arguments &arguments, std::vector<LaunchArg> args) {
  TuneOptions options;
  options.grid = [&](const Definitions &) { return grid; };
  options.args = std::move(args);
  options.prepare = [&] { return arguments.upload(); };
  options.milliseconds = line.milliseconds;
  options.useStore = false;
  TuneCandidate candidate;
  candidate.numWarps = line.kernel.request.options.numWarps;
  candidate.numStages = line.kernel.request.options.numStages;
  candidate.maxRegisters = line.kernel.request.options.maxRegisters;
  Result<TuneResult> tuned =
      tune(text, line.kernel.file, line.kernel.request, {candidate}, options);
  if (!tuned)
    return fail(tuned.error(), CompileFailure);
  std::printf("time: %.4f ms, median%s\n", tuned->measurements[0].milliseconds,
              arguments.onGpu ? " with a cold second-level cache" : "");
  return Success;
}

ExitStatus runKernel(RunLine &line, const std::string &text) {
  Result<Definitions> definitions = parseDefinitions(line.kernel.definitions);
  if (!definitions)
    return fail(definitions.error(), UsageFailure);
  const bool onGpu = line.device == "gpu" || (line.device == "auto" && deviceCount() > 0);
  if (onGpu) {
    Result<DeviceInfo> device = deviceInfo(0);
    if (!device)
      return fail(device.error(), CompileFailure);
    line.kernel.request.options.target = device->target;
  }
  line.kernel.request.definitions = *definitions;
  takeFlags(line.kernel);
  Arguments arguments(onGpu);
  if (Result<void> read = readArguments(line, arguments); !read)
    return fail(read.error(), UsageFailure);
  line.kernel.request.signature = signatureOf(arguments);
  Result<Specialized> made = specializeText(text, line.kernel.file, line.kernel.request);
  if (!made)
    return fail(made.error(),
                made.error().kind == ErrorKind::Launch ? UsageFailure : CompileFailure);
  Result<std::vector<ParameterInfo>> parameters = kernelParameters(made->program);
  if (!parameters)
    return fail(parameters.error(), CompileFailure);
  Result<Grid> grid = gridOf(line.grid, arguments, *parameters, *definitions);
  if (!grid)
    return fail(grid.error(), UsageFailure);
  Result<Kernel> kernel =
      Compiler().compile(made->program, made->specialization, line.kernel.request.options);
  if (!kernel)
    return fail(kernel.error(), CompileFailure);
  std::cerr << (*kernel)->warnings;
  std::vector<LaunchArg> args = launchArguments(*parameters, arguments);
  Result<void> done = arguments.upload();
  if (done)
    done = launch(*kernel, *grid, args);
  if (done && onGpu)
    done = synchronize(0);
  if (done)
    done = arguments.download();
  if (!done)
    return fail(done.error(), CompileFailure);
  std::cerr << takeWarnings();
  std::printf("%s on %s, grid %lld x %lld x %lld\n", (*kernel)->name.c_str(),
              onGpu ? line.kernel.request.options.target.c_str() : "the CPU",
              static_cast<long long>((*grid)[0]), static_cast<long long>((*grid)[1]),
              static_cast<long long>((*grid)[2]));
  ExitStatus status = report(line, arguments);
  if (status == Success && !line.noTime)
    status = printTime(line, text, *grid, arguments, std::move(args));
  return status;
}

void describe(CLI::App &app, RunLine &line) {
  addKernelFlags(app, line.kernel)->required();
  app.add_option("--arg", line.arguments,
                 "NAME=value of a run-time parameter: a number (12, 1.5, 12:i64), @FILE.npy, "
                 "bf16@FILE.npy, or an array `HOW:type[extents]` with HOW one of random, zeros, "
                 "ones, arange")
      ->allow_extra_args(false);
  app.add_option("--grid", line.grid, "up to three expressions of Python: \"cdiv(n, BLOCK), 4\"")
      ->capture_default_str();
  app.add_option("--out", line.outputs, "NAME=FILE.npy: write an array after the launch")
      ->allow_extra_args(false);
  app.add_option("--device", line.device, "where to run; auto: on the GPU if there is one")
      ->check(CLI::IsMember({"auto", "cpu", "gpu"}))
      ->capture_default_str();
  app.add_option("--seed", line.seed, "seed of random arrays")->capture_default_str();
  addCodeFlags(app, line.kernel);
  app.add_flag("--debug", line.kernel.request.options.debug, option_meanings::debug);
  app.add_option("--time-ms", line.milliseconds, "how long to measure, in milliseconds")
      ->capture_default_str();
  app.add_flag("--no-time", line.noTime, "launch once and measure nothing");
}

} // namespace

int runRunCommand(int argc, char **argv) {
  CLI::App app("pantilec run: runs a kernel once, prints what it changed and how long it takes",
               "pantilec run");
  RunLine line;
  line.kernel.request.options.target = "cpu";
  describe(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? Success : UsageFailure;
  }
  std::optional<std::string> text = readFile(line.kernel.file);
  return text ? runKernel(line, *text) : wrongUsage("cannot read `" + line.kernel.file + "`");
}

} // namespace pantile
