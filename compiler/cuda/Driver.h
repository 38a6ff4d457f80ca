//===- Driver.h - the CUDA driver, opened when first needed -------------------------------===//
// Needs: nothing at build time; no CUDA header, nothing links libcuda.
// Gives: a table of function pointers (DriverApi.def), or an Error that says why there is none.
// How:   dlopen of libcuda.so.1 (PANTILE_LIBCUDA_PATH names another file). The library stays
//        open. Only the types that cross the driver's C interface are declared, with their
//        layouts.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pantile {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUlibrary = struct CUlib_st *;
using CUkernel = struct CUkern_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUuserObject = struct CUuserObject_st *;
using CUlinkState = struct CUlinkState_st *;

struct CUlaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  CUstream stream;
  void *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(CUlaunchConfig) == 56 && offsetof(CUlaunchConfig, stream) == 32);

struct Driver {
  /// The driver of this machine, opened and initialised once. An error in a process that was forked
  /// after that: CUDA does not work there.
  static const Result<std::unique_ptr<Driver>> &shared();

  /// Whether this process is the fork of one that had initialised the driver.
  static bool isForked();

  /// CUDA version of the installed driver; 0 if there is none. Does not initialise the driver,
  /// which takes long.
  static int installedVersion();

  /// Opens the driver in file `path` without initialising it.
  static Result<std::unique_ptr<Driver>> open(const std::string &path);

#define PANTILE_DRIVER(NAME, SYMBOL, PARAMETERS) CUresult(*NAME) PARAMETERS = nullptr;
#include "cuda/DriverApi.def"

  /// CUDA version that the driver supports, as 1000 * major + 10 * minor; 0 where it does not say.
  int version() const;

  /// The Error for `result` of a call made while `doing` something ("loading kernel `k`").
  Error error(CUresult result, std::string_view doing) const;

  /// Success if `result` is 0.
  Result<void> check(CUresult result, std::string_view doing) const {
    if (result == 0) [[likely]]
      return {};
    return error(result, doing);
  }
};

} // namespace pantile
