//===- Driver.cpp - the CUDA driver, opened when first needed -----------------------------===//
// Needs: see Driver.h.
// Gives: Driver.
// How:   every row of DriverApi.def becomes one dlsym.
//===------------------------------------------------------------------------------------===//
#include "cuda/Driver.h"
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

namespace pantile {
namespace {

std::atomic<bool> forked = false;

Result<std::unique_ptr<Driver>> openInstalled() {
  const char *path = std::getenv("PANTILE_LIBCUDA_PATH");
  return Driver::open(path && *path ? path : "libcuda.so.1");
}

Result<std::unique_ptr<Driver>> openShared() {
  Result<std::unique_ptr<Driver>> driver = openInstalled();
  if (!driver)
    return driver;
  if (CUresult result = (*driver)->init(0))
    return (*driver)->error(result, "initialising the CUDA driver");
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  return driver;
}

} // namespace

const Result<std::unique_ptr<Driver>> &Driver::shared() {
  static const auto *driver = new Result<std::unique_ptr<Driver>>(openShared());
  static const auto *inFork = new Result<std::unique_ptr<Driver>>(makeError(
      ErrorKind::Driver, "this process was forked from one that had initialised the CUDA driver, "
                         "which CUDA does not allow: start it again (`spawn` of Python's "
                         "multiprocessing), or fork before the GPU is first used"));
  return isForked() ? *inFork : *driver;
}

bool Driver::isForked() { return forked.load(std::memory_order_relaxed); }

int Driver::installedVersion() {
  Result<std::unique_ptr<Driver>> driver = openInstalled();
  return driver ? (*driver)->version() : 0;
}

Result<std::unique_ptr<Driver>> Driver::open(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(ErrorKind::Driver, fmt::format("no CUDA driver: {}", dlerror()));
  auto driver = std::make_unique<Driver>();
  std::string missing;
#define PANTILE_DRIVER(NAME, SYMBOL, PARAMETERS)                                                   \
  driver->NAME = reinterpret_cast<decltype(driver->NAME)>(dlsym(library, SYMBOL));                 \
  if (!driver->NAME && missing.empty())                                                            \
    missing = SYMBOL;
#define PANTILE_DRIVER_NEWER(NAME, SYMBOL, PARAMETERS)                                             \
  driver->NAME = reinterpret_cast<decltype(driver->NAME)>(dlsym(library, SYMBOL));
#include "cuda/DriverApi.def"
  if (!missing.empty())
    return makeError(
        ErrorKind::Driver,
        fmt::format("the CUDA driver `{}` has no function `{}`; it is too old", path, missing));
  return driver;
}

int Driver::version() const {
  int value = 0;
  return driverGetVersion(&value) == 0 ? value : 0;
}

Error Driver::error(CUresult result, std::string_view doing) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != 0 || !name)
    name = "unknown error";
  if (getErrorString(result, &text) != 0 || !text)
    text = "the driver does not explain it";
  return makeError(ErrorKind::Driver, fmt::format("{}: {} ({}): {}", doing, name, result, text));
}

} // namespace pantile
