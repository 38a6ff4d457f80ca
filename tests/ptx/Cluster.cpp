//===- Cluster.cpp - CTAs that access each other's shared memory ---------------------===//
// Needs: Machine.h.
// Gives: Cluster, Cta::sharedOfCluster, decodeCluster.
// How:   The CTAs of a cluster are interleaved at random like the warps of a CTA; the next cluster
//        starts when all have exited. An address from `mapa` has the CTA's rank above the offset.
//        The shared memory of a CTA that has exited cannot be accessed: copies and arrivals to it
//        are faults. The barrier: PTX ISA, "barrier.cluster"; threads that have exited no longer
//        count.
//===------------------------------------------------------------------------------------===//
#include "Values.h"
#include <algorithm>

namespace pantile::ptx {

Cluster::Cluster(const Launch &launch, std::mt19937_64 &random) : random(random) {
  for (int rank = 0; rank < launch.cluster; ++rank)
    ctas.push_back(std::make_unique<Cta>(launch, random, *this, rank));
}

void Cluster::start(uint64_t number) {
  phase = 0;
  arriving = arrived = {};
  for (auto &cta : ctas)
    cta->start(number * ctas.size() + cta->rank);
}

bool Cluster::isDone() const {
  return std::all_of(ctas.begin(), ctas.end(), [](const auto &cta) { return cta->isDone(); });
}

bool Cluster::runSome() {
  const size_t first = random() % ctas.size();
  for (size_t i = 0; i < ctas.size(); ++i) {
    Cta &cta = *ctas[(first + i) % ctas.size()];
    if (cta.isDone())
      requireNoLoads(cta);
    else if (cta.runSome())
      return true;
  }
  return isDone();
}

void Cluster::requireNoLoads(const Cta &cta) const {
  if (cta.loads.empty())
    return;
  const TensorCopy &copy = cta.loads.front();
  copy.by->fault(*copy.instruction, "CTA " + std::to_string(cta.rank) +
                                        " of the cluster has left before the copy arrives");
}

void Cluster::end() const {
  for (const auto &cta : ctas)
    requireNoLoads(*cta);
}

std::string Cluster::whereItWaits() const {
  std::string text;
  for (const auto &cta : ctas)
    if (!cta->isDone())
      text += (text.empty() ? "CTA " : "; CTA ") + std::to_string(cta->at.x) + ": " +
              cta->whereItWaits();
  return text;
}

uint64_t Cluster::steps() const {
  uint64_t sum = 0;
  for (const auto &cta : ctas)
    sum += cta->steps;
  return sum;
}

void Cluster::forgetSteps() {
  for (auto &cta : ctas)
    cta->steps = 0;
}

//===- shared memory of others --------------------------------------------------------------===//

Word Cluster::mapped(Warp &warp, const Instruction &instruction, Word address, Word rank) const {
  if (rank >= ctas.size())
    warp.fault(instruction, "the cluster has no CTA " + std::to_string(rank));
  const Word offset = address & ((Word(1) << sharedAddressBits) - 1);
  return (rank + 1) << sharedAddressBits | offset;
}

Cta &Cluster::ctaOf(const Warp &warp, const Instruction &instruction, Word rank) const {
  if (rank >= ctas.size())
    warp.fault(instruction, "the cluster has no CTA " + std::to_string(rank));
  Cta &cta = *ctas[rank];
  if (cta.isDone())
    warp.fault(instruction, "CTA " + std::to_string(rank) + " of the cluster has left");
  return cta;
}

uint8_t *Cta::sharedOfCluster(Warp &warp, const Instruction &instruction, Word address, int bytes,
                              Cta *&owner) {
  const Word tag = address >> sharedAddressBits;
  owner = tag ? &cluster.ctaOf(warp, instruction, tag - 1) : this;
  return owner->shared(warp, instruction, address & ((Word(1) << sharedAddressBits) - 1), bytes);
}

//===- the cluster's barrier ----------------------------------------------------------------===//

void Cluster::arrive(Warp &warp, const Instruction &instruction) {
  if (warp.clusterPhase >= 0)
    warp.fault(instruction, "arrives again without having waited");
  warp.clusterPhase = phase;
  if (!instruction.op.has("relaxed"))
    arriving.join(warp.clock.release(warp.live));
  else if (const Handed *fenced = warp.clock.fencedBefore(std::countr_zero(warp.active)))
    arriving.join(fenced->knowledge);
  flipPhase();
}

void Cluster::wait(Warp &warp, const Instruction &instruction) {
  if (warp.clusterPhase < 0)
    warp.fault(instruction, "waits without having arrived");
  if (warp.clusterPhase < phase) {
    warp.clusterPhase = -1;
    warp.clock.acquire(allLanes, arrived);
    return;
  }
  warp.barrier = clusterBarrier;
  warp.stops = true;
}

/// The next phase begins when all that live have arrived in this one.
void Cluster::flipPhase() {
  bool anyArrived = false;
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps) {
      if (!warp->isDone() && warp->clusterPhase != phase)
        return;
      anyArrived |= warp->clusterPhase == phase;
    }
  if (!anyArrived)
    return;
  ++phase;
  arrived.join(std::exchange(arriving, {}));
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      if (warp->barrier == clusterBarrier) {
        warp->barrier = warp->clusterPhase = -1;
        warp->clock.acquire(allLanes, arrived);
      }
}

//===- instructions -------------------------------------------------------------------------===//

namespace {

void mapAddress(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *address = w.reg(i[1]), *rank = w.reg(i[2]);
  forLanes(w.active, [&](int lane) {
    d[lane] = w.cta.cluster.mapped(w, i, address[lane], uint32_t(rank[lane]));
  });
}

void rankOfAddress(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *address = w.reg(i[1]);
  forLanes(w.active, [&](int lane) {
    const Word tag = address[lane] >> sharedAddressBits;
    d[lane] = tag ? tag - 1 : w.cta.rank;
  });
}

void arriveAtCluster(Warp &w, const Instruction &i) { w.cta.cluster.arrive(w, i); }
void waitForCluster(Warp &w, const Instruction &i) { w.cta.cluster.wait(w, i); }

} // namespace

Handler decodeCluster(Instruction &i) {
  const std::string &base = i.op.base;
  const bool isShared = i.op.has("shared::cluster") && i.op.last() == "u32";
  if (base == "mapa")
    return isShared ? mapAddress : nullptr;
  if (base == "getctarank")
    return isShared ? rankOfAddress : nullptr;
  if (base != "barrier" || !i.op.has("cluster"))
    return nullptr;
  return i.op.has("arrive") ? arriveAtCluster : i.op.has("wait") ? waitForCluster : nullptr;
}

} // namespace pantile::ptx
