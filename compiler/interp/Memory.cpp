//===- Memory.cpp - loads and stores, and the check of their bounds -----------------------===//
// Needs: see Memory.h.
// Gives: runLoad, runVolatileLoad, runStore, checkAccess.
//===------------------------------------------------------------------------------------===//
#include "interp/Memory.h"
#include <cstring>
#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>

namespace pantile::interp {
namespace {

/// Whether the memory of some argument contains the bytes; `readOnly` selects the arguments.
bool isInside(const Launch &launch, uint64_t lo, uint64_t hi, unsigned bytes, bool readOnly) {
  return llvm::any_of(launch.bounds, [&](const Bounds &bounds) {
    return bounds.pointer && bounds.known && bounds.readOnly == readOnly &&
           bounds.holds(lo, hi, bytes);
  });
}

/// Whether the bytes at [lo, hi] may be accessed, as far as that is known.
bool isAllowed(const Launch &launch, const Access &access, uint64_t lo, uint64_t hi,
               Direction direction) {
  unsigned bytes = sizeOf(access.elem);
  if (access.argument >= 0) {
    const Bounds &bounds = launch.bounds[access.argument];
    bool mayWrite = direction == Direction::Read || !bounds.readOnly;
    return !bounds.known || (mayWrite && bounds.holds(lo, hi, bytes));
  }
  if (isInside(launch, lo, hi, bytes, false))
    return true;
  if (isInside(launch, lo, hi, bytes, true))
    return direction == Direction::Read;
  return !launch.allKnown || launch.code.foreignPointers;
}

/// The argument that an address most likely belongs to.
int nearestArgument(const Launch &launch, uint64_t address) {
  int nearest = -1;
  uint64_t best = UINT64_MAX;
  for (size_t i = 0; i < launch.bounds.size(); ++i) {
    const Bounds &bounds = launch.bounds[i];
    if (!bounds.pointer || !bounds.known)
      continue;
    uint64_t distance = address < bounds.begin ? bounds.begin - address : address - bounds.begin;
    if (address >= bounds.begin)
      distance = address < bounds.end ? 0 : address - bounds.end;
    if (distance < best)
      best = distance, nearest = static_cast<int>(i);
  }
  return nearest;
}

std::string describe(const Launch &launch, const Access &access, uint64_t address,
                     Direction direction) {
  unsigned bytes = sizeOf(access.elem);
  const char *what = direction == Direction::Read ? "load" : "store";
  int argument = access.argument >= 0 ? access.argument : nearestArgument(launch, address);
  if (argument < 0)
    return fmt::format("{} of {} byte{} at an address in no argument", what, bytes,
                       bytes == 1 ? "" : "s");
  const Bounds &bounds = launch.bounds[argument];
  if (direction == Direction::Write && bounds.readOnly && bounds.holds(address, address, bytes))
    return fmt::format("store to argument `{}`, an array that may only be read",
                       launch.code.arguments[argument].name);
  return fmt::format("{} of {} byte{} at offset {} outside argument `{}` of {} bytes", what, bytes,
                     bytes == 1 ? "" : "s", static_cast<int64_t>(address - bounds.begin),
                     launch.code.arguments[argument].name, bounds.end - bounds.begin);
}

void reportOutside(Frame &frame, const Instr &instr, const Access &access, uint64_t address,
                   Direction direction) {
  std::string message = describe(*frame.launch, access, address, direction);
  if (direction == Direction::Write || frame.launch->strict)
    report(frame, instr, ErrorKind::Launch, message);
  else
    warn(frame, instr, message + ", which gives 0");
}

/// Lanes that are read and that the check refuses give 0, whatever `other` is.
void clearRefused(void *dst, unsigned bytes, const uint8_t *mask,
                  const std::vector<uint8_t> &allowed) {
  auto *out = static_cast<std::byte *>(dst);
  for (size_t i = 0; i < allowed.size(); ++i)
    if (!allowed[i] && (!mask || mask[i]))
      std::memset(out + i * bytes, 0, bytes);
}

void normalizeTruth(uint8_t *values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    values[i] = values[i] != 0;
}

template <typename T>
void readAtomically(T *dst, const uint64_t *addresses, const uint8_t *mask, const T *other,
                    size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!mask || mask[i])
      dst[i] = __atomic_load_n(reinterpret_cast<const T *>(addresses[i]), __ATOMIC_ACQUIRE);
    else
      dst[i] = other ? other[i] : T(0);
}

using ReadRows = void (*)(unsigned bytes, void *dst, const uint64_t *addresses, const uint8_t *mask,
                          const void *other, size_t rows, size_t cols);

void readVolatile(unsigned bytes, void *dst, const uint64_t *addresses, const uint8_t *mask,
                  const void *other, size_t rows, size_t cols) {
  auto read = [&](auto type) {
    using T = decltype(type);
    readAtomically(static_cast<T *>(dst), addresses, mask, static_cast<const T *>(other),
                   rows * cols);
  };
  if (bytes == 1)
    read(uint8_t());
  else if (bytes == 2)
    read(uint16_t());
  else if (bytes == 4)
    read(uint32_t());
  else
    read(uint64_t());
}

void load(Frame &frame, const Instr &instr, ReadRows read) {
  const Access &access = frame.code->accesses[instr.extra];
  const uint8_t *mask = access.masked ? frame.at<uint8_t>(instr.b) : nullptr;
  const void *other = access.hasOther ? frame.at<std::byte>(instr.c) : nullptr;
  unsigned bytes = sizeOf(access.elem);
  bool whole = checkAccess(frame, instr, access, mask, Direction::Read);
  if (frame.stop)
    return;
  void *dst = frame.at<std::byte>(instr.dst);
  read(bytes, dst, frame.at<uint64_t>(instr.a), whole ? mask : allowedLanes.data(), other,
       access.rows, access.cols);
  if (!whole)
    clearRefused(dst, bytes, mask, allowedLanes);
  if (access.elem == Elem::I1)
    normalizeTruth(static_cast<uint8_t *>(dst), size_t(access.rows) * access.cols);
}

/// Whether the store changes memory: that may end the wait of a program in a loop.
bool changesMemory(const Access &access, const std::byte *src, const uint64_t *addresses,
                   const uint8_t *mask) {
  unsigned bytes = sizeOf(access.elem);
  for (size_t i = 0; i < size_t(access.rows) * access.cols; ++i)
    if ((!mask || mask[i]) &&
        std::memcmp(reinterpret_cast<void *>(addresses[i]), src + i * bytes, bytes) != 0)
      return true;
  return false;
}

} // namespace

bool checkAccess(Frame &frame, const Instr &instr, const Access &access, const uint8_t *mask,
                 Direction direction) {
  std::vector<uint8_t> &allowed = allowedLanes;
  const Launch &launch = *frame.launch;
  if (access.argument >= 0 && !launch.bounds[access.argument].known)
    return true;
  const uint64_t *addresses = frame.at<uint64_t>(instr.a);
  size_t count = size_t(access.rows) * access.cols;
  AddressSpan span = kernels().span(addresses, mask, count);
  if (span.lo > span.hi || isAllowed(launch, access, span.lo, span.hi, direction))
    return true;
  allowed.assign(count, 0);
  bool all = true;
  for (size_t i = 0; i < count && !frame.stop; ++i) {
    if (mask && !mask[i])
      continue;
    allowed[i] = isAllowed(launch, access, addresses[i], addresses[i], direction);
    if (!allowed[i] && all)
      reportOutside(frame, instr, access, addresses[i], direction);
    all &= allowed[i] != 0;
  }
  return all;
}

void runLoad(Frame &frame, const Instr &instr) { load(frame, instr, kernels().read); }

void runVolatileLoad(Frame &frame, const Instr &instr) {
  frame.touchedShared = true;
  frame.lastShared = &instr;
  load(frame, instr, readVolatile);
}

void runStore(Frame &frame, const Instr &instr) {
  const Access &access = frame.code->accesses[instr.extra];
  const uint8_t *mask = access.masked ? frame.at<uint8_t>(instr.b) : nullptr;
  if (!checkAccess(frame, instr, access, mask, Direction::Write))
    return;
  const std::byte *src = frame.at<std::byte>(instr.c);
  const uint64_t *addresses = frame.at<uint64_t>(instr.a);
  bool changes = frame.code->spins && changesMemory(access, src, addresses, mask);
  kernels().write(sizeOf(access.elem), src, addresses, mask, access.rows, access.cols);
  if (changes)
    frame.launch->changes.fetch_add(1);
}

} // namespace pantile::interp
