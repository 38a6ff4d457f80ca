//===- PlanText.cpp - a kernel's plan as text --------------------------------------===//
// Gives: see PlanText.h.
//===-------------------------------------------------------------------------------===//
#include "PlanText.h"
#include "IrDiagnostics.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace pantile {
namespace {

std::string counted(int64_t number, const char *noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string text(Type type) {
  std::string out;
  llvm::raw_string_ostream(out) << type;
  return out;
}

std::string programsLine(nv::KernelPlanAttr plan) {
  std::string line;
  switch (plan.getMap()) {
  case nv::ProgramMap::Grid:
    line = "grid";
    break;
  case nv::ProgramMap::Persistent:
    line = "persistent";
    break;
  case nv::ProgramMap::StreamK:
    line = "stream-K";
    break;
  case nv::ProgramMap::Cluster:
    line = fmt::format("clusters of {}", counted(plan.getOf(), "CTA"));
    break;
  case nv::ProgramMap::Packed:
    line = fmt::format("packed, up to {} per CTA", plan.getOf());
    break;
  }
  return fmt::format(
      "programs: {}{}\n", line,
      plan.getRasterGroup() ? fmt::format(", raster groups of {}", plan.getRasterGroup()) : "");
}

const char *mapText(nv::ProgramMap map) {
  switch (map) {
  case nv::ProgramMap::Grid:
    return "grid";
  case nv::ProgramMap::Persistent:
    return "persistent";
  case nv::ProgramMap::StreamK:
    return "stream-K";
  case nv::ProgramMap::Cluster:
    return "cluster";
  case nv::ProgramMap::Packed:
    return "packed";
  }
  return "";
}

/// Whether each launch chooses it or not.
bool isOfLaunches(func::FuncOp kernel, nv::CandidateAttr candidate) {
  return candidate.getMap() == nv::ProgramMap::StreamK && kernel->hasAttr(names::streamKEstimate);
}

/// The other candidates, and why they were not taken.
std::string candidateLines(func::FuncOp kernel, nv::KernelPlanAttr plan) {
  std::string out;
  auto all = kernel->getAttrOfType<ArrayAttr>(names::candidates);
  if (!all)
    return out;
  const bool hasProducer = plan.getPartitions().size() > 1;
  for (auto candidate : all.getAsRange<nv::CandidateAttr>()) {
    const std::string name = fmt::format("{}, {} producer", mapText(candidate.getMap()),
                                         candidate.getProducer() ? "a" : "no");
    const bool isTaken =
        candidate.getMap() == plan.getMap() && candidate.getProducer() == hasProducer;
    if (candidate.getRefused())
      out += fmt::format("candidate: {}: {}\n", name, candidate.getRefused().str());
    else if (candidate.getCtasPerSm() == 0)
      out += fmt::format("candidate: {}{}\n", name, isTaken ? "; taken" : "");
    else
      out += fmt::format("candidate: {}: about {} bytes of shared memory, {} per SM{}\n", name,
                         candidate.getSharedBytes(), candidate.getCtasPerSm(),
                         isTaken                           ? "; taken"
                         : isOfLaunches(kernel, candidate) ? "; taken by launches that gain by it"
                                                           : "");
  }
  return out;
}

std::string partitionLine(nv::PartitionAttr partition) {
  const std::string role = nv::stringifyRole(partition.getRole()).str();
  return fmt::format(
      "  {}{}: {}{}\n", role, partition.getRole() == nv::Role::Consumer ? "s" : "",
      counted(partition.getWarps(), "warp"),
      partition.getRegisters() ? fmt::format(", {} registers", partition.getRegisters()) : "");
}

std::string ctaLines(nv::KernelPlanAttr plan) {
  int64_t warps = 0;
  for (nv::PartitionAttr partition : plan.getPartitions())
    warps += partition.getWarps();
  std::string out = fmt::format(
      "CTA: {}, {}{} bytes of shared memory, {} per SM\n", counted(warps, "warp"),
      plan.getRegisters() ? fmt::format("about {} registers per thread, ", plan.getRegisters())
                          : "",
      plan.getSharedBytes(), plan.getCtasPerSm());
  if (plan.getPartitions().size() > 1)
    for (nv::PartitionAttr partition : plan.getPartitions())
      out += partitionLine(partition);
  return out;
}

std::string place(Location location) {
  const SourceRange range = rangeOf(location);
  if (range.file.empty())
    return "";
  const std::string file = std::filesystem::path(range.file).filename();
  return fmt::format(" at {}:{}:{}", file, range.line, range.column);
}

/// The source location of a loop, and where the function that contains it is called.
std::string placeOf(scf::ForOp loop) {
  std::string out = place(loop.getLoc());
  if (auto call = loop.getLoc()->findInstanceOf<CallSiteLoc>())
    out += ", called" + place(call.getCaller());
  return out;
}

const char *limiterText(nv::Limiter limiter) {
  switch (limiter) {
  case nv::Limiter::TensorCore:
    return "the tensor cores";
  case nv::Limiter::SharedMemory:
    return "shared memory";
  case nv::Limiter::L2:
    return "L2";
  case nv::Limiter::SpecialFunction:
    return "the special function units";
  case nv::Limiter::Issue:
    return "the issue of instructions";
  }
  return "";
}

std::string channelLine(nv::ChannelAttr channel) {
  return fmt::format("  channel [{}] x {}: depth {} via {}\n", fmt::join(channel.getShape(), ", "),
                     text(channel.getElementType()), channel.getDepth(),
                     nv::stringifyTransport(channel.getTransport()).str());
}

std::string instructionText(std::optional<MmaAttr> mma) {
  if (!mma || mma->getKind() == MmaKind::Fma)
    return "FMA";
  return fmt::format("{} m{}n{}k{}", mma->getKind() == MmaKind::Wgmma ? "wgmma" : "mma.sync",
                     mma->getM(), mma->getN(), mma->getK());
}

/// The instruction of each MMA in the loop's own body.
std::vector<std::string> instructionsOf(scf::ForOp loop) {
  std::vector<std::string> texts;
  loop.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto mma = dyn_cast<nv::AsyncMmaOpInterface>(op))
      texts.push_back(instructionText(mma.getMma()));
    else if (auto dot = dyn_cast<DotOp>(op))
      texts.push_back(instructionText(dot.getMma()));
    else if (isa<nv::FmaOp>(op))
      texts.push_back(instructionText(std::nullopt));
    return isa<LoopLikeOpInterface>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  return texts;
}

std::string mmaLine(scf::ForOp loop, nv::LoopPlanAttr plan) {
  const std::vector<std::string> instructions = instructionsOf(loop);
  std::vector<std::string> words;
  for (auto at = instructions.begin(); at != instructions.end(); ++at) {
    const auto count = std::count(instructions.begin(), instructions.end(), *at);
    if (std::find(instructions.begin(), at, *at) == at)
      words.push_back(count > 1 ? fmt::format("{} x {}", count, *at) : *at);
  }
  if (words.empty())
    return "";
  if (plan.getInFlight())
    words.push_back(fmt::format("{} in flight over the end of an iteration", plan.getInFlight()));
  return fmt::format("  {}\n", fmt::join(words, ", "));
}

std::string loopLines(scf::ForOp loop, nv::LoopPlanAttr plan, bool withPlaces) {
  std::string out =
      fmt::format("loop{}: about {} per iteration, bound by {}\n", withPlaces ? placeOf(loop) : "",
                  counted(plan.getCycles(), "cycle"), limiterText(plan.getLimiter()));
  for (nv::ChannelAttr channel : plan.getChannels())
    out += channelLine(channel);
  return out + mmaLine(loop, plan);
}

} // namespace

std::string planText(ModuleOp module, bool withPlaces) {
  std::string out;
  module.walk([&](func::FuncOp kernel) {
    auto plan = kernel->getAttrOfType<nv::KernelPlanAttr>(names::plan);
    if (!plan)
      return;
    out += fmt::format("kernel {} for {}\n", kernel.getName().str(), moduleTarget(module).str());
    out += programsLine(plan) + candidateLines(kernel, plan) + ctaLines(plan);
    kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (auto loopPlan = loop->getAttrOfType<nv::LoopPlanAttr>(names::plan))
        out += loopLines(loop, loopPlan, withPlaces);
    });
  });
  return out;
}

std::string assembledLine(int registers, int spills) {
  return fmt::format("assembled: {} registers per thread, {} bytes spilled\n", registers, spills);
}

} // namespace pantile
