//===- Timing.cpp - time per stage ------------------------------------------------------===//
#include "support/Timing.h"
#include <algorithm>
#include <llvm/Support/FormatVariadic.h>

namespace pantile {

Timing::Scope::~Scope() {
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  timing.add(name, taken.count());
}

void Timing::add(std::string_view name, double milliseconds) {
  const auto entry = std::ranges::find(list, name, &std::pair<std::string, double>::first);
  if (entry == list.end())
    list.emplace_back(name, milliseconds);
  else
    entry->second += milliseconds;
}

double Timing::total() const {
  double sum = 0;
  for (const auto &[name, milliseconds] : list)
    sum += milliseconds;
  return sum;
}

std::string Timing::json() const {
  std::string text = "{";
  for (const auto &[name, milliseconds] : list)
    text += llvm::formatv("\"{0}\": {1:f3}, ", name, milliseconds).str();
  return text + llvm::formatv("\"total\": {0:f3}}", total()).str();
}

} // namespace pantile
