//===- LaunchTable.h - kernels by the words of warm launches ----------------------------===//
// Needs: words of a LaunchReader.
// Gives: the data for a launch with the same words, in a few comparisons; bounded.
// Invariant: an entry does not change, except for caches that later launches fill; a launch keeps
// it
//            alive while it runs, also if the table is cleared.
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

/// A tuner's choice; valid while `cache[key]` is `config`.
struct TunedChoice {
  pybind11::object cache, key, config;
  pybind11::object keywords; ///< a dict: what the configuration adds to the call
  bool isWatched = false;    ///< DictWatch reports changes of `cache`
};

class Shortcut;

struct LaunchEntry {
  LaunchEntry() = default;
  LaunchEntry(const LaunchEntry &) = delete;
  ~LaunchEntry();
  std::vector<uint64_t> words;
  std::vector<pybind11::object> kept; ///< objects whose addresses are among the words
  Kernel kernel;
  pybind11::object compiled; ///< the Python object of the kernel
  LaunchOptions options;     ///< but for the stream
  bool onCpu = false;
  uint64_t settings = 0; ///< of CompileSettings; among the words, too
  TunedChoice tuned;
  /// Owned. Set after the first launch that found the entry, if calls of its form have one.
  mutable std::atomic<const Shortcut *> shortcut = nullptr;
  mutable std::atomic<bool> triedShortcut = false;
  /// DictWatch::changes when the tuned choice was last found valid.
  mutable std::atomic<uint64_t> chosenAt = 0;
};

class LaunchTable {
public:
  using Entry = std::shared_ptr<const LaunchEntry>;
  Entry find(std::span<const uint64_t> words);
  /// The entry found or inserted last; null if there is none.
  Entry recent();
  void insert(Entry entry);
  void clear();
  int traverse(visitproc visit, void *arg) const;

  /// Every launch takes the general path: its arguments are to be checked.
  inline static std::atomic<bool> isLeftOut = false;

private:
  static constexpr size_t maxEntries = 4096;
  TableLock::Mutex mutex;
  Entry last;
  std::unordered_multimap<uint64_t, Entry> entries; ///< by hash
};

} // namespace pantile::python
