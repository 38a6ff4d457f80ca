//===- Grid.h - a launch that runs step by step --------------------------------------===//
// Needs: Machine.h, Races.h.
// Gives: Grid.
// How:   As many clusters run as are resident; each step runs a randomly chosen one. A cluster that
//        waits long may wait for a CTA that has not started: then a further one starts.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Races.h"

namespace pantile::ptx {

class Grid {
public:
  /// The accesses of the launch are compared with all others of `races`.
  Grid(const Launch &launch, Races &races);
  Grid(const Grid &) = delete;

  bool isDone() const { return running.empty(); }
  /// Runs some warp for a while; a Fault says what went wrong.
  void runSome();
  const Launch &launched() const { return launch; }
  /// What happened before the end of the launch, which is done.
  Clock after() const { return end; }
  std::string whereItWaits() const;

private:
  void admit();
  void noteEnd(const Cluster &cluster);

  Launch launch;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Cluster>> running;
  uint64_t count, next = 0; // clusters; the first that has not started
  Clock end;
};

} // namespace pantile::ptx
