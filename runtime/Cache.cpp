//===- Cache.cpp - compiled kernels on disk -----------------------------------------------===//
// Needs: see Cache.h.
// Gives: Cache, cacheDirectory.
// How:   entries lie under their key's first two digits. The directory is scanned for its size at
//        a process's first store and again whenever it has stored another sixteenth of the bound.
//===------------------------------------------------------------------------------------===//
#include "runtime/Cache.h"
#include "pantile/Runtime.h"
#include "runtime/Bytes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace pantile {
namespace {

constexpr std::string_view magic = "PANTILE\n";
constexpr uint64_t formatVersion = 1;
constexpr uint64_t defaultMaxBytes = uint64_t(1) << 30;

std::string checksum(const std::string &key, std::string_view payload) {
  llvm::BLAKE3 hasher;
  hasher.update(llvm::StringRef(key));
  hasher.update(llvm::StringRef(payload.data(), payload.size()));
  auto digest = hasher.final();
  return std::string(digest.begin(), digest.end());
}

std::string header(const std::string &key, std::string_view payload) {
  ByteWriter out;
  out.u64(formatVersion);
  out.u64(payload.size());
  return std::string(magic) + out.take() + checksum(key, payload);
}

constexpr size_t headerBytes = 8 + 8 + 8 + 32;

/// A file descriptor that closes itself.
struct File {
  explicit File(int descriptor) : descriptor(descriptor) {}
  ~File() {
    if (descriptor >= 0)
      close(descriptor);
  }
  File(const File &) = delete;
  const int descriptor;
};

std::optional<std::string> readAll(int descriptor, size_t bytes) {
  std::string content(bytes, '\0');
  for (size_t done = 0; done < bytes;) {
    ssize_t got = read(descriptor, content.data() + done, bytes - done);
    if (got <= 0)
      return std::nullopt;
    done += static_cast<size_t>(got);
  }
  return content;
}

bool writeAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    ssize_t put = write(descriptor, content.data(), content.size());
    if (put <= 0)
      return false;
    content.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

bool makePrivateDirectories(const std::string &directory) {
  return !fs::create_directories(directory, /*IgnoreExisting=*/true, fs::perms::owner_all);
}

/// Writes `content` to `target` so that others see all of it or none.
bool writeAtomically(const std::string &target, std::string_view content) {
  static std::atomic<unsigned> counter;
  if (!makePrivateDirectories(path::parent_path(target).str()))
    return false;
  std::string temporary = fmt::format("{}.{}.{}.tmp", target, getpid(), counter++);
  bool written = false;
  {
    File file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.descriptor < 0)
      return false;
    written = writeAll(file.descriptor, content);
  }
  if (written && rename(temporary.c_str(), target.c_str()) == 0)
    return true;
  unlink(temporary.c_str());
  return false;
}

struct Entry {
  std::string path;
  uint64_t bytes;
  llvm::sys::TimePoint<> used;
};

std::vector<Entry> listEntries(const std::string &directory) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error, /*follow_symlinks=*/false), end;
       it != end && !error; it.increment(error)) {
    llvm::ErrorOr<fs::basic_file_status> status = it->status();
    if (status && status->type() == fs::file_type::regular_file)
      entries.push_back({it->path(), status->getSize(), status->getLastModificationTime()});
  }
  return entries;
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

Cache Cache::ofProcess() {
  const char *text = std::getenv("PANTILE_CACHE_SIZE");
  return Cache(cacheDirectory(), parseByteSize(text ? text : "").value_or(defaultMaxBytes));
}

std::string Cache::entryPath(const std::string &key) const {
  return fmt::format("{}/{}/{}", directory, key.substr(0, 2), key);
}

std::optional<std::string> Cache::load(const std::string &key) {
  std::string place = entryPath(key);
  File file(open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status;
  if (file.descriptor < 0 || fstat(file.descriptor, &status) != 0)
    return std::nullopt;
  auto refuse = [&](std::string_view why) {
    problem = fmt::format("cache entry `{}` {}; it is compiled again", place, why);
    unlink(place.c_str());
    return std::nullopt;
  };
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return refuse("belongs to another user");
  if (!S_ISREG(status.st_mode) || static_cast<size_t>(status.st_size) < headerBytes)
    return refuse("is damaged");
  std::optional<std::string> content =
      readAll(file.descriptor, static_cast<size_t>(status.st_size));
  if (!content)
    return refuse("cannot be read");
  std::string payload = content->substr(headerBytes);
  if (content->compare(0, headerBytes, header(key, payload)) != 0)
    return refuse("is damaged");
  futimens(file.descriptor, nullptr);
  return payload;
}

void Cache::store(const std::string &key, std::string_view payload) {
  std::string content = header(key, payload);
  content += payload;
  if (writeAtomically(entryPath(key), content))
    countTowardsEviction(content.size());
}

void Cache::countTowardsEviction(uint64_t bytes) {
  static std::atomic<uint64_t> sinceScan = ~uint64_t(0) / 2;
  if (sinceScan.fetch_add(bytes) + bytes <= maxBytes / 16)
    return;
  sinceScan = 0;
  evict();
}

void Cache::evict() {
  std::vector<Entry> entries = listEntries(directory);
  uint64_t total = 0;
  for (const Entry &entry : entries)
    total += entry.bytes;
  if (total <= maxBytes)
    return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (total <= maxBytes)
      break;
    // Another process may have removed it first: that frees it as well.
    unlink(entry.path.c_str());
    total -= entry.bytes;
  }
}

std::string Cache::save(const std::string &folder, const std::string &name, std::string_view text) {
  std::string target = fmt::format("{}/{}/{}", directory, folder, name);
  return writeAtomically(target, text) ? target : "";
}

} // namespace pantile
