//===- Bytes.cpp - values as bytes, for keys and artifacts --------------------------------===//
// Needs: see Bytes.h.
// Gives: ByteWriter, ByteReader.
// How:   a ConstValue is its alternative's index, then its content.
//===------------------------------------------------------------------------------------===//
#include "cache/Bytes.h"

namespace pantile {
namespace {

/// Deeper tuples than any program has; a damaged entry must not overflow the stack.
constexpr int maxTupleDepth = 64;

template <class... Fs> struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs> Overloaded(Fs...) -> Overloaded<Fs...>;

} // namespace

void ByteWriter::u64(uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8)
    u8(static_cast<uint8_t>(value >> shift));
}

void ByteWriter::text(std::string_view value) {
  u64(value.size());
  out.append(value);
}

void ByteWriter::constant(const ConstValue &value) {
  u8(static_cast<uint8_t>(value.index()));
  std::visit(Overloaded{[](std::monostate) {}, [&](bool v) { u8(v); },
                        [&](int64_t v) { u64(static_cast<uint64_t>(v)); },
                        [&](double v) { f64(v); }, [&](const std::string &v) { text(v); },
                        [&](const DTypeName &v) { text(v.name); },
                        [&](const FunctionRef &v) { u64(v.index); },
                        [&](const BuiltinRef &v) { text(v.name); },
                        [&](const OpaqueRef &v) { text(v.description); },
                        [&](const std::shared_ptr<const ConstTuple> &v) {
                          u64(v->elements.size());
                          for (const ConstValue &element : v->elements)
                            constant(element);
                          u64(v->fields.size());
                          for (const std::string &field : v->fields)
                            text(field);
                          optional(v->classIndex);
                        },
                        [&](const ClassRef &v) { u64(v.index); }, [&](uint64_t v) { u64(v); },
                        [&](std::complex<double> v) {
                          f64(v.real());
                          f64(v.imag());
                        }},
             value);
}

void ByteWriter::optional(std::optional<size_t> value) { u64(value ? *value + 1 : 0); }

void ByteWriter::argument(const ArgSpec &spec, bool withValue) {
  u8(static_cast<uint8_t>(spec.kind));
  text(spec.dtype);
  u8(spec.constPointer);
  u64(static_cast<uint64_t>(spec.divisibility));
  if (withValue)
    constant(spec.value);
  u64(spec.elements.size());
  for (const ArgSpec &element : spec.elements)
    argument(element, withValue);
  u64(spec.fields.size());
  for (const std::string &field : spec.fields)
    text(field);
  if (withValue)
    optional(spec.classIndex);
  u64(spec.blockShape.size());
  for (int64_t size : spec.blockShape)
    u64(static_cast<uint64_t>(size));
  u8(spec.padsWithNan);
}

void ByteWriter::options(const Options &options) {
#define OPTION(type, member, key, initial, meaning) option(options.member);
#include "pantile/Options.def"
}

void ByteWriter::option(int value) { u64(static_cast<uint64_t>(value)); }
void ByteWriter::option(bool value) { u8(value); }
void ByteWriter::option(const std::string &value) { text(value); }
void ByteWriter::option(LaunchAbi abi) { u8(abi == LaunchAbi::Triton); }

void ByteWriter::option(const LibraryPaths &libraries) {
  u64(libraries.size());
  for (const auto &[name, path] : libraries) {
    text(name);
    text(path);
  }
}

void ByteWriter::option(const PassNames &passes) {
  u64(passes.size());
  for (const std::string &pass : passes)
    text(pass);
}

std::string_view ByteReader::take(uint64_t length) {
  if (!good || length > rest.size()) {
    good = false;
    rest = {};
    return {};
  }
  std::string_view taken = rest.substr(0, length);
  rest.remove_prefix(length);
  return taken;
}

uint8_t ByteReader::u8() {
  std::string_view taken = take(1);
  return taken.empty() ? 0 : static_cast<uint8_t>(taken[0]);
}

uint64_t ByteReader::u64() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 8)
    value |= uint64_t(u8()) << shift;
  return value;
}

std::string ByteReader::text() { return std::string(take(u64())); }

size_t ByteReader::count() {
  uint64_t value = u64();
  if (value > rest.size())
    good = false;
  return good ? value : 0;
}

ConstValue ByteReader::constant(int depth) {
  switch (u8()) {
  case 0:
    return std::monostate{};
  case 1:
    return u8() != 0;
  case 2:
    return static_cast<int64_t>(u64());
  case 3:
    return f64();
  case 4:
    return text();
  case 5:
    return DTypeName{text()};
  case 6:
    return FunctionRef{u64()};
  case 7:
    return BuiltinRef{text()};
  case 8:
    return OpaqueRef{text()};
  case 9:
    if (depth < maxTupleDepth) {
      auto tuple = std::make_shared<ConstTuple>();
      for (size_t i = 0, n = count(); i < n && good; ++i)
        tuple->elements.push_back(constant(depth + 1));
      for (size_t i = 0, n = count(); i < n && good; ++i)
        tuple->fields.push_back(text());
      tuple->classIndex = optional();
      return std::shared_ptr<const ConstTuple>(std::move(tuple));
    }
    good = false;
    return std::monostate{};
  case 10:
    return ClassRef{u64()};
  case 11:
    return u64();
  case 12: {
    const double real = f64();
    return std::complex<double>(real, f64());
  }
  default:
    good = false;
    return std::monostate{};
  }
}

std::optional<size_t> ByteReader::optional() {
  uint64_t value = u64();
  return value ? std::optional<size_t>(value - 1) : std::nullopt;
}

ArgSpec ByteReader::argument(int depth) {
  ArgSpec spec;
  uint8_t kind = u8();
  good = good && depth < maxTupleDepth && kind <= static_cast<uint8_t>(ArgSpec::Kind::Descriptor);
  spec.kind = static_cast<ArgSpec::Kind>(kind);
  spec.dtype = text();
  spec.constPointer = u8() != 0;
  spec.divisibility = static_cast<int>(u64());
  spec.value = constant();
  for (size_t i = 0, n = count(); i < n && good; ++i)
    spec.elements.push_back(argument(depth + 1));
  for (size_t i = 0, n = count(); i < n && good; ++i)
    spec.fields.push_back(text());
  spec.classIndex = optional();
  for (size_t i = 0, n = count(); i < n && good; ++i)
    spec.blockShape.push_back(static_cast<int64_t>(u64()));
  spec.padsWithNan = u8() != 0;
  return spec;
}

Options ByteReader::options() {
  Options options;
#define OPTION(type, member, key, initial, meaning) read(options.member);
#include "pantile/Options.def"
  return options;
}

void ByteReader::read(int &value) { value = static_cast<int>(u64()); }
void ByteReader::read(bool &value) { value = u8() != 0; }
void ByteReader::read(std::string &value) { value = text(); }
void ByteReader::read(LaunchAbi &abi) { abi = u8() ? LaunchAbi::Triton : LaunchAbi::Full; }

void ByteReader::read(LibraryPaths &libraries) {
  for (size_t i = 0, n = count(); i < n; ++i) {
    std::string name = text();
    libraries[std::move(name)] = text();
  }
}

void ByteReader::read(PassNames &passes) {
  for (size_t i = 0, n = count(); i < n; ++i)
    passes.insert(text());
}

} // namespace pantile
