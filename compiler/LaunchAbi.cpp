//===- LaunchAbi.cpp - what kernels of an ABI may ask of their launches -------------------===//
// Needs: see LaunchAbi.h.
// Gives: withinAbi, needsOfPasses; launchAbiNamed, launchAbiName and needsBeyondArguments of pantile/Compiler.h.
//===------------------------------------------------------------------------------------===//
#include "LaunchAbi.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pantile {
namespace {

/// Each with what it asks of a launch.
constexpr const char *passesBeyondTriton[] = {
    "nv-specialise-warps",   // tensor maps after the arguments, warps besides `numWarps`
    "nv-tma-stores",         // tensor maps
    "nv-make-persistent",    // the grid after the arguments, and fewer CTAs
    "nv-stream-k",           // memory for parts of sums
    "nv-split-over-cluster", // a cluster per program
    "nv-pack-programs",      // CTAs of several programs, where that pays
};

/// Of the host: Triton passes one in another order, each extent and stride twice, or as a tensor map.
bool hasDescriptor(const ArgSpec &spec) {
  return spec.kind == ArgSpec::Kind::Descriptor ||
         std::any_of(spec.elements.begin(), spec.elements.end(), hasDescriptor);
}

} // namespace

std::string_view launchAbiName(LaunchAbi abi) {
  return abi == LaunchAbi::Triton ? "triton" : "full";
}

std::optional<LaunchAbi> launchAbiNamed(std::string_view name) {
  for (LaunchAbi abi : {LaunchAbi::Full, LaunchAbi::Triton})
    if (launchAbiName(abi) == name)
      return abi;
  return std::nullopt;
}

Options withinAbi(Options options) {
  if (options.launchAbi == LaunchAbi::Triton)
    for (const char *pass : passesBeyondTriton) {
      options.enabledPasses.erase(pass);
      options.disabledPasses.insert(pass);
    }
  return options;
}

std::vector<std::string> needsOfPasses(const Kernel::Data &kernel) {
  std::vector<std::string> needs;
  auto plural = [](int64_t count) { return count == 1 ? "" : "s"; };
  if (const size_t maps = kernel.tensorMaps.size())
    needs.push_back(fmt::format("{} tensor map{}", maps, plural(int64_t(maps))));
  const int own = kernel.options.numWarps;
  if (const int more = kernel.numWarps - own; more > 0 && kernel.options.target != "cpu")
    needs.push_back(fmt::format("{} warp{} that load{}", more, plural(more), more == 1 ? "s" : ""));
  if (kernel.persistent)
    needs.push_back("blocks that run several programs");
  if (kernel.workspacePerBlock)
    needs.push_back("memory for parts of sums");
  if (kernel.blocksPerProgram > 1)
    needs.push_back(fmt::format("clusters of {} blocks", kernel.blocksPerProgram));
  if (kernel.programsPerBlock > 1)
    needs.push_back(fmt::format("blocks of up to {} programs", kernel.programsPerBlock));
  return needs;
}

std::vector<std::string> needsBeyondArguments(const Kernel::Data &kernel) {
  std::vector<std::string> needs = needsOfPasses(kernel);
  if (std::any_of(kernel.args.begin(), kernel.args.end(), hasDescriptor))
    needs.push_back("descriptors taken apart");
  return needs;
}

} // namespace pantile
