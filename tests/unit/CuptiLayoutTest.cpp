//===- CuptiLayoutTest.cpp - CuptiTypes.h is what CUPTI's header declares -----------------===//
#include "runtime/profiler/CuptiTypes.h"
#include <gtest/gtest.h>
#ifdef PANTILE_CUPTI_HEADER
#include <cupti.h>
#endif

namespace pantile {
namespace {

TEST(CuptiLayout, IsThatOfTheHeader) {
#ifndef PANTILE_CUPTI_HEADER
  GTEST_SKIP() << "no CUDA toolkit with CUPTI";
#else
#define SAME(OURS, FIELD, REAL, REAL_FIELD)                                                        \
  EXPECT_EQ(offsetof(cupti::OURS, FIELD), offsetof(::REAL, REAL_FIELD));                           \
  EXPECT_EQ(sizeof(cupti::OURS::FIELD), sizeof(REAL::REAL_FIELD))
  SAME(KernelRecord, kind, CUpti_ActivityKernel9, kind);
  SAME(KernelRecord, start, CUpti_ActivityKernel9, start);
  SAME(KernelRecord, end, CUpti_ActivityKernel9, end);
  SAME(KernelRecord, device, CUpti_ActivityKernel9, deviceId);
  SAME(KernelRecord, context, CUpti_ActivityKernel9, contextId);
  SAME(KernelRecord, stream, CUpti_ActivityKernel9, streamId);
  SAME(KernelRecord, correlation, CUpti_ActivityKernel9, correlationId);
  SAME(KernelRecord, name, CUpti_ActivityKernel9, name);
  SAME(KernelRecord, graphNode, CUpti_ActivityKernel9, graphNodeId);
  SAME(KernelRecord, graph, CUpti_ActivityKernel9, graphId);
  SAME(ApiCall, site, CUpti_CallbackData, callbackSite);
  SAME(ApiCall, context, CUpti_CallbackData, context);
  SAME(ApiCall, correlation, CUpti_CallbackData, correlationId);
  SAME(ResourceCall, context, CUpti_ResourceData, context);
  SAME(ResourceCall, descriptor, CUpti_ResourceData, resourceDescriptor);
  SAME(GraphCall, node, CUpti_GraphData, node);
  SAME(GraphCall, originalNode, CUpti_GraphData, originalNode);
  SAME(GraphCall, nodeType, CUpti_GraphData, nodeType);
#undef SAME
  EXPECT_EQ(cupti::concurrentKernelKind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_EQ(cupti::kernelKind, CUPTI_ACTIVITY_KIND_KERNEL);
  EXPECT_EQ(cupti::maxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
  EXPECT_EQ(cupti::multipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(cupti::flushForced, uint32_t(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  EXPECT_EQ(int(cupti::DriverApi), int(CUPTI_CB_DOMAIN_DRIVER_API));
  EXPECT_EQ(int(cupti::RuntimeApi), int(CUPTI_CB_DOMAIN_RUNTIME_API));
  EXPECT_EQ(int(cupti::Resource), int(CUPTI_CB_DOMAIN_RESOURCE));
  EXPECT_EQ(int(cupti::ContextDestroyed), int(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING));
  EXPECT_EQ(int(cupti::GraphNodeCreated), int(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED));
  EXPECT_EQ(int(cupti::GraphNodeCloned), int(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED));
#endif
}

} // namespace
} // namespace pantile
