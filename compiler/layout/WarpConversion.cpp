//===- WarpConversion.cpp - layout conversions inside each warp --------------------===//
// Needs: WarpConversion.h.
// Gives: warpConversion.
//===-------------------------------------------------------------------------------===//
#include "layout/WarpConversion.h"

#include "layout/AxisBits.h"
#include "support/MachineModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace pantile {
namespace {

using Coord = LinearLayout::Coord;
using Bases = LinearLayout::Bases;

bool holds(const Bases &bases, const Coord &basis) { return llvm::is_contained(bases, basis); }

/// The bases of one warp: registers and lanes.
Bases partOf(const LinearLayout &layout) {
  Bases part = layout.reg();
  part.append(layout.lane().begin(), layout.lane().end());
  llvm::sort(part);
  return part;
}

bool applies(const LinearLayout &from, const LinearLayout &to) {
  if (from.rank() != 2 || from.hasPartialRegs() || to.hasPartialRegs() ||
      from.shape() != to.shape() || from.warp() != to.warp() ||
      from.lane().size() != to.lane().size() || from.freeBits().any() || to.freeBits().any())
    return false;
  const Bases part = partOf(from);
  return part == partOf(to) && llvm::all_of(part, isUnit);
}

/// The bases of a piece: all that are not registers of both sides, and as many of those as fit.
Bases basesOfPiece(const LinearLayout &from, const LinearLayout &to, int bits) {
  Bases piece, common;
  for (const Coord &basis : partOf(from))
    (holds(from.reg(), basis) && holds(to.reg(), basis) ? common : piece).push_back(basis);
  // More rows before longer ones: a row of 128 bytes is a panel.
  const int fast = to.fastestDim();
  llvm::stable_sort(common, [&](const Coord &a, const Coord &b) {
    return std::make_pair(dimOf(a) == fast, stepOf(a)) <
           std::make_pair(dimOf(b) == fast, stepOf(b));
  });
  int64_t bytes = (int64_t(from.numWarps()) * bits / 8) << piece.size();
  for (const Coord &basis : common) {
    if ((bytes *= 2) > MachineModel::reference().memory.pieceOfConversion)
      break;
    piece.push_back(basis);
  }
  return piece;
}

/// Removes the bits that are not those of the piece from its coordinates.
struct Squeeze {
  explicit Squeeze(Bases bases) : piece(std::move(bases)) { llvm::sort(piece); }

  Coord operator()(const Coord &basis) const {
    Coord squeezed(2, 0);
    const int dim = dimOf(basis);
    squeezed[dim] = 1 << llvm::count_if(piece, [&](const Coord &other) {
                      return dimOf(other) == dim && stepOf(other) < stepOf(basis);
                    });
    return squeezed;
  }

  LinearLayout::Shape shape() const {
    LinearLayout::Shape extents(2, 1);
    for (const Coord &basis : piece)
      extents[dimOf(basis)] *= 2;
    return extents;
  }

  LinearLayout layout(const LinearLayout &whole) const {
    Bases reg, lane;
    for (const Coord &basis : whole.reg())
      if (holds(piece, basis))
        reg.push_back((*this)(basis));
    for (const Coord &basis : whole.lane())
      lane.push_back((*this)(basis));
    return LinearLayout(shape(), reg, lane, {});
  }

  Bases piece;
};

/// Every XOR of some of `bits`, in the order of which ones.
WarpConversion::Registers combinations(llvm::ArrayRef<int> bits) {
  WarpConversion::Registers all{0};
  for (int bit : bits)
    for (size_t i = 0, n = all.size(); i < n; ++i)
      all.push_back(all[i] | bit);
  return all;
}

/// The registers of each piece, pieces in the order of `common`.
llvm::SmallVector<WarpConversion::Registers, 8>
registersOfPieces(const LinearLayout &whole, const Bases &piece, llvm::ArrayRef<Coord> common) {
  llvm::SmallVector<int> inside, outside(common.size());
  for (auto [i, basis] : llvm::enumerate(whole.reg()))
    if (holds(piece, basis))
      inside.push_back(1 << i);
    else
      outside[llvm::find(common, basis) - common.begin()] = 1 << i;
  llvm::SmallVector<WarpConversion::Registers, 8> result;
  for (int start : combinations(outside)) {
    result.push_back(combinations(inside));
    for (int &reg : result.back())
      reg |= start;
  }
  return result;
}

} // namespace

std::optional<WarpConversion> warpConversion(const LinearLayout &from, const LinearLayout &to,
                                             int bits) {
  if (bits < 8 || !applies(from, to))
    return std::nullopt;
  const Squeeze squeeze(basesOfPiece(from, to, bits));
  Bases common;
  for (const Coord &basis : from.reg())
    if (!holds(squeeze.piece, basis))
      common.push_back(basis);
  const int fast = to.fastestDim();
  return WarpConversion{squeeze.layout(from), squeeze.layout(to),
                        SharedLayout::forOperand(squeeze.shape(), bits, {fast, 1 - fast}),
                        registersOfPieces(from, squeeze.piece, common),
                        registersOfPieces(to, squeeze.piece, common)};
}

} // namespace pantile
