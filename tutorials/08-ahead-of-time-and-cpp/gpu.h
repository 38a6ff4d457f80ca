// The few functions of the CUDA driver that an application needs for memory. They are found when
// the program runs, so that it also builds, and says what is missing, on a machine without a GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>

class Gpu {
public:
  /// False where there is no driver or no GPU.
  bool open() {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    int device = 0;
    void *context = nullptr;
    return library && call<int(unsigned)>("cuInit", 0u) == 0 &&
           call<int(int *, int)>("cuDeviceGet", &device, 0) == 0 &&
           call<int(void **, int)>("cuDevicePrimaryCtxRetain", &context, device) == 0 &&
           call<int(void *)>("cuCtxSetCurrent", context) == 0;
  }

  /// Memory for `bytes` bytes, filled from `data` if that is given; 0 if there is none.
  uint64_t allocate(size_t bytes, const void *data = nullptr) {
    uint64_t address = 0;
    if (call<int(uint64_t *, size_t)>("cuMemAlloc_v2", &address, bytes))
      return 0;
    if (data)
      call<int(uint64_t, const void *, size_t)>("cuMemcpyHtoD_v2", address, data, bytes);
    return address;
  }

  /// Waits for the GPU and copies; false if a kernel failed on the way.
  bool fetch(void *data, uint64_t address, size_t bytes) {
    return call<int(void *, uint64_t, size_t)>("cuMemcpyDtoH_v2", data, address, bytes) == 0;
  }

private:
  void *library = nullptr;

  template <typename Signature, typename... Args> int call(const char *name, Args... args) {
    auto *function = reinterpret_cast<Signature *>(dlsym(library, name));
    return function ? function(args...) : 1;
  }
};
