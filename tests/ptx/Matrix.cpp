//===- Matrix.cpp - ldmatrix, stmatrix, mma.sync -------------------------------------===//
// Needs: Matrix.h.
// Gives: decodeMatrix; the elements and accumulators that Wgmma.cpp also uses.
// How:   Fragments as in the PTX ISA's figures: with g = lane / 4, t = lane % 4 and e elements per
//        register, register i of A holds row g + 8 (i & 1), columns e t + 4 e (i >> 1) onwards, of
//        B the same of a column g; accumulators are rows g and g + 8, columns 2 t and 2 t + 1. fp64
//        has one element per register, and A of m8n8k4 row g alone.
//===------------------------------------------------------------------------------------------===//
#include "Matrix.h"
#include "Races.h"
#include <cmath>

namespace pantile::ptx {
namespace {

//===- matrices of 8 x 8 --------------------------------------------------------------------===//

const Operand *partsOf(const Operand &operand, int &count) {
  count = operand.kind == Operand::Vector ? int(operand.parts.size()) : 1;
  return operand.kind == Operand::Vector ? operand.parts.data() : &operand;
}

/// The row of 16 bytes that lane 8 m + r names for row r of matrix m.
uint8_t *row(Warp &w, const Instruction &i, const Operand &address, int matrix, int number) {
  return w.cta.shared(w, i, uint32_t(w.address(address, 8 * matrix + number)), 16);
}

/// The rows belong to the warp, whatever lane names them.
template <class Body>
void forRows(Warp &w, const Instruction &i, const Operand &address, int count, Body body) {
  const Touch touch = Races::touch(w, i, severalLanes);
  for (int m = 0; m < count; ++m)
    for (int number = 0; number < 8; ++number) {
      const uint32_t at = w.address(address, 8 * m + number);
      row(w, i, address, m, number);
      body(touch, Place{&w.cta.shadow, at, &w.cta});
    }
}

void loadMatrix(Warp &w, const Instruction &i) {
  int count;
  const Operand *parts = partsOf(i[0], count);
  const bool transposed = i.op.has("trans");
  std::array<std::array<Word, warpSize>, 4> results;
  forRows(w, i, i[1], count,
          [&](const Touch &touch, const Place &place) { w.cta.races().read(touch, place, 16); });
  for (int m = 0; m < count; ++m)
    for (int lane = 0; lane < warpSize; ++lane) {
      uint16_t low, high;
      const int g = lane / 4, t = lane % 4;
      if (transposed) {
        std::memcpy(&low, row(w, i, i[1], m, 2 * t) + 2 * g, 2);
        std::memcpy(&high, row(w, i, i[1], m, 2 * t + 1) + 2 * g, 2);
      } else {
        std::memcpy(&low, row(w, i, i[1], m, g) + 4 * t, 2);
        std::memcpy(&high, row(w, i, i[1], m, g) + 4 * t + 2, 2);
      }
      results[m][lane] = Word(high) << 16 | low;
    }
  for (int m = 0; m < count; ++m)
    forLanes(w.active, [&](int lane) { w.reg(parts[m])[lane] = results[m][lane]; });
}

void storeMatrix(Warp &w, const Instruction &i) {
  int count;
  const Operand *parts = partsOf(i[1], count);
  const bool transposed = i.op.has("trans");
  forRows(w, i, i[0], count, [&](const Touch &touch, const Place &place) {
    w.cta.races().write(touch, place, 16, nullptr, nullptr);
  });
  for (int m = 0; m < count; ++m) {
    for (int lane = 0; lane < warpSize; ++lane) {
      const Word value = w.reg(parts[m])[lane];
      const uint16_t low = value, high = value >> 16;
      const int g = lane / 4, t = lane % 4;
      if (transposed) {
        std::memcpy(row(w, i, i[0], m, 2 * t) + 2 * g, &low, 2);
        std::memcpy(row(w, i, i[0], m, 2 * t + 1) + 2 * g, &high, 2);
      } else {
        std::memcpy(row(w, i, i[0], m, g) + 4 * t, &low, 2);
        std::memcpy(row(w, i, i[0], m, g) + 4 * t + 2, &high, 2);
      }
    }
    for (int number = 0; number < 8; ++number)
      w.cta.noteWrite(w.index, uint32_t(w.address(i[0], 8 * m + number)), 16);
  }
}

//===- mma.sync -----------------------------------------------------------------------------===//

struct Shape {
  int m, n, k;
};

Shape shapeOf(const std::string &text) {
  Shape shape{};
  return std::sscanf(text.c_str(), "m%dn%dk%d", &shape.m, &shape.n, &shape.k) == 3 ? shape
                                                                                   : Shape{};
}

/// As `multiply`, each step of K rounded once: "identical to fused multiply-add" is what the manual
/// says of fp64.
void multiplyFused(const double *a, const double *b, double *sums, int m, int n, int k) {
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column)
      for (int inner = 0; inner < k; ++inner)
        sums[row * n + column] =
            std::fma(a[row * k + inner], b[inner * n + column], sums[row * n + column]);
}

/// The fragments of fp64 have the shapes that the manual lists, m16n8* from sm_90 on.
bool isShapeOfF64(const Shape &shape) {
  const bool isLarge = shape.m == 16 && (shape.k == 4 || shape.k == 8 || shape.k == 16);
  return shape.n == 8 && (isLarge || (shape.m == 8 && shape.k == 4));
}

/// The sums' registers as rows and columns; f16 sums come two in a register.
void multiplyFragments(Warp &w, const Instruction &i) {
  // mma.sync.aligned.SHAPE.row.col.D.A.B.C
  const auto &parts = i.op.parts;
  const Shape shape = shapeOf(parts[2]);
  const SumType type = sumType(parts[5]);
  const ElementType a = elementType(parts[6]), b = elementType(parts[7]);
  std::vector<double> as(shape.m * shape.k), bs(shape.k * shape.n), sums(shape.m * shape.n);
  readLeft(w, i[1].parts, a, shape.m, shape.k, as.data());
  for (size_t r = 0; r < i[2].parts.size(); ++r)
    for (int lane = 0; lane < warpSize; ++lane)
      for (int j = 0; j < a.perRegister(); ++j) {
        const int k = (lane % 4 + 4 * int(r)) * b.perRegister() + j;
        bs[k * shape.n + lane / 4] = b.read(w.reg(i[2].parts[r])[lane], j);
      }
  forSums(type, shape.m, shape.n, [&](int reg, int shift, int lane, int at) {
    sums[at] = readSum(type, w.reg(i[3].parts[reg])[lane] >> shift);
  });
  const auto add = type == SumType::F64 ? multiplyFused : multiply;
  add(as.data(), bs.data(), sums.data(), shape.m, shape.n, shape.k);
  forSums(type, shape.m, shape.n, [&](int reg, int shift, int lane, int at) {
    Word &word = w.reg(i[0].parts[reg])[lane];
    const Word value = writeSum(type, sums[at]);
    word = shift ? (word & 0xffff) | value << shift : value;
  });
}

template <class Bits, auto decode> ElementType decodedBy() {
  auto readPiece = [](const uint8_t *bytes, double *to, int step) {
    for (int at = 0; at < 16 / int(sizeof(Bits)); ++at) {
      Bits bits;
      std::memcpy(&bits, bytes + at * sizeof(Bits), sizeof(Bits));
      to[at * step] = decode(bits);
    }
  };
  return {8 * int(sizeof(Bits)), decode, readPiece};
}

} // namespace

ElementType elementType(std::string_view name) {
  if (name == "f16")
    return decodedBy<uint16_t, [](Word v) -> double { return toFloat(as<Half>(v)); }>();
  if (name == "bf16")
    return decodedBy<uint16_t, [](Word v) -> double { return toFloat(as<BFloat>(v)); }>();
  if (name == "tf32") // the hardware ignores the low bits
    return decodedBy<uint32_t, [](Word v) -> double { return as<float>(v & 0xffffe000); }>();
  if (name == "e4m3")
    return decodedBy<uint8_t, [](Word v) -> double { return fromE4M3(v); }>();
  if (name == "e5m2")
    return decodedBy<uint8_t, [](Word v) -> double { return fromE5M2(v); }>();
  if (name == "s8")
    return decodedBy<uint8_t, [](Word v) -> double { return int8_t(v); }>();
  if (name == "u8")
    return decodedBy<uint8_t, [](Word v) -> double { return uint8_t(v); }>();
  if (name == "f64")
    return decodedBy<uint64_t, [](Word v) -> double { return as<double>(v); }>();
  return {};
}

void readLeft(Warp &w, const std::vector<Operand> &registers, ElementType type, int rows, int depth,
              double *out) {
  const int rowCtas = rows / 8;
  for (size_t r = 0; r < registers.size(); ++r)
    for (int lane = 0; lane < warpSize; ++lane)
      for (int j = 0; j < type.perRegister(); ++j) {
        const int row = lane / 4 + 8 * (int(r) % rowCtas);
        const int column = (lane % 4 + 4 * (int(r) / rowCtas)) * type.perRegister() + j;
        out[row * depth + column] = type.read(w.reg(registers[r])[lane], j);
      }
}

SumType sumType(std::string_view name) {
  return name == "f16"   ? SumType::F16
         : name == "s32" ? SumType::S32
         : name == "f64" ? SumType::F64
                         : SumType::F32;
}

double readSum(SumType type, Word value) {
  return type == SumType::F16   ? toFloat(as<Half>(value))
         : type == SumType::S32 ? int32_t(value)
         : type == SumType::F64 ? as<double>(value)
                                : as<float>(value);
}

Word writeSum(SumType type, double value) {
  if (type == SumType::S32) // sums wrap
    return uint32_t(int64_t(value));
  return type == SumType::F16   ? word(toHalf(value))
         : type == SumType::F64 ? word(value)
                                : word(float(value));
}

void multiply(const double *a, const double *b, double *sums, int m, int n, int k) {
  for (int row = 0; row < m; ++row)
    for (int inner = 0; inner < k; ++inner) {
      const double factor = a[row * k + inner];
      for (int column = 0; column < n; ++column)
        sums[row * n + column] += factor * b[inner * n + column];
    }
}

Handler decodeMatrix(Instruction &i) {
  if (i.op.base == "ldmatrix" && i.op.has("m8n8"))
    return loadMatrix;
  if (i.op.base == "stmatrix" && i.op.has("m8n8"))
    return storeMatrix;
  if (i.op.base != "mma" || i.op.parts.size() < 9 || i.op.has("sp") || i.op.has("kind"))
    return nullptr;
  const bool known = elementType(i.op.parts[6]).bits && elementType(i.op.parts[7]).bits &&
                     i.op.parts[3] == "row" && i.op.parts[4] == "col" &&
                     (i.op.parts[5] != "f64" || isShapeOfF64(shapeOf(i.op.parts[2])));
  return known ? multiplyFragments : nullptr;
}

} // namespace pantile::ptx
