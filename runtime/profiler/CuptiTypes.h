//===- CuptiTypes.h - the types of CUPTI's C interface, with their layouts ----------------===//
// Needs: no header of CUPTI, so that every build is the same. CuptiLayoutTest compares these
//        layouts with the real header where the build of the tests finds one.
// How:   records grow at their end from one version to the next. KernelRecord is the part that all
//        versions since CUDA 11.1 have (CUpti_ActivityKernel5 to 10).
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cuda/Driver.h"

namespace pantile {

using CUptiResult = int;
using CUgraphNode = struct CUgraphNode_st *;
using CuptiSubscriber = struct CUpti_Subscriber_st *;
using CuptiCallback = void (*)(void *data, int domain, uint32_t id, const void *event);
using CuptiBufferRequested = void (*)(uint8_t **buffer, size_t *bytes, size_t *maxRecords);
using CuptiBufferCompleted = void (*)(CUcontext context, uint32_t stream, uint8_t *buffer,
                                      size_t bytes, size_t validBytes);

namespace cupti {

constexpr CUptiResult success = 0, maxLimitReached = 12, multipleSubscribers = 39;
constexpr int kernelKind = 3, concurrentKernelKind = 10;
constexpr uint32_t flushForced = 1;
enum Domain { DriverApi = 1, RuntimeApi = 2, Resource = 3 };
enum ResourceEvent : uint32_t { ContextDestroyed = 2, GraphNodeCreated = 13, GraphNodeCloned = 20 };

struct KernelRecord {
  uint32_t kind;
  uint8_t cacheConfig, sharedMemoryConfig;
  uint16_t registers;
  uint32_t cacheRequested, cacheExecuted;
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t staticShared, dynamicShared;
  uint32_t localPerThread, localTotal;
  uint32_t correlation;
  int64_t gridId;
  const char *name;
  void *reserved;
  uint64_t queued, submitted;
  uint8_t launchType, carveoutRequested, carveout, padding;
  uint32_t sharedExecuted;
  uint64_t graphNode;
  uint32_t sharedLimit;
  uint32_t graph;
};
static_assert(offsetof(KernelRecord, start) == 16 && offsetof(KernelRecord, device) == 40 &&
              offsetof(KernelRecord, correlation) == 92 && offsetof(KernelRecord, name) == 104 &&
              offsetof(KernelRecord, graphNode) == 144 && offsetof(KernelRecord, graph) == 156);

/// What a callback gets about a call of the driver or of the CUDA runtime.
struct ApiCall {
  int site; ///< 0 at its start, 1 at its end
  const char *function;
  const void *parameters;
  void *result;
  const char *symbol;
  CUcontext context;
  uint32_t contextId;
  uint64_t *data;
  uint32_t correlation;
};
static_assert(offsetof(ApiCall, context) == 40 && offsetof(ApiCall, correlation) == 64);

struct ResourceCall {
  CUcontext context;
  void *handle;
  const void *descriptor; ///< a GraphCall for events of graphs
};

struct GraphCall {
  CUgraph graph, originalGraph;
  CUgraphNode node, originalNode;
  int nodeType; ///< 0 for kernels
  CUgraphNode dependency;
  void *executable;
};
static_assert(offsetof(GraphCall, node) == 16 && offsetof(GraphCall, nodeType) == 32);

} // namespace cupti
} // namespace pantile
