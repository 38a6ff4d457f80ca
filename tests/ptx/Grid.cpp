//===- Grid.cpp - run the clusters of a launch ---------------------------------------===//
// Needs: see Grid.h.
// Gives: Grid.
// How:   What happened before the end of each warp happened before the end of the launch.
//===------------------------------------------------------------------------------------------===//
#include "Grid.h"

namespace pantile::ptx {
namespace {
constexpr uint64_t patience = 50'000; // instructions of a warp before a further CTA starts
constexpr size_t mostRunning = 160;
} // namespace

Grid::Grid(const Launch &given, Races &races)
    : launch(given), random(given.seed), count(given.grid.size() / given.cluster) {
  races.add(launch);
  end = joined(launch.before, Known{launch.whole, 1, 0, 0});
  while (next < count && running.size() < size_t(launch.resident))
    admit();
}

void Grid::admit() {
  running.push_back(std::make_unique<Cluster>(launch, random));
  running.back()->start(next++);
}

void Grid::noteEnd(const Cluster &cluster) {
  if (!launch.races->hasSeveralLaunches())
    return;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      end = joined(end, warp->clock.release(allLanes).seen);
}

void Grid::runSome() {
  const size_t which = random() % running.size();
  Cluster &cluster = *running[which];
  const bool goesOn = cluster.runSome();
  if (cluster.isDone()) {
    cluster.end();
    noteEnd(cluster);
    if (next < count)
      cluster.start(next++);
    else
      running.erase(running.begin() + which);
  } else if (!goesOn)
    throw Fault("nothing goes on in " + cluster.whereItWaits());
  else if (cluster.steps() > patience * cluster.ctas[0]->warps.size() && next < count &&
           running.size() < mostRunning) {
    cluster.forgetSteps(); // it may wait for a CTA that has not started
    admit();
  }
}

std::string Grid::whereItWaits() const {
  return running.empty() ? "" : running.front()->whereItWaits();
}

} // namespace pantile::ptx
