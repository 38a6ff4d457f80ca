//===- Debug.h - looking into the compiler while it runs --------------------------------===//
// Needs: the environment variable PANTILE_DEBUG, a list "topic,topic" of DEBUG_TYPE names;
//        a folder for dumps, where one was asked for.
// Gives: the LDBG() lines of those topics on stderr; the stages' texts as numbered files.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include <string>
#include <string_view>

namespace pantile {

/// Switches the topics of PANTILE_DEBUG on, once a process. "all" is every topic.
void enableDebugTopics();

/// Writes `0_ast.txt`, `1_tile.mlir`, ... into one folder, which it creates. Without a folder it
/// does nothing.
class StageDump {
public:
  explicit StageDump(std::string folder) : folder(std::move(folder)) {}
  bool enabled() const { return !folder.empty(); }
  Result<void> write(std::string_view stage, std::string_view extension, std::string_view text);

private:
  std::string folder;
  int number = 0;
};

} // namespace pantile
