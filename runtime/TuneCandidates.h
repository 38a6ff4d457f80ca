//===- TuneCandidates.h - compile requests of the tuner's candidates ----------------------===//
// Needs: a request, and what a candidate changes in it.
// Gives: the request of a candidate, and a loop over candidates on all cores.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Tuner.h"
#include <functional>
#include <string>

namespace pantile {

/// What is compiled, as `tune` is given it.
struct TuneSource {
  std::string_view text;
  const std::string &fileName;
  const CompileRequest &request;
};

CompileRequest requestFor(const CompileRequest &request, const TuneCandidate &candidate);

/// All that two candidates may differ in, as bytes; without warps and stages if `ofTiles`.
std::string bytesOf(const TuneCandidate &candidate, bool ofTiles = false);
std::string bytesOf(const Definitions &definitions);

/// Calls `work` with every number below `count`, at once on as many threads as there are cores.
void onAllCores(size_t count, const std::function<void(size_t)> &work);

} // namespace pantile
