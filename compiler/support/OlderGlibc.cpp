//===- OlderGlibc.cpp - a function of newer C libraries that LLVM needs --------------------===//
// Needs: the system call of getrandom, which glibc has had since 2.25.
// Gives: arc4random, hidden in the library, so that wheels built on Debian 12 (glibc 2.36) run on
//        glibc 2.35.
// How:   LLVM calls it for names of temporary files only.
//===------------------------------------------------------------------------------------===//
#include <cstdint>
#include <sys/random.h>
#include <unistd.h>

extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  // A kernel without the call still gives names that differ between processes and calls.
  static uint32_t calls = 0;
  if (getrandom(&value, sizeof(value), 0) != sizeof(value))
    value = static_cast<uint32_t>(getpid()) * 2654435761u + ++calls;
  return value;
}
