//===- RenamedPasses.cpp - former names of passes ----------------------------------------===//
// Needs: see RenamedPasses.h.
// Gives: withCurrentPassNames.
//===------------------------------------------------------------------------------------===//
#include "RenamedPasses.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include <fmt/format.h>

namespace pantile {
namespace {

/// Empty for a name that has not changed.
llvm::StringRef currentName(llvm::StringRef former) {
  return llvm::StringSwitch<llvm::StringRef>(former)
      .Case("barriers-in-front", "barriers-before-loops")
      .Case("carried-sums", "carried-accumulators")
      .Case("copied-values", "buffered-values")
      .Case("nv-alternate-groups", "nv-ping-pong")
      .Case("nv-carry-accumulators", "carried-accumulators")
      .Case("nv-carry-sums", "carried-accumulators")
      .Case("nv-count-slots", "nv-count-stages")
      .Case("nv-keep-occupancy", "occupancy-first")
      .Case("nv-load-ahead", "nv-prefetch-loads")
      .Case("nv-order-programs", "nv-order-raster")
      .Case("nv-overlap-products", "nv-overlap-dots")
      .Case("nv-park-rows", "nv-spill-to-shared")
      .Case("nv-raise-stores", "nv-tma-stores")
      .Case("nv-share-registers", "nv-reallocate-registers")
      .Case("nv-spread-rows", "nv-split-over-cluster")
      .Case("nv-widen-late", "nv-rematerialise")
      .Case("raised-sums", "tma-reductions")
      .Case("third-block", "third-cta")
      .Case("tile-defer-sums", "tile-defer-reductions")
      .Case("tile-drop-dead-args", "remove-dead-values")
      .Case("tile-flush-exponentials", "tile-approximate-exp")
      .Case("tile-order-round-trips", "tile-order-memory")
      .Default("");
}

PassNames withCurrentNames(const PassNames &names, std::string &warnings) {
  PassNames result;
  for (const std::string &name : names) {
    const llvm::StringRef current = currentName(name);
    result.insert(current.empty() ? name : current.str());
    if (!current.empty())
      warnings += fmt::format("warning: pass `{}` is now called `{}`\n", name, current.str());
  }
  return result;
}

} // namespace

Options withCurrentPassNames(Options options, std::string &warnings) {
  options.disabledPasses = withCurrentNames(options.disabledPasses, warnings);
  options.enabledPasses = withCurrentNames(options.enabledPasses, warnings);
  return options;
}

} // namespace pantile
