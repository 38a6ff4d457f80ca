//===- Tensors.cpp - copies through tensor maps, and the barriers on which they complete --===//
// Needs: see Tensors.h.
// Gives: the handlers of tensor maps and barriers.
//===------------------------------------------------------------------------------------------===//
#include "interp/Tensors.h"
#include <cstring>

namespace pantile::interp {
namespace {

Mailbox::Barrier &barrierAt(Frame &frame, uint32_t reg) {
  return frame.mailbox->barriers[*frame.at<std::byte *>(reg)];
}

/// Calls `use` with the address in the tensor (0: outside) and the offset in the tile of each
/// element of the boxes; stops after an error.
template <typename Use> void forElements(Frame &frame, const Instr &instr, Use use) {
  const TensorBox &box = frame.code->boxes[instr.extra];
  const size_t rank = box.sizes.size();
  const int64_t *map = frame.at<int64_t>(instr.a), *extents = map + 1, *strides = extents + rank;
  const int32_t *origin = frame.at<int32_t>(instr.b);
  const unsigned bytes = sizeOf(box.elem);
  const Bounds &bounds = frame.launch->bounds[box.argument];
  int64_t count = box.panels;
  for (int32_t size : box.sizes)
    count *= size;
  for (int64_t i = 0; i < count && !frame.stop; ++i) {
    // The fastest dimension continues over the panels: the panel index is the last digit.
    int64_t rest = i, address = map[0], fast = 0, slow = 0, inner = 1;
    bool isInside = true;
    for (size_t dim = 0; dim < rank; ++dim) {
      const int64_t digit = rest % box.sizes[dim];
      rest /= box.sizes[dim];
      int64_t at = int64_t(origin[dim]) + digit;
      if (dim == 0) {
        fast = digit;
      } else {
        slow += digit * inner;
        inner *= box.sizes[dim];
      }
      if (dim == 0)
        at += (i / (count / box.panels)) * box.sizes[0];
      isInside &= at >= 0 && at < extents[dim];
      address += at * (dim == 0 ? int64_t(bytes) : strides[dim - 1]);
    }
    fast += rest * box.sizes[0];
    const auto place = static_cast<uint64_t>(address);
    if (isInside && bounds.known && !bounds.holds(place, place, bytes))
      return fail(frame, instr, "a tensor map reaches past the memory of its argument");
    use(isInside ? place : 0, (fast * box.fastStride + slow * box.slowStride) * bytes);
  }
}

} // namespace

void runExpect(Frame &frame, const Instr &instr) {
  Mailbox::Barrier &barrier = barrierAt(frame, instr.a);
  const int64_t started = ++barrier.expected[instr.extra];
  if (started - barrier.taken > int64_t(barrier.phases.size()))
    barrier.phases.emplace_back();
}

void runPost(Frame &frame, const Instr &instr) {
  Mailbox::Barrier &barrier = barrierAt(frame, instr.c);
  const int64_t phase = barrier.expected[instr.extra] - 1 - barrier.taken;
  if (phase < 0)
    return fail(frame, instr, "a copy without a barrier that expects it");
  const std::byte *tile = frame.at<std::byte>(instr.b);
  barrier.phases[phase].push_back({*frame.at<std::byte *>(instr.a), {tile, tile + instr.count}});
}

void runAwait(Frame &frame, const Instr &instr) {
  Mailbox::Barrier &barrier = barrierAt(frame, instr.a);
  if ((*frame.at<int32_t>(instr.b) & 1) != (barrier.taken & 1))
    return; // the previous phase is over, and so is the one before the first
  if (barrier.phases.empty())
    return fail(frame, instr, "a wait for copies that nothing starts");
  for (const Mailbox::Letter &letter : barrier.phases.front())
    std::memcpy(letter.place, letter.content.data(), letter.content.size());
  barrier.phases.pop_front();
  ++barrier.taken;
}

void runTensorLoad(Frame &frame, const Instr &instr) {
  const unsigned bytes = sizeOf(frame.code->boxes[instr.extra].elem);
  std::byte *tile = frame.at<std::byte>(instr.dst);
  forElements(frame, instr, [&](uint64_t address, int64_t offset) {
    if (address)
      std::memcpy(tile + offset, reinterpret_cast<const void *>(address), bytes);
    else
      std::memset(tile + offset, 0, bytes);
  });
}

void runTensorStore(Frame &frame, const Instr &instr) {
  const TensorBox &box = frame.code->boxes[instr.extra];
  const std::byte *tile = frame.at<std::byte>(instr.c);
  forElements(frame, instr, [&](uint64_t address, int64_t offset) {
    if (!address)
      return;
    auto *place = reinterpret_cast<void *>(address);
    if (!box.adds)
      return static_cast<void>(std::memcpy(place, tile + offset, sizeOf(box.elem)));
    float sum, value;
    std::memcpy(&sum, place, sizeof(sum));
    std::memcpy(&value, tile + offset, sizeof(value));
    sum += value;
    std::memcpy(place, &sum, sizeof(sum));
  });
}

} // namespace pantile::interp
