//===- Timing.h - time per stage --------------------------------------------------------===//
// Gives: milliseconds per stage, in the order in which the stages first ran, for `--time`.
// How:   A scope adds its own time when it ends; times of the same name are added.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pantile {

class Timing {
public:
  /// Measures until it is destroyed.
  class Scope {
  public:
    Scope(Timing &timing, std::string name)
        : timing(timing), name(std::move(name)), start(std::chrono::steady_clock::now()) {}
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    Timing &timing;
    std::string name;
    std::chrono::steady_clock::time_point start;
  };

  Scope scope(std::string name) { return {*this, std::move(name)}; }
  void add(std::string_view name, double milliseconds);

  const std::vector<std::pair<std::string, double>> &stages() const { return list; }
  double total() const;
  /// `{"parse": 0.12, "total": 0.12}`
  std::string json() const;

private:
  std::vector<std::pair<std::string, double>> list;
};

} // namespace pantile
