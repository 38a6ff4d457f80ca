//===- Race.cpp - the fastest of several by successive halving ----------------------------===//
// Needs: a function that runs a contestant and returns how long each run took.
// Gives: race (pantile/Tuner.h).
// How:   rounds as in successive halving (Karnin, Koren, Somekh, ICML 2013): each measures fewer
//        contestants for longer. The shortest run decides which stay, since a busy host makes single
//        runs longer and never shorter. The runs of a round are interleaved, forwards and
//        backwards, because clocks drift. The result is chosen by medians, so the winners run again
//        while a contestant that was dropped has a smaller one.
//===------------------------------------------------------------------------------------===//
#include "pantile/Tuner.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace pantile {
namespace {

/// A share of the time for each contestant, and how much slower than the best one may be to stay.
struct Round {
  double share, slack;
};
constexpr Round rounds[] = {{0.06, 1.4}, {0.2, 1.15}, {0.8, 1.0}};
constexpr double hopeless = 3; // times the best
constexpr int turns = 3;       // parts of a round; each has one run at least
constexpr int repeats = 5;     // of the last round, while the winners' medians are not the least
constexpr int mostRuns = 200;  // of a round
/// Milliseconds of a run other than the kernel, mostly the write that flushes the cache.
constexpr double overhead = 0.15;

double medianOf(std::vector<double> times) {
  llvm::sort(times);
  const size_t middle = times.size() / 2;
  return times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

/// One call of `race`.
class Race {
public:
  Race(size_t contestants, const MeasureRuns &measure, double milliseconds)
      : measureRuns(measure), milliseconds(milliseconds), times(contestants),
        shortest(contestants, std::numeric_limits<double>::infinity()) {}

  std::vector<std::vector<double>> run() {
    for (size_t i = 0; i < times.size(); ++i)
      runFirst(i);
    dropHopeless();
    for (const Round &round : rounds) {
      if (running.empty())
        break;
      runRound(round.share * milliseconds);
      if (running.size() < std::min<size_t>(times.size(), 2))
        break;
      const double limit = round.slack * shortest[fastest()];
      llvm::erase_if(running, [&](size_t i) { return shortest[i] > limit; });
    }
    settle();
    return std::move(times);
  }

private:
  /// The times of `count` runs; none if contestant `i` cannot run, which takes it out of the race.
  std::vector<double> measure(size_t i, int count) {
    std::optional<std::vector<double>> measured = measureRuns(i, count);
    if (!measured || measured->empty()) {
      times[i].clear(), shortest[i] = std::numeric_limits<double>::infinity();
      llvm::erase(running, i);
      return {};
    }
    shortest[i] = std::min(shortest[i], *llvm::min_element(*measured));
    return std::move(*measured);
  }

  /// The first run also loads, so the second one is the first that counts.
  void runFirst(size_t i) {
    running.push_back(i);
    if (measure(i, 1).empty())
      return;
    shortest[i] = std::numeric_limits<double>::infinity();
    times[i] = measure(i, 1);
  }

  size_t fastest() const {
    return *llvm::min_element(running,
                              [&](size_t a, size_t b) { return shortest[a] < shortest[b]; });
  }

  /// Whether `i` is far slower than `best` each time that they run one after the other.
  bool isHopeless(size_t i, size_t best) {
    for (int turn = 0; turn < turns; ++turn) {
      const std::vector<double> limit = measure(best, 1), time = measure(i, 1);
      if (limit.empty() || time.empty())
        return time.empty();
      if (time.front() <= hopeless * limit.front())
        return false;
    }
    return true;
  }

  void dropHopeless() {
    for (size_t i : std::vector<size_t>(running)) {
      if (!llvm::is_contained(running, i))
        continue;
      const size_t best = fastest();
      if (shortest[i] > hopeless * shortest[best] && isHopeless(i, best))
        llvm::erase(running, i);
    }
  }

  void runTurn(size_t i, double budget) {
    const int count = std::clamp(int(budget / (shortest[i] + overhead)), 1, mostRuns / turns);
    llvm::append_range(times[i], measure(i, count));
  }

  void runRound(double budget) {
    for (size_t i : running)
      times[i].clear();
    for (int turn = 0; turn < turns; ++turn) {
      std::vector<size_t> order(running);
      if (turn % 2)
        std::reverse(order.begin(), order.end());
      for (size_t i : order)
        if (llvm::is_contained(running, i))
          runTurn(i, budget / turns);
    }
  }

  /// The least median of contestants that do or do not run any more.
  double leastMedian(bool ofRunning) const {
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < times.size(); ++i)
      if (llvm::is_contained(running, i) == ofRunning && !times[i].empty())
        least = std::min(least, medianOf(times[i]));
    return least;
  }

  void settle() {
    for (int i = 0; i < repeats && leastMedian(false) < leastMedian(true); ++i)
      runRound(std::end(rounds)[-1].share * milliseconds);
  }

  const MeasureRuns &measureRuns;
  const double milliseconds;
  std::vector<std::vector<double>> times; // of each contestant's last round
  std::vector<double> shortest;
  std::vector<size_t> running;
};

} // namespace

std::vector<std::vector<double>> race(size_t contestants, const MeasureRuns &measure,
                                      double milliseconds) {
  return Race(contestants, measure, milliseconds).run();
}

} // namespace pantile
