//===- CompileSettings.h - process-wide settings of compilations --------------------------===//
// Needs: the GIL.
// Gives: the settings that differ from the defaults, as a string for keys, and a number for that
//        string: equal strings have equal numbers. 0: all are the defaults.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "TableLock.h"
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace pantile::python {

class CompileSettings {
public:
  /// False: they were in use already.
  static bool use(const std::string &wanted) {
    static auto *known = new Known{{"", 0}};
    static TableLock::Mutex mutex;
    const TableLock lock(mutex);
    const bool isChange = wanted != text();
    current = &*known->try_emplace(wanted, known->size()).first;
    return isChange;
  }
  static const std::string &text() {
    static const std::string none;
    const Known::value_type *now = current;
    return now ? now->first : none;
  }
  static uint64_t number() {
    const Known::value_type *now = current.load(std::memory_order_relaxed);
    return now ? now->second : 0;
  }

private:
  using Known = std::map<std::string, uint64_t>;
  inline static std::atomic<const Known::value_type *> current = nullptr;
};

} // namespace pantile::python
