//===- TuneTimes.cpp - what the tuner found, in the kernel cache ----------------------------===//
// Needs: see TuneTimes.h.
// Gives: TuneTimes.
// How:   entries are JSON, as those of Python's tuner.
//===------------------------------------------------------------------------------------===//
#include "runtime/TuneTimes.h"
#include "cache/Bytes.h"
#include "cache/Cache.h"
#include "cache/CacheKey.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace pantile {
namespace {

/// PANTILE_TUNE_WAIT_SECONDS, else 300, as for Python's tuner.
std::chrono::milliseconds patience() {
  const char *text = std::getenv("PANTILE_TUNE_WAIT_SECONDS");
  const double seconds = text && *text ? std::atof(text) : 300;
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * std::clamp(seconds, 0.0, 86400.0)));
}

void write(ByteWriter &out, const std::vector<LaunchArg> &args) {
  out.u64(args.size());
  for (const LaunchArg &arg : args) {
    out.u8(static_cast<uint8_t>(arg.kind));
    out.u64(arg.kind == LaunchArg::Kind::Int ? static_cast<uint64_t>(arg.integer) : 0);
    out.f64(arg.kind == LaunchArg::Kind::Float ? arg.real : 0);
  }
}

void write(ByteWriter &out, const Grid &grid) {
  for (int64_t extent : grid)
    out.u64(static_cast<uint64_t>(extent));
}

void write(ByteWriter &out, const LaunchOptions &launch) {
  out.u8(launch.cooperative), out.u8(launch.programmatic);
  for (int extent : launch.cluster)
    out.u64(static_cast<uint64_t>(extent));
}

/// The object that an entry holds; empty where there is none.
llvm::json::Object loadObject(const std::string &key) {
  std::optional<std::string> text = key.empty() ? std::nullopt : loadCacheEntry(key);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text.value_or("{}"));
  if (!value) {
    llvm::consumeError(value.takeError());
    return {};
  }
  const llvm::json::Object *object = value->getAsObject();
  return object ? std::move(*object) : llvm::json::Object();
}

void storeObject(const std::string &key, llvm::json::Object entry) {
  const std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(entry)));
  storeCacheEntry(key, text, EntryKind::Tuning);
}

} // namespace

TuneTimes::TuneTimes(const TuneOptions &options, std::string device)
    : options(options), device(options.useStore ? std::move(device) : "") {}

std::string TuneTimes::keyOf(const Kernel &kernel, const Grid &grid) const {
  if (!areKept() || kernel->hash.empty())
    return {};
  ByteWriter out;
  out.text("pantile time 2");
  out.text(kernel->hash);
  out.text(device);
  write(out, grid);
  write(out, options.launch);
  write(out, options.args);
  return hexDigest(out.bytes());
}

std::optional<TuneMeasurement> TuneTimes::load(const Kernel &kernel, const Grid &grid) const {
  const llvm::json::Object found = loadObject(keyOf(kernel, grid));
  TuneMeasurement measurement;
  measurement.fromStore = true;
  if (std::optional<double> time = found.getNumber("milliseconds"); time && *time > 0)
    measurement.milliseconds = *time;
  else if (std::optional<llvm::StringRef> error = found.getString("error"))
    measurement.error = error->str();
  else
    return std::nullopt;
  return measurement;
}

void TuneTimes::store(const Kernel &kernel, const Grid &grid,
                      const TuneMeasurement &measurement) const {
  const std::string key = keyOf(kernel, grid);
  if (key.empty())
    return;
  llvm::json::Object entry{{"kernel", kernel->name},
                           {"target", kernel->options.target},
                           {"num_warps", kernel->options.numWarps},
                           {"num_stages", kernel->options.numStages}};
  if (measurement.error.empty())
    entry["milliseconds"] = measurement.milliseconds;
  else
    entry["error"] = measurement.error;
  storeObject(key, std::move(entry));
}

std::string TuneTimes::spaceKey(const TuneSource &source,
                                const std::vector<TuneCandidate> &candidates) const {
  if (!areKept())
    return {};
  const CompileRequest first = requestFor(source.request, candidates.front());
  Result<Specialized> made = specializeText(source.text, source.fileName, first);
  if (!made)
    return {};
  ByteWriter out;
  out.text("pantile search space of the library 1");
  out.text(cacheKey({made->program, made->specialization, first.options, "", buildId()}));
  out.text(device);
  out.u64(options.keep);
  write(out, options.args);
  for (const TuneCandidate &candidate : candidates) {
    out.text(bytesOf(candidate));
    write(out, options.grid(requestFor(source.request, candidate).definitions));
  }
  return hexDigest(out.bytes());
}

std::vector<size_t> TuneTimes::loadKept(const std::string &key, size_t candidates) const {
  const llvm::json::Object found = loadObject(key);
  const llvm::json::Array *numbers = found.getArray("kept");
  if (!numbers || numbers->size() > options.keep)
    return {};
  std::vector<size_t> kept;
  for (const llvm::json::Value &number : *numbers) {
    std::optional<uint64_t> i = number.getAsUINT64();
    if (!i || *i >= candidates || llvm::is_contained(kept, *i))
      return {};
    kept.push_back(*i);
  }
  return kept;
}

void TuneTimes::storeKept(const std::string &key, const std::vector<size_t> &kept) const {
  if (!key.empty())
    storeObject(key, llvm::json::Object{{"kept", llvm::json::Array(kept)}});
}

std::unique_ptr<CacheLock> TuneTimes::lock(const TuneSource &source, std::string &warning) const {
  ByteWriter out;
  out.text("pantile tuning lock of the library 1");
  out.text(source.text);
  out.text(source.request.kernel);
  out.text(source.request.signature);
  out.text(device);
  write(out, options.args);
  auto held =
      std::make_unique<CacheLock>(Cache::ofProcess().entryPath(hexDigest(out.bytes())), patience());
  if (!held->isHeld() && held->isPossible())
    warning = fmt::format("waited {:g} s for another process that tunes `{}`, and tunes as well",
                          std::chrono::duration<double>(patience()).count(), source.fileName);
  return held;
}

} // namespace pantile
