//===- Commands.cpp - functions common to the commands of `pantilec` -------------------------===//
// Needs: see Commands.h.
// Gives: fail, wrongUsage, readFile.
// How:   errors go to standard error as the compiler rendered them.
//===-----------------------------------------------------------------------------------===//
#include "Commands.h"
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

namespace pantile {

ExitStatus fail(const Error &error, ExitStatus status) {
  std::string text = error.rendered.empty() ? "error: " + error.message : error.rendered;
  std::cerr << text << (text.ends_with('\n') ? "" : "\n");
  return status;
}

ExitStatus wrongUsage(const std::string &message) {
  return fail({ErrorKind::Launch, message, "error: " + message, {}}, UsageFailure);
}

std::optional<std::string> readFile(const std::string &path) {
  if (path == "-")
    return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return std::nullopt;
  std::ostringstream text;
  text << stream.rdbuf();
  return stream.bad() ? std::nullopt : std::optional(text.str());
}

} // namespace pantile
