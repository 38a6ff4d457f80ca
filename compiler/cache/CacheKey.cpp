//===- CacheKey.cpp - a hash of everything that determines a compilation ------------------===//
// Needs: see CacheKey.h.
// Gives: cacheKey, hexDigest, buildId.
// How:   Functions are written in the order in which they are reached, and references to them as
//        their number in that order, so unrelated functions of a file change nothing. File and
//        first line are hashed if they affect the output: line information, assertion messages.
//===------------------------------------------------------------------------------------===//
#include "cache/CacheKey.h"
#include "cache/Bytes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include <algorithm>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <map>
#include <sys/stat.h>

namespace pantile {
namespace {

bool isNameCharacter(char c) { return llvm::isAlnum(c) || c == '_' || (c & 0x80); }

/// Whether `name` occurs in `text` as a whole word, even in a comment: one global too many costs a
/// compilation, one too few gives a wrong kernel.
bool mentions(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !isNameCharacter(text[at - 1])) &&
        (end == text.size() || !isNameCharacter(text[end])))
      return true;
  }
  return false;
}

/// Writes a specialisation and the part of its program that it reaches, functions renumbered in the
/// order of discovery. An argument may be a function, too.
class ProgramWriter {
public:
  ProgramWriter(const Program &program, bool withPlaces, ByteWriter &out)
      : program(program), withPlaces(withPlaces), out(out) {}

  void write(const Specialization &specialization) {
    number(program.kernel);
    out.u64(specialization.args.size());
    for (const ArgSpec &spec : specialization.args) {
      out.argument(spec, /*withValue=*/false);
      argumentValue(spec);
    }
    // Each may discover more of the other.
    for (size_t f = 0, c = 0; f < order.size() || c < classOrder.size();)
      f < order.size() ? function(program.functions[order[f++]])
                       : oneClass(program.classes[classOrder[c++]]);
  }

  ReachedParts takeReached() { return {std::move(order), std::move(classOrder)}; }

private:
  size_t number(size_t index) {
    auto [entry, isNew] = numbers.try_emplace(index, order.size());
    if (isNew)
      order.push_back(index);
    return entry->second;
  }

  size_t numberOfClass(size_t index) {
    auto [entry, isNew] = classNumbers.try_emplace(index, classOrder.size());
    if (isNew)
      classOrder.push_back(index);
    return entry->second;
  }

  void argumentValue(const ArgSpec &spec) {
    global(spec.value);
    for (const ArgSpec &element : spec.elements)
      argumentValue(element);
    optionalClass(spec.classIndex);
  }

  void optionalClass(std::optional<size_t> index) {
    bool isKnown = index && *index < program.classes.size();
    out.optional(isKnown ? std::optional(numberOfClass(*index)) : std::nullopt);
  }

  void oneClass(const ClassSource &source) {
    out.text(source.name);
    out.u8(source.isAggregate);
    out.u64(source.fields.size());
    for (const ClassSource::Field &field : source.fields) {
      out.text(field.name);
      out.u8(field.isConstexpr);
      out.u8(field.value.has_value());
      if (field.value)
        global(*field.value);
    }
    out.u64(source.members.size());
    for (const auto &[name, value] : source.members) {
      out.text(name);
      global(value);
    }
    for (const auto *names : {&source.staticMembers, &source.properties}) {
      out.u64(names->size());
      for (const std::string &name : *names)
        out.text(name);
    }
  }

  void function(const FunctionSource &source) {
    out.text(source.name);
    out.text(source.text);
    out.u8(source.noinline_);
    out.text(withPlaces ? source.file : "");
    out.u64(withPlaces ? static_cast<uint64_t>(source.firstLine) : 0);
    out.u64(withPlaces ? static_cast<uint64_t>(source.indent) : 0);
    for (const auto &[name, value] : source.globals)
      // The text of a host function is a digest, which refers to nothing.
      if (source.host || mentions(source.text, name)) {
        out.u8(1);
        out.text(name);
        global(value);
      }
    out.u8(0);
  }

  void global(const ConstValue &value) {
    if (auto *tuple = std::get_if<std::shared_ptr<const ConstTuple>>(&value)) {
      out.u8(static_cast<uint8_t>(value.index()));
      out.u64((*tuple)->elements.size());
      for (const ConstValue &element : (*tuple)->elements)
        global(element);
      out.u64((*tuple)->fields.size());
      for (const std::string &field : (*tuple)->fields)
        out.text(field);
      optionalClass((*tuple)->classIndex);
      return;
    }
    auto *cls = std::get_if<ClassRef>(&value);
    if (cls && cls->index < program.classes.size())
      return out.constant(ClassRef{numberOfClass(cls->index)});
    auto *callee = std::get_if<FunctionRef>(&value);
    if (callee && callee->index < program.functions.size())
      out.constant(FunctionRef{number(callee->index)});
    else
      out.constant(value);
  }

  const Program &program;
  const bool withPlaces;
  ByteWriter &out;
  std::map<size_t, size_t> numbers, classNumbers;
  std::vector<size_t> order, classOrder;
};

/// The linker's build-id note of the object that holds this code, in hexadecimal.
int findBuildId(dl_phdr_info *info, size_t, void *result) {
  auto here = reinterpret_cast<uintptr_t>(&findBuildId);
  auto inside = [&](const ElfW(Phdr) & segment) {
    uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    return segment.p_type == PT_LOAD && here >= start && here < start + segment.p_memsz;
  };
  const ElfW(Phdr) *begin = info->dlpi_phdr, *end = begin + info->dlpi_phnum;
  if (std::none_of(begin, end, inside))
    return 0;
  for (const ElfW(Phdr) *segment = begin; segment != end; ++segment) {
    if (segment->p_type != PT_NOTE)
      continue;
    auto *at = reinterpret_cast<const char *>(info->dlpi_addr + segment->p_vaddr);
    const char *stop = at + segment->p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= stop) {
      auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note), *content = name + ((note->n_namesz + 3) & ~3u);
      if (note->n_type == NT_GNU_BUILD_ID && std::string_view(name, 3) == "GNU")
        *static_cast<std::string *>(result) =
            llvm::toHex(llvm::StringRef(content, note->n_descsz), /*LowerCase=*/true);
      at = content + ((note->n_descsz + 3) & ~3u);
    }
  }
  return 1;
}

std::string computeBuildId() {
  std::string id;
  dl_iterate_phdr(findBuildId, &id);
  // Without a note (some linkers write none) the time of this file's compilation is used.
  return id.empty() ? __DATE__ " " __TIME__ : id;
}

} // namespace

std::string hexDigest(std::string_view bytes) {
  llvm::BLAKE3 hasher;
  hasher.update(llvm::StringRef(bytes.data(), bytes.size()));
  return llvm::toHex(hasher.final(), /*LowerCase=*/true);
}

std::string cacheKey(const CacheInputs &inputs, ReachedParts *reached) {
  ByteWriter out;
  out.text("pantile kernel 1");
  out.text(inputs.build);
  out.text(inputs.assembler);
  out.options(inputs.options);
  ProgramWriter writer(inputs.program, inputs.options.lineInfo || inputs.options.debug, out);
  writer.write(inputs.specialization);
  if (reached)
    *reached = writer.takeReached();
  return hexDigest(out.bytes());
}

const std::string &buildId() {
  static const std::string id = computeBuildId();
  return id;
}

} // namespace pantile
