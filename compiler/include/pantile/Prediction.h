//===- Prediction.h - the predicted cost of a launch, before there is code ------------------===//
// `Observe::launch` requests a prediction, which needs the passes only: no LLVM and no assembler.
// At Stage::Plan it is made from the decisions of the passes. At Stage::Tile it is made from the
// tile IR alone, in a fraction of the time; tile IR does not depend on warps and stages, so one run
// predicts any number of variants. Predictions are for comparing configurations of one kernel.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pantile {

/// Options that the tile IR does not depend on.
struct LaunchVariant {
  int numWarps = 4, numStages = 3; ///< as of Options
};

/// The grid and arguments of a launch, as far as they are known before there is a kernel.
struct LaunchShape {
  std::array<int64_t, 3> grid = {1, 1, 1}; ///< programs along each axis
  std::vector<std::optional<int64_t>>
      integers;            ///< values of the launch arguments, in order; nothing for other types
  int multiprocessors = 0; ///< SMs of the GPU; 0: those of the usual GPU of the architecture
  std::vector<LaunchVariant> variants; ///< at Stage::Tile: predict these; none: the options' own
};

/// The predicted cost of such a launch.
struct LaunchPrediction {
  double cycles = 0;     ///< of the busiest SM, from start to end; 0 where `unknown` says why
  std::string unknown;   ///< what keeps them from being predicted; empty: nothing does
  int64_t ctasPerSm = 0; ///< occupancy: CTAs that an SM runs at once
  int64_t registers = 0; ///< 32-bit registers of a thread that holds all its tiles; 0: not known
  bool spills = false;   ///< more registers than a thread may have
};

} // namespace pantile
