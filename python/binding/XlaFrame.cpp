//===- XlaFrame.cpp - the launches in a call frame of XLA -----------------------------------===//
// Needs: see XlaFrame.h.
// Gives: readFrame, XlaLaunches.
// How:   attributes are found by name, their kinds and sizes compared with what is expected; every
//        element of the batch must stay within its buffers.
//===------------------------------------------------------------------------------------===//
#include "XlaFrame.h"
#include <algorithm>
#include <bit>
#include <optional>

namespace pantile::python {
namespace {

constexpr size_t launchNumbers = 5;
constexpr int64_t mostLaunches = int64_t(1) << 31;

Error refused(std::string message) { return makeError(ErrorKind::Launch, std::move(message)); }

/// Bytes of an element; 0 for a type that no kernel takes.
int64_t bytesOf(int type) {
  switch (type) {
  case xla::Pred:
  case xla::S8:
  case xla::U8:
  case xla::F8E5M2:
  case xla::F8E4M3FN:
  case xla::F8E5M2FNUZ:
  case xla::F8E4M3FNUZ:
    return 1;
  case xla::S16:
  case xla::U16:
  case xla::F16:
  case xla::Bf16:
    return 2;
  case xla::S32:
  case xla::U32:
  case xla::F32:
    return 4;
  case xla::S64:
  case xla::U64:
  case xla::F64:
  case xla::C64:
    return 8;
  default:
    return 0;
  }
}

struct Attribute {
  int kind = 0;
  const void *value = nullptr;
};

Attribute find(const xla::Attributes &attributes, std::string_view name) {
  for (int64_t i = 0; i < attributes.size; ++i)
    if (std::string_view(attributes.names[i]->data, attributes.names[i]->size) == name)
      return {attributes.kinds[i], attributes.values[i]};
  return {};
}

std::optional<std::string_view> textOf(const xla::Attributes &attributes, std::string_view name) {
  const Attribute found = find(attributes, name);
  if (found.kind != xla::Attributes::IsText)
    return std::nullopt;
  const auto &text = *static_cast<const xla::Text *>(found.value);
  return std::string_view(text.data, text.size);
}

const xla::Array *arrayOf(const xla::Attributes &attributes, std::string_view name, int type) {
  const Attribute found = find(attributes, name);
  const auto *array = static_cast<const xla::Array *>(found.value);
  return found.kind == xla::Attributes::IsArray && array->type == type ? array : nullptr;
}

std::optional<std::span<const int64_t>> numbersOf(const xla::Attributes &attributes,
                                                  std::string_view name) {
  const xla::Array *array = arrayOf(attributes, name, xla::S64);
  if (!array)
    return std::nullopt;
  return std::span(static_cast<const int64_t *>(array->data), array->size);
}

/// The buffer of this number over operands and results; null if there is none.
const xla::Buffer *bufferAt(const xla::CallFrame &frame, int64_t number) {
  const bool isResult = number >= frame.arguments.size;
  const xla::Values &values = isResult ? frame.results : frame.arguments;
  number -= isResult ? frame.arguments.size : 0;
  if (number < 0 || number >= values.size || values.kinds[number] != xla::Values::IsBuffer)
    return nullptr;
  return static_cast<const xla::Buffer *>(values.values[number]);
}

/// Nothing where the type is none that kernels take, or the extents are beyond 64 bits.
std::optional<int64_t> sizeOf(const xla::Buffer &buffer) {
  int64_t bytes = bytesOf(buffer.type);
  for (int64_t i = 0; i < buffer.rank; ++i)
    if (buffer.extents[i] < 0 || __builtin_mul_overflow(bytes, buffer.extents[i], &bytes))
      return std::nullopt;
  return bytesOf(buffer.type) ? std::optional(bytes) : std::nullopt;
}

Result<LaunchArg> argumentOf(const xla::CallFrame &frame, const ArgumentRow &row) {
  if (row.kind == ArgumentRow::Integer)
    return LaunchArg::i(row.value);
  if (row.kind == ArgumentRow::Float)
    return LaunchArg::f(std::bit_cast<double>(row.value));
  const xla::Buffer *buffer =
      row.kind == ArgumentRow::Buffer ? bufferAt(frame, row.value) : nullptr;
  const std::optional<int64_t> bytes = buffer ? sizeOf(*buffer) : std::nullopt;
  if (!bytes)
    return refused("an argument of the kernel is no buffer of the custom call");
  const auto begin = reinterpret_cast<uint64_t>(buffer->data);
  LaunchArg arg = LaunchArg::ptr(buffer->data, begin, begin + static_cast<uint64_t>(*bytes));
  arg.isReadOnly = !row.isWritten;
  return arg;
}

Result<void> readArguments(const xla::CallFrame &frame, XlaLaunches &launches) {
  const auto numbers = numbersOf(frame.attributes, "arguments");
  if (!numbers || numbers->size() % 3 != 0)
    return refused("the custom call has no list of arguments");
  for (size_t i = 0; i < numbers->size(); i += 3) {
    const ArgumentRow row = {(*numbers)[i], (*numbers)[i + 1], (*numbers)[i + 2]};
    Result<LaunchArg> arg = argumentOf(frame, row);
    if (!arg)
      return arg.error();
    launches.args.push_back(*arg);
  }
  return {};
}

/// Whether all elements of the batch are within the buffer of one argument, up to the end of the
/// last.
bool isWithin(const LaunchArg &arg, std::span<const int64_t> extents,
              std::span<const int64_t> steps) {
  int64_t last = 0, element = 0; // bytes; 0 of what is the same for the whole batch
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t distance = 0;
    element = steps[i] ? steps[i] : element;
    if (steps[i] < 0 || __builtin_mul_overflow(extents[i] - 1, steps[i], &distance) ||
        __builtin_add_overflow(last, distance, &last))
      return false;
  }
  return element == 0 ||
         (arg.kind == LaunchArg::Kind::Pointer && !__builtin_add_overflow(last, element, &last) &&
          static_cast<uint64_t>(last) <= arg.end - arg.begin);
}

Result<void> readBatch(const xla::CallFrame &frame, XlaLaunches &launches) {
  const auto numbers = numbersOf(frame.attributes, "batch");
  const size_t columns = launches.args.size() + 1;
  if (!numbers || numbers->size() % columns != 0)
    return refused("the custom call has no batch");
  const size_t count = numbers->size() / columns;
  launches.extents = numbers->first(count), launches.steps = numbers->subspan(count);
  int64_t total = 1;
  for (int64_t extent : launches.extents)
    if (extent < 0 || __builtin_mul_overflow(total, extent, &total) || total > mostLaunches)
      return refused("the custom call has a batch that is too large");
  for (size_t i = 0; total > 0 && i < launches.args.size(); ++i)
    if (!isWithin(launches.args[i], launches.extents, launches.steps.subspan(i * count, count)))
      return refused("the batch of the custom call exceeds a buffer");
  return {};
}

} // namespace

int64_t XlaLaunches::count() const {
  int64_t total = 1;
  for (int64_t extent : extents)
    total *= extent;
  return total;
}

std::vector<LaunchArg> XlaLaunches::argsOf(int64_t element) const {
  std::vector<LaunchArg> result = args;
  for (size_t axis = extents.size(); axis-- > 0; element /= extents[axis])
    for (size_t i = 0; i < result.size(); ++i)
      if (const int64_t step = steps[i * extents.size() + axis])
        result[i].pointer += static_cast<uint64_t>(element % extents[axis] * step);
  for (size_t i = 0; i < result.size(); ++i) {
    // The batch's axes are the outermost ones of a buffer: the innermost step is an element's size.
    const auto own = steps.subspan(i * extents.size(), extents.size());
    const auto inner =
        std::find_if(own.rbegin(), own.rend(), [](int64_t step) { return step > 0; });
    if (inner != own.rend())
      result[i].begin = result[i].pointer, result[i].end = result[i].pointer + *inner;
  }
  return result;
}

Result<XlaLaunches> readFrame(const xla::CallFrame &frame) {
  XlaLaunches launches;
  const auto digest = textOf(frame.attributes, "digest");
  const xla::Array *artifact = arrayOf(frame.attributes, "artifact", xla::U8);
  const auto launch = numbersOf(frame.attributes, "launch");
  if (!digest || !artifact || !launch || launch->size() != launchNumbers)
    return refused("the custom call was not made by this version of `pantile.jax`");
  launches.digest = *digest;
  launches.artifact = {static_cast<const char *>(artifact->data), artifact->size};
  launches.grid = {(*launch)[0], (*launch)[1], (*launch)[2]};
  launches.cooperative = (*launch)[3] != 0, launches.programmatic = (*launch)[4] != 0;
  if (Result<void> read = readArguments(frame, launches); !read)
    return read.error();
  if (Result<void> read = readBatch(frame, launches); !read)
    return read.error();
  return launches;
}

} // namespace pantile::python
