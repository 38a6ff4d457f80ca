//===- LaunchTable.h - kernels by the words of warm launches ----------------------------===//
// Needs: words of a LaunchReader.
// Gives: what a launch with the same words needs, in a few comparisons; bounded.
// Invariant: an entry never changes but for what it learns of later launches; a launch holds it while
//            it runs, also if the table is cleared.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "LaunchReader.h"
#include "TableLock.h"
#include <atomic>
#include <memory>
#include <pybind11/pybind11.h>
#include <unordered_map>
#include <vector>

namespace pantile::python {

/// A choice that a tuner made: it counts while `cache[key]` is `config`.
struct TunedChoice {
  pybind11::object cache, key, config;
  pybind11::object keywords; ///< a dict: what the configuration adds to the call
  bool isWatched = false;    ///< DictWatch tells of changes of `cache`
};

class Shortcut;

struct LaunchEntry {
  LaunchEntry() = default;
  LaunchEntry(const LaunchEntry &) = delete;
  ~LaunchEntry();
  std::vector<uint64_t> words;
  std::vector<pybind11::object> kept; ///< whose addresses are among the words
  Kernel kernel;
  pybind11::object compiled; ///< the Python object of the kernel
  LaunchOptions options;     ///< but for the stream
  bool onCpu = false;
  uint64_t settings = 0; ///< of CompileSettings; among the words, too
  TunedChoice tuned;
  /// Owned. Set behind the first launch that found the entry, if such calls have one.
  mutable std::atomic<const Shortcut *> shortcut = nullptr;
  mutable std::atomic<bool> triedShortcut = false;
  /// DictWatch::changes when the tuned choice was last found to count.
  mutable std::atomic<uint64_t> chosenAt = 0;
};

class LaunchTable {
public:
  using Entry = std::shared_ptr<const LaunchEntry>;
  Entry find(std::span<const uint64_t> words);
  /// The one found or inserted last; null if there is none.
  Entry recent();
  void insert(Entry entry);
  void clear();
  int traverse(visitproc visit, void *arg) const;

  /// Every launch goes the long way: its arguments are to be checked.
  inline static std::atomic<bool> isLeftOut = false;

private:
  static constexpr size_t maxEntries = 4096;
  TableLock::Mutex mutex;
  Entry last;
  std::unordered_multimap<uint64_t, Entry> entries; ///< by hash
};

} // namespace pantile::python
