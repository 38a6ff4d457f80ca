//===- LaunchTable.cpp - kernels by the words of warm launches --------------------------===//
#include "LaunchTable.h"
#include "Shortcut.h"
#include <algorithm>

namespace pantile::python {
namespace {

uint64_t hashOf(std::span<const uint64_t> words) {
  uint64_t hash = words.size();
  for (uint64_t word : words) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

bool hasWords(const LaunchTable::Entry &entry, std::span<const uint64_t> words) {
  return entry && std::ranges::equal(entry->words, words);
}

} // namespace

LaunchEntry::~LaunchEntry() { delete shortcut.load(std::memory_order_relaxed); }

LaunchTable::Entry LaunchTable::recent() {
  const TableLock lock(mutex);
  return last;
}

LaunchTable::Entry LaunchTable::find(std::span<const uint64_t> words) {
  const TableLock lock(mutex);
  if (hasWords(last, words))
    return last;
  auto [begin, end] = entries.equal_range(hashOf(words));
  for (auto at = begin; at != end; ++at)
    if (hasWords(at->second, words))
      return last = at->second;
  return nullptr;
}

void LaunchTable::insert(Entry entry) {
  std::unordered_multimap<uint64_t, Entry> dropped; // destroyed outside the lock: that runs Python
  const TableLock lock(mutex);
  if (entries.size() >= maxEntries)
    dropped.swap(entries);
  last = entry;
  entries.emplace(hashOf(entry->words), std::move(entry));
}

void LaunchTable::clear() {
  Entry droppedLast;
  std::unordered_multimap<uint64_t, Entry> dropped;
  const TableLock lock(mutex);
  dropped.swap(entries);
  droppedLast.swap(last);
}

int LaunchTable::traverse(visitproc visit, void *arg) const {
  for (const auto &[hash, entry] : entries) {
    // A launch in progress owns the entry, too: its objects are then reachable from there.
    if (entry.use_count() > (entry == last ? 2 : 1))
      continue;
    for (const pybind11::object &object : entry->kept)
      Py_VISIT(object.ptr());
    Py_VISIT(entry->compiled.ptr());
    Py_VISIT(entry->tuned.cache.ptr());
    Py_VISIT(entry->tuned.key.ptr());
    Py_VISIT(entry->tuned.config.ptr());
    Py_VISIT(entry->tuned.keywords.ptr());
  }
  return 0;
}

} // namespace pantile::python
