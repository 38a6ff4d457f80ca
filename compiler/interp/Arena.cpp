//===- Arena.cpp - register files and the dispatch loop -----------------------------------===//
// Needs: see Arena.h.
// Gives: ArenaPool, resume.
//===------------------------------------------------------------------------------------===//
#include "interp/Arena.h"

namespace pantile::interp {
namespace {

/// Free arenas beyond this number are freed: a launch whose programs waited for one another may
/// have needed many.
constexpr size_t maxKept = 64;

} // namespace

Arena ArenaPool::take() {
  {
    std::lock_guard lock(mutex);
    if (!free.empty()) {
      Arena arena = std::move(free.back());
      free.pop_back();
      return arena;
    }
  }
  Arena arena(static_cast<std::byte *>(std::aligned_alloc(64, code.arenaBytes)));
  if (!arena)
    return arena;
  Frame frame;
  frame.base = arena.get();
  frame.code = &code;
  for (const Instr &instr : code.setup)
    instr.run(frame, instr);
  return arena;
}

void ArenaPool::give(Arena arena) {
  std::lock_guard lock(mutex);
  if (free.size() < maxKept)
    free.push_back(std::move(arena));
}

void ArenaPool::clear() {
  std::lock_guard lock(mutex);
  free.clear();
}

void resume(Frame &frame) {
  const Instr *body = frame.code->body.data();
  frame.stop = false;
  while (!frame.stop) {
    const Instr &instr = body[frame.pc++];
    instr.run(frame, instr);
  }
}

} // namespace pantile::interp
