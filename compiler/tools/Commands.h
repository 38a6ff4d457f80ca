//===- Commands.h - the commands of `pantilec` other than compiling one kernel ---------------===//
// Needs: the arguments after the command's name.
// Gives: `pantilec cache`, `pantilec build` and `pantilec run`, each with an exit status: 0; 1: it
//        failed; 2: the command line is wrong.
// How:   A file with such a name is compiled as `./cache`.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include <optional>
#include <string>

namespace pantile {

enum ExitStatus { Success = 0, CompileFailure = 1, UsageFailure = 2 };

int runCacheCommand(int argc, char **argv);
int runBuildCommand(int argc, char **argv);
int runRunCommand(int argc, char **argv);

/// Prints an error as it is rendered; returns `status`.
ExitStatus fail(const Error &error, ExitStatus status);
ExitStatus wrongUsage(const std::string &message);

/// The bytes of a file; "-" is standard input.
std::optional<std::string> readFile(const std::string &path);

} // namespace pantile
