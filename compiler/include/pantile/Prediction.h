//===- Prediction.h - what a launch is expected to take, before there is code ---------------===//
// `Observe::launch` asks for a prediction, which needs no more than the passes: no LLVM and no
// assembler. At Stage::Plan it is made from what the passes decided, at Stage::Tile, in a fraction of
// the time, from the tiles alone. Those are the same whatever the warps and stages, so that one run
// serves many. Predictions are for comparing configurations of one kernel.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pantile {

/// Options that tiles do not depend on.
struct LaunchVariant {
  int numWarps = 4, numStages = 3; ///< as of Options
};

/// A launch, as far as it is known before there is a kernel.
struct LaunchShape {
  std::array<int64_t, 3> grid = {1, 1, 1}; ///< programs along each axis
  std::vector<std::optional<int64_t>>
      integers;            ///< values of the launch arguments, in order; nothing for other types
  int multiprocessors = 0; ///< of the GPU; 0: of the usual one of its architecture
  std::vector<LaunchVariant> variants; ///< at Stage::Tile: predict these; none: the options' own
};

/// What such a launch is expected to take.
struct LaunchPrediction {
  double cycles = 0;     ///< of the busiest SM, from start to end; 0 where `unknown` says why
  std::string unknown;   ///< what keeps them from being predicted; empty: nothing does
  int64_t ctasPerSm = 0; ///< that have room at once
  int64_t registers = 0; ///< of a thread that holds all its tiles; 0: not known
  bool spills = false;   ///< more than a thread may have
};

} // namespace pantile
