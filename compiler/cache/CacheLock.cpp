//===- CacheLock.cpp - one process at a time compiles a kernel -----------------------------===//
// Needs: see CacheLock.h.
// Gives: CacheLock.
// How:   Polls every 1 to 16 ms: a blocking flock could not be abandoned.
//===------------------------------------------------------------------------------------===//
#include "cache/CacheLock.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace fs = llvm::sys::fs;
using namespace std::chrono_literals;

namespace pantile {
namespace {

/// Whether flock failed for lack of locks, not because another process has this one.
bool lacksLocks(int error) {
  return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL;
}

/// This user's folder for locks of this host; empty if every candidate is writable by others.
std::string folderOfThisHost() {
  llvm::SmallString<128> folder;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  llvm::sys::path::append(folder, fmt::format("pantile-locks-{}", geteuid()));
  struct stat status;
  const bool isThere = mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
  const bool isOurs = isThere && lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH));
  return isOurs ? folder.str().str() : "";
}

} // namespace

std::chrono::milliseconds CacheLock::defaultPatience() {
  const char *text = std::getenv("PANTILE_CACHE_LOCK_SECONDS");
  double seconds = text && *text ? std::atof(text) : 120;
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * std::clamp(seconds, 0.0, 3600.0)));
}

CacheLock::CacheLock(const std::string &entryPath, std::chrono::milliseconds patience)
    : path(entryPath + ".lock") {
  if (fs::create_directories(llvm::sys::path::parent_path(path), /*IgnoreExisting=*/true,
                             fs::perms::owner_all)) {
    impossible = true;
    return;
  }
  const auto end = std::chrono::steady_clock::now() + patience;
  for (auto pause = 1ms; !attempt() && !impossible; pause = std::min(2 * pause, 16ms)) {
    if (std::chrono::steady_clock::now() >= end)
      return;
    std::this_thread::sleep_for(pause);
  }
}

void CacheLock::moveToThisHost() {
  const std::string folder = isOnThisHost ? "" : folderOfThisHost();
  impossible = folder.empty();
  isOnThisHost = true;
  unlink(path.c_str());
  if (!impossible)
    path = folder + "/" + llvm::sys::path::filename(path).str();
}

bool CacheLock::attempt() {
  int opened = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (opened < 0) {
    impossible = true;
    return false;
  }
  struct stat ours, there;
  const bool locked = flock(opened, LOCK_EX | LOCK_NB) == 0;
  const int error = locked ? 0 : errno;
  if (lacksLocks(error)) {
    close(opened);
    moveToThisHost();
    return !impossible && attempt();
  }
  impossible = error && error != EWOULDBLOCK && error != EINTR;
  if (locked && fstat(opened, &ours) == 0 && stat(path.c_str(), &there) == 0 &&
      ours.st_ino == there.st_ino && ours.st_dev == there.st_dev) {
    descriptor = opened;
    return true;
  }
  close(opened);
  return false;
}

CacheLock::~CacheLock() {
  if (descriptor < 0)
    return;
  // Before it is released: a process that opens the path from now on creates another file.
  unlink(path.c_str());
  close(descriptor);
}

} // namespace pantile
