//===- KernelFlags.h - flags common to the commands of `pantilec` ---------------------------===//
// Needs: pantile/Options.def, which has the options' meanings.
// Gives: the kernel and its options, from the command line.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Request.h"
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace pantile {

/// The meaning of each option in Options.def, by the name of the member.
namespace option_meanings {
#define OPTION(type, member, key, initial, meaning) inline constexpr const char *member = meaning;
#include "pantile/Options.def"
} // namespace option_meanings

struct KernelFlags {
  std::string file;
  std::vector<std::string> definitions, disabledPasses, enabledPasses;
  CompileRequest request;
  bool noFpFusion = false;
};

/// Adds the file, which it returns, `--kernel`, `-D` and `--include`.
CLI::Option *addKernelFlags(CLI::App &app, KernelFlags &flags);
/// Adds `--signature`.
void addSignatureFlag(CLI::App &app, KernelFlags &flags);
/// Adds `--num-warps`, `--num-stages`, `--max-registers` and `--no-fp-fusion`.
void addCodeFlags(CLI::App &app, KernelFlags &flags);
/// Adds `--input-precision`, `--launch-abi`, `--disable-pass` and `--enable-pass`.
void addChoiceFlags(CLI::App &app, KernelFlags &flags);

/// Sets the request's options that need parsing; to be called after parsing.
void takeFlags(KernelFlags &flags);

} // namespace pantile
