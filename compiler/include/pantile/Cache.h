//===- Cache.h - the kernel cache: compiled kernels and measured times -------------------===//
// What `pantilec cache` does, for applications. Every call reads the directory as it is now; other
// processes may add and remove entries at the same time, which is no error.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

/// What an entry is.
enum class EntryKind : uint8_t {
  Note = 0,   ///< what a tool reported about itself, such as the assembler's version
  Kernel = 1, ///< an artifact
  Tuning = 2, ///< measured times of one configuration, as JSON
};

/// Returns "note", "kernel" or "tuning", for `kind`.
PANTILE_API std::string_view nameOf(EntryKind kind);

/// An entry of the cache.
struct CacheEntry {
  std::string key;                  ///< 64 hexadecimal digits
  EntryKind kind = EntryKind::Note; ///< what it is
  uint64_t bytes = 0;               ///< of the file
  int64_t used = 0;                 ///< last use, in seconds since 1970
  std::string about;   ///< one line: the kernel's name and target, or the tuned configuration
  std::string damage;  ///< why the entry would be refused; empty if it is intact
  std::string payload; ///< what is stored; empty if it is damaged or was not requested
};

/// Lists the entries of the process's cache directory, last used first. All are read and checked;
/// their payload is included if `withPayload`.
PANTILE_API std::vector<CacheEntry> cacheEntries(bool withPayload = false);

/// The state of the cache: entries and bytes by kind, and files left by processes that died.
struct CacheStats {
  std::string directory;                   ///< where the process reads and writes
  std::vector<std::string> shared;         ///< further directories, read only
  bool writable = false;                   ///< whether the process may write there
  uint64_t maxBytes = 0;                   ///< size that the cache is trimmed to
  uint64_t entries[3] = {}, bytes[3] = {}; ///< by EntryKind
  uint64_t damaged = 0, leftovers = 0;     ///< damaged entries; files of processes that died
};
/// Returns the present state of the cache.
PANTILE_API CacheStats cacheStats();

/// Removes the entries with these `keys` and nothing else in the directory. Returns how many there
/// were.
PANTILE_API size_t removeCacheEntries(const std::vector<std::string> &keys);
/// Removes the files of processes that died while they wrote.
PANTILE_API size_t removeCacheLeftovers();

/// Writes the intact entries of `entries` (with payload) to `file`. Returns how many; an Error if
/// it cannot be written.
PANTILE_API Result<size_t> exportCache(const std::vector<CacheEntry> &entries,
                                       const std::string &file);

/// What became of the entries of a file.
struct ImportReport {
  size_t added = 0, known = 0, refused = 0; ///< new; there before; damaged
};
/// Adds the entries of `file`, which exportCache wrote. A damaged entry is refused, the others are
/// added; an Error if it is no such file.
PANTILE_API Result<ImportReport> importCache(const std::string &file);

/// Reads the entry with `key`, for tuners; nothing if there is none. `problem`, if given, receives
/// what is to be reported.
PANTILE_API std::optional<std::string> loadCacheEntry(const std::string &key,
                                                      std::string *problem = nullptr);
/// Stores `payload` under `key`, as an entry of `kind`. `problem`, if given, receives why that
/// failed.
PANTILE_API void storeCacheEntry(const std::string &key, std::string_view payload, EntryKind kind,
                                 std::string *problem = nullptr);

/// A lock that one process holds while it makes an entry. It is released when it is destroyed or
/// the process ends. Without it two processes would do the same work, with the same result.
struct EntryLock {
  std::shared_ptr<void> held; ///< null: this process does not hold it
  bool possible = true;       ///< false: no process can hold it, as in a read-only directory
};
/// Tries to lock the entry with `key`, without waiting; another attempt may succeed later.
PANTILE_API EntryLock tryLockCacheEntry(const std::string &key);

} // namespace pantile
