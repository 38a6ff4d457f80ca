//===- Cache.h - compiled kernels on disk -------------------------------------------------===//
// Needs: a key (CacheKey.h) that names its content.
// Gives: the payload stored under a key, or nothing. What is damaged, or belongs to another user,
//        is never returned: it is removed and described in `takeProblem()`.
// How:   one file an entry: magic, format, length, checksum over key and payload, payload;
//        written to a temporary and renamed. The directory is private. When it outgrows its bound
//        the entries longest unused go (a hit touches its file). If it cannot be written, nothing
//        is saved.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pantile {

class Cache {
public:
  Cache(std::string directory, uint64_t maxBytes)
      : directory(std::move(directory)), maxBytes(maxBytes) {}

  /// cacheDirectory() with the bound of PANTILE_CACHE_SIZE ("512M", "2G", bytes), else 1 GiB.
  static Cache ofProcess();

  std::optional<std::string> load(const std::string &key);
  void store(const std::string &key, std::string_view payload);

  /// Removes the entries longest unused until at most `maxBytes` are left.
  void evict();

  /// Why the last load found an entry and refused it; empty if it did not. Clears it.
  std::string takeProblem() { return std::exchange(problem, {}); }

  /// Writes `text` to a file of this name under the directory's folder `folder` (a reproducer, say)
  /// and returns its path; empty if that failed.
  std::string save(const std::string &folder, const std::string &name, std::string_view text);

private:
  std::string entryPath(const std::string &key) const;
  void countTowardsEviction(uint64_t bytes);
  std::string directory;
  uint64_t maxBytes;
  std::string problem;
};

/// "512M", "2G", "65536K" or bytes; nothing for other text.
std::optional<uint64_t> parseByteSize(std::string_view text);

} // namespace pantile
