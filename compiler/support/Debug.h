//===- Debug.h - numbered dumps of the stages of a compilation ----------------------------===//
// Needs: a folder for dumps, if one was requested.
// Gives: the texts of the stages as numbered files.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include <string>
#include <string_view>

namespace pantile {

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
