//===- KernelFlags.cpp - see KernelFlags.h --------------------------------------------------===//
#include "KernelFlags.h"
#include <CLI/CLI.hpp>

namespace pantile {
namespace {
/// What Options.def allows, by the name of the member.
namespace option_ranges {
#define RANGE(member, least, most) const CLI::Range member(least, most);
#include "pantile/Options.def"
} // namespace option_ranges

CLI::IsMember choicesOf(std::string_view option) {
  std::vector<std::string> values;
#define CHOICE(member, value)                                                                      \
  if (option == #member)                                                                           \
    values.push_back(value);
#include "pantile/Options.def"
  return CLI::IsMember(values);
}
} // namespace

CLI::Option *addKernelFlags(CLI::App &app, KernelFlags &flags) {
  CLI::Option *file =
      app.add_option("file", flags.file, "Python file with the kernel; - reads standard input");
  app.add_option("--kernel", flags.request.kernel, "name of the kernel, if the file has several");
  app.add_option("-D", flags.definitions, "NAME=value of a constexpr parameter or a global")
      ->allow_extra_args(false);
  app.add_option("--include", flags.request.includeFiles,
                 "further file whose jit functions may be called")
      ->allow_extra_args(false);
  return file;
}

void addSignatureFlag(CLI::App &app, KernelFlags &flags) {
  app.add_option("--signature", flags.request.signature,
                 "types of the run-time parameters, in order or as name=type: "
                 "\"*fp16:16, i32:16, fp32\" (:16 a multiple of 16, :1 the constant 1)");
}

void addCodeFlags(CLI::App &app, KernelFlags &flags) {
  Options &options = flags.request.options;
  app.add_option("--num-warps", options.numWarps, option_meanings::numWarps)
      ->check(option_ranges::numWarps)
      ->capture_default_str();
  app.add_option("--num-stages", options.numStages, option_meanings::numStages)
      ->check(option_ranges::numStages)
      ->capture_default_str();
  app.add_option("--max-registers", options.maxRegisters, option_meanings::maxRegisters)
      ->check(option_ranges::maxRegisters)
      ->capture_default_str();
  app.add_flag("--no-fp-fusion", flags.noFpFusion, "keep a*b+c as two roundings");
}

void addChoiceFlags(CLI::App &app, KernelFlags &flags) {
  Options &options = flags.request.options;
  app.add_option("--input-precision", options.inputPrecision, option_meanings::inputPrecision)
      ->check(choicesOf("inputPrecision"))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--launch-abi",
         [&options](const std::string &name) { options.launchAbi = *launchAbiNamed(name); },
         option_meanings::launchAbi)
      ->check(choicesOf("launchAbi"))
      ->default_str("full");
  app.add_option("--disable-pass", flags.disabledPasses,
                 "pass to leave out; see pantilec --list-passes")
      ->allow_extra_args(false);
  app.add_option("--enable-pass", flags.enabledPasses, "pass to switch on that is off by default")
      ->allow_extra_args(false);
}

void takeFlags(KernelFlags &flags) {
  Options &options = flags.request.options;
  options.enableFpFusion = !flags.noFpFusion;
  options.disabledPasses = {flags.disabledPasses.begin(), flags.disabledPasses.end()};
  options.enabledPasses = {flags.enabledPasses.begin(), flags.enabledPasses.end()};
}

} // namespace pantile
