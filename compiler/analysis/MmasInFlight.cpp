//===- MmasInFlight.cpp - see MmasInFlight.h ----------------------------------------------===//
#include "analysis/MmasInFlight.h"

using namespace mlir;

namespace pantile {

void MmasInFlight::issue(nv::AsyncMmaOpInterface mma) {
  for (Flight &flight : all)
    ++flight.younger;
  add({mma, mma.getResult()});
}

void MmasInFlight::wait(unsigned pending, ValueRange values) {
  for (Flight &flight : all) {
    flight.isComplete |= flight.younger >= pending;
    if (flight.isComplete && llvm::is_contained(values, flight.accumulator))
      flight.accumulator = {};
  }
  llvm::erase_if(all,
                 [](const Flight &flight) { return flight.isComplete && !flight.accumulator; });
}

unsigned MmasInFlight::count() const {
  unsigned most = 0;
  for (const Flight &flight : all)
    most = flight.isComplete ? most : std::max(most, flight.younger + 1);
  return most;
}

std::optional<unsigned>
MmasInFlight::pendingFor(llvm::function_ref<bool(const Flight &)> isMeant) const {
  std::optional<unsigned> pending;
  for (const Flight &flight : all)
    if (!flight.isComplete && isMeant(flight))
      pending = std::min(pending.value_or(flight.younger), flight.younger);
  return pending;
}

bool MmasInFlight::add(const Flight &flight) {
  auto *same = llvm::find_if(all, [&](const Flight &other) {
    return other.mma == flight.mma && other.accumulator == flight.accumulator &&
           other.isEarlier == flight.isEarlier;
  });
  if (same == all.end()) {
    all.push_back(flight);
    return true;
  }
  const Flight before = *same;
  if (same->isComplete == flight.isComplete)
    same->younger = std::min(same->younger, flight.younger);
  else if (same->isComplete)
    *same = flight;
  return same->younger != before.younger || same->isComplete != before.isComplete;
}

bool MmasInFlight::join(const MmasInFlight &other) {
  bool changed = false;
  for (const Flight &flight : other.all)
    changed |= add(flight);
  return changed;
}

MmasInFlight MmasInFlight::across(ValueRange from, ValueRange to, Operation *left) const {
  auto isWithin = [&](Region *region) { return left && left->isAncestor(region->getParentOp()); };
  MmasInFlight result;
  for (Flight flight : all) {
    Value accumulator = flight.accumulator;
    flight.isEarlier |= isWithin(flight.mma->getParentRegion());
    for (auto [inside, outside] : llvm::zip_equal(from, to))
      if (accumulator && inside == accumulator) {
        flight.accumulator = outside;
        result.add(flight);
      }
    flight.accumulator =
        accumulator && !isWithin(accumulator.getParentRegion()) ? accumulator : Value();
    if (flight.accumulator || !flight.isComplete)
      result.add(flight);
  }
  return result;
}

} // namespace pantile
