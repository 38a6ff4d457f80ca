//===- CacheFile.cpp - one entry of the cache as a file ------------------------------------===//
// Needs: see CacheFile.h.
// Gives: parseEntry, formatEntry, readEntry, writeAtomically, removeSame.
// How:   Temporary files are named by process and count, so no two writers use the same.
//===------------------------------------------------------------------------------------===//
#include "cache/CacheFile.h"
#include "cache/Bytes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace fs = llvm::sys::fs;

namespace pantile {
namespace {

constexpr std::string_view magic = "PANTILE\n";
constexpr uint64_t formatVersion = 2;
constexpr size_t checksumBytes = 32;
constexpr size_t headerBytes = 8 + 8 + 8 + 8 + checksumBytes;
/// Far more than any kernel has: reading a sparse file must not exhaust the memory.
constexpr off_t maxEntryBytes = off_t(1) << 30;

std::string checksum(const std::string &key, EntryKind kind, std::string_view payload) {
  llvm::BLAKE3 hasher;
  hasher.update(llvm::StringRef(key));
  hasher.update(llvm::StringRef(nameOf(kind)));
  hasher.update(llvm::StringRef(payload.data(), payload.size()));
  auto digest = hasher.final();
  return std::string(digest.begin(), digest.end());
}

std::optional<std::string> readAll(int descriptor, size_t bytes) {
  std::string content(bytes, '\0');
  for (size_t done = 0; done < bytes;) {
    ssize_t got = ::read(descriptor, content.data() + done, bytes - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return std::nullopt;
    done += static_cast<size_t>(got);
  }
  return content;
}

/// 0 or errno.
int writeAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    ssize_t put = ::write(descriptor, content.data(), content.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return put < 0 ? errno : EIO;
    content.remove_prefix(static_cast<size_t>(put));
  }
  return 0;
}

std::string temporaryName(const std::string &target) {
  static std::atomic<unsigned> counter;
  return fmt::format("{}.{}.{}.tmp", target, getpid(), counter++);
}

/// Why a file must not be read; empty if it may be.
std::string objection(const struct stat &status, uid_t alsoOwner) {
  if (status.st_uid != geteuid() && status.st_uid != 0 && status.st_uid != alsoOwner)
    return "belongs to another user";
  if (!S_ISREG(status.st_mode))
    return "is no regular file";
  if (status.st_mode & S_IWOTH)
    return "can be written by everyone";
  if (static_cast<size_t>(status.st_size) < headerBytes || status.st_size > maxEntryBytes)
    return "is damaged";
  return {};
}

} // namespace

File::~File() {
  if (descriptor >= 0)
    close(descriptor);
}

std::string_view nameOf(EntryKind kind) {
  constexpr std::string_view names[] = {"note", "kernel", "tuning"};
  return names[static_cast<size_t>(kind)];
}

bool isEntryName(std::string_view name) {
  return name.size() == 64 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string formatEntry(const std::string &key, std::string_view payload, EntryKind kind) {
  ByteWriter out;
  out.u64(formatVersion);
  out.u64(static_cast<uint64_t>(kind));
  out.u64(payload.size());
  std::string content = std::string(magic) + out.take() + checksum(key, kind, payload);
  content += payload;
  return content;
}

std::optional<EntryContent> parseEntry(const std::string &key, std::string bytes,
                                       std::string &why) {
  why = "is damaged";
  if (bytes.size() < headerBytes || !bytes.starts_with(magic))
    return std::nullopt;
  ByteReader in(std::string_view(bytes).substr(magic.size()));
  const uint64_t version = in.u64(), kind = in.u64(), length = in.u64();
  if (version != formatVersion) {
    why = fmt::format("has format {} instead of {}", version, formatVersion);
    return std::nullopt;
  }
  if (kind > static_cast<uint64_t>(EntryKind::Tuning) || length != bytes.size() - headerBytes)
    return std::nullopt;
  std::string told = bytes.substr(headerBytes - checksumBytes, checksumBytes);
  bytes.erase(0, headerBytes);
  if (told != checksum(key, EntryKind(kind), bytes))
    return std::nullopt;
  why.clear();
  return EntryContent{EntryKind(kind), std::move(bytes)};
}

EntryRead readEntry(const std::string &path, const std::string &key, bool touch, uid_t alsoOwner) {
  EntryRead result;
  // Not blocking: the path might be a pipe without a writer.
  File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) {
    const int error = errno;
    // A link, or a file that only its owner may read, occupies the path of a good entry. If another
    // process has put a good one there since, it stays.
    result.exists = (error == ELOOP || error == EACCES || error == ENXIO) &&
                    lstat(path.c_str(), &result.status) == 0 &&
                    (error == EACCES || !S_ISREG(result.status.st_mode));
    result.why = result.exists ? "cannot be read" : "";
    return result;
  }
  if (fstat(file.descriptor, &result.status) != 0)
    return result;
  result.exists = true;
  result.why = objection(result.status, alsoOwner);
  if (!result.why.empty())
    return result;
  auto bytes = readAll(file.descriptor, static_cast<size_t>(result.status.st_size));
  if (!bytes) {
    result.why = "cannot be read";
    return result;
  }
  result.content = parseEntry(key, std::move(*bytes), result.why);
  if (result.content && touch)
    futimens(file.descriptor, nullptr);
  return result;
}

int writeAtomically(const std::string &target, std::string_view content) {
  llvm::StringRef folder = llvm::sys::path::parent_path(target);
  if (!folder.empty()) // else the current one
    if (auto failed = fs::create_directories(folder, /*IgnoreExisting=*/true, fs::perms::owner_all))
      return failed.value();
  std::string temporary = temporaryName(target);
  int error = 0;
  {
    File file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file)
      return errno;
    error = writeAll(file.descriptor, content);
  }
  if (!error && rename(temporary.c_str(), target.c_str()) == 0)
    return 0;
  error = error ? error : errno;
  unlink(temporary.c_str());
  return error;
}

bool removeSame(const std::string &path, const struct stat &seen) {
  std::string aside = temporaryName(path);
  if (rename(path.c_str(), aside.c_str()) != 0)
    return false;
  struct stat status;
  // The inode of a removed file is soon reused: the time distinguishes them.
  bool same = lstat(aside.c_str(), &status) == 0 && status.st_ino == seen.st_ino &&
              status.st_dev == seen.st_dev && status.st_mtim.tv_sec == seen.st_mtim.tv_sec &&
              status.st_mtim.tv_nsec == seen.st_mtim.tv_nsec;
  // A good entry that was put there meanwhile is put back, unless the next one is there already; if
  // that fails, it is made again.
  [[maybe_unused]] const bool isBack = !same && link(aside.c_str(), path.c_str()) == 0;
  if (std::remove(aside.c_str()) != 0)
    fs::remove_directories(aside);
  return same;
}

std::optional<std::string> readWholeFile(const std::string &path) {
  File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (!file || fstat(file.descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  return readAll(file.descriptor, static_cast<size_t>(status.st_size));
}

} // namespace pantile
