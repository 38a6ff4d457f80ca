//===- Dependencies.h - what a compilation takes from outside of its key -------------------===//
// Needs: a program with its key; on a hit, the dependencies that the entry holds.
// Gives: a program that records what its host functions return; the answer to each question of an
//        entry as it is now; where to look for the entry of other answers.
// How:   a question is a call of a host function, with its arguments, or a bitcode file. Functions
//        and classes go by their positions in the key, which every process gives them. An entry is
//        right if all its answers are those of now. Where one differs, the entry for the new
//        answer lies under a key made of the first entry's and that answer, and so on.
// Invariant: an entry's questions are answered in order, up to the first answer that differs. So no
//            host function is called that compiling would not call.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cache/CacheKey.h"
#include "pantile/Compiler.h"
#include "target/Libdevice.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pantile {

/// A bitcode file as it was linked.
Dependency fileDependency(const LinkedFile &file);

class Dependencies {
public:
  /// `program` outlives this.
  Dependencies(const Program &program, ReachedParts reached);

  /// The program, whose calls of host functions are recorded.
  const Program &recorded() const { return *program; }

  /// The key of the entry to look at instead of the one under `key`, which holds `known`; nothing
  /// if that one is right.
  std::optional<std::string> elsewhere(const std::string &key,
                                       const std::vector<Dependency> &known) const;

  /// The calls so far, each once, in the order in which the compilation made them; nothing if one
  /// of them cannot be made again by another process.
  std::optional<std::vector<Dependency>> calls() const;

private:
  struct Recorder;
  void recordCalls();

  std::shared_ptr<Recorder> recorder;
  std::unique_ptr<Program> copy; ///< of a program that has host functions
  const Program *program;
};

} // namespace pantile
