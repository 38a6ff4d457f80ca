//===- Arena.h - register files of programs, kept between launches ------------------------===//
// Needs: a Code that outlives the pool.
// Gives: arenas whose constants are initialised.
// How:   A list of free arenas under a mutex. Constants are never overwritten, so one arena serves
//        many programs, one after another.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Code.h"
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace pantile::interp {

struct FreeMemory {
  void operator()(std::byte *memory) const { std::free(memory); }
};
using Arena = std::unique_ptr<std::byte, FreeMemory>;

class ArenaPool {
public:
  explicit ArenaPool(const Code &code) : code(code) {}
  /// Null if there is no memory left.
  Arena take();
  void give(Arena arena);
  void clear();

private:
  const Code &code;
  std::mutex mutex;
  std::vector<Arena> free;
};

/// Runs `frame` until it is done, has failed, or waits.
void resume(Frame &frame);

} // namespace pantile::interp
