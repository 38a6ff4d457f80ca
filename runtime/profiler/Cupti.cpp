//===- Cupti.cpp - NVIDIA's CUPTI, opened when profiling starts ---------------------------===//
// Needs: see Cupti.h.
// Gives: Cupti.
// How:   every row of CuptiApi.def becomes one dlsym. The layouts of records are known for a range
//        of versions; a library of another version is refused, since its records may differ.
//===------------------------------------------------------------------------------------===//
#include "runtime/profiler/Cupti.h"
#include <dlfcn.h>
#include <fmt/format.h>

namespace pantile {
namespace {

/// Versions counted by one up to CUDA 12; from 13 on they hold the toolkit's: 130001.
bool isKnown(uint32_t version) {
  return (version >= 18 && version < 1000) || (version >= 130000 && version < 140000);
}

Result<std::unique_ptr<Cupti>> openFile(const std::string &file) {
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(ErrorKind::Driver, dlerror());
  auto made = std::make_unique<Cupti>();
  std::string missing;
#define PANTILE_CUPTI(NAME, SYMBOL, PARAMETERS)                                                    \
  made->NAME = reinterpret_cast<decltype(made->NAME)>(dlsym(library, SYMBOL));                     \
  if (!made->NAME && missing.empty())                                                              \
    missing = SYMBOL;
#include "runtime/profiler/CuptiApi.def"
  if (!missing.empty())
    return makeError(ErrorKind::Driver, fmt::format("`{}` has no function `{}`", file, missing));
  if (CUptiResult result = made->getVersion(&made->version))
    return made->error(result, fmt::format("asking `{}` for its version", file));
  if (!isKnown(made->version))
    return makeError(ErrorKind::Driver,
                     fmt::format("`{}` has version {}; known are those of CUDA 11.8 (18) to 13",
                                 file, made->version));
  return made;
}

} // namespace

Result<std::unique_ptr<Cupti>> Cupti::open(std::span<const std::string> files) {
  std::string reasons;
  for (const std::string &file : files) {
    Result<std::unique_ptr<Cupti>> opened = openFile(file);
    if (opened)
      return opened;
    reasons += (reasons.empty() ? "" : "; ") + opened.error().message;
  }
  return makeError(ErrorKind::Driver, "no CUPTI: " + (reasons.empty() ? "no file given" : reasons));
}

Error Cupti::error(CUptiResult result, std::string_view doing) const {
  const char *text = nullptr;
  if (getResultString(result, &text) != cupti::success || !text)
    text = "CUPTI does not explain it";
  return makeError(ErrorKind::Driver, fmt::format("{}: {} ({})", doing, text, result));
}

} // namespace pantile
