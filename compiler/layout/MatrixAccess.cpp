//===- MatrixAccess.cpp - how a tile moves between registers and shared memory -------------===//
#include "layout/MatrixAccess.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace pantile {

namespace {
using Bases = LinearLayout::Bases;
using Coord = LinearLayout::Coord;

/// `step` along the fastest dimension of `shared`.
Coord alongMemory(const SharedLayout &shared, int32_t step) {
  Coord basis(shared.shape().size(), 0);
  basis[shared.order()[0]] = step;
  return basis;
}

/// Removes `basis` from `from`; false where it is not there.
bool take(Bases &from, const Coord &basis) {
  const auto *const at = llvm::find(from, basis);
  if (at == from.end())
    return false;
  from.erase(at);
  return true;
}

/// Whether flipping a bit with this basis leads to another row of 16 bytes, or to none.
bool isOfRows(const SharedLayout &shared, const Coord &basis) {
  return shared.linearOffset(basis) % 16 == 0;
}

/// The 8x8 matrices of words along memory: a word, and four lanes that hold the words of a row.
std::optional<MatrixAccess> findPlain(const LinearLayout &layout, const SharedLayout &shared) {
  const int inWord = 32 / shared.elementBits();
  Bases regs = layout.reg(), word;
  for (int step = 1; step < inWord; step *= 2) {
    word.push_back(alongMemory(shared, step));
    if (!take(regs, word.back()))
      return std::nullopt;
  }
  for (int i = 0; i < 2; ++i)
    if (layout.lane()[i] != alongMemory(shared, inWord << i))
      return std::nullopt;
  word.append(regs);
  return MatrixAccess{
      false, inWord, 1,
      LinearLayout(layout.shape(), word, layout.lane(), layout.warp(), layout.numWarps()),
      Bases(llvm::drop_begin(layout.lane(), 2))};
}

/// Matrices that are transposed: eight lanes hold the units of 16 bits of a row. A word holds the
/// units of two rows.
std::optional<MatrixAccess> findTransposed(const LinearLayout &layout, const SharedLayout &shared) {
  const int inUnit = 16 / shared.elementBits();
  Bases regs = layout.reg(), word;
  if (inUnit == 0)
    return std::nullopt;
  if (inUnit == 2) {
    word.push_back(alongMemory(shared, 1));
    if (!take(regs, word.back()))
      return std::nullopt;
  }
  for (int i = 0; i < 3; ++i)
    if (layout.lane()[2 + i] != alongMemory(shared, inUnit << i))
      return std::nullopt;
  const auto *const second =
      llvm::find_if(regs, [&](const Coord &basis) { return isOfRows(shared, basis); });
  if (second == regs.end())
    return std::nullopt;
  const Coord half = *second;
  take(regs, half);
  word.push_back(half);
  word.append(regs);
  return MatrixAccess{
      true,
      2 * inUnit,
      1,
      LinearLayout(layout.shape(), word, layout.lane(), layout.warp(), layout.numWarps()),
      {half, layout.lane()[0], layout.lane()[1]}};
}

/// Whether the rows are next to each other along the dimension that is not the fastest.
bool areAdjacent(const Bases &rows, const SharedLayout &shared) {
  for (auto [bit, basis] : llvm::enumerate(rows)) {
    Coord next(2, 0);
    next[shared.order()[1]] = 1 << bit;
    if (basis != next)
      return false;
  }
  return true;
}

/// Whether all addresses of `access` are those of rows of 16 bytes.
bool startsRows(const MatrixAccess &access, const SharedLayout &shared) {
  auto ofRows = [&](const Coord &basis) { return isOfRows(shared, basis); };
  const auto further =
      llvm::drop_begin(access.ordered.reg(), llvm::Log2_32(access.registersPerWord));
  return llvm::all_of(access.rows, ofRows) && llvm::all_of(further, ofRows) &&
         llvm::all_of(access.ordered.warp(), ofRows);
}

/// Whether all or none of each `count` registers are present.
bool isAllOrNothing(const LinearLayout &layout, int count) {
  if (layout.fillsHull())
    return true;
  for (int reg = 0; reg < layout.numRegs(); ++reg)
    if (layout.isPresent(reg) != layout.isPresent(reg / count * count))
      return false;
  return true;
}
} // namespace

/// Of elements of 8 bits, words and rows may be anywhere: vectors of these are often single bytes.
/// Wider elements have vectors that cost less than a matrix with rows apart.
std::optional<MatrixAccess> findMatrices(const LinearLayout &layout, const SharedLayout &shared) {
  const int bits = shared.elementBits();
  if (bits > 32 || bits < 8 || layout.rank() != 2 || layout.lane().size() != 5 ||
      shared.rowBytes() < 16 || layout.freeBits().lane != 0 || layout.hasPartialRegs())
    return std::nullopt;
  auto access = findPlain(layout, shared);
  if (!access)
    access = findTransposed(layout, shared);
  if (!access || !startsRows(*access, shared) ||
      (bits > 8 && !(access->ordered == layout && areAdjacent(access->rows, shared))))
    return std::nullopt;
  const int inWord = llvm::Log2_32(access->registersPerWord);
  access->matrices = 1 << std::min<size_t>(layout.reg().size() - inWord, 2);
  while (access->matrices > 1 && !isAllOrNothing(access->ordered, access->matrices << inWord))
    access->matrices /= 2;
  return access;
}

int matrixConflicts(const MatrixAccess &matrix, const SharedLayout &shared) {
  int rowsOfChunk[8] = {};
  for (int row = 0; row < 8; ++row) {
    int64_t offset = 0;
    for (auto [bit, basis] : llvm::enumerate(matrix.rows))
      offset ^= row >> bit & 1 ? shared.linearOffset(basis) : 0;
    ++rowsOfChunk[shared.place(offset) / 16 % 8];
  }
  return *std::max_element(rowsOfChunk, rowsOfChunk + 8);
}

LinearLayout inVectorOrder(const LinearLayout &layout, const SharedLayout &shared) {
  LinearLayout sorted = layout.regsAlong(shared.order()[0]);
  return shared.vectorBytes(sorted) > shared.vectorBytes(layout) ? sorted : layout;
}

LinearLayout inLoadOrder(const LinearLayout &layout, const SharedLayout &shared) {
  const LinearLayout sorted = inVectorOrder(layout, shared);
  const auto matrix = findMatrices(layout, shared);
  return matrix && shared.vectorBytes(sorted) < 16 ? matrix->ordered : sorted;
}

bool loadsWords(const LinearLayout &layout, const SharedLayout &shared) {
  return findMatrices(layout, shared) || shared.vectorBytes(inVectorOrder(layout, shared)) >= 4;
}

int64_t sharedCycles(const LinearLayout &layout, const SharedLayout &shared) {
  const int64_t bytes = std::max<int64_t>(int64_t(layout.numRegs()) * shared.elementBits() / 8, 1);
  const LinearLayout sorted = inVectorOrder(layout, shared);
  const int vector = shared.vectorBytes(sorted);
  const auto matrix = findMatrices(layout, shared);
  if (matrix && vector < 16) // as much per instruction as four matrices
    return bytes / 4 * matrixConflicts(*matrix, shared) + bytes / 4 / matrix->matrices;
  const int64_t instructions = llvm::divideCeil(bytes, vector);
  const int64_t parts = std::max(layout.numLanes() * vector / 128, 1);
  return instructions * (1 + parts * shared.bankConflicts(sorted, vector));
}

} // namespace pantile
