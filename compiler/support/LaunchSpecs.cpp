//===- LaunchSpecs.cpp - what a launch passes for a parameter -----------------------------===//
// Needs: a parameter as specialised.
// Gives: appendLaunchSpecs of pantile/Program.h: the only definition of the layout of structured
//        parameters, for the emitter and for the launcher.
// How:   The strides of a descriptor but the last are multiples of 16 bytes, and so is its base:
//        the requirements of tensor maps hold for all descriptors. Its divisibility is that of the
//        last size, which determines the width of masked accesses.
//===------------------------------------------------------------------------------------===//
#include "pantile/Program.h"
#include <cctype>

namespace pantile {
namespace {

constexpr int descriptorAlignment = 16; // bytes

/// Bytes of an element: the digits of "fp16", "fp8e5", "i32" are its bits.
int elementBytes(const std::string &dtype) {
  size_t digit = 0;
  while (digit < dtype.size() && !std::isdigit(static_cast<unsigned char>(dtype[digit])))
    ++digit;
  int bits = std::atoi(dtype.c_str() + digit);
  return bits < 8 ? 1 : bits / 8;
}

ArgSpec scalar(const char *dtype, int divisibility) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Scalar;
  spec.dtype = dtype;
  spec.divisibility = divisibility;
  return spec;
}

void appendDescriptor(const ArgSpec &spec, std::vector<ArgSpec> &leaves) {
  ArgSpec base;
  base.kind = ArgSpec::Kind::Pointer;
  base.dtype = spec.dtype;
  base.divisibility = descriptorAlignment;
  leaves.push_back(base);
  const size_t rank = spec.blockShape.size();
  for (size_t i = 0; i < rank; ++i)
    leaves.push_back(scalar("i32", i + 1 == rank ? spec.divisibility : 1));
  for (size_t i = 0; i < rank; ++i)
    leaves.push_back(
        scalar("i64", i + 1 == rank ? 1 : descriptorAlignment / elementBytes(spec.dtype)));
}

} // namespace

void appendLaunchSpecs(const ArgSpec &spec, std::vector<ArgSpec> &leaves) {
  switch (spec.kind) {
  case ArgSpec::Kind::Constant:
    return;
  case ArgSpec::Kind::Pointer:
  case ArgSpec::Kind::Scalar:
    leaves.push_back(spec);
    return;
  case ArgSpec::Kind::Tuple:
    for (const ArgSpec &element : spec.elements)
      appendLaunchSpecs(element, leaves);
    return;
  case ArgSpec::Kind::Descriptor:
    appendDescriptor(spec, leaves);
    return;
  }
}

} // namespace pantile
