//===- Matrix.h - elements, fragments and accumulators of MMAs -----------------------===//
// Needs: Values.h.
// Gives: ElementType, SumType, readLeft, readSum, writeSum, forSums, multiply.
// How:   Intermediate values are double, and an accumulator is rounded once per instruction.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Values.h"

namespace pantile::ptx {

struct ElementType {
  int bits = 0; // 0: unknown
  double (*decode)(Word) = nullptr;
  /// Decodes 16 bytes, to every `step`-th place.
  void (*readPiece)(const uint8_t *bytes, double *to, int step) = nullptr;

  /// Of 32 bits; f64 has registers of its own.
  int perRegister() const { return bits == 64 ? 1 : 32 / bits; }
  double read(Word word, int element) const { return decode(word >> (element * bits)); }
};

ElementType elementType(std::string_view name);

/// The left operand's fragment as a matrix of `rows` by `depth`.
void readLeft(Warp &w, const std::vector<Operand> &registers, ElementType type, int rows, int depth,
              double *out);

enum class SumType : uint8_t { F32, F16, S32, F64 };
SumType sumType(std::string_view name);
double readSum(SumType type, Word value);
Word writeSum(SumType type, double value);

/// sums += a b, all of them row by row.
void multiply(const double *a, const double *b, double *sums, int m, int n, int k);

/// Calls `body(register, shift, lane, place)` for every sum of `m` by `n`; `m` is 8 or 16.
template <class Body> void forSums(SumType type, int m, int n, Body body) {
  const int packed = type == SumType::F16 ? 2 : 1, halves = m / 8;
  for (int cta = 0; cta < n / 8; ++cta)
    for (int half = 0; half < halves; ++half)
      for (int j = 0; j < 2; ++j)
        for (int lane = 0; lane < warpSize; ++lane) {
          const int number = (cta * halves + half) * 2 + j;
          const int row = lane / 4 + 8 * half, column = 8 * cta + 2 * (lane % 4) + j;
          body(number / packed, packed == 2 ? 16 * j : 0, lane, row * n + column);
        }
}

} // namespace pantile::ptx
