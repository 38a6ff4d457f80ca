//===- CacheLock.h - one process at a time compiles a kernel -------------------------------===//
// Needs: the path of an entry.
// Gives: a lock that avoids duplicate work; a process that does not get it compiles all the same.
// How:   flock on a file next to the entry, so the system releases it if its holder is killed. The
//        file is removed with the lock; a waiter that locked a removed file opens the new one.
//        Waiting is bounded by the monotonic clock. If the file system has no locks, the file is in
//        the host's folder for temporary files: then one process per host compiles.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <chrono>
#include <string>

namespace pantile {

class CacheLock {
public:
  /// Waits at most `patience`. Look up the entry again afterwards, whether this waited or not:
  /// another process may have stored it.
  CacheLock(const std::string &entryPath, std::chrono::milliseconds patience);
  ~CacheLock();
  CacheLock(const CacheLock &) = delete;
  CacheLock &operator=(const CacheLock &) = delete;

  bool isHeld() const { return descriptor >= 0; }
  /// Whether waiting longer may help.
  bool isPossible() const { return !impossible; }

  /// PANTILE_CACHE_LOCK_SECONDS, else 120: longer than a compilation takes.
  static std::chrono::milliseconds defaultPatience();

private:
  bool attempt();
  void moveToThisHost();
  std::string path;
  bool isOnThisHost = false;
  int descriptor = -1;
  bool impossible = false;
};

} // namespace pantile
