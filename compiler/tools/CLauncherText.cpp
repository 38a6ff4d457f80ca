//===- CLauncherText.cpp - the fixed part of a C launcher ------------------------------------===//
// Needs: GNU C (gcc, clang), Linux, a driver of CUDA 12 or later.
// Gives: launcherText.
// How:   Functions of a device are loaded once under a spin lock and then read without one.
//        Failures return the driver's status; 100 (no device) if there is no driver.
//===-----------------------------------------------------------------------------------===//
#include "CLauncherText.h"

namespace pantile {

const std::string_view launcherText = R"c(#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

enum {
  OK = 0,
  INVALID_VALUE = 1,
  NO_DEVICE = 100,
  NO_BINARY = 209,
  COOPERATIVE_TOO_LARGE = 720,
  TOO_OLD = 801,
  DEVICES = 64
};

/* What of the driver is used; opened at the first launch. */
static struct {
  int (*init)(unsigned);
  int (*ctxGetCurrent)(void **);
  int (*ctxSetCurrent)(void *);
  int (*ctxGetDevice)(int *);
  int (*primaryRetain)(void **, int);
  int (*deviceAttribute)(int *, int, int);
  int (*libraryLoad)(void **, const void *, int *, void **, unsigned, int *, void **, unsigned);
  int (*libraryUnload)(void *);
  int (*libraryKernel)(void **, void *, const char *);
  int (*kernelFunction)(void **, void *);
  int (*kernelSet)(int, int, void *, int);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                void **, void **);
  int (*launchCooperative)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, void *, void **);
  int (*occupancy)(int *, void *, int, size_t);
  int (*encodeTiled)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                     const uint32_t *, const uint32_t *, int, int, int, int);
  int (*errorString)(int, const char **);
} cuda;
static int cuda_status;
static int cuda_ready;
static char lock_flag;

static void lock(void) {
  while (__atomic_test_and_set(&lock_flag, __ATOMIC_ACQUIRE))
    ;
}
static void unlock(void) { __atomic_clear(&lock_flag, __ATOMIC_RELEASE); }

static int open_driver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return NO_DEVICE;
#define FUNCTION(member, name) *(void **)&cuda.member = dlsym(library, name)
  FUNCTION(init, "cuInit");
  FUNCTION(ctxGetCurrent, "cuCtxGetCurrent");
  FUNCTION(ctxSetCurrent, "cuCtxSetCurrent");
  FUNCTION(ctxGetDevice, "cuCtxGetDevice");
  FUNCTION(primaryRetain, "cuDevicePrimaryCtxRetain");
  FUNCTION(deviceAttribute, "cuDeviceGetAttribute");
  FUNCTION(libraryLoad, "cuLibraryLoadData");
  FUNCTION(libraryUnload, "cuLibraryUnload");
  FUNCTION(libraryKernel, "cuLibraryGetKernel");
  FUNCTION(kernelFunction, "cuKernelGetFunction");
  FUNCTION(kernelSet, "cuKernelSetAttribute");
  FUNCTION(launch, "cuLaunchKernel");
  FUNCTION(launchCooperative, "cuLaunchCooperativeKernel");
  FUNCTION(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  FUNCTION(encodeTiled, "cuTensorMapEncodeTiled");
  FUNCTION(errorString, "cuGetErrorString");
#undef FUNCTION
  if (!cuda.libraryLoad || !cuda.libraryKernel || !cuda.kernelFunction || !cuda.kernelSet)
    return TOO_OLD;
  return cuda.init(0);
}

/* The device of this thread's context, and its compute capability times ten. A thread without a
   context gets the primary one of device 0. */
static int enter(int *device, int *capability) {
  static int capabilities[DEVICES];
  int status, major = 0, minor = 0;
  void *context = NULL;
  if (!__atomic_load_n(&cuda_ready, __ATOMIC_ACQUIRE)) {
    lock();
    if (!cuda_ready) {
      cuda_status = open_driver();
      __atomic_store_n(&cuda_ready, 1, __ATOMIC_RELEASE);
    }
    unlock();
  }
  if ((status = cuda_status) || (status = cuda.ctxGetCurrent(&context)))
    return status;
  if (!context && ((status = cuda.primaryRetain(&context, 0)) || (status = cuda.ctxSetCurrent(context))))
    return status;
  if ((status = cuda.ctxGetDevice(device)))
    return status;
  if (*device < 0 || *device >= DEVICES)
    return INVALID_VALUE;
  *capability = __atomic_load_n(&capabilities[*device], __ATOMIC_RELAXED);
  if (*capability)
    return OK;
  if ((status = cuda.deviceAttribute(&major, 75, *device)) ||
      (status = cuda.deviceAttribute(&minor, 76, *device)))
    return status;
  *capability = 10 * major + minor;
  __atomic_store_n(&capabilities[*device], *capability, __ATOMIC_RELAXED);
  return OK;
}

/* Machine code for one kind of processor. */
struct image {
  const unsigned char *code;
  const char *name;
  int capability, exact, persistent, cooperative, together;
  unsigned shared, threads;
  void *library, *functions[DEVICES];
  int resident[DEVICES];
};

static int suits(const struct image *image, int capability) {
  return image->exact ? image->capability == capability
                      : image->capability / 10 == capability / 10 && image->capability <= capability;
}

static int load_locked(struct image *image, int device, void **function) {
  enum { SHARED_BYTES = 8, MULTIPROCESSORS = 16 };
  int status, count = 0, blocks = 1;
  void *kernel = NULL;
  if (!image->library &&
      (status = cuda.libraryLoad(&image->library, image->code, NULL, NULL, 0, NULL, NULL, 0)))
    return status;
  if ((status = cuda.libraryKernel(&kernel, image->library, image->name)))
    return status;
  if (image->shared > 49152 && (status = cuda.kernelSet(SHARED_BYTES, (int)image->shared, kernel, device)))
    return status;
  if ((status = cuda.kernelFunction(function, kernel)))
    return status;
  if (image->persistent || image->cooperative) {
    if ((status = cuda.deviceAttribute(&count, MULTIPROCESSORS, device)) ||
        (status = cuda.occupancy(&blocks, *function, (int)image->threads, image->shared)))
      return status;
    image->resident[device] = count * (blocks > 0 ? blocks : 1);
  }
  __atomic_store_n(&image->functions[device], *function, __ATOMIC_RELEASE);
  return OK;
}

static int load(struct image *image, int device, void **function) {
  int status = OK;
  *function = __atomic_load_n(&image->functions[device], __ATOMIC_ACQUIRE);
  if (*function)
    return OK;
  lock();
  *function = image->functions[device];
  if (!*function)
    status = load_locked(image, device, function);
  unlock();
  return status;
}

static void unload(struct image *image) {
  lock();
  if (image->library && cuda.libraryUnload)
    cuda.libraryUnload(image->library);
  image->library = NULL;
  for (int i = 0; i < DEVICES; ++i)
    image->functions[i] = NULL;
  unlock();
}

/* A launch of as many CTAs as run at once, or none: they may wait for one another. */
static int start_together(const struct image *image, int device, void *function, void *stream,
                          const int64_t *grid, void **params) {
  if (!cuda.launchCooperative)
    return TOO_OLD;
  if (grid[0] * grid[1] * grid[2] > image->resident[device])
    return COOPERATIVE_TOO_LARGE;
  return cuda.launchCooperative(function, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2],
                                image->threads, 1, 1, image->shared, stream, params);
}

/* A launch over `grid`; `params` has room at `count` for the extents of a persistent kernel. */
static int start(struct image *image, int device, void *stream, const int64_t *grid, void **params,
                 int count) {
  int32_t extents[3] = {(int32_t)grid[0], (int32_t)grid[1], (int32_t)grid[2]};
  int64_t x = grid[0], y = grid[1], z = grid[2];
  void *function = NULL;
  int status = load(image, device, &function);
  if (status)
    return status;
  if (image->cooperative)
    return start_together(image, device, function, stream, grid, params);
  if (image->persistent) {
    for (int i = 0; i < 3; ++i)
      params[count + i] = &extents[i];
    x = x * y * z;
    x = x < image->resident[device] ? x : image->resident[device];
    y = z = 1;
  }
  x *= image->together;
  if (x > 2147483647)
    return INVALID_VALUE;
  return cuda.launch(function, (unsigned)x, (unsigned)y, (unsigned)z, image->threads, 1, 1,
                     image->shared, stream, params, NULL);
}

/* What the driver takes as a grid. */
static int check(const int64_t *grid) {
  return grid[0] < 0 || grid[1] < 0 || grid[2] < 0 || grid[0] > 2147483647 || grid[1] > 65535 ||
                 grid[2] > 65535
             ? INVALID_VALUE
             : OK;
}

/* Whether one block may run several programs: their numbers fit 32 bits. */
static __attribute__((unused)) int may_persist(const int64_t *grid) {
  return grid[0] * grid[1] <= 1 << 30 && grid[0] * grid[1] * grid[2] <= 1 << 30;
}

/* How a tensor is described to TMA. A sum of products is written as the number of terms,
   then for each its coefficient, the number of its factors and, of each, which argument it is and by
   what that is divided; -1 to -3 are the extents of the grid. */
struct recipe {
  int base, type, rank, swizzle;
  const int64_t *offset, *extents[5], *strides[4];
  uint32_t box[5];
  int checks;
  int nonNegative[16];
  int multiples;
  const int64_t *values[6], divisors[6];
  int limits;
  const int64_t *conditions[10];
  int writtenBytes, mayBeEmpty;
};
struct __attribute__((aligned(64))) map {
  unsigned char bytes[128];
};

/* Whether the sum is within 64 bits. */
static int sum_of(const int64_t *p, const int64_t *args, const int64_t *grid, int64_t *sum) {
  int64_t terms = *p++;
  int bad = 0;
  for (*sum = 0; terms > 0; --terms) {
    int64_t product = *p++, factors = *p++;
    for (; factors > 0; --factors, p += 2)
      bad |= __builtin_mul_overflow(product, (*p < 0 ? grid[-1 - *p] : args[*p]) / p[1], &product);
    bad |= __builtin_add_overflow(*sum, product, sum);
  }
  return !bad;
}

static __attribute__((unused)) int encode(const struct recipe *recipe, const int64_t *args,
                                          const int64_t *grid, struct map *map) {
  uint64_t extents[5], strides[4], starts = 0;
  uint32_t steps[5] = {1, 1, 1, 1, 1};
  int64_t value;
  for (int i = 0; i < recipe->checks; ++i)
    if (args[recipe->nonNegative[i]] < 0)
      return 0;
  for (int i = 0; i < recipe->limits; ++i)
    if (!sum_of(recipe->conditions[i], args, grid, &value) || value < 0)
      return 0;
  for (int i = 0; i < recipe->multiples; ++i) {
    if (!sum_of(recipe->values[i], args, grid, &value))
      return 0;
    if (value % recipe->divisors[i] != 0) {
      *map = (struct map){{0}};
      return recipe->mayBeEmpty;
    }
  }
  for (int i = 0; i < recipe->rank; ++i) {
    if (!sum_of(recipe->extents[i], args, grid, &value) || value < 1 || value > (int64_t)1 << 32)
      return 0;
    extents[i] = (uint64_t)value;
  }
  if (extents[0] * (uint64_t)recipe->writtenBytes % 16 != 0)
    return 0;
  for (int i = 0; i + 1 < recipe->rank; ++i) {
    if (!sum_of(recipe->strides[i], args, grid, &value) || value < 16 || value >= (int64_t)1 << 40 ||
        value % 16 != 0)
      return 0;
    strides[i] = (uint64_t)value;
    starts |= strides[i];
  }
  if (!sum_of(recipe->offset, args, grid, &value))
    return 0;
  value += args[recipe->base];
  starts |= (uint64_t)value;
  /* Reads are promoted to 256 bytes, or to 128 where rows do not begin at sectors of the L2 cache. */
  return value % 16 == 0 && value >= 0 && cuda.encodeTiled &&
         cuda.encodeTiled(map, recipe->type, (uint32_t)recipe->rank, (void *)(uintptr_t)value, extents,
                          strides, recipe->box, steps, 0, recipe->swizzle, starts % 32 ? 2 : 3, 0) == 0;
}

static __attribute__((unused)) int64_t cdiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

const char *@_error_string(int status) {
  const char *text = NULL;
  int device, capability;
  if (enter(&device, &capability) == NO_DEVICE && !cuda.errorString)
    return "no CUDA driver";
  if (cuda.errorString)
    cuda.errorString(status, &text);
  return text ? text : "unknown error";
}
)c";

} // namespace pantile
