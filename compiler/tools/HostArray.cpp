//===- HostArray.cpp - arrays on the command line -------------------------------------------===//
// Needs: see HostArray.h.
// Gives: HostArray, makeArray, readNpy, writeNpy.
// How:   Floats narrower than 32 bits are rounded to nearest even from their numbers of exponent
//        and mantissa bits; formats without infinities saturate.
//===-----------------------------------------------------------------------------------===//
#include "HostArray.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

namespace pantile {
namespace {

struct Type {
  std::string_view name, npy;
  int bytes;
  enum { Signed, Unsigned, Bool, Float, Small } kind;
  int exponentBits = 0, mantissaBits = 0;
  /// Fnuz: the code of a negative zero is the only NaN.
  enum { Ieee, LastIsNan, Fnuz } others = Ieee;

  int bias() const { return (1 << (exponentBits - 1)) - (others == Fnuz ? 0 : 1); }
  uint64_t signBit() const { return uint64_t(1) << (exponentBits + mantissaBits); }
};

constexpr Type types[] = {{"i1", "|b1", 1, Type::Bool},
                          {"i8", "|i1", 1, Type::Signed},
                          {"i16", "<i2", 2, Type::Signed},
                          {"i32", "<i4", 4, Type::Signed},
                          {"i64", "<i8", 8, Type::Signed},
                          {"u8", "|u1", 1, Type::Unsigned},
                          {"u16", "<u2", 2, Type::Unsigned},
                          {"u32", "<u4", 4, Type::Unsigned},
                          {"u64", "<u8", 8, Type::Unsigned},
                          {"fp32", "<f4", 4, Type::Float},
                          {"fp64", "<f8", 8, Type::Float},
                          {"fp16", "<f2", 2, Type::Small, 5, 10},
                          {"bf16", "|V2", 2, Type::Small, 8, 7},
                          {"fp8e5", "|V1", 1, Type::Small, 5, 2},
                          {"fp8e4nv", "|V1", 1, Type::Small, 4, 3, Type::LastIsNan},
                          {"fp8e4b8", "|V1", 1, Type::Small, 4, 3, Type::Fnuz},
                          {"fp8e5b16", "|V1", 1, Type::Small, 5, 2, Type::Fnuz}};

const Type *typeNamed(std::string_view name) {
  for (const Type &type : types)
    if (type.name == name)
      return &type;
  return nullptr;
}

double largestOf(const Type &type) {
  const int last = (1 << type.exponentBits) - 1 - type.bias();
  switch (type.others) {
  case Type::Ieee:
    return std::ldexp(2 - std::ldexp(1.0, -type.mantissaBits), last - 1);
  case Type::LastIsNan:
    return std::ldexp(2 - std::ldexp(2.0, -type.mantissaBits), last);
  default:
    return std::ldexp(2 - std::ldexp(1.0, -type.mantissaBits), last);
  }
}

uint64_t encodeSmall(const Type &type, double value) {
  const int bias = type.bias();
  const uint64_t sign = std::signbit(value) ? type.signBit() : 0;
  const uint64_t ones = (uint64_t(1) << type.exponentBits) - 1;
  if (std::isnan(value) && type.others == Type::Fnuz)
    return type.signBit();
  if (std::isnan(value))
    return sign | (ones << type.mantissaBits) | ((uint64_t(1) << type.mantissaBits) - 1);
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);
  const double unit = std::ldexp(1.0, exponent - type.mantissaBits);
  const double rounded = std::nearbyint(std::fabs(value) / unit) * unit;
  if (rounded > largestOf(type)) {
    if (type.others == Type::Ieee)
      return sign | (ones << type.mantissaBits);
    return encodeSmall(type, std::copysign(largestOf(type), value));
  }
  if (rounded == 0)
    return type.others == Type::Fnuz ? 0 : sign;
  std::frexp(rounded, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);
  auto mantissa = static_cast<uint64_t>(std::ldexp(rounded, type.mantissaBits - exponent));
  const uint64_t hidden = uint64_t(1) << type.mantissaBits;
  const uint64_t field = mantissa >= hidden ? static_cast<uint64_t>(exponent + bias) : 0;
  return sign | (field << type.mantissaBits) | (mantissa & (hidden - 1));
}

double decodeSmall(const Type &type, uint64_t bits) {
  const int bias = type.bias();
  const uint64_t hidden = uint64_t(1) << type.mantissaBits, ones = (1u << type.exponentBits) - 1;
  const uint64_t field = (bits >> type.mantissaBits) & ones, mantissa = bits & (hidden - 1);
  const bool negative = bits & type.signBit();
  double value = field
                     ? std::ldexp(double(mantissa + hidden), int(field) - bias - type.mantissaBits)
                     : std::ldexp(double(mantissa), 1 - bias - type.mantissaBits);
  if (field == ones && type.others == Type::Ieee)
    value = mantissa ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  const bool isLast = field == ones && mantissa == hidden - 1;
  if ((type.others == Type::LastIsNan && isLast) ||
      (type.others == Type::Fnuz && bits == type.signBit()))
    value = std::numeric_limits<double>::quiet_NaN();
  return negative ? -value : value;
}

Error wrong(const std::string &message) { return makeError(ErrorKind::Launch, message); }

Result<std::vector<int64_t>> parseShape(std::string_view text) {
  std::vector<int64_t> shape;
  while (!text.empty()) {
    int64_t extent = 0;
    text.remove_prefix(std::min(text.find_first_not_of(" "), text.size()));
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (status != std::errc() || extent < 0)
      return wrong("`" + std::string(text) + "` is no extent of an array");
    shape.push_back(extent);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
  }
  return shape;
}

Result<HostArray> emptyArray(std::string dtype, std::vector<int64_t> shape) {
  const Type *type = typeNamed(dtype);
  if (!type)
    return wrong("there is no array of `" + dtype + "`");
  HostArray array{std::move(dtype), std::move(shape), {}};
  constexpr int64_t mostElements = int64_t(1) << 36;
  int64_t count = 1;
  for (int64_t extent : array.shape)
    if (__builtin_mul_overflow(count, extent, &count) || count > mostElements)
      return wrong("an array of so many elements is not made here");
  array.bytes.resize(static_cast<size_t>(count * type->bytes));
  return array;
}

Result<void> fill(HostArray &array, std::string_view how, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  const Type &type = *typeNamed(array.dtype);
  const bool isFloat = type.kind == Type::Float || type.kind == Type::Small;
  std::uniform_int_distribution<int> whole(type.kind == Type::Signed ? -100 : 0,
                                           type.kind == Type::Bool ? 1 : 100);
  if (how != "random" && how != "zeros" && how != "ones" && how != "arange")
    return wrong("`" + std::string(how) + "` is none of random, zeros, ones, arange");
  for (int64_t i = 0, n = array.size(); i < n; ++i)
    array.set(i, how == "random"  ? (isFloat ? normal(engine) : whole(engine))
                 : how == "ones"  ? 1
                 : how == "zeros" ? 0
                                  : double(i));
  return {};
}

/// The value after 'name': in the header of an .npy file, up to the comma that ends it.
std::string_view headerField(std::string_view header, std::string_view name) {
  size_t at = header.find("'" + std::string(name) + "':");
  if (at == header.npos)
    return {};
  header.remove_prefix(at + name.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  const bool isTuple = header.starts_with('(');
  return header.substr(isTuple, header.find(isTuple ? ')' : ',') - isTuple);
}

} // namespace

int64_t HostArray::size() const {
  return static_cast<int64_t>(bytes.size()) / typeNamed(dtype)->bytes;
}

double HostArray::at(int64_t index) const {
  const Type &type = *typeNamed(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * type.bytes, static_cast<size_t>(type.bytes));
  switch (type.kind) {
  case Type::Signed:
    return double(int64_t(bits << (64 - 8 * type.bytes)) >> (64 - 8 * type.bytes));
  case Type::Unsigned:
  case Type::Bool:
    return double(bits);
  case Type::Small:
    return decodeSmall(type, bits);
  case Type::Float:
    break;
  }
  float single;
  double real;
  std::memcpy(&single, &bits, sizeof single);
  std::memcpy(&real, &bits, sizeof real);
  return type.bytes == 4 ? single : real;
}

void HostArray::set(int64_t index, double value) {
  const Type &type = *typeNamed(dtype);
  const float single = static_cast<float>(value);
  uint64_t bits = 0;
  if (type.kind == Type::Small)
    bits = encodeSmall(type, value);
  else if (type.kind == Type::Float && type.bytes == 4)
    std::memcpy(&bits, &single, sizeof single);
  else if (type.kind == Type::Float)
    std::memcpy(&bits, &value, sizeof value);
  else
    bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  std::memcpy(bytes.data() + index * type.bytes, &bits, static_cast<size_t>(type.bytes));
}

Result<HostArray> makeArray(std::string_view description, uint64_t seed) {
  if (size_t at = description.find('@'); at != description.npos)
    return readNpy(std::string(description.substr(at + 1)), std::string(description.substr(0, at)));
  const size_t colon = description.find(':'), open = description.find('[');
  if (colon == description.npos || open == description.npos || !description.ends_with(']') ||
      open < colon)
    return wrong("`" + std::string(description) +
                 "` is neither `@FILE.npy` nor like "
                 "`random:fp32[128, 64]`");
  auto shape = parseShape(description.substr(open + 1, description.size() - open - 2));
  if (!shape)
    return shape.error();
  Result<HostArray> array =
      emptyArray(std::string(description.substr(colon + 1, open - colon - 1)), *shape);
  if (!array)
    return array;
  Result<void> filled = fill(*array, description.substr(0, colon), seed);
  return filled ? std::move(array) : Result<HostArray>(filled.error());
}

Result<HostArray> readNpy(const std::string &path, const std::string &dtype) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return wrong("cannot read `" + path + "`");
  std::string start(10, '\0');
  if (!stream.read(start.data(), 10) || !start.starts_with("\x93NUMPY"))
    return wrong("`" + path + "` is no .npy file");
  size_t length = static_cast<unsigned char>(start[8]) | static_cast<unsigned char>(start[9]) << 8;
  if (start[6] >= 2) {
    std::string more(2, '\0');
    stream.read(more.data(), 2);
    length |= static_cast<size_t>(static_cast<unsigned char>(more[0])) << 16;
  }
  std::string header(length, '\0');
  stream.read(header.data(), static_cast<std::streamsize>(length));
  std::string_view kind = headerField(header, "descr");
  if (!stream || kind.size() < 4 || headerField(header, "fortran_order") != "False")
    return wrong("`" + path + "` is no .npy file of an array in C order");
  kind = kind.substr(1, kind.size() - 2);
  std::string name = dtype;
  for (const Type &type : types)
    if (name.empty() && (type.npy == kind || type.npy.substr(1) == kind.substr(1)) &&
        type.npy[1] != 'V')
      name = type.name;
  auto shape = parseShape(headerField(header, "shape"));
  if (!shape)
    return shape.error();
  if (name.empty())
    return wrong("`" + path + "` has elements of type `" + std::string(kind) +
                 "`: name the type before the `@`, `bf16@...` say");
  Result<HostArray> array = emptyArray(name, *shape);
  if (!array)
    return array;
  if (typeNamed(name)->npy.back() != kind.back() ||
      !stream.read(array->bytes.data(), static_cast<std::streamsize>(array->bytes.size())))
    return wrong("`" + path + "` does not hold " + describeType(*array));
  return array;
}

Result<void> writeNpy(const HostArray &array, const std::string &path) {
  std::string shape;
  for (int64_t extent : array.shape)
    shape += std::to_string(extent) + ", ";
  std::string header = "{'descr': '" + std::string(typeNamed(array.dtype)->npy) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::ofstream stream(path, std::ios::binary);
  stream << std::string("\x93NUMPY\x01\x00", 8) << char(header.size() & 255)
         << char(header.size() >> 8) << header;
  stream.write(array.bytes.data(), static_cast<std::streamsize>(array.bytes.size())).flush();
  return stream ? Result<void>() : wrong("cannot write `" + path + "`");
}

std::string describeType(const HostArray &array) {
  std::string text = array.dtype + "[";
  for (size_t i = 0; i < array.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(array.shape[i]);
  return text + "]";
}

} // namespace pantile
