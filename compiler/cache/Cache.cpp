//===- Cache.cpp - the kernel cache on disk -----------------------------------------------===//
// Needs: see Cache.h.
// Gives: Cache, listCacheFiles, cacheDirectory.
// How:   Entries are in folders named by their key's first two digits. The directory is scanned for
//        its size at a process's first store and again whenever it has stored another sixteenth of
//        the limit. Times of use in the future (the clock was set back) count as now.
//===------------------------------------------------------------------------------------===//
#include "cache/Cache.h"
#include "cache/CacheFile.h"
#include "pantile/Runtime.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <pwd.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace pantile {
namespace {

constexpr uint64_t defaultMaxBytes = uint64_t(1) << 30;
constexpr int64_t second = 1'000'000'000, minute = 60 * second, hour = 60 * minute;

int64_t now() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

/// Whether a directory is read-only on purpose: then nothing is reported.
bool isReadOnly(int error) {
  return error == EACCES || error == EPERM || error == EROFS || error == ENOENT || error == ENOTDIR;
}

uid_t ownerOf(const std::string &directory) {
  struct stat status;
  return stat(directory.c_str(), &status) == 0 ? status.st_uid : geteuid();
}

/// The existing folders "00" to "ff" of a cache.
std::vector<std::string> entryFolders(const std::string &directory) {
  std::vector<std::string> folders;
  std::error_code error;
  for (fs::directory_iterator it(directory, error, /*follow_symlinks=*/false), end;
       it != end && !error; it.increment(error)) {
    llvm::StringRef name = path::filename(it->path());
    if (name.size() == 2 && llvm::all_of(name, llvm::isHexDigit))
      folders.push_back(it->path());
  }
  return folders;
}

std::optional<CacheFile> describeFile(const std::string &place) {
  llvm::StringRef name = path::filename(place);
  const std::string key = name.take_front(64).str();
  const bool isEntry = name.size() == 64;
  if (!isEntryName(key) || (!isEntry && !name.ends_with(".tmp") && !name.ends_with(".lock")))
    return std::nullopt;
  struct stat status;
  if (lstat(place.c_str(), &status) != 0)
    return std::nullopt;
  return CacheFile{place, key, isEntry, static_cast<uint64_t>(status.st_size),
                   status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec};
}

std::string placeIn(const std::string &folder, const std::string &key) {
  return fmt::format("{}/{}/{}", folder, key.substr(0, 2), key);
}

std::vector<std::string> splitAtColons(std::string_view text) {
  std::vector<std::string> parts;
  for (llvm::StringRef rest(text.data(), text.size()); !rest.empty();) {
    auto [part, tail] = rest.split(':');
    if (!part.empty())
      parts.push_back(part.str());
    rest = tail;
  }
  return parts;
}

} // namespace

std::string cacheDirectory() {
  if (const char *directory = std::getenv("PANTILE_CACHE_DIR"); directory && *directory)
    return directory;
  const char *home = std::getenv("HOME");
  if (!home || !*home)
    if (const passwd *user = getpwuid(getuid()))
      home = user->pw_dir;
  if (!home || !*home)
    return fmt::format("/tmp/pantile-{}", getuid());
  return fmt::format("{}/.cache/pantile", home);
}

std::optional<uint64_t> parseByteSize(std::string_view text) {
  uint64_t value;
  llvm::StringRef rest(text.data(), text.size());
  if (rest.consumeInteger(10, value) || rest.size() > 1)
    return std::nullopt;
  switch (rest.empty() ? 'b' : llvm::toLower(rest[0])) {
  case 'b':
    return value;
  case 'k':
    return value << 10;
  case 'm':
    return value << 20;
  case 'g':
    return value << 30;
  default:
    return std::nullopt;
  }
}

std::string tritonName(const std::string &key) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  constexpr unsigned width = 5;
  std::string name;
  unsigned bits = 0, count = 0;
  for (char digit : key) {
    bits = bits << 4 | llvm::hexDigitValue(digit), count += 4;
    if (count >= width)
      name += digits[bits >> (count -= width) & 31];
  }
  return count ? name + digits[bits << (width - count) & 31] : name;
}

std::vector<CacheFile> listCacheFiles(const std::string &directory) {
  std::vector<CacheFile> files;
  for (const std::string &folder : entryFolders(directory)) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error, /*follow_symlinks=*/false), end;
         it != end && !error; it.increment(error))
      if (auto file = describeFile(it->path()))
        files.push_back(std::move(*file));
  }
  return files;
}

bool isAbandoned(const CacheFile &file) {
  const int64_t age = now() - file.used;
  if (file.isEntry || (age > -minute && age < minute))
    return false;
  if (age > hour || llvm::StringRef(file.path).ends_with(".lock"))
    return age > hour || age < -hour;
  // KEY.PID.NUMBER.tmp
  int process = 0;
  llvm::StringRef name = path::filename(file.path);
  name.split('.').second.split('.').first.getAsInteger(10, process);
  return process > 0 && kill(process, 0) != 0 && errno == ESRCH;
}

Cache Cache::ofProcess() {
  const char *text = std::getenv("PANTILE_CACHE_SIZE"), *more = std::getenv("PANTILE_CACHE_SHARED");
  const char *triton = std::getenv("PANTILE_TRITON_CACHE_DIR");
  return Cache(cacheDirectory(), parseByteSize(text ? text : "").value_or(defaultMaxBytes),
               splitAtColons(more ? more : ""), triton ? triton : "");
}

std::string Cache::entryPath(const std::string &key) const { return placeIn(directory, key); }

void Cache::reportOnce(const std::string &what) {
  static std::mutex guard;
  static auto *reported = new std::set<std::string>();
  std::lock_guard lock(guard);
  if (reported->insert(what).second)
    problem += (problem.empty() ? "" : "; ") + what;
}

std::optional<std::string> Cache::loadFrom(const std::string &place, const std::string &key,
                                           bool own, unsigned owner) {
  EntryRead read = readEntry(place, key, /*touch=*/own, owner);
  if (read.content)
    return std::move(read.content->payload);
  if (!read.exists)
    return std::nullopt;
  // If several processes see a damaged entry, the one that removes it reports it.
  if (own && removeSame(place, read.status))
    problem += fmt::format("{}cache entry `{}` {}; it is made again", problem.empty() ? "" : "; ",
                           place, read.why);
  else if (access(path::parent_path(place).str().c_str(), W_OK) != 0)
    reportOnce(
        fmt::format("cache entry `{}` {} and cannot be removed; it is not used", place, read.why));
  return std::nullopt;
}

std::optional<std::string> Cache::load(const std::string &key) {
  if (auto payload = loadFrom(entryPath(key), key, /*own=*/true, geteuid()))
    return payload;
  for (const std::string &folder : shared)
    if (auto payload = loadFrom(placeIn(folder, key), key, /*own=*/false, ownerOf(folder)))
      return payload;
  if (triton.empty() || !isEntryName(key))
    return std::nullopt;
  std::string restored = fmt::format("{}/{}/kernel.pantile", triton, tritonName(key));
  return loadFrom(restored, key, /*own=*/false, geteuid());
}

void Cache::refuse(const std::string &key, std::string_view payload, std::string_view why) {
  std::string place = entryPath(key);
  // Another process may have rejected it as well, and made it again; or one has just read it, which
  // changes its time, so that it looks different.
  for (int attempt = 0; attempt < 20; ++attempt) {
    EntryRead read = readEntry(place, key, /*touch=*/false, geteuid());
    if (!read.content || read.content->payload != payload)
      return;
    if (removeSame(place, read.status)) {
      problem += fmt::format("{}cache entry `{}` {}; it is made again", problem.empty() ? "" : "; ",
                             place, why);
      return;
    }
  }
}

void Cache::store(const std::string &key, std::string_view payload, EntryKind kind) {
  std::string content = formatEntry(key, payload, kind);
  int error = writeAtomically(entryPath(key), content);
  if (!error)
    countTowardsEviction(content.size());
  else if (!isReadOnly(error))
    reportOnce(fmt::format("nothing is saved in the cache `{}`: {}", directory,
                           llvm::StringRef(std::strerror(error)).lower()));
}

void Cache::countTowardsEviction(uint64_t bytes) {
  static std::atomic<uint64_t> sinceScan = ~uint64_t(0) / 2;
  if (sinceScan.fetch_add(bytes) + bytes <= maxBytes / 16)
    return;
  sinceScan = 0;
  evict();
}

void Cache::evict() {
  std::vector<CacheFile> files = listCacheFiles(directory);
  const int64_t present = now();
  uint64_t total = 0;
  for (CacheFile &file : files) {
    if (isAbandoned(file)) {
      unlink(file.path.c_str());
      file.bytes = 0;
    }
    if (file.used > present + minute) {
      file.used = present;
      utimensat(AT_FDCWD, file.path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    }
    total += file.bytes;
  }
  if (total <= maxBytes)
    return;
  std::sort(files.begin(), files.end(),
            [](const CacheFile &a, const CacheFile &b) { return a.used < b.used; });
  for (const CacheFile &file : files) {
    if (total <= maxBytes)
      break;
    if (!file.isEntry)
      continue;
    // Another process may have removed it first: that frees it as well.
    unlink(file.path.c_str());
    total -= file.bytes;
  }
}

std::string Cache::save(const std::string &folder, const std::string &name, std::string_view text) {
  std::string target = fmt::format("{}/{}/{}", directory, folder, name);
  return writeAtomically(target, text) == 0 ? target : "";
}

} // namespace pantile
