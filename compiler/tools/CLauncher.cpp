//===- CLauncher.cpp - kernels as C: machine code and launchers ------------------------------===//
// Needs: see CLauncher.h.
// Gives: launchersInC.
// How:   Tables of data for machine code and tensor maps, then one function per name, whose body is
//        one C block per variant. CLauncherText.cpp has the code that reads the tables.
//===-----------------------------------------------------------------------------------===//
#include "CLauncher.h"
#include "CLauncherText.h"
#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

namespace pantile {
namespace {

/// A parameter of a function in C.
struct CParameter {
  std::string type, name;
};

/// A variant with what its function needs to have about it.
struct Placed {
  const CVariant *variant;
  int number; ///< index of its image; the image of the plain variant follows
};

struct Group {
  std::string symbol;
  std::vector<Placed> members;
  std::vector<CParameter> parameters;
  bool takesGrid = false;
};

Error refused(const std::string &message) { return makeError(ErrorKind::Unsupported, message); }

const char *typeInC(const std::string &dtype) {
  static const std::map<std::string, const char *> types = {
      {"i1", "uint8_t"},   {"i8", "int8_t"},     {"i16", "int16_t"},   {"i32", "int32_t"},
      {"i64", "int64_t"},  {"u8", "uint8_t"},    {"u16", "uint16_t"},  {"u32", "uint32_t"},
      {"u64", "uint64_t"}, {"fp16", "uint16_t"}, {"bf16", "uint16_t"}, {"fp32", "float"},
      {"fp64", "double"}};
  auto it = types.find(dtype);
  return it == types.end() ? nullptr : it->second;
}

const std::string *integerConstant(const ArgSpec &spec, std::string &text) {
  if (auto *value = std::get_if<int64_t>(&spec.value))
    return text = std::to_string(*value), &text;
  if (auto *flag = std::get_if<bool>(&spec.value))
    return text = *flag ? "1" : "0", &text;
  return nullptr;
}

/// The C type of parameter `index`, from the first variant in which it is no constant; empty if it
/// is a constant in all of them.
Result<std::string> parameterType(const Group &group, size_t index) {
  std::string found;
  for (const Placed &placed : group.members) {
    const ArgSpec &spec = placed.variant->kernel->args[index];
    const std::string &name = placed.variant->parameters[index].name;
    if (spec.kind == ArgSpec::Kind::Constant)
      continue;
    const char *type = spec.kind == ArgSpec::Kind::Pointer  ? "uint64_t"
                       : spec.kind == ArgSpec::Kind::Scalar ? typeInC(spec.dtype)
                                                            : nullptr;
    if (!type)
      return refused("parameter `" + name + "` of `" + group.symbol +
                     "` has a type that C has not: an artifact takes it");
    if (!found.empty() && found != type)
      return refused("parameter `" + name + "` of `" + group.symbol +
                     "` differs between variants: `" + found + "` and `" + type + "`");
    found = type;
  }
  return found;
}

/// A cooperative launch has a CTA per program, and is one whichever variant runs.
Result<void> checkCooperation(const Group &group, const CVariant &variant) {
  if (variant.isCooperative != group.members[0].variant->isCooperative)
    return refused("variants of `" + group.symbol + "` differ in `--cooperative`");
  if (variant.isCooperative && (variant.kernel->persistent || variant.kernel->ctasPerProgram > 1))
    return refused("`" + group.symbol +
                   "` cannot be launched cooperatively: its programs have no CTA each");
  return {};
}

/// Sorts variants into groups by name and finds the parameters of each.
Result<std::vector<Group>> groupsOf(const std::vector<CVariant> &variants) {
  std::vector<Group> groups;
  int number = 0;
  for (const CVariant &variant : variants) {
    const std::string &symbol = variant.symbol.empty() ? variant.kernel->name : variant.symbol;
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const Group &group) { return group.symbol == symbol; });
    if (it == groups.end())
      it = groups.insert(groups.end(), Group{symbol, {}, {}, false});
    if (!it->members.empty() &&
        it->members[0].variant->parameters.size() != variant.parameters.size())
      return refused("two kernels are called `" + symbol + "`: give one a `--name`");
    it->members.push_back({&variant, number});
    if (Result<void> checked = checkCooperation(*it, variant); !checked)
      return checked.error();
    it->takesGrid |= variant.grid.empty();
    number += 2;
  }
  for (Group &group : groups) {
    const CVariant &first = *group.members[0].variant;
    for (size_t i = 0; i < first.parameters.size(); ++i) {
      Result<std::string> type = parameterType(group, i);
      if (!type)
        return type.error();
      if (!type->empty())
        group.parameters.push_back({*type, first.parameters[i].name});
    }
  }
  return groups;
}

bool isExact(const std::string &target) {
  return !std::isdigit(static_cast<unsigned char>(target.back()));
}

int capabilityOf(const std::string &target) { return std::atoi(target.c_str() + 3); }

int assumptions(const Kernel &kernel) {
  int count = 0;
  for (const ArgSpec &spec : kernel->args)
    count += spec.kind == ArgSpec::Kind::Constant || spec.divisibility > 1;
  return count;
}

/// Whether there may be launches that tensor maps cannot describe.
bool needsPlain(const CVariant &variant) {
  return variant.plain && !variant.kernel->tensorMaps.empty();
}

/// The order in which variants are tried: the processor's own, the newest, the narrowest.
bool isTriedBefore(const Placed &a, const Placed &b) {
  auto rank = [](const Placed &placed) {
    const Kernel &kernel = placed.variant->kernel;
    const std::string &target = kernel->options.target;
    return std::tuple(isExact(target), capabilityOf(target), assumptions(kernel));
  };
  return rank(a) > rank(b);
}

void writeImage(std::ostringstream &out, const Kernel &kernel, int number, bool isCooperative) {
  out << "static const unsigned char code_" << number << "[] __attribute__((aligned(16))) = {";
  const std::string &code = kernel->cubin;
  for (size_t i = 0; i < code.size(); ++i)
    out << (i % 24 ? "" : "\n  ") << int(static_cast<unsigned char>(code[i])) << ",";
  out << "\n};\nstatic struct image image_" << number << " = {code_" << number << ", \""
      << kernel->name << "\", " << capabilityOf(kernel->options.target) << ", "
      << isExact(kernel->options.target) << ", " << kernel->persistent << ", " << isCooperative
      << ", " << kernel->ctasPerProgram << ", " << kernel->sharedBytes << ", "
      << 32 * kernel->numWarps << ", NULL, {NULL}, {0}};\n";
}

std::string polynomial(const HostPolynomial &value) {
  std::string text = "(const int64_t[]){" + std::to_string(value.terms.size());
  for (const HostPolynomial::Term &term : value.terms) {
    text += ", " + std::to_string(term.coefficient) + ", " + std::to_string(term.factors.size());
    for (auto [arg, divisor] : term.factors)
      text +=
          ", " +
          std::to_string(arg < HostPolynomial::gridArg ? arg : HostPolynomial::gridArg - arg - 1) +
          ", " + std::to_string(divisor);
  }
  return text + "}";
}

/// CUtensorMapDataType.
int dataType(const std::string &element) {
  static const std::map<std::string, int> types = {{"i16", 1},  {"i32", 3},  {"i64", 5},
                                                   {"f16", 6},  {"f32", 7},  {"f64", 8},
                                                   {"bf16", 9}, {"tf32", 11}};
  auto it = types.find(element);
  return it == types.end() ? 0 : it->second;
}

template <class List, class Print> std::string braced(const List &list, Print print) {
  std::string text = "{";
  for (const auto &element : list)
    text += (text.size() > 1 ? ", " : "") + print(element);
  return text + (list.empty() ? "0}" : "}");
}

/// The element size if the map is used for stores: rows then end on 16 bytes; else 0.
int writtenBytes(const TensorMapRecipe &recipe) {
  return !recipe.isWritten ? 0 : recipe.element.ends_with("32") ? 4 : 2;
}

Result<void> writeRecipes(std::ostringstream &out, const Kernel &kernel, int number) {
  if (kernel->tensorMaps.empty())
    return {};
  auto decimal = [](int value) { return std::to_string(value); };
  auto valueOf = [](const HostMultiple &multiple) { return polynomial(multiple.value); };
  auto divisorOf = [](const HostMultiple &multiple) { return std::to_string(multiple.of); };
  out << "static const struct recipe recipes_" << number << "[] = {\n";
  for (const TensorMapRecipe &recipe : kernel->tensorMaps) {
    if (recipe.nonNegative.size() > 16 || recipe.multiples.size() > 6 ||
        recipe.conditions.size() > 10)
      return refused("a tensor map of `" + kernel->name +
                     "` has more conditions than C code keeps");
    const int swizzle = recipe.swizzle == 128 ? 3 : recipe.swizzle == 64 ? 2 : recipe.swizzle == 32;
    out << "  {" << recipe.base << ", " << dataType(recipe.element) << ", " << recipe.extents.size()
        << ", " << swizzle << ", " << polynomial(recipe.offset) << ",\n   "
        << braced(recipe.extents, polynomial) << ",\n   " << braced(recipe.strides, polynomial)
        << ",\n   " << braced(recipe.box, decimal) << ", " << recipe.nonNegative.size() << ", "
        << braced(recipe.nonNegative, decimal) << ", " << recipe.multiples.size() << ", "
        << braced(recipe.multiples, valueOf) << ", " << braced(recipe.multiples, divisorOf) << ", "
        << recipe.conditions.size() << ", " << braced(recipe.conditions, polynomial) << ", "
        << writtenBytes(recipe) << ", " << recipe.mayBeEmpty << "},\n";
  }
  out << "};\n";
  return {};
}

/// The assumptions of a variant about its arguments, as a C expression.
Result<std::string> conditionOf(const Group &group, const CVariant &variant) {
  std::string condition = "1", text;
  for (size_t i = 0; i < variant.parameters.size(); ++i) {
    const ArgSpec &spec = variant.kernel->args[i];
    const std::string &name = variant.parameters[i].name;
    const bool isParameter =
        std::any_of(group.parameters.begin(), group.parameters.end(),
                    [&](const CParameter &parameter) { return parameter.name == name; });
    if (spec.kind != ArgSpec::Kind::Constant && spec.divisibility > 1)
      condition += " && " + name + " % " + std::to_string(spec.divisibility) + " == 0";
    if (spec.kind != ArgSpec::Kind::Constant || !isParameter)
      continue;
    if (!integerConstant(spec, text))
      return refused("parameter `" + name + "` of `" + group.symbol +
                     "` is a constant of one variant that C cannot compare");
    condition += " && " + name + " == " + text;
  }
  return condition;
}

/// The three extents as C expressions.
Result<std::vector<std::string>> gridOf(const CVariant &variant) {
  std::vector<std::string> extents;
  std::string part;
  int depth = 0;
  for (char c : variant.grid + ",") {
    depth += (c == '(') - (c == ')');
    if (c != ',' || depth > 0) {
      part += c;
      continue;
    }
    extents.push_back(part);
    part.clear();
  }
  if (extents.size() > 3)
    return refused("the grid `" + variant.grid + "` has more than three extents");
  extents.resize(3, "1");
  return extents;
}

/// Integer constants that a grid may name.
std::string constantsInC(const Group &group, const CVariant &variant) {
  std::string lines, text;
  for (size_t i = 0; i < variant.parameters.size(); ++i) {
    const std::string &name = variant.parameters[i].name;
    const bool isParameter =
        std::any_of(group.parameters.begin(), group.parameters.end(),
                    [&](const CParameter &parameter) { return parameter.name == name; });
    const ArgSpec &spec = variant.kernel->args[i];
    if (spec.kind == ArgSpec::Kind::Constant && !isParameter && integerConstant(spec, text))
      lines += "    const int64_t " + name + " = " + text + ";\n    (void)" + name + ";\n";
  }
  return lines;
}

/// The call that launches one image, from arrays `args` and `grid`.
void writeStart(std::ostringstream &out, const Kernel &kernel, int number,
                const std::vector<std::string> &names) {
  const size_t maps = kernel->tensorMaps.size();
  const char *indent = maps ? "      " : "    ";
  if (maps) {
    out << "    struct map maps[" << maps
        << "];\n    int described = " << (kernel->persistent ? "may_persist(grid)" : "1")
        << ";\n    for (int i = 0; i < " << maps
        << "; ++i)\n      described = described && encode(&recipes_" << number
        << "[i], args, grid, &maps[i]);\n    if (described) {\n";
  }
  out << indent << "void *params[] = {";
  for (const std::string &name : names)
    out << "&" << name << ", ";
  out << "&scratch, &scratch" << (kernel->persistent ? ", NULL, NULL, NULL" : "");
  for (size_t i = 0; i < maps; ++i)
    out << ", &maps[" << i << "]";
  out << "};\n"
      << indent << "return start(&image_" << number << ", device, stream, grid, params, "
      << names.size() + 2 << ");\n";
  if (maps)
    out << "    }\n";
}

/// The integer by which recipes name a parameter: a float by its bits.
std::string integerOf(const Group &group, const std::string &name) {
  const bool isFloat = std::any_of(group.parameters.begin(), group.parameters.end(),
                                   [&](const CParameter &parameter) {
                                     return parameter.name == name && parameter.type == "float";
                                   });
  return isFloat ? "(union { float number; uint32_t bits; }){" + name + "}.bits"
                 : "(int64_t)" + name;
}

Result<void> writeVariant(std::ostringstream &out, const Group &group, const Placed &placed) {
  const CVariant &variant = *placed.variant;
  const Kernel &kernel = variant.kernel;
  Result<std::string> condition = conditionOf(group, variant);
  if (!condition)
    return condition.error();
  Result<std::vector<std::string>> grid = gridOf(variant);
  if (!grid)
    return grid.error();
  std::vector<std::string> names;
  for (size_t i = 0; i < variant.parameters.size(); ++i)
    if (kernel->args[i].kind != ArgSpec::Kind::Constant)
      names.push_back(variant.parameters[i].name);
  out << "  /* " << kernel->options.target << ", " << kernel->options.numWarps << " warps, "
      << kernel->options.numStages << " stages */\n  if (suits(&image_" << placed.number
      << ", capability) && " << *condition << ") {\n"
      << constantsInC(group, variant);
  if (group.takesGrid && variant.grid.empty())
    out << "    const int64_t grid[3] = {grid_x, grid_y, grid_z};\n";
  else
    out << "    const int64_t grid[3] = {" << (*grid)[0] << ", " << (*grid)[1] << ", " << (*grid)[2]
        << "};\n";
  out << "    if ((status = check(grid)) || grid[0] == 0 || grid[1] == 0 || grid[2] == 0)\n"
         "      return status;\n";
  if (!kernel->tensorMaps.empty()) {
    out << "    const int64_t args[] = {";
    for (size_t i = 0; i < names.size(); ++i)
      out << (i ? ", " : "") << integerOf(group, names[i]);
    out << "};\n";
  }
  writeStart(out, kernel, placed.number, names);
  if (needsPlain(variant))
    writeStart(out, variant.plain, placed.number + 1, names);
  out << "  }\n";
  return {};
}

std::string declaration(const Group &group) {
  std::string text = "int " + group.symbol + "(void *stream";
  if (group.takesGrid)
    text += ", uint32_t grid_x, uint32_t grid_y, uint32_t grid_z";
  for (const CParameter &parameter : group.parameters)
    text += ", " + parameter.type + " " + parameter.name;
  return text + ")";
}

/// The images of a group, and functions that load and unload them.
Result<void> writeTables(std::ostringstream &out, const Group &group) {
  for (const Placed &placed : group.members) {
    writeImage(out, placed.variant->kernel, placed.number, placed.variant->isCooperative);
    if (Result<void> written = writeRecipes(out, placed.variant->kernel, placed.number); !written)
      return written;
    if (needsPlain(*placed.variant))
      writeImage(out, placed.variant->plain, placed.number + 1, placed.variant->isCooperative);
  }
  return {};
}

Result<void> writeFunction(std::ostringstream &out, Group group) {
  std::stable_sort(group.members.begin(), group.members.end(), isTriedBefore);
  out << "\n"
      << declaration(group) << " {\n  uint64_t scratch = 0;\n  int device = 0, capability = 0, "
      << "runs = 0;\n  int status = enter(&device, &capability);\n  if (status)\n    return "
         "status;\n";
  for (const Placed &placed : group.members)
    if (Result<void> written = writeVariant(out, group, placed); !written)
      return written;
  for (const Placed &placed : group.members)
    out << "  runs |= suits(&image_" << placed.number << ", capability);\n";
  out << "  return runs ? INVALID_VALUE : NO_BINARY;\n}\n";
  return {};
}

/// Functions that load the code before the first launch, and unload it.
void writeLoading(std::ostringstream &out, const std::vector<Group> &groups,
                  const std::string &prefix) {
  std::ostringstream list;
  for (const Group &group : groups)
    for (const Placed &placed : group.members) {
      list << "  &image_" << placed.number << ",\n";
      if (needsPlain(*placed.variant))
        list << "  &image_" << placed.number + 1 << ",\n";
    }
  out << "\nstatic struct image *const images[] = {\n"
      << list.str() << "};\n\nint " << prefix
      << "_load(void) {\n  int device = 0, capability = 0;\n"
         "  int status = enter(&device, &capability);\n  void *function;\n"
         "  for (size_t i = 0; !status && i < sizeof images / sizeof *images; ++i)\n"
         "    if (suits(images[i], capability))\n"
         "      status = load(images[i], device, &function);\n  return status;\n}\n\nvoid "
      << prefix
      << "_unload(void) {\n  for (size_t i = 0; i < sizeof images / sizeof *images; ++i)\n"
         "    unload(images[i]);\n}\n";
}

std::string headerText(const std::vector<Group> &groups, const std::string &prefix) {
  std::string guard = prefix + "_KERNELS_H";
  std::transform(guard.begin(), guard.end(), guard.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  std::ostringstream out;
  out << "/* Kernels made by pantile. At run time they need the CUDA driver and nothing else; "
         "link\n"
         "   with -ldl where dlopen is not in libc. Pointers are device addresses, half-precision\n"
         "   numbers their bits, `stream` a CUstream. Every function returns a CUresult: 0 for\n"
         "   success, 1 if no variant takes the arguments, 209 if there is none for the device, "
         "720\n"
         "   if the programs of a cooperative launch cannot all run at once. */\n"
      << "#ifndef " << guard << "\n#define " << guard << "\n#include <stdint.h>\n\n"
      << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      << "/* Loads all kernels for the device of this thread's context; else the first launch "
         "does. */\n"
      << "int " << prefix << "_load(void);\nvoid " << prefix << "_unload(void);\nconst char *"
      << prefix << "_error_string(int status);\n";
  for (const Group &group : groups) {
    out << "\n";
    for (const Placed &placed : group.members)
      out << "/* " << placed.variant->kernel->options.target << ": " << [&] {
        std::string text = placed.variant->signature;
        for (size_t at; (at = text.find("*/")) != text.npos;)
          text.replace(at, 2, "* /");
        return text;
      }() << " */\n";
    out << declaration(group) << ";\n";
  }
  out << "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return out.str();
}

} // namespace

Result<CFiles> launchersInC(const std::vector<CVariant> &variants, const std::string &prefix,
                            const std::string &headerName) {
  Result<std::vector<Group>> groups = groupsOf(variants);
  if (!groups)
    return groups.error();
  std::ostringstream out;
  std::string fixed(launcherText);
  for (size_t at; (at = fixed.find('@')) != fixed.npos;)
    fixed.replace(at, 1, prefix);
  out << "/* Made by pantile; see " << headerName << ". */\n#include \"" << headerName << "\"\n"
      << fixed << "\n";
  for (const Group &group : *groups)
    if (Result<void> written = writeTables(out, group); !written)
      return written.error();
  for (const Group &group : *groups)
    if (Result<void> written = writeFunction(out, group); !written)
      return written.error();
  writeLoading(out, *groups, prefix);
  return CFiles{headerText(*groups, prefix), out.str()};
}

} // namespace pantile
