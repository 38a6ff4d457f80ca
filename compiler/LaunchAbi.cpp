//===- LaunchAbi.cpp - which passes a launch ABI allows ----------------------------===//
// Needs: see LaunchAbi.h.
// Gives: withinAbi, needsOfPasses; launchAbiNamed, launchAbiName and needsBeyondArguments of
//        pantile/Compiler.h.
//===-------------------------------------------------------------------------------===//
#include "LaunchAbi.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pantile {
namespace {

/// Passes whose kernels need more than the arguments, with what they need.
constexpr const char *passesBeyondTriton[] = {
    "nv-specialise-warps",   // tensor maps after the arguments, warps in addition to `numWarps`
    "nv-tma-stores",         // tensor maps
    "nv-make-persistent",    // the grid after the arguments, and fewer CTAs
    "nv-stream-k",           // memory for partial tiles
    "nv-split-over-cluster", // a cluster per program
    "nv-pack-programs",      // CTAs of several programs, where that pays
};

/// Whether an argument has a descriptor that the host creates. Triton passes these in another
/// order, each extent and stride twice, or as a tensor map.
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
    needs.push_back(fmt::format("a producer of {} warp{}", more, plural(more)));
  if (kernel.persistent)
    needs.push_back("CTAs that run several programs");
  if (kernel.workspacePerCta)
    needs.push_back("memory for partial tiles");
  if (kernel.ctasPerProgram > 1)
    needs.push_back(fmt::format("clusters of {} CTAs", kernel.ctasPerProgram));
  if (kernel.programsPerCta > 1)
    needs.push_back(fmt::format("CTAs of up to {} programs", kernel.programsPerCta));
  return needs;
}

std::vector<std::string> needsBeyondArguments(const Kernel::Data &kernel) {
  std::vector<std::string> needs = needsOfPasses(kernel);
  if (std::any_of(kernel.args.begin(), kernel.args.end(), hasDescriptor))
    needs.push_back("descriptors as separate arguments");
  return needs;
}

} // namespace pantile
