//===- Cache.h - compiled kernels on disk -------------------------------------------------===//
// Needs: a key (CacheKey.h) that names its content.
// Gives: the payload stored under a key, or nothing. What is damaged, or belongs to another user,
//        is never returned: it is removed and described in `takeProblem()`, once.
// How:   one file an entry (CacheFile.h) in a private directory, then in the shared ones and in the
//        folder that programs restore Triton's cache to, which are only read. When the directory
//        outgrows its bound the entries longest unused go (a hit touches its file). If it cannot
//        be written, nothing is saved.
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

  /// cacheDirectory() with the bound of PANTILE_CACHE_SIZE ("512M", "2G", bytes), else 1 GiB, and
  /// the directories of PANTILE_CACHE_SHARED, which colons divide, and PANTILE_TRITON_CACHE_DIR.
  static Cache ofProcess();

  std::optional<std::string> load(const std::string &key);
  void store(const std::string &key, std::string_view payload, EntryKind kind = EntryKind::Kernel);

  /// Refuses the payload that `load` returned: it is not what its key promises.
  void refuse(const std::string &key, std::string_view payload, std::string_view why);

  /// Held while an entry is made, so that others wait for it instead of making it too.
  CacheLock lock(const std::string &key) const {
    return CacheLock(entryPath(key), CacheLock::defaultPatience());
  }

  /// Removes the entries longest unused until at most `maxBytes` are left, and what processes left
  /// that died.
  void evict();

  /// What went wrong since the last call, each thing once a process; empty if nothing did.
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

/// A file of ours in the cache: an entry, or what is left of one that was being written.
struct CacheFile {
  std::string path, key;
  bool isEntry;
  uint64_t bytes;
  int64_t used; ///< nanoseconds since 1970
};

/// A key as Triton's cache names its folder: base 32, without padding.
std::string tritonName(const std::string &key);

/// The files of ours in a directory. Others, which a user may keep beside them, do not show.
std::vector<CacheFile> listCacheFiles(const std::string &directory);

/// Whether a leftover's process is certainly gone.
bool isAbandoned(const CacheFile &file);

/// "512M", "2G", "65536K" or bytes; nothing for other text.
std::optional<uint64_t> parseByteSize(std::string_view text);

} // namespace pantile
