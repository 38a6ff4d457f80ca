//===- EachState.cpp - one launch of a kernel in several states, compared ---------------------===//
// Needs: see EachState.h.
// Gives: runStates.
//===------------------------------------------------------------------------------------------===//
#include "interp/EachState.h"
#include "interp/Code.h"
#include "interp/kernels/Narrow.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace pantile::interp {
namespace {

using Bytes = std::vector<std::byte>;

/// The storage of one pointer argument, and which of it a kernel may write.
struct Storage {
  uint64_t begin, end;
  size_t argument;
  Bytes read() const {
    const auto *first = reinterpret_cast<const std::byte *>(begin);
    return {first, first + (end - begin)};
  }
  void write(const Bytes &bytes) const {
    std::memcpy(reinterpret_cast<void *>(begin), bytes.data(), bytes.size());
  }
};

double realOf(Elem elem, const std::byte *at) {
  auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  switch (elem) {
  case Elem::F8E4M3:
    return toFloat(E4M3{read(uint8_t())});
  case Elem::F8E5M2:
    return toFloat(E5M2{read(uint8_t())});
  case Elem::F16:
    return toFloat(Half{read(uint16_t())});
  case Elem::BF16:
    return toFloat(BFloat{read(uint16_t())});
  case Elem::F32:
    return read(float());
  default:
    return read(double());
  }
}

/// Tolerance for another order of summation, a dot in tf32 or an approximate exponential: relative
/// to the element, and to the mean of all.
double boundOf(Elem elem) {
  switch (elem) {
  case Elem::F8E4M3:
    return 0.13;
  case Elem::F8E5M2:
    return 0.26;
  case Elem::F16:
    return 4e-3;
  case Elem::BF16:
    return 3e-2;
  case Elem::F32:
    return 1e-3;
  default:
    return 1e-9;
  }
}

double meanOf(Elem elem, const Bytes &bytes) {
  double sum = 0;
  size_t count = 0;
  for (size_t at = 0; at + sizeOf(elem) <= bytes.size(); at += sizeOf(elem))
    if (const double value = realOf(elem, &bytes[at]); std::isfinite(value))
      sum += std::abs(value), ++count;
  return count ? sum / static_cast<double>(count) : 0;
}

/// The first element that differs by more than its tolerance, as text; empty if none does.
std::string differenceOf(const Argument &argument, const Bytes &want, const Bytes &have) {
  if (want == have)
    return "";
  const Elem elem = argument.pointee;
  const unsigned size = sizeOf(elem);
  const double mean = isFloat(elem) ? meanOf(elem, want) : 0;
  for (size_t at = 0; at + size <= want.size(); at += size) {
    if (std::memcmp(&want[at], &have[at], size) == 0)
      continue;
    if (!isFloat(elem))
      return fmt::format("argument `{}`: element {} is another integer", argument.name, at / size);
    const double a = realOf(elem, &want[at]), b = realOf(elem, &have[at]);
    const bool isNear = std::abs(a - b) <= boundOf(elem) * (std::abs(a) + mean);
    if (!isNear && !(std::isnan(a) && std::isnan(b)))
      return fmt::format("argument `{}`: element {} is {} instead of {}", argument.name, at / size,
                         b, a);
  }
  return "";
}

/// The most bytes that are saved: sparse arrays of tests with almost 2^31 elements would not fit.
constexpr uint64_t mostSaved = uint64_t(1) << 30;

/// The memory that the kernel may write; nothing, with the reason, if that is not known.
std::vector<Storage> writableStorage(const Code &code, const std::vector<LaunchArg> &args,
                                     std::string &reason) {
  std::vector<Storage> result;
  uint64_t bytes = 0;
  if (code.foreignPointers)
    reason = "reaches memory through pointers in memory";
  if (!code.prints.empty())
    reason = "prints";
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].kind != LaunchArg::Kind::Pointer || args[i].pointer == 0 || args[i].isReadOnly)
      continue;
    if (args[i].begin == 0)
      reason = "storage of unknown size";
    else
      result.push_back({args[i].begin, args[i].end, i}), bytes += args[i].end - args[i].begin;
  }
  if (bytes > mostSaved)
    reason = "arguments of more than 1 GiB";
  return result;
}

/// The contents of memory before the launch.
class Contents {
public:
  explicit Contents(const std::vector<Storage> &storage) : storage(storage) {
    for (const Storage &one : storage)
      bytes.push_back(one.read());
  }
  void restore() const {
    for (size_t i = 0; i < storage.size(); ++i)
      storage[i].write(bytes[i]);
  }
  /// The first difference from the present contents of memory; empty if there is none.
  std::string difference(const Code &code) const {
    for (size_t i = 0; i < storage.size(); ++i) {
      const Argument &argument = code.arguments[storage[i].argument];
      if (std::string found = differenceOf(argument, bytes[i], storage[i].read()); !found.empty())
        return found;
    }
    return "";
  }

private:
  const std::vector<Storage> &storage;
  std::vector<Bytes> bytes;
};

class Report {
public:
  explicit Report(const std::string &kernel) : kernel(kernel) {}
  void add(const State &state, const char *verdict, const std::string &reason) {
    if (file.is_open())
      file << fmt::format("{}\t{}\t{}\t{}\t{}\n", state.target, state.pass, verdict, kernel,
                          reason.substr(0, reason.find('\n')));
  }

private:
  static std::string path() {
    const char *folder = std::getenv("PANTILE_CHECK_EACH_PASS_REPORT");
    return folder ? fmt::format("{}/{}.tsv", folder, getpid()) : "";
  }
  const std::string kernel;
  std::ofstream file{path(), std::ios::app};
};

} // namespace

Result<void> runStates(const InterpretedKernel &first, const Code &code,
                       const std::vector<State> &states, Grid grid,
                       const std::vector<LaunchArg> &args) {
  std::string reason;
  Report report(code.name);
  const std::vector<Storage> storage = writableStorage(code, args, reason);
  if (!reason.empty()) {
    report.add(states.front(), "not compared", reason);
    return first.runAlone(grid, args, 0, /*strict=*/false);
  }
  const Contents before(storage);
  // What the kernel itself reads out of bounds, the states may read, too.
  const bool isStrict = bool(first.runAlone(grid, args, 1, /*strict=*/true));
  if (!isStrict) {
    before.restore();
    if (Result<void> ran = first.runAlone(grid, args, 1, /*strict=*/false); !ran)
      return ran;
  }
  const Contents want(storage);
  std::string wrong, found;
  const InterpretedKernel *last = nullptr;
  for (const State &state : states) {
    if (!state.kernel) {
      report.add(state, "not runnable", state.reason);
      continue;
    }
    if (std::exchange(last, state.kernel.get()) != state.kernel.get()) {
      before.restore();
      Result<void> ran = state.kernel->runAlone(grid, args, 1, isStrict);
      state.kernel->freeMemory();
      found = ran ? want.difference(code) : ran.error().message;
    }
    report.add(state, found.empty() ? "equal" : "different", found);
    if (!found.empty() && wrong.empty())
      wrong = fmt::format("kernel `{}` for {} gives another result after `{}`: {}", code.name,
                          state.target, state.pass, found);
  }
  want.restore();
  if (!wrong.empty())
    return makeError(ErrorKind::Launch, wrong);
  return {};
}

} // namespace pantile::interp
