//===- Bytes.h - values as bytes, for keys and artifacts ----------------------------------===//
// Needs: nothing.
// Gives: ByteWriter, whose output depends on the values alone, and ByteReader, its inverse.
// How:   Little endian; every string and list is preceded by its length, so no two sequences of
//        values give the same bytes. A reader never leaves its buffer: after the first bad read
//        `ok()` is false and everything reads as zero or empty.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Options.h"
#include "pantile/Program.h"
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace pantile {

class ByteWriter {
public:
  void u8(uint8_t value) { out.push_back(static_cast<char>(value)); }
  void u64(uint64_t value);
  void f64(double value) { u64(std::bit_cast<uint64_t>(value)); }
  void text(std::string_view value);
  void constant(const ConstValue &value);
  void argument(const ArgSpec &spec, bool withValue = true);
  void optional(std::optional<size_t> value);
  void options(const Options &options);
  const std::string &bytes() const { return out; }
  std::string take() { return std::move(out); }

private:
  void option(int value);
  void option(bool value);
  void option(const std::string &value);
  void option(const LibraryPaths &libraries);
  void option(const PassNames &passes);
  void option(LaunchAbi abi);
  std::string out;
};

class ByteReader {
public:
  explicit ByteReader(std::string_view bytes) : rest(bytes) {}
  uint8_t u8();
  uint64_t u64();
  double f64() { return std::bit_cast<double>(u64()); }
  std::string text();
  ConstValue constant() { return constant(0); }
  ArgSpec argument() { return argument(0); }
  std::optional<size_t> optional();
  Options options();

  /// A number of elements that follow, of at least one byte each.
  size_t count();
  bool ok() const { return good; }
  bool atEnd() const { return rest.empty(); }

private:
  ConstValue constant(int depth);
  ArgSpec argument(int depth);
  void read(int &value);
  void read(bool &value);
  void read(std::string &value);
  void read(LibraryPaths &libraries);
  void read(PassNames &passes);
  void read(LaunchAbi &abi);
  std::string_view take(uint64_t length);
  std::string_view rest;
  bool good = true;
};

} // namespace pantile
