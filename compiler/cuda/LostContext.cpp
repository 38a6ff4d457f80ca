//===- LostContext.cpp - errors of failed launches and waits ------------------------------===//
// Needs: see LostContext.h.
// Gives: keptName, noteLaunch, failureOf.
// How:   A circular buffer of the latest names. Threads may overwrite each other's entries: it is a
//        hint for the user, and costs a launch one comparison.
//===------------------------------------------------------------------------------------===//
#include "cuda/LostContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <unordered_set>

namespace pantile {
namespace {

constexpr unsigned mostNames = 8;
std::array<std::atomic<const std::string *>, mostNames> latest{};
std::atomic<unsigned> noted = 0;

/// Results after which every call in the context fails (CUresult).
bool losesContext(CUresult result) {
  enum {
    HardwareStackError = 714,
    LaunchFailed = 719,
    IllegalAddress = 700,
    Timeout = 702,
    ContextIsDestroyed = 709,
    AssertFailed = 710
  };
  return result == IllegalAddress || result == Timeout || result == ContextIsDestroyed ||
         result == AssertFailed || (result >= HardwareStackError && result <= LaunchFailed);
}

/// "`b`, `a`": the kernels launched last, the latest first, each once.
std::string launchedLast() {
  llvm::SmallVector<const std::string *, mostNames> names;
  const unsigned next = noted.load(std::memory_order_relaxed);
  for (unsigned i = 1; i <= mostNames; ++i)
    if (const std::string *name = latest[(next - i) % mostNames].load(std::memory_order_relaxed))
      if (!llvm::is_contained(names, name))
        names.push_back(name);
  std::string text;
  for (const std::string *name : names)
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", *name);
  return text;
}

} // namespace

const std::string *keptName(const std::string &name) {
  static std::mutex mutex;
  static auto *names = new std::unordered_set<std::string>();
  std::lock_guard lock(mutex);
  return &*names->insert(name).first;
}

void noteLaunch(const std::string *name) {
  const unsigned next = noted.load(std::memory_order_relaxed);
  if (latest[(next - 1) % mostNames].load(std::memory_order_relaxed) == name)
    return;
  latest[next % mostNames].store(name, std::memory_order_relaxed);
  noted.store(next + 1, std::memory_order_relaxed);
}

Error failureOf(const Driver &driver, CUresult result, std::string_view doing) {
  Error error = driver.error(result, doing);
  if (!losesContext(result))
    return error;
  std::string message = error.message +
                        ": the context is lost, and with it all memory of the GPU, so the process "
                        "must start again";
  if (std::string names = launchedLast(); !names.empty())
    message += fmt::format("; launched last: {}; CUDA_LAUNCH_BLOCKING=1 shows which failed", names);
  constexpr CUresult assertFailed = 710;
  if (result == assertFailed)
    message += "; the assertion, its kernel and its line are on stderr";
  return makeError(ErrorKind::Driver, std::move(message));
}

} // namespace pantile
