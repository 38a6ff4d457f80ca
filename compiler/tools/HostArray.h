//===- HostArray.h - arrays on the command line ---------------------------------------------===//
// Needs: a description ("random:fp16[128, 64]", "@x.npy", "bf16@x.npy") or a file.
// Gives: an array in host memory, its statistics, and .npy files of it.
// How:   C order. Types that NumPy has no name for (bf16, fp8) are stored as bytes of their size
//        ("V2", "V1"), as ml_dtypes does, and are read where the description names the type.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

struct HostArray {
  std::string dtype; ///< "fp32", "i8", ...: as in signatures
  std::vector<int64_t> shape;
  std::vector<char> bytes;

  int64_t size() const;
  double at(int64_t index) const;
  void set(int64_t index, double value);
};

/// `seed` determines the values of "random": normal numbers, integers from -100 to 100.
Result<HostArray> makeArray(std::string_view description, uint64_t seed);

Result<HostArray> readNpy(const std::string &path, const std::string &dtype);
Result<void> writeNpy(const HostArray &array, const std::string &path);

/// "fp16[128, 64]".
std::string describeType(const HostArray &array);

} // namespace pantile
