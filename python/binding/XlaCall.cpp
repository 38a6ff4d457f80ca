//===- XlaCall.cpp - launches as custom calls of XLA ----------------------------------------===//
// Needs: see XlaFrame.h; on a GPU XLA's stream.
// Gives: bindXlaCall.
// How:   XLA calls from its own threads, without the GIL. A kernel is loaded from its artifact at
//        the first call in a process and kept by its digest. Errors become XLA's, which JAX raises.
//===------------------------------------------------------------------------------------===//
#include "XlaCall.h"
#include "XlaFrame.h"
#include "pantile/Artifact.h"
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace py = pybind11;

namespace pantile::python {
namespace {

/// The version of the ABI that XlaAbi.h describes; later ones of the same major number append.
constexpr int abiMajor = 0, abiMinor = 1;

/// Null, which XLA takes for success, if there is no way to report an error.
xla::Error *say(const xla::CallFrame &frame, const std::string &message, int code) {
  if (!frame.api || !frame.api->createError)
    return nullptr;
  xla::ErrorRequest request = {{sizeof(request), nullptr}, message.c_str(), code};
  return frame.api->createError(&request);
}

xla::Error *say(const xla::CallFrame &frame, const Error &error) {
  return say(frame, "pantile: " + (error.rendered.empty() ? error.message : error.rendered),
             error.kind == ErrorKind::Launch ? xla::ErrorRequest::InvalidArgument
                                             : xla::ErrorRequest::Internal);
}

/// The runtime requests the version before it registers a target.
bool answerMetadata(const xla::CallFrame &frame) {
  for (xla::Extension *asked = frame.header.extensions; asked; asked = asked->next) {
    if (asked->kind != xla::Extension::Metadata)
      continue;
    xla::Metadata &metadata = *reinterpret_cast<xla::MetadataExtension *>(asked)->metadata;
    const bool appends = frame.api && frame.api->version.major == abiMajor;
    metadata.version.major = abiMajor;
    metadata.version.minor = appends ? frame.api->version.minor : abiMinor;
    metadata.traits = 0;
    return true;
  }
  return false;
}

Result<Kernel> parseKernel(std::string_view bytes) {
  Result<Artifact> artifact = Artifact::parse(bytes);
  if (!artifact)
    return artifact.error();
  if (artifact->kernels().size() != 1)
    return makeError(ErrorKind::Launch, "the artifact of a custom call holds one kernel");
  return artifact->kernels().front();
}

/// The kernel of an artifact, made once in a process.
Result<Kernel> kernelOf(const XlaLaunches &launches) {
  static auto *known = new std::map<std::string, Kernel, std::less<>>();
  static auto *mutex = new std::shared_mutex();
  {
    const std::shared_lock lock(*mutex);
    if (auto found = known->find(launches.digest); found != known->end())
      return found->second;
  }
  Result<Kernel> kernel = parseKernel(launches.artifact);
  if (!kernel)
    return kernel;
  const std::unique_lock lock(*mutex);
  return known->emplace(launches.digest, *kernel).first->second;
}

/// Appends whether each launch argument of `spec` is an array.
void appendKinds(const ArgSpec &spec, std::vector<bool> &arrays) {
  if (spec.kind == ArgSpec::Kind::Tuple)
    for (const ArgSpec &element : spec.elements)
      appendKinds(element, arrays);
  else if (spec.kind != ArgSpec::Kind::Constant)
    arrays.push_back(spec.kind == ArgSpec::Kind::Pointer);
}

/// Whether the kernel accepts such arguments: a launch assumes that values that are no arrays never
/// were.
bool takes(const Kernel &kernel, const XlaLaunches &launches) {
  std::vector<bool> arrays;
  for (const ArgSpec &spec : kernel->args)
    appendKinds(spec, arrays);
  return std::ranges::equal(arrays, launches.args, {}, {}, [](const LaunchArg &arg) {
    return arg.kind == LaunchArg::Kind::Pointer;
  });
}

/// Sets the stream and the device that XLA works on; its error if it has none.
xla::Error *place(const xla::CallFrame &frame, LaunchOptions &options) {
  xla::StreamRequest request = {{sizeof(request), nullptr}, frame.context, nullptr};
  if (xla::Error *error = frame.api->getStream(&request))
    return error;
  options.stream = reinterpret_cast<uint64_t>(request.stream);
  options.device = deviceOfStream(options.stream);
  return nullptr;
}

Result<void> launchAll(const XlaLaunches &launches, const Kernel &kernel,
                       const LaunchOptions &options) {
  for (int64_t element = 0, count = launches.count(); element < count; ++element)
    if (Result<void> done = launch(kernel, launches.grid, launches.argsOf(element), options); !done)
      return done;
  return {};
}

xla::Error *launchFrame(const xla::CallFrame &frame, bool onGpu) {
  Result<XlaLaunches> launches = readFrame(frame);
  if (!launches)
    return say(frame, launches.error());
  Result<Kernel> kernel = kernelOf(*launches);
  if (!kernel)
    return say(frame, kernel.error());
  if (((*kernel)->options.target == "cpu") == onGpu)
    return say(frame, makeError(ErrorKind::Launch,
                                "the kernel was compiled for `" + (*kernel)->options.target + "`"));
  if (!takes(*kernel, *launches))
    return say(frame, makeError(ErrorKind::Launch, "the kernel takes other arguments"));
  LaunchOptions options;
  options.cooperative = launches->cooperative, options.programmatic = launches->programmatic;
  if (onGpu)
    if (xla::Error *error = place(frame, options))
      return error;
  const Result<void> done = launchAll(*launches, *kernel, options);
  if (!onGpu)
    std::fputs(takeWarnings().c_str(), stderr); // Python cannot be called from here
  return done ? nullptr : say(frame, done.error());
}

template <bool onGpu> xla::Error *handle(xla::CallFrame *frame) noexcept {
  try {
    if (answerMetadata(*frame) || frame->stage != xla::CallFrame::Execute)
      return nullptr;
    return launchFrame(*frame, onGpu);
  } catch (const std::exception &error) {
    return say(*frame, error.what(), xla::ErrorRequest::Internal);
  }
}

py::capsule capsuleOf(xla::Error *(*handler)(xla::CallFrame *) noexcept) {
  const char *unnamed = nullptr;
  return py::capsule(reinterpret_cast<const void *>(handler), unnamed);
}

} // namespace

void bindXlaCall(py::module_ &module) {
  module.attr("xla_call_on_host") = capsuleOf(&handle<false>);
  module.attr("xla_call_on_gpu") = capsuleOf(&handle<true>);
}

} // namespace pantile::python
