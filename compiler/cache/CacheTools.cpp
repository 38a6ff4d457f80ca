//===- CacheTools.cpp - inspection and maintenance of the kernel cache --------------------===//
// Needs: the process's cache directory.
// Gives: pantile/Cache.h.
// How:   An exported file is a magic, the number of entries, then each entry's key and its file
//        unchanged, checksum included: imports are checked like reads.
//===------------------------------------------------------------------------------------===//
#include "cache/Artifact.h"
#include "cache/Bytes.h"
#include "cache/Cache.h"
#include "cache/CacheFile.h"
#include "pantile/Cache.h"
#include "pantile/Runtime.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace pantile {
namespace {

constexpr std::string_view exportMagic = "PANTILE STORE 1\n";

std::string oneLine(llvm::StringRef text) {
  std::string line = text.trim().split('\n').first.take_front(160).str();
  std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

std::string describe(const EntryContent &content) {
  if (content.kind != EntryKind::Kernel)
    return oneLine(content.payload);
  std::optional<Kernel::Data> data = parseArtifact(content.payload);
  if (!data)
    return "(of another version)";
  return fmt::format("{} {}, {} warps, {} stages, {} registers, {} bytes shared", data->name,
                     data->options.target, data->options.numWarps, data->options.numStages,
                     data->registers, data->sharedBytes);
}

CacheEntry entryOf(const CacheFile &file, bool withPayload) {
  CacheEntry entry{file.key, EntryKind::Note, file.bytes, file.used / 1'000'000'000, "", "", ""};
  EntryRead read = readEntry(file.path, file.key, /*touch=*/false, geteuid());
  if (!read.content) {
    entry.damage = read.exists ? read.why : "is gone";
    return entry;
  }
  entry.kind = read.content->kind;
  entry.about = describe(*read.content);
  if (withPayload)
    entry.payload = std::move(read.content->payload);
  return entry;
}

/// The directory itself or its nearest parent that exists.
bool canBeWritten(std::string directory) {
  while (access(directory.c_str(), F_OK) != 0 && directory.find('/') != directory.npos)
    directory.resize(directory.rfind('/'));
  return access(directory.empty() ? "/" : directory.c_str(), W_OK) == 0;
}

Error fileError(const std::string &doing, const std::string &file, int error) {
  return makeError(ErrorKind::Driver, fmt::format("cannot {} `{}`: {}", doing, file,
                                                  llvm::StringRef(std::strerror(error)).lower()));
}

} // namespace

std::vector<CacheEntry> cacheEntries(bool withPayload) {
  std::vector<CacheEntry> entries;
  for (const CacheFile &file : listCacheFiles(cacheDirectory()))
    if (file.isEntry)
      entries.push_back(entryOf(file, withPayload));
  std::erase_if(entries, [](const CacheEntry &entry) { return entry.damage == "is gone"; });
  std::sort(entries.begin(), entries.end(), [](const CacheEntry &a, const CacheEntry &b) {
    return a.used != b.used ? a.used > b.used : a.key < b.key;
  });
  return entries;
}

CacheStats cacheStats() {
  Cache cache = Cache::ofProcess();
  CacheStats stats;
  stats.directory = cache.directory;
  stats.shared = cache.shared;
  stats.maxBytes = cache.maxBytes;
  stats.writable = canBeWritten(cache.directory);
  for (const CacheFile &file : listCacheFiles(cache.directory)) {
    if (!file.isEntry) {
      stats.leftovers += isAbandoned(file);
      continue;
    }
    CacheEntry entry = entryOf(file, /*withPayload=*/false);
    if (!entry.damage.empty()) {
      ++stats.damaged;
      continue;
    }
    ++stats.entries[size_t(entry.kind)];
    stats.bytes[size_t(entry.kind)] += entry.bytes;
  }
  return stats;
}

size_t removeCacheEntries(const std::vector<std::string> &keys) {
  Cache cache = Cache::ofProcess();
  size_t removed = 0;
  for (const std::string &key : keys)
    removed += isEntryName(key) && unlink(cache.entryPath(key).c_str()) == 0;
  return removed;
}

size_t removeCacheLeftovers() {
  size_t removed = 0;
  for (const CacheFile &file : listCacheFiles(cacheDirectory()))
    if (!file.isEntry && isAbandoned(file))
      removed += unlink(file.path.c_str()) == 0;
  return removed;
}

Result<size_t> exportCache(const std::vector<CacheEntry> &entries, const std::string &file) {
  ByteWriter out;
  size_t count = 0;
  for (const CacheEntry &entry : entries)
    count += entry.damage.empty();
  out.u64(count);
  for (const CacheEntry &entry : entries)
    if (entry.damage.empty()) {
      out.text(entry.key);
      out.text(formatEntry(entry.key, entry.payload, entry.kind));
    }
  if (int error = writeAtomically(file, std::string(exportMagic) + out.take()))
    return fileError("write", file, error);
  return count;
}

Result<ImportReport> importCache(const std::string &file) {
  std::optional<std::string> bytes = readWholeFile(file);
  if (!bytes)
    return fileError("read", file, errno);
  if (!bytes->starts_with(exportMagic))
    return makeError(ErrorKind::Driver, fmt::format("`{}` is no exported store", file));
  Cache cache = Cache::ofProcess();
  ByteReader in(std::string_view(*bytes).substr(exportMagic.size()));
  ImportReport report;
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i) {
    std::string key = in.text(), why;
    std::optional<EntryContent> content = parseEntry(key, in.text(), why);
    if (!in.ok() || !isEntryName(key) || !content) {
      ++report.refused;
      continue;
    }
    if (cache.load(key)) {
      ++report.known;
      continue;
    }
    cache.store(key, content->payload, content->kind);
    ++report.added;
  }
  if (!in.ok() || !in.atEnd())
    return makeError(ErrorKind::Driver,
                     fmt::format("`{}` is cut off: {} entries were added", file, report.added));
  if (std::string problem = cache.takeProblem(); !problem.empty())
    return makeError(ErrorKind::Driver, problem);
  return report;
}

std::optional<std::string> loadCacheEntry(const std::string &key, std::string *problem) {
  Cache cache = Cache::ofProcess();
  std::optional<std::string> payload = cache.load(key);
  if (problem)
    *problem = cache.takeProblem();
  return payload;
}

void storeCacheEntry(const std::string &key, std::string_view payload, EntryKind kind,
                     std::string *problem) {
  Cache cache = Cache::ofProcess();
  cache.store(key, payload, kind);
  if (problem)
    *problem = cache.takeProblem();
}

EntryLock tryLockCacheEntry(const std::string &key) {
  auto lock =
      std::make_shared<CacheLock>(Cache::ofProcess().entryPath(key), std::chrono::milliseconds(0));
  const bool possible = lock->isPossible();
  return {lock->isHeld() ? std::move(lock) : nullptr, possible};
}

} // namespace pantile
