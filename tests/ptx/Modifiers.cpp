//===- Modifiers.cpp - the forms of the emulated opcodes -----------------------------===//
// Needs: see Modifiers.h.
// Gives: unknownModifier.
// How:   A form is a list of words in the order of the PTX ISA. `a|b` is one of several modifiers,
//        a `?` at the end of a word makes it optional, `@name` stands for a set of the table below,
//        `x*` for all modifiers that start with x. Modifiers that the emulator ignores on purpose
//        (cache hints, accuracy that it exceeds) are listed in the forms, too.
//===------------------------------------------------------------------------------------------===//
#include "Modifiers.h"
#include <algorithm>

namespace pantile::ptx {
namespace {

struct Named {
  std::string_view name, alternatives;
};

constexpr Named sets[] = {
    {"rnd", "rn|rz|rm|rp"},
    {"irnd", "rni|rzi|rmi|rpi"},
    {"int", "s16|u16|s32|u32|s64|u64"},
    {"word", "s32|u32|s64|u64"},
    {"small", "s8|u8|s16|u16|s32|u32|s64|u64"},
    {"bits", "b16|b32|b64"},
    {"half", "f16|f16x2"},
    {"bhalf", "bf16|bf16x2"},
    {"float", "f16|bf16|f32|f64"},
    {"any", "b8|b16|b32|b64|s8|u8|s16|u16|s32|u32|s64|u64|f32|f64"},
    {"cmp", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan"},
    {"bool", "and|or|xor"},
    {"scope", "cta|cluster|gpu|sys"},
    {"space",
     "global|shared|shared::cta|shared::cluster|local|param|param::entry|param::func|const"},
    {"shared", "shared|shared::cta"},
    {"L1", "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"},
    {"L2", "L2::evict_normal|L2::evict_first|L2::evict_last"},
    {"size", "L2::64B|L2::128B|L2::256B"},
    {"vec", "v2|v4|v8"},
    {"sem", "relaxed|acquire|release|acq_rel"},
    {"dim", "1d|2d|3d|4d|5d"},
    {"sum", "f16|f32|s32|f64"},
    {"element", "f16|bf16|tf32|e4m3|e5m2|s8|u8|f64"},
    {"fp8", "e4m3x2|e5m2x2"},
};

struct Form {
  std::string_view opcodes, modifiers;
};

constexpr Form arithmetic[] = {
    {"add sub", "@int"},
    {"add sub", "sat s32"},
    {"add", "s16x2|u16x2"},
    {"add sub", "cc @word"},
    {"addc subc", "cc? @word"},
    {"add sub mul", "@rnd? ftz? sat? f32"},
    {"add sub mul", "@rnd? f64"},
    {"add sub mul", "rn? ftz? sat? @half"},
    {"add sub mul", "rn? @bhalf"},
    {"add sub", "rn? f32 f16|bf16"},
    {"mul mad", "lo|hi @int"},
    {"mul mad", "wide s16|u16|s32|u32"},
    {"mad", "lo|hi cc @word"},
    {"madc", "lo|hi cc? @word"},
    {"fma mad", "@rnd ftz? sat? f32"},
    {"fma mad", "@rnd f64"},
    {"fma", "rn ftz? sat|relu? @half"},
    {"fma", "rn relu? @bhalf"},
    {"fma", "rn f32 f16|bf16"},
    {"div rem", "@int"},
    {"div", "approx|full|rn|rz|rm|rp ftz? f32"},
    {"div", "@rnd f64"},
    {"min max", "@int"},
    {"min max", "relu s32"},
    {"min max", "relu? s16x2"},
    {"min max", "u16x2"},
    {"min max", "ftz? NaN? f32|f16|f16x2"},
    {"min max", "NaN? @bhalf"},
    {"min max", "f64"},
    {"neg abs", "s16|s32|s64|f64|bf16|bf16x2"},
    {"neg abs", "ftz? f32|f16|f16x2"},
    {"sad", "@int"},
    {"copysign", "f32|f64"},
    {"sqrt rcp", "approx ftz? f32"},
    {"rcp", "approx ftz f64"},
    {"sqrt rcp", "@rnd ftz? f32"},
    {"sqrt rcp", "@rnd f64"},
    {"rsqrt", "approx ftz? f32|f64"},
    {"sin cos lg2", "approx ftz? f32"},
    {"ex2", "approx ftz? f32|f16|f16x2"},
    {"ex2", "approx ftz @bhalf"},
    {"tanh", "approx f32|f16|f16x2|bf16|bf16x2"},
    {"testp", "finite|infinite|number|notanumber|normal|subnormal f32|f64"},
    {"setp", "@cmp @bool? ftz? @any|f16|bf16|f16x2|bf16x2"},
    {"set", "@cmp @bool? ftz? u32|s32|f32 @any|f16|bf16"},
    {"dp4a", "s32|u32 s32|u32"},
};

constexpr Form bitsAndMoves[] = {
    {"and or xor not", "pred|b16|b32|b64"},
    {"cnot shl", "@bits"},
    {"shr", "@bits|@int"},
    {"shf", "l|r wrap|clamp b32"},
    {"bfe", "@word"},
    {"bfi brev clz popc", "b32|b64"},
    {"bfind", "shiftamt? @word"},
    {"lop3 prmt", "b32"},
    {"selp", "@bits|@int|f32|f64"},
    {"mov", "pred|@bits|@int|f32|f64"},
    {"cvta", "to? global|shared|local|param|const u32|u64"},
    {"cvt", "@irnd? ftz? sat? @small @small"},
    {"cvt", "@irnd? ftz? sat? @small @float"},
    {"cvt", "rn|rz? ftz? sat? f16|bf16 @small"},
    {"cvt", "rn|rz? ftz? sat? relu? f16|bf16 @float"},
    {"cvt", "@rnd|@irnd? ftz? sat? f32|f64 @small|@float"},
    {"cvt", "@irnd ftz? sat? f16|bf16 f16|bf16"},
    {"cvt", "rn|rz relu? f16x2|bf16x2 f32"},
    {"cvt", "rn satfinite relu? @fp8 f32"},
    {"cvt", "rn satfinite @fp8 f16x2"},
    {"cvt", "rn f16x2 @fp8"},
    {"cvt", "rna tf32 f32"},
};

constexpr Form memory[] = {
    {"ld",
     "weak|volatile? @space? ca|cg|cs|lu|cv? nc? @L1? @L2? L2::cache_hint? @size? @vec? @any"},
    {"ld", "relaxed|acquire @scope @space? @L1? @L2? L2::cache_hint? @size? @vec? @any"},
    {"ldu", "global? @vec? @any"},
    {"st", "weak|volatile? @space? wb|cg|cs|wt? @L1? @L2? L2::cache_hint? @vec? @any"},
    {"st", "relaxed|release @scope @space? @L1? @L2? L2::cache_hint? @vec? @any"},
    {"atom red", "@sem? @scope? @space? add L2::cache_hint? @vec? u32|s32|u64|f32|f64"},
    {"atom red", "@sem? @scope? @space? add noftz L2::cache_hint? @vec? @half|@bhalf"},
    {"atom red", "@sem? @scope? @space? min|max L2::cache_hint? @word"},
    {"atom red", "@sem? @scope? @space? and|or|xor L2::cache_hint? b32|b64"},
    {"atom red", "@sem? @scope? @space? inc|dec L2::cache_hint? u32"},
    {"atom", "@sem? @scope? @space? exch L2::cache_hint? b32|b64"},
    {"atom", "@sem? @scope? @space? cas L2::cache_hint? @bits"},
    {"prefetch", "global L1|L2|L2::evict_last|L2::evict_normal"},
    {"prefetch", "param|const? tensormap"},
    {"cp", "async ca|cg @shared global L2::cache_hint? @size?"},
    {"cp", "async commit_group|wait_group|wait_all"},
    {"cp", "async mbarrier arrive noinc @shared b64"},
    {"cp", "async bulk commit_group"},
    {"cp", "async bulk wait_group read?"},
    {"cp",
     "async bulk tensor @dim shared::cluster|shared::cta global tile? mbarrier::complete_tx::bytes "
     "multicast::cluster? L2::cache_hint?"},
    {"cp", "async bulk tensor @dim global shared::cta tile? bulk_group L2::cache_hint?"},
    {"cp", "reduce async bulk tensor @dim global shared::cta add tile? bulk_group L2::cache_hint?"},
    {"mbarrier", "init|inval @shared b64"},
    {"mbarrier", "arrive expect_tx? @shared|shared::cluster b64"},
    {"mbarrier", "arrive expect_tx? release|relaxed cta|cluster @shared|shared::cluster b64"},
    {"mbarrier", "expect_tx relaxed cta|cluster @shared|shared::cluster b64"},
    {"mbarrier", "try_wait|test_wait parity @shared b64"},
    {"mbarrier", "try_wait|test_wait parity acquire|relaxed cta|cluster @shared b64"},
    {"mapa getctarank", "shared::cluster u32"},
};

constexpr Form warpsAndControl[] = {
    {"bra ret call", "uni?"},
    {"exit trap brkpt", ""},
    {"nanosleep", "u32"},
    {"bar", "sync|arrive"},
    {"bar", "warp sync"},
    {"barrier", "cta? sync|arrive aligned?"},
    {"barrier", "cluster arrive release|relaxed? aligned?"},
    {"barrier", "cluster wait acquire? aligned?"},
    {"fence", "acq_rel|sc @scope"},
    {"fence", "mbarrier_init release cluster"},
    {"fence", "proxy async global|shared::cta|shared::cluster?"},
    {"membar", "cta|gl|sys"},
    {"griddepcontrol", "wait|launch_dependents"},
    {"setmaxnreg", "inc|dec sync aligned u32"},
    {"activemask", "b32"},
    {"elect", "sync"},
    {"shfl", "sync up|down|bfly|idx b32"},
    {"vote", "sync all|any|uni pred"},
    {"vote", "sync ballot b32"},
    {"match", "sync all|any b32|b64"},
    {"redux", "sync add|min|max u32|s32"},
    {"redux", "sync min|max f32"},
    {"redux", "sync and|or|xor b32"},
    {"ldmatrix stmatrix", "sync aligned m8n8 x1|x2|x4 trans? @shared b16"},
    {"mma", "sync aligned m* row col @sum @element @element @sum"},
    {"wgmma", "fence|commit_group|wait_group sync aligned"},
    {"wgmma", "mma_async sync aligned m64* @sum @element @element"},
};

/// Takes what stands before `separator` off `text`.
std::string_view cut(std::string_view &text, char separator) {
  const size_t at = text.find(separator);
  const std::string_view first = text.substr(0, at);
  text = at == text.npos ? std::string_view() : text.substr(at + 1);
  return first;
}

bool isOneOf(std::string_view part, std::string_view alternatives) {
  while (!alternatives.empty()) {
    const std::string_view one = cut(alternatives, '|');
    if (one.starts_with('@')) {
      for (const Named &set : sets)
        if (set.name == one.substr(1) && isOneOf(part, set.alternatives))
          return true;
    } else if (one.ends_with('*') ? part.starts_with(one.substr(0, one.size() - 1)) : part == one)
      return true;
  }
  return false;
}

struct Match {
  size_t parts = 0; // that the form accounts for
  bool whole = false;
};

Match match(const Opcode &op, std::string_view words) {
  Match result;
  while (!words.empty()) {
    std::string_view word = cut(words, ' ');
    const bool isOptional = word.ends_with('?');
    if (isOptional)
      word.remove_suffix(1);
    if (result.parts < op.parts.size() && isOneOf(op.parts[result.parts], word))
      ++result.parts;
    else if (!isOptional)
      return result;
  }
  result.whole = result.parts == op.parts.size();
  return result;
}

bool isNamed(std::string_view opcodes, const std::string &base) {
  while (!opcodes.empty())
    if (cut(opcodes, ' ') == base)
      return true;
  return false;
}

struct Search {
  const Opcode &op;
  bool known = false, fits = false;
  size_t furthest = 0;

  template <size_t count> void in(const Form (&forms)[count]) {
    for (const Form &form : forms) {
      if (fits || !isNamed(form.opcodes, op.base))
        continue;
      const Match found = match(op, form.modifiers);
      known = true, fits = found.whole;
      furthest = std::max(furthest, found.parts);
    }
  }
};

} // namespace

std::string unknownModifier(const Opcode &op) {
  Search search{op};
  search.in(arithmetic), search.in(bitsAndMoves), search.in(memory), search.in(warpsAndControl);
  if (search.fits)
    return "";
  if (!search.known)
    return "this instruction is not emulated";
  if (search.furthest == op.parts.size())
    return "this form of `" + op.base + "` is not emulated";
  return "the modifier `." + op.parts[search.furthest] + "` is not emulated for `" + op.base + "`";
}

} // namespace pantile::ptx
