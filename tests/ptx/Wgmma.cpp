//===- Wgmma.cpp - wgmma.mma_async ---------------------------------------------------===//
// Needs: Matrix.h, TensorMap.h for the swizzle.
// Gives: decodeWgmma, finishMmas, advanceMmas.
// How:   Each warp computes its 16 rows when its group is waited for, or at random before that. Its
//        accumulators are in cells; until the wait the accumulator registers, and copies of them,
//        refer to the cells, and reading them is a fault. Layouts of operands in shared memory: PTX
//        ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout".
//===------------------------------------------------------------------------------------------===//
#include "Matrix.h"
#include "Races.h"
#include "TensorMap.h"

namespace pantile::ptx {
namespace {

/// An operand in shared memory, as its descriptor says.
class SharedOperand {
public:
  SharedOperand(Warp &w, const Instruction &i, Word descriptor, ElementType type, bool transposed)
      : w(w), i(i), type(type), transposed(transposed), start(uint32_t(descriptor & 0x3fff) << 4),
        leading(uint32_t(descriptor >> 16 & 0x3fff) << 4),
        stride(uint32_t(descriptor >> 32 & 0x3fff) << 4) {
    constexpr int spans[] = {16, 128, 64, 32};
    span = spans[descriptor >> 62];
    if (descriptor >> 49 & 7)
      w.fault(i, "descriptors with a base offset are not emulated");
  }

  /// Where byte `byte` of a row lies; rows are along k if the operand is transposed.
  uint32_t addressOf(int row, int byte) const {
    uint32_t address = start;
    if (span == 16) { // matrices of 8 x 16 bytes
      const uint32_t along = transposed ? stride : leading, across = transposed ? leading : stride;
      address += row / 8 * across + row % 8 * 16 + byte / 16 * along + byte % 16;
    } else if (transposed)
      address += byte / span * leading + byte % span + row / 8 * stride + row % 8 * span;
    else
      address += row / 8 * stride + row % 8 * span + byte;
    return swizzled(address, span == 16 ? 0 : span);
  }

  /// Elements of rows or columns `first` to `first + count - 1`, `depth` deep, each row or column
  /// `step` from the next in `out` and each k `stepOfK`.
  void read(int first, int count, int depth, double *out, int step, int stepOfK) const {
    forPieces(first, count, depth, [&](uint32_t address, int row, int element) {
      const uint8_t *place = w.cta.shared(w, i, address, 16);
      w.cta.requireFenced(w, i, address, 16);
      const int ofRow = transposed ? stepOfK : step, ofElement = transposed ? step : stepOfK;
      type.readPiece(place, out + row * ofRow + element * ofElement, ofElement);
    });
  }

  /// The same, as far as races go.
  void touch(const Touch &touch, int first, int count, int depth) const {
    forPieces(first, count, depth, [&](uint32_t address, int, int) {
      w.cta.shared(w, i, address, 16);
      w.cta.races().read(touch, {&w.cta.shadow, address, &w.cta}, 16);
    });
  }

private:
  /// Calls `body(address, row, element)` for each 16 bytes, which no swizzle splits; rows are along k
  /// if the operand is transposed.
  template <class Body> void forPieces(int first, int count, int depth, Body body) const {
    const int bytes = type.bits / 8, rows = transposed ? depth : count,
              along = (transposed ? count : depth) * bytes;
    for (int row = 0; row < rows; ++row)
      for (int byte = 0; byte < along; byte += 16)
        body(transposed ? addressOf(row, first * bytes + byte) : addressOf(first + row, byte), row,
             byte / bytes);
  }

  Warp &w;
  const Instruction &i;
  const ElementType type;
  const bool transposed;
  const uint32_t start, leading, stride;
  int span;
};

struct Shape {
  int n = 0, k = 0;
};

Shape shapeOf(const Instruction &i) {
  Shape shape;
  std::sscanf(i.op.parts[3].c_str(), "m64n%dk%d", &shape.n, &shape.k);
  return shape;
}

void perform(Warp &w, const Wgmma &item) {
  // mma_async.sync.aligned.SHAPE.D.A.B sums, a, b, scale[, negations[, transpositions]]
  const Instruction &i = *item.instruction;
  const auto [n, k] = shapeOf(i);
  const SumType type = sumType(i.op.parts[4]);
  const ElementType left = elementType(i.op.parts[5]), right = elementType(i.op.parts[6]);
  const bool inRegisters = i[1].kind == Operand::Vector;
  auto flag = [&](size_t at) { return at < i.operands.size() && (w.reg(i[at])[0] & 1); };
  std::vector<double> a(16 * k), b(k * n), sums(16 * n, 0.0);
  if (inRegisters)
    readLeft(w, i[1].parts, left, 16, k, a.data());
  else
    SharedOperand(w, i, item.left, left, flag(6)).read(16 * (w.index % 4), 16, k, a.data(), k, 1);
  SharedOperand(w, i, item.right, right, flag(inRegisters ? 6 : 7)).read(0, n, k, b.data(), 1, n);
  std::vector<Cell *> cells;
  for (uint32_t number : item.cells)
    cells.push_back(&w.cells[number]);
  if (item.keepsSum)
    forSums(type, 16, n, [&](int reg, int shift, int lane, int at) {
      sums[at] = readSum(type, (*cells[reg])[lane] >> shift);
    });
  multiply(a.data(), b.data(), sums.data(), 16, n, k);
  forSums(type, 16, n, [&](int reg, int shift, int lane, int at) {
    uint32_t &word = (*cells[reg])[lane];
    const uint32_t value = writeSum(type, sums[at]);
    word = shift ? (word & 0xffff) | value << shift : value;
  });
}

/// An MMA may read its operands from its issue until it is waited for.
void touchOperands(Warp &w, const Wgmma &item) {
  const Instruction &i = *item.instruction;
  const auto [n, k] = shapeOf(i);
  const bool inRegisters = i[1].kind == Operand::Vector;
  auto flag = [&](size_t at) { return at < i.operands.size() && (w.reg(i[at])[0] & 1); };
  const Touch touch =
      Races::asyncTouch(w, i, severalLanes, w.clock.agent(Mmas), w.mmas.committed + 1);
  if (!inRegisters)
    SharedOperand(w, i, item.left, elementType(i.op.parts[5]), flag(6))
        .touch(touch, 16 * (w.index % 4), 16, k);
  SharedOperand(w, i, item.right, elementType(i.op.parts[6]), flag(inRegisters ? 6 : 7))
      .touch(touch, 0, n, k);
}

/// The cell of a register; a new one takes the register's value.
uint32_t cellOf(Warp &w, const Instruction &i, int reg) {
  if (w.tags[reg] == Warp::overwritten)
    w.fault(i, "an accumulator whose sum went on in another register");
  if (w.tags[reg])
    return w.tags[reg];
  const uint32_t cell = ++w.lastCell;
  std::copy_n(w.reg(reg), warpSize, w.cells[cell].begin());
  return w.tags[reg] = cell;
}

void start(Warp &w, const Instruction &i) {
  const bool inRegisters = i[1].kind == Operand::Vector;
  if (w.index / 4 * 4 + 4 > int(w.cta.warps.size()))
    w.fault(i, "a warp group that is not whole");
  if (w.watches)
    lendRegisters(w, i);
  Wgmma item{&i, inRegisters ? 0 : w.reg(i[1])[0], w.reg(i[2])[0], bool(w.reg(i[3])[0] & 1), {}};
  for (const Operand &part : i[0].parts)
    item.cells.push_back(cellOf(w, i, part.reg));
  // Copies of these registers have the old sum, which is no more.
  for (size_t reg = 0; reg < w.tags.size(); ++reg)
    if (w.tags[reg] &&
        std::find(item.cells.begin(), item.cells.end(), w.tags[reg]) != item.cells.end() &&
        std::none_of(i[0].parts.begin(), i[0].parts.end(),
                     [&](const Operand &part) { return part.reg == int(reg); }))
      w.tags[reg] = Warp::overwritten;
  touchOperands(w, item);
  w.mmas.open.push_back(std::move(item));
}

void commit(Warp &w, const Instruction &) { w.mmas.commit(); }
void wait(Warp &w, const Instruction &i) {
  const size_t pending = w.reg(i[0])[0];
  finishMmas(w, pending);
  w.lent.done = std::max(w.lent.done, w.mmas.done(pending));
  w.clock.finish(Mmas, w.mmas.done(pending), w.live);
}
void fence(Warp &w, const Instruction &) { w.lent.fence = w.steps; }

/// Gives registers the accumulators of cells that no MMA in flight uses.
void settle(Warp &w) {
  std::vector<bool> used(w.lastCell + 1);
  auto note = [&](const std::deque<Wgmma> &items) {
    for (const Wgmma &item : items)
      for (uint32_t cell : item.cells)
        used[cell] = true;
  };
  note(w.mmas.open);
  for (const auto &group : w.mmas.groups)
    note(group);
  for (size_t reg = 0; reg < w.tags.size(); ++reg) {
    const uint32_t cell = w.tags[reg];
    if (!cell || cell == Warp::overwritten || used[cell])
      continue;
    std::copy_n(w.cells[cell].begin(), warpSize, w.reg(reg));
    w.tags[reg] = 0;
  }
  std::erase_if(w.cells, [&](const auto &entry) { return !used[entry.first]; });
  if (w.cells.empty()) {
    w.lastCell = 0;
    std::fill(w.tags.begin(), w.tags.end(), 0);
  }
}

} // namespace

void finishMmas(Warp &w, size_t pending) {
  for (; w.mmas.groups.size() > pending; w.mmas.groups.pop_front())
    for (const Wgmma &item : w.mmas.groups.front())
      perform(w, item);
  settle(w);
}

void advanceMmas(Warp &w) {
  for (auto &group : w.mmas.groups)
    if (!group.empty()) {
      perform(w, group.front());
      group.pop_front();
      return;
    }
}

Handler decodeWgmma(Instruction &i) {
  if (i.op.base != "wgmma" || i.op.parts.empty())
    return nullptr;
  const std::string &what = i.op.parts[0];
  if (what == "fence")
    return fence;
  if (what == "commit_group")
    return commit;
  if (what == "wait_group")
    return wait;
  if (what != "mma_async" || i.op.parts.size() != 7)
    return nullptr;
  const bool known =
      elementType(i.op.parts[5]).bits && elementType(i.op.parts[6]).bits && shapeOf(i).n;
  return known ? start : nullptr;
}

} // namespace pantile::ptx
