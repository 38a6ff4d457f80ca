/* Launches a kernel `count` times through the driver alone and says how long one took.
 * Built by launch.py with the machine's C compiler; cuda.h is not needed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

struct config {
  unsigned grid[3], block[3], shared;
  void *stream, *attributes;
  unsigned attribute_count;
};

typedef int (*launch_fn)(const struct config *, void *, void **, void **);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * time.tv_sec + time.tv_nsec;
}

/* Nanoseconds of one launch; below 0: the driver's error. */
double bare_launch(void *function, unsigned threads, unsigned shared, void *stream, void **parameters,
                   int count) {
  static launch_fn launch;
  if (!launch)
    launch = (launch_fn)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernelEx");
  struct config config = {{1, 1, 1}, {threads, 1, 1}, shared, stream, 0, 0};
  double start = now();
  for (int i = 0; i < count; ++i) {
    int result = launch(&config, function, parameters, 0);
    if (result)
      return -result;
  }
  return (now() - start) / count;
}
