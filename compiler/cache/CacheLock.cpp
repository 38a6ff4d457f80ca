//===- CacheLock.cpp - one process at a time compiles a kernel -----------------------------===//
// Needs: see CacheLock.h.
// Gives: CacheLock.
// How:   polls, 1 to 16 ms apart: a blocking flock could not be given up.
//===------------------------------------------------------------------------------------===//
#include "cache/CacheLock.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace fs = llvm::sys::fs;
using namespace std::chrono_literals;

namespace pantile {

std::chrono::milliseconds CacheLock::defaultPatience() {
  const char *text = std::getenv("PANTILE_CACHE_LOCK_SECONDS");
  double seconds = text && *text ? std::atof(text) : 120;
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * std::clamp(seconds, 0.0, 3600.0)));
}

CacheLock::CacheLock(const std::string &entryPath, std::chrono::milliseconds patience)
    : path(entryPath + ".lock") {
  if (fs::create_directories(llvm::sys::path::parent_path(path), /*IgnoreExisting=*/true,
                             fs::perms::owner_all))
    return;
  const auto end = std::chrono::steady_clock::now() + patience;
  for (auto pause = 1ms; !attempt() && !impossible; pause = std::min(2 * pause, 16ms)) {
    if (std::chrono::steady_clock::now() >= end)
      return;
    std::this_thread::sleep_for(pause);
  }
}

bool CacheLock::attempt() {
  int opened = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (opened < 0) {
    impossible = true;
    return false;
  }
  struct stat ours, there;
  const bool locked = flock(opened, LOCK_EX | LOCK_NB) == 0;
  impossible = !locked && errno != EWOULDBLOCK && errno != EINTR;
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
  // Before it is free: who opens the path from now on makes a file of its own.
  unlink(path.c_str());
  close(descriptor);
}

} // namespace pantile
