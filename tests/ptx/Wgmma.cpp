//===- Wgmma.cpp - wgmma.mma_async and what may be done while it runs ---------------------===//
// Needs: Matrix.h, TensorMap.h for the swizzle.
// Gives: decodeWgmma, finishProducts, watchRegisters.
// How:   each warp computes its 16 rows, when its group is waited for or at random before that. Its
//        sums live in cells; the registers that were its accumulators stand for the cells until
//        the wait, also as copies, and reading them is a fault. Layouts of operands in shared
//        memory: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout".
//===------------------------------------------------------------------------------------------===//
#include "Matrix.h"
#include "TensorMap.h"

namespace pantile::ptx {
namespace {

constexpr uint32_t overwritten = ~0u; // no cell: the sum went on elsewhere

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

  /// Element `k` of row or column `n`.
  double at(int n, int k) const {
    const int bytes = type.bits / 8;
    const int row = transposed ? k : n, byte = (transposed ? n : k) * bytes;
    uint32_t address = start;
    if (span == 16) { // matrices of 8 x 16 bytes
      const uint32_t along = transposed ? stride : leading, across = transposed ? leading : stride;
      address += row / 8 * across + row % 8 * 16 + byte / 16 * along + byte % 16;
    } else if (transposed)
      address += byte / span * leading + byte % span + row / 8 * stride + row % 8 * span;
    else
      address += row / 8 * stride + row % 8 * span + byte;
    address = swizzled(address, span == 16 ? 0 : span);
    const uint8_t *place = w.block.shared(w, i, address, bytes);
    w.block.requireFenced(w, i, address, bytes);
    Word word = 0;
    std::memcpy(&word, place, bytes);
    return type.decode(word);
  }

private:
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
  const std::string_view sumType = i.op.parts[4];
  const ElementType left = elementType(i.op.parts[5]), right = elementType(i.op.parts[6]);
  const bool inRegisters = i[1].kind == Operand::Vector;
  auto flag = [&](size_t at) { return at < i.operands.size() && (w.reg(i[at])[0] & 1); };
  std::vector<double> a(16 * k), b(k * n), sums(16 * n, 0.0);
  if (inRegisters)
    readLeft(w, i[1].parts, left, 16, k, a.data());
  else {
    const SharedOperand operand(w, i, item.left, left, flag(6));
    for (int row = 0; row < 16; ++row)
      for (int at = 0; at < k; ++at)
        a[row * k + at] = operand.at(16 * (w.index % 4) + row, at);
  }
  const SharedOperand operand(w, i, item.right, right, flag(inRegisters ? 6 : 7));
  for (int column = 0; column < n; ++column)
    for (int at = 0; at < k; ++at)
      b[at * n + column] = operand.at(column, at);
  if (item.keepsSum)
    forSums(sumType, 16, n, [&](int reg, int shift, int lane, int at) {
      sums[at] = readSum(sumType, w.cells[item.cells[reg]][lane] >> shift);
    });
  multiply(a.data(), b.data(), sums.data(), 16, n, k);
  forSums(sumType, 16, n, [&](int reg, int shift, int lane, int at) {
    uint32_t &word = w.cells[item.cells[reg]][lane];
    const uint32_t value = writeSum(sumType, sums[at]);
    word = shift ? (word & 0xffff) | value << shift : value;
  });
}

/// The cell of a register; a new one takes the register's value.
uint32_t cellOf(Warp &w, const Instruction &i, int reg) {
  if (w.tags[reg] == overwritten)
    w.fault(i, "an accumulator whose sum went on in another register");
  if (w.tags[reg])
    return w.tags[reg];
  const uint32_t cell = ++w.lastCell;
  std::copy_n(w.reg(reg), warpSize, w.cells[cell].begin());
  return w.tags[reg] = cell;
}

void start(Warp &w, const Instruction &i) {
  const bool inRegisters = i[1].kind == Operand::Vector;
  if (w.index / 4 * 4 + 4 > int(w.block.warps.size()))
    w.fault(i, "a warp group that is not whole");
  Wgmma item{&i, inRegisters ? 0 : w.reg(i[1])[0], w.reg(i[2])[0], bool(w.reg(i[3])[0] & 1), {}};
  for (const Operand &part : i[0].parts)
    item.cells.push_back(cellOf(w, i, part.reg));
  // Copies of these registers have the old sum, which is no more.
  for (size_t reg = 0; reg < w.tags.size(); ++reg)
    if (w.tags[reg] &&
        std::find(item.cells.begin(), item.cells.end(), w.tags[reg]) != item.cells.end() &&
        std::none_of(i[0].parts.begin(), i[0].parts.end(),
                     [&](const Operand &part) { return part.reg == int(reg); }))
      w.tags[reg] = overwritten;
  w.products.open.push_back(std::move(item));
}

void commit(Warp &w, const Instruction &) { w.products.commit(); }
void wait(Warp &w, const Instruction &i) { finishProducts(w, w.reg(i[0])[0]); }
void fence(Warp &, const Instruction &) {}

/// Gives registers the sums of cells that no product under way uses.
void settle(Warp &w) {
  std::vector<bool> used(w.lastCell + 1);
  auto note = [&](const std::deque<Wgmma> &items) {
    for (const Wgmma &item : items)
      for (uint32_t cell : item.cells)
        used[cell] = true;
  };
  note(w.products.open);
  for (const auto &group : w.products.groups)
    note(group);
  for (size_t reg = 0; reg < w.tags.size(); ++reg) {
    const uint32_t cell = w.tags[reg];
    if (!cell || cell == overwritten || used[cell])
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

template <class Body> void forRegisters(const Operand &operand, Body body) {
  if (operand.reg >= 0)
    body(operand.reg);
  for (const Operand &part : operand.parts)
    forRegisters(part, body);
}

} // namespace

void finishProducts(Warp &w, size_t pending) {
  for (; w.products.groups.size() > pending; w.products.groups.pop_front())
    for (const Wgmma &item : w.products.groups.front())
      perform(w, item);
  settle(w);
}

void advanceProducts(Warp &w) {
  for (auto &group : w.products.groups)
    if (!group.empty()) {
      perform(w, group.front());
      group.pop_front();
      return;
    }
}

void watchRegisters(Warp &w, const Instruction &i) {
  if (i.op.base == "wgmma")
    return;
  const bool moves =
      i.op.base == "mov" && i[0].kind == Operand::Register && i[1].kind == Operand::Register;
  const bool isStore = i.op.base == "st" || i.op.base == "red";
  for (size_t at = isStore ? 0 : 1; at < i.operands.size() && !moves; ++at)
    forRegisters(i[at], [&](int reg) {
      if (w.tags[reg])
        w.fault(i, "reads a sum of a product that was not waited for");
    });
  if (isStore || i.operands.empty())
    return;
  forRegisters(i[0], [&](int reg) { w.tags[reg] = moves ? w.tags[i[1].reg] : 0; });
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
