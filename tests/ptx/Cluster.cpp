//===- Cluster.cpp - blocks that reach each other's shared memory -------------------------===//
// Needs: Machine.h.
// Gives: Cluster, Block::sharedOfCluster, decodeCluster.
// How:   the blocks of a cluster take turns at random like the warps of a block; the next cluster
//        starts when all have left. An address that `mapa` made has the block's rank above the
//        offset. A block that has left is out of reach: copies and arrivals that come to it are
//        faults. The barrier: PTX ISA, "barrier.cluster"; threads that have left count no more.
//===------------------------------------------------------------------------------------===//
#include "Values.h"
#include <algorithm>

namespace pantile::ptx {

Cluster::Cluster(const Launch &launch, std::mt19937_64 &random) : random(random) {
  for (int rank = 0; rank < launch.cluster; ++rank)
    blocks.push_back(std::make_unique<Block>(launch, random, *this, rank));
}

void Cluster::start(uint64_t number) {
  phase = 0;
  arriving = arrived = {};
  for (auto &block : blocks)
    block->start(number * blocks.size() + block->rank);
}

bool Cluster::isDone() const {
  return std::all_of(blocks.begin(), blocks.end(),
                     [](const auto &block) { return block->isDone(); });
}

bool Cluster::turn() {
  const size_t first = random() % blocks.size();
  for (size_t i = 0; i < blocks.size(); ++i) {
    Block &block = *blocks[(first + i) % blocks.size()];
    if (block.isDone())
      requireNoLoads(block);
    else if (block.turn())
      return true;
  }
  return isDone();
}

void Cluster::requireNoLoads(const Block &block) const {
  if (block.loads.empty())
    return;
  const TensorCopy &copy = block.loads.front();
  copy.by->fault(*copy.instruction, "block " + std::to_string(block.rank) +
                                        " of the cluster has left before the copy arrives");
}

void Cluster::end() const {
  for (const auto &block : blocks)
    requireNoLoads(*block);
}

std::string Cluster::whereItWaits() const {
  std::string text;
  for (const auto &block : blocks)
    if (!block->isDone())
      text += (text.empty() ? "block " : "; block ") + std::to_string(block->at.x) + ": " +
              block->whereItWaits();
  return text;
}

uint64_t Cluster::steps() const {
  uint64_t sum = 0;
  for (const auto &block : blocks)
    sum += block->steps;
  return sum;
}

void Cluster::forgetSteps() {
  for (auto &block : blocks)
    block->steps = 0;
}

//===- shared memory of others --------------------------------------------------------------===//

Word Cluster::mapped(Warp &warp, const Instruction &instruction, Word address, Word rank) const {
  if (rank >= blocks.size())
    warp.fault(instruction, "the cluster has no block " + std::to_string(rank));
  const Word offset = address & ((Word(1) << sharedAddressBits) - 1);
  return (rank + 1) << sharedAddressBits | offset;
}

Block &Cluster::blockOf(const Warp &warp, const Instruction &instruction, Word rank) const {
  if (rank >= blocks.size())
    warp.fault(instruction, "the cluster has no block " + std::to_string(rank));
  Block &block = *blocks[rank];
  if (block.isDone())
    warp.fault(instruction, "block " + std::to_string(rank) + " of the cluster has left");
  return block;
}

uint8_t *Block::sharedOfCluster(Warp &warp, const Instruction &instruction, Word address, int bytes,
                                Block *&owner) {
  const Word tag = address >> sharedAddressBits;
  owner = tag ? &cluster.blockOf(warp, instruction, tag - 1) : this;
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
  turnPhase();
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
void Cluster::turnPhase() {
  bool anyArrived = false;
  for (const auto &block : blocks)
    for (const auto &warp : block->warps) {
      if (!warp->isDone() && warp->clusterPhase != phase)
        return;
      anyArrived |= warp->clusterPhase == phase;
    }
  if (!anyArrived)
    return;
  ++phase;
  arrived.join(std::exchange(arriving, {}));
  for (const auto &block : blocks)
    for (const auto &warp : block->warps)
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
    d[lane] = w.block.cluster.mapped(w, i, address[lane], uint32_t(rank[lane]));
  });
}

void rankOfAddress(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *address = w.reg(i[1]);
  forLanes(w.active, [&](int lane) {
    const Word tag = address[lane] >> sharedAddressBits;
    d[lane] = tag ? tag - 1 : w.block.rank;
  });
}

void arriveAtCluster(Warp &w, const Instruction &i) { w.block.cluster.arrive(w, i); }
void waitForCluster(Warp &w, const Instruction &i) { w.block.cluster.wait(w, i); }

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
