//===- Cache.h - the kernel cache on disk -------------------------------------------------===//
// Needs: a key (CacheKey.h) that identifies its content.
// Gives: the payload stored under a key, or nothing. An entry that is damaged, or belongs to
//        another user, is never returned: it is removed and reported by `takeProblem()`, once.
// How:   One file per entry (CacheFile.h) in a private directory, then in the shared ones and in
//        the folder to which programs restore Triton's cache; these are only read. When the
//        directory exceeds its limit, the least recently used entries are removed (a hit touches
//        its file). If the directory cannot be written, nothing is saved.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cache/CacheLock.h"
#include "pantile/Cache.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pantile {

class Cache {
public:
  Cache(std::string directory, uint64_t maxBytes, std::vector<std::string> shared = {},
        std::string triton = {})
      : directory(std::move(directory)), shared(std::move(shared)), triton(std::move(triton)),
        maxBytes(maxBytes) {}

  /// cacheDirectory() with the limit of PANTILE_CACHE_SIZE ("512M", "2G", bytes), else 1 GiB, and
  /// the directories of PANTILE_CACHE_SHARED, separated by colons, and PANTILE_TRITON_CACHE_DIR.
  static Cache ofProcess();

  std::optional<std::string> load(const std::string &key);
  void store(const std::string &key, std::string_view payload, EntryKind kind = EntryKind::Kernel);

  /// Rejects the payload that `load` returned: its content does not match its key.
  void refuse(const std::string &key, std::string_view payload, std::string_view why);

  /// Held while an entry is made, so that other processes wait for it instead of making it, too.
  CacheLock lock(const std::string &key) const {
    return CacheLock(entryPath(key), CacheLock::defaultPatience());
  }

  /// Removes the least recently used entries until at most `maxBytes` are left, and files of
  /// processes that died.
  void evict();

  /// The problems since the last call, each once per process; empty if there are none.
  std::string takeProblem() { return std::exchange(problem, {}); }

  /// Writes `text` to a file of this name under the directory's folder `folder` (a reproducer, say)
  /// and returns its path; empty if that failed.
  std::string save(const std::string &folder, const std::string &name, std::string_view text);

  std::string entryPath(const std::string &key) const;
  const std::string directory;
  const std::vector<std::string> shared;
  const std::string triton; ///< has KEY/kernel.pantile, KEY as Triton writes it; empty: none
  const uint64_t maxBytes;

private:
  std::optional<std::string> loadFrom(const std::string &place, const std::string &key, bool own,
                                      unsigned owner);
  void countTowardsEviction(uint64_t bytes);
  void reportOnce(const std::string &what);
  std::string problem;
};

/// A file of the cache: an entry, or a temporary file of one that was being written.
struct CacheFile {
  std::string path, key;
  bool isEntry;
  uint64_t bytes;
  int64_t used; ///< nanoseconds since 1970
};

/// A key as Triton's cache names its folder: base 32, without padding.
std::string tritonName(const std::string &key);

/// The files of the cache in a directory; other files there are not listed.
std::vector<CacheFile> listCacheFiles(const std::string &directory);

/// Whether the process of a temporary file has certainly ended.
bool isAbandoned(const CacheFile &file);

/// "512M", "2G", "65536K" or bytes; nothing for other text.
std::optional<uint64_t> parseByteSize(std::string_view text);

} // namespace pantile
