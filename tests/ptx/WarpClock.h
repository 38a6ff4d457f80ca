//===- WarpClock.h - the clock of a warp and of its lanes ----------------------------===//
// Needs: Clocks.h, Shadow.h for Stamp and Scope.
// Gives: Unit, WarpClock.
// How:   The lanes of a warp have a common clock, the base, and for single lanes what they acquired
//        since they last synchronised. A lane has seen its own accesses, and those of the other
//        lanes up to the last synchronisation. Each asynchronous unit of the warp is an agent whose
//        tick is the group of an operation.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Shadow.h"

namespace pantile::ptx {

using Lanes = uint32_t;

/// The agents of a warp: its threads, cp.async, wgmma, and the two halves of bulk stores.
enum Unit : Agent { Threads, Copies, Mmas, BulkReads, BulkWrites, unitCount };

class WarpClock {
public:
  /// Starts with agents `first` to `first + unitCount - 1`; all lanes know what is `known`.
  void start(Agent first, Lanes lanes, Knowledge known);
  void leave(Lanes lanes) { live &= ~lanes; }

  /// Whether `stamp` happened before what `lane` does next.
  bool isAfter(const Stamp &stamp, int lane) const;
  /// The same, and `fence.proxy.async` came between.
  bool isFenced(const Stamp &stamp, int lane) const;

  /// All lanes wait for each other, and see what each did.
  void synchronize();
  /// What a release by `lanes` hands on; what they do later is not part of it.
  Knowledge release(Lanes lanes);
  /// The same, but what `lanes` do until `endRelease` is part of it: the releasing access itself.
  Knowledge beginRelease(Lanes lanes) const { return knowledgeOf(lanes); }
  void endRelease() { ++tick; }
  void acquire(Lanes lanes, const Knowledge &knowledge);
  /// Operations of `unit` up to group `done` are complete, and `lanes` have waited for them.
  void finish(Unit unit, Tick done, Lanes lanes);
  void fenceProxy(Lanes lanes);

  /// Strong reads of `lanes` found what `handed` says: a fence after them acquires it.
  void observe(Lanes lanes, const Handed &handed);
  /// `fence.acq_rel`; `isStrong(handed, scope)` says whether the scopes include each other.
  template <class IsStrong> void fence(Lanes lanes, Scope scope, IsStrong isStrong) {
    for (const Observed &item : observed)
      if ((item.lanes & lanes) && isStrong(item.handed, scope))
        acquire(item.lanes & lanes, item.handed.knowledge);
    noteFence(lanes, scope);
  }
  /// What a relaxed write of `lane` hands on because of a fence before it; null if there was none.
  const Handed *fencedBefore(int lane) const;

  Agent agent(Unit unit = Threads) const { return first + unit; }
  Tick now() const { return tick; }

private:
  struct Own {
    Lanes lanes;
    Knowledge knowledge;
  };
  struct Observed {
    Lanes lanes;
    Handed handed;
  };
  /// Whether `lane`, or each live lane, has acquired by itself what `covers` requires.
  template <class Covers> bool areTold(int lane, Covers covers) const {
    Lanes left = lane == severalLanes ? live : Lanes(1) << lane;
    for (const Own &item : own)
      if ((item.lanes & left) && covers(item.knowledge))
        left &= ~item.lanes;
    return !left;
  }
  Known known(Unit unit, Tick all, Tick some, Lanes lanes) const;
  Knowledge knowledgeOf(Lanes lanes) const;
  void noteFence(Lanes lanes, Scope scope);

  Agent first = 0;
  Lanes started = 0, live = 0, waited = 0; // waited: for the copies up to `copied`
  Tick tick = 1, synced = 0, copied = 0;
  Knowledge base;
  std::vector<Own> own;
  std::vector<Observed> observed, fences;
};

} // namespace pantile::ptx
