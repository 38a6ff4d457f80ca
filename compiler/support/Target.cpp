//===- Target.cpp - the table of architectures --------------------------------===//
// Needs: Target.h.
// Gives: its members.
// How:   One row per architecture. A capability is a comparison with the first architecture that
//        has it; capabilities that later ones dropped (wgmma) check the architecture's own suffix.
//===--------------------------------------------------------------------------===//
#include "support/Target.h"

#include <charconv>

namespace pantile {

namespace {
struct Architecture {
  int number;
  int ptx;       // the first PTX version with all features we use
  bool specific; // has an 'a' variant
  bool family;   // has an 'f' variant
};

constexpr Architecture architectures[] = {
    {80, 74, false, false}, {86, 74, false, false}, {87, 74, false, false}, {88, 90, false, false},
    {89, 84, false, false}, {90, 84, true, false},  {100, 86, true, true},  {103, 88, true, true},
    {110, 90, true, true},  {120, 87, true, true},  {121, 88, true, true},
};

/// Family variants came with PTX 8.8.
constexpr int familyPtx = 88;

/// fp8 operands of mma.sync came with PTX 8.4; Hopper multiplies them as fp16 there anyway.
constexpr int fp8MmaPtx = 84;

const Architecture *find(int number) {
  for (const Architecture &row : architectures)
    if (row.number == number)
      return &row;
  return nullptr;
}
} // namespace

std::optional<Target> Target::parse(std::string_view name) {
  if (!name.starts_with("sm_"))
    return std::nullopt;
  name.remove_prefix(3);
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const std::string_view suffix(end, name.data() + name.size());
  const Architecture *row = find(number);
  if (error != std::errc() || !row || suffix.size() > 1)
    return std::nullopt;
  const char letter = suffix.empty() ? 0 : suffix[0];
  const bool known =
      letter == 0 || (letter == 'a' && row->specific) || (letter == 'f' && row->family);
  if (!known)
    return std::nullopt;
  const int ptx = letter == 'f' && row->ptx < familyPtx ? familyPtx : row->ptx;
  return Target(number, letter, ptx);
}

std::optional<Target> Target::forDevice(int major, int minor) {
  const int number = major * 10 + minor;
  const Architecture *best = nullptr;
  for (const Architecture &row : architectures)
    if (row.number / 10 == major && row.number <= number)
      best = &row;
  if (!best)
    return std::nullopt;
  const bool exact = best->number == number;
  return Target(best->number, exact && best->specific ? 'a' : 0, best->ptx);
}

std::vector<std::string> Target::names() {
  std::vector<std::string> result;
  for (const Architecture &row : architectures)
    result.push_back("sm_" + std::to_string(row.number) + (row.specific ? "a" : ""));
  return result;
}

std::string Target::name() const {
  std::string text = "sm_" + std::to_string(number);
  if (suffix)
    text += suffix;
  return text;
}

std::string Target::ptxFeature() const { return "+ptx" + std::to_string(ptx); }

bool Target::runsOn(int major, int minor) const {
  const int device = major * 10 + minor;
  if (suffix == 'a')
    return device == number;
  return major == number / 10 && device >= number;
}

bool Target::hasCpAsync() const { return number >= 80; }
bool Target::hasLdmatrix() const { return number >= 75; }
bool Target::hasStmatrix() const { return number >= 90; }
bool Target::hasMbarrier() const { return number >= 80; }
bool Target::hasTma() const { return number >= 90; }
bool Target::hasVectorReductions() const { return number >= 90; }
bool Target::hasClusters() const { return number >= 90 && number < 120; }

bool Target::hasMmaSync() const { return number >= 80; }
bool Target::hasBf16Mma() const { return number >= 80; }
bool Target::hasTf32Mma() const { return number >= 80; }
bool Target::hasFp8Mma() const { return number >= 89 && ptx >= fp8MmaPtx; }
bool Target::hasFp64Mma() const { return number >= 80; }
bool Target::hasLargeFp64Mma() const { return number >= 90; }
bool Target::hasWgmma() const { return number == 90 && suffix == 'a'; }

bool Target::hasBf16Arithmetic() const { return number >= 90; }
bool Target::hasFp8Convert() const { return number >= 89; }
bool Target::hasSetMaxRegisters() const { return number >= 90 && suffix != 0; }

} // namespace pantile
