//===- Cupti.h - NVIDIA's CUPTI, opened when profiling starts -----------------------------===//
// Needs: nothing at build time.
// Gives: a table of function pointers (CuptiApi.def), or an Error that says why there is none.
// How:   dlopen of the first file that exists and has a known version. The library stays open.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "runtime/profiler/CuptiTypes.h"
#include <span>

namespace pantile {

struct Cupti {
  /// Opens one of `files`, the first that can be used.
  static Result<std::unique_ptr<Cupti>> open(std::span<const std::string> files);

#define PANTILE_CUPTI(NAME, SYMBOL, PARAMETERS) CUptiResult(*NAME) PARAMETERS = nullptr;
#include "runtime/profiler/CuptiApi.def"

  /// As CUPTI_API_VERSION: 18 to 28 for CUDA 11.8 to 12.9, then 130000.
  uint32_t version = 0;

  /// The Error for `result` of a call made while `doing` something.
  Error error(CUptiResult result, std::string_view doing) const;

  /// Success if `result` is 0.
  Result<void> check(CUptiResult result, std::string_view doing) const {
    if (result == cupti::success)
      return {};
    return error(result, doing);
  }
};

} // namespace pantile
