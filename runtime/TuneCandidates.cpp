//===- TuneCandidates.cpp - compile requests of the tuner's candidates --------------------===//
// Needs: see TuneCandidates.h.
// Gives: requestFor, bytesOf, onAllCores; candidatesOf of pantile/Tuner.h.
//===------------------------------------------------------------------------------------===//
#include "runtime/TuneCandidates.h"
#include "cache/Bytes.h"
#include <algorithm>
#include <atomic>
#include <thread>

namespace pantile {
namespace {

/// One candidate per value for each of `candidates`, which `set` gives it.
template <typename Value, typename Set>
void multiply(std::vector<TuneCandidate> &candidates, const std::vector<Value> &values, Set set) {
  std::vector<TuneCandidate> all;
  for (const TuneCandidate &candidate : candidates)
    for (const Value &value : values)
      set(all.emplace_back(candidate), value);
  candidates = std::move(all);
}

} // namespace

std::vector<TuneCandidate> candidatesOf(const TuneAxes &axes) {
  std::vector<TuneCandidate> candidates(1);
  for (const auto &axis : axes.definitions)
    multiply(candidates, axis.second, [&](TuneCandidate &candidate, const ConstValue &value) {
      candidate.definitions[axis.first] = value;
    });
  multiply(candidates, axes.numWarps, [](TuneCandidate &one, int warps) { one.numWarps = warps; });
  multiply(candidates, axes.numStages,
           [](TuneCandidate &one, int stages) { one.numStages = stages; });
  multiply(candidates, axes.maxRegisters,
           [](TuneCandidate &one, int registers) { one.maxRegisters = registers; });
  return candidates;
}

CompileRequest requestFor(const CompileRequest &request, const TuneCandidate &candidate) {
  CompileRequest result = request;
  for (const auto &[name, value] : candidate.definitions)
    result.definitions[name] = value;
  result.options.numWarps = candidate.numWarps;
  result.options.numStages = candidate.numStages;
  result.options.maxRegisters = candidate.maxRegisters;
  result.options.disabledPasses.insert(candidate.disabledPasses.begin(),
                                       candidate.disabledPasses.end());
  result.options.enabledPasses.insert(candidate.enabledPasses.begin(),
                                      candidate.enabledPasses.end());
  return result;
}

std::string bytesOf(const Definitions &definitions) {
  ByteWriter out;
  out.u64(definitions.size());
  for (const auto &[name, value] : definitions) {
    out.text(name);
    out.constant(value);
  }
  return out.take();
}

std::string bytesOf(const TuneCandidate &candidate, bool ofTiles) {
  ByteWriter out;
  out.text(bytesOf(candidate.definitions));
  if (!ofTiles)
    out.u64(candidate.numWarps), out.u64(candidate.numStages);
  out.u64(candidate.maxRegisters);
  for (const auto &passes : {candidate.disabledPasses, candidate.enabledPasses}) {
    out.u64(passes.size());
    for (const std::string &pass : passes)
      out.text(pass);
  }
  return out.take();
}

void onAllCores(size_t count, const std::function<void(size_t)> &work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(cores, count); ++i)
    threads.emplace_back(run);
  run();
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace pantile
