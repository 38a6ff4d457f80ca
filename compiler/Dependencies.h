//===- Dependencies.h - what a compilation depends on besides its cache key --------===//
// Needs: a program with its key; on a hit, the dependencies that the entry has.
// Gives: a program that records what its host functions return; the current answer to each question
//        of an entry; the key of the entry for other answers.
// How:   A question is a call of a host function, with its arguments, or a bitcode file. Functions
//        and classes are identified by their position in the key, which is the same in every
//        process. An entry is valid if all its answers are the current ones. Where one differs, the
//        entry for the new answer is under a key made of the first entry's key and that answer, and
//        so on.
// Invariant: an entry's questions are answered in order, up to the first answer that differs. So no
//        host function is called that a compilation would not call.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "cache/CacheKey.h"
#include "pantile/Compiler.h"
#include "target/Libdevice.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pantile {

/// The dependency on a bitcode file, as it was linked.
Dependency fileDependency(const LinkedFile &file);

class Dependencies {
public:
  /// `program` must outlive this.
  Dependencies(const Program &program, ReachedParts reached);

  /// The program, whose calls of host functions are recorded.
  const Program &recorded() const { return *program; }

  /// The key of the entry to use instead of the one under `key`, which has `known`; nothing if that
  /// one is valid.
  std::optional<std::string> elsewhere(const std::string &key,
                                       const std::vector<Dependency> &known) const;

  /// The calls so far, each once, in the order in which the compilation made them; nothing if
  /// another process cannot repeat one of them.
  std::optional<std::vector<Dependency>> calls() const;

private:
  struct Recorder;
  void recordCalls();

  std::shared_ptr<Recorder> recorder;
  std::unique_ptr<Program> copy; ///< of a program that has host functions
  const Program *program;
};

} // namespace pantile
