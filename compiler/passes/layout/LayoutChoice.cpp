//===- LayoutChoice.cpp - the layout that an operation itself would choose ---------===//
// Needs: LayoutChoice.h.
// Gives: its members.
//===-------------------------------------------------------------------------------===//
#include "passes/layout/LayoutChoice.h"
#include "analysis/MemoryOrder.h"
#include "ir/MmaLayout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>
#include <numeric>
#include <optional>

using namespace mlir;

namespace pantile {

namespace {
using Extents = SmallVector<int64_t, 4>;

int64_t bytesOf(Value ptr) {
  return std::max<int64_t>(
      storageBits(cast<PtrType>(elementTypeOf(ptr.getType())).getPointee()) / 8, 1);
}

ArrayRef<int64_t> shapeOf(Type type) { return cast<RankedTensorType>(type).getShape(); }

/// Consecutive elements along `dim` that a warp reaches when each lane takes `width` of them.
int64_t runOfWarp(const LinearLayout &layout, int dim, int64_t width) {
  int64_t run = width;
  bool grew = true;
  while (std::exchange(grew, false))
    for (const auto &basis : layout.lane()) {
      LinearLayout::Coord next(layout.rank(), 0);
      next[dim] = static_cast<int32_t>(run);
      if (basis == next) {
        run *= 2;
        grew = true;
      }
    }
  return run;
}

bool isInLoop(Operation *op) {
  return op->getParentOfType<scf::ForOp>() || op->getParentOfType<scf::WhileOp>();
}

/// Whether only dots use the loaded tile, so that no other tile is combined with it.
bool feedsDots(LoadOp load) {
  SmallVector<Value> values{load.getResult()};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (!isa<DotOp, TransOp>(user))
        return false;
      if (isa<TransOp>(user))
        values.push_back(user->getResult(0));
    }
  return true;
}

/// `mma`'s warps, one number per dimension.
Extents warpsOf(MmaAttr mma, size_t rank) {
  Extents warps(rank, 1);
  warps[rank - 2] = mma.getWarpsM();
  warps[rank - 1] = mma.getWarpsN();
  return warps;
}

/// Shapes of powers of two for the threads to fill. For an extent that is not a power of two there
/// are two candidates: the largest power that divides it, with which no thread idles, and the next
/// power above it, with which no thread holds too many elements.
std::vector<Extents> filledParts(ArrayRef<int64_t> shape) {
  std::vector<Extents> parts{Extents(shape)};
  for (auto [d, extent] : llvm::enumerate(shape)) {
    if (llvm::isPowerOf2_64(extent))
      continue;
    for (Extents &part : parts)
      part[d] = extent & -extent;
    for (size_t i = 0, count = parts.size(); i < count; ++i) {
      parts.push_back(parts[i]);
      parts.back()[d] = llvm::PowerOf2Ceil(extent);
    }
  }
  return parts;
}

/// Each thread holds adjacent elements of a row, and several lanes hold one row of the tile.
/// Further rows are a warp's height apart, so that the lanes of a warp read adjacent rows of the
/// left operand.
LinearLayout fmaResult(ArrayRef<int64_t> shape, ArrayRef<int64_t> warps,
                       const TileThresholds &limits) {
  const size_t rank = shape.size(), m = rank - 2, n = rank - 1;
  Extents size(rank, 1), lanes(rank, 1), ofWarp;
  for (auto [extent, count] : llvm::zip_equal(shape, warps)) {
    const int64_t powerOf2 = count & -count;
    const auto part = LinearLayout::oddPart(extent, count / powerOf2);
    ofWarp.push_back(part.value_or(llvm::PowerOf2Ceil(extent)) / powerOf2);
  }
  SmallVector<int> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  auto perThread = [&](size_t d, int64_t most) {
    return std::min(std::clamp<int64_t>(ofWarp[d], 1, most), shape[d] & -shape[d]);
  };
  size[n] = perThread(n, limits.columnsOfFma);
  lanes[n] = std::clamp<int64_t>(ofWarp[n] / size[n], 1, limits.lanesOfFma);
  lanes[m] = 32 / lanes[n];
  return LinearLayout::blocked(shape, size, lanes, warps, order);
}
} // namespace

LayoutChoice::LayoutChoice(FunctionOpInterface function, const AxisInfoAnalysis &axes,
                           bool inWarpStores)
    : context(function.getContext()), axes(axes), machine(machineOf(function)),
      numWarps(moduleInt(function, names::numWarps, 4)), storesInWarps(inWarpStores) {
  function.walk([&](Operation *op) { noteSingles(op); });
  for (bool inLoops : {true, false})
    function.walk([&](Operation *op) {
      if (isInLoop(op) == inLoops)
        join(op, inLoops);
    });
  function.walk([&](DotOp dot) {
    if (dot.getType().getElementType().isF64())
      fp64Orders[dot] = fp64Order(dot);
  });
}

bool LayoutChoice::isPrefetchCandidate(LoadOp load) const {
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  return loop && tile && tile.getRank() == 2 && !loop.getBody()->getOps<DotOp>().empty() &&
         llvm::all_of(wish(load.getPtr(), load.getMask()).repeats,
                      [](int64_t repeats) { return repeats == 1; });
}

LayoutChoice::Order LayoutChoice::memoryOrder(Value ptr) const {
  const AxisInfo::PerDim runs = memoryRuns(axes, ptr);
  Order order(runs.size());
  std::iota(order.rbegin(), order.rend(), 0);
  llvm::stable_sort(order, [&](int a, int b) { return runs[a] > runs[b]; });
  return order;
}

int64_t LayoutChoice::widthOf(Value ptr, Value mask, int dim) const {
  const bool hasTail =
      !singles.contains(groupOf(ptr)) && llvm::none_of(ptr.getUsers(), llvm::IsaPred<AtomicRmwOp>);
  return hasTail ? axes.widthWithTail(ptr, mask, dim) : axes.accessWidth(ptr, mask, dim);
}

LayoutChoice::Wish LayoutChoice::wish(Value ptr, Value mask) const {
  const AxisInfo &info = axes.of(ptr);
  Wish wish;
  wish.order = memoryOrder(ptr);
  wish.width = widthOf(ptr, mask, wish.order.front());
  for (size_t d = 0; d < info.rank(); ++d)
    wish.repeats.push_back(mask ? std::min(info.runOfEquals(d), axes.of(mask).runOfEquals(d))
                                : info.runOfEquals(d));
  return wish;
}

LayoutChoice::Group LayoutChoice::groupOf(Value ptr) const {
  const Order order = memoryOrder(ptr);
  return {std::vector<int64_t>(shapeOf(ptr.getType())),
          std::vector<int>(order.begin(), order.end())};
}

void LayoutChoice::noteSingles(Operation *op) {
  auto note = [&](Value ptr, int64_t width) {
    if (width == 1)
      singles.insert(groupOf(ptr));
  };
  auto access = [&](auto moved) {
    if (Value ptr = moved.getPtr(); isa<RankedTensorType>(ptr.getType()))
      note(ptr, axes.widthWithTail(ptr, moved.getMask(), memoryOrder(ptr).front()));
  };
  if (auto load = dyn_cast<LoadOp>(op); load && !feedsDots(load) && !isPrefetchCandidate(load))
    access(load);
  else if (auto store = dyn_cast<StoreOp>(op))
    access(store);
  else if (auto rmw = dyn_cast<AtomicRmwOp>(op); rmw && isa<RankedTensorType>(rmw.getType()))
    note(rmw.getPtr(),
         axes.accessWidth(rmw.getPtr(), rmw.getMask(), memoryOrder(rmw.getPtr()).front()));
}

void LayoutChoice::join(Operation *op, bool inLoop) {
  if (auto load = dyn_cast<LoadOp>(op); load && (feedsDots(load) || isPrefetchCandidate(load)))
    operands.insert(load.getPtr());
  else if (load)
    join(load.getPtr(), load.getMask(), inLoop);
  else if (auto rmw = dyn_cast<AtomicRmwOp>(op))
    join(rmw.getPtr(), rmw.getMask(), inLoop);
  else if (auto store = dyn_cast<StoreOp>(op))
    join(store.getPtr(), store.getMask(), inLoop);
}

void LayoutChoice::join(Value ptr, Value mask, bool inLoop) {
  if (!isa<RankedTensorType>(ptr.getType()))
    return;
  const Wish own = wish(ptr, mask);
  Shared &shared = groups[groupOf(ptr)];
  if (own.width > 1 && inLoop >= shared.inLoop) {
    shared.inLoop = inLoop;
    shared.width = std::max(shared.width, own.width);
    shared.elementBytes = std::max(shared.elementBytes, bytesOf(ptr));
  }
  shared.repeats.resize(own.repeats.size(), 1);
  for (auto [most, here] : llvm::zip_equal(shared.repeats, own.repeats))
    most = std::max(most, here);
}

/// An odd factor of the number of warps divides the slowest dimension that allows it. Else only as
/// many warps work as the largest power of two; the others hold replicas.
SmallVector<LayoutChoice::Fill> LayoutChoice::fillsOf(ArrayRef<int64_t> shape,
                                                      ArrayRef<int> order) const {
  SmallVector<Fill> fills;
  for (Extents &filled : filledParts(shape))
    fills.push_back({std::move(filled), int64_t(llvm::bit_floor(uint64_t(numWarps)))});
  const int64_t powerOf2 = numWarps & -numWarps, odd = numWarps / powerOf2;
  for (int d : llvm::reverse(order)) {
    const auto part = LinearLayout::oddPart(shape[d], odd);
    if (odd == 1 || !part)
      continue;
    Extents ofPart(shape);
    ofPart[d] = *part;
    for (Extents &filled : filledParts(ofPart))
      fills.push_back({std::move(filled), powerOf2, odd, d});
  }
  return fills;
}

LayoutAttr LayoutChoice::spread(ArrayRef<int64_t> shape, ArrayRef<int> order, int64_t width,
                                ArrayRef<int64_t> repeats) const {
  std::optional<LinearLayout> best;
  for (const Fill &fill : fillsOf(shape, order)) {
    LinearLayout candidate = spreadOver(fill, shape, order, width, repeats);
    if (!best || candidate.numPresentRegs() < best->numPresentRegs())
      best = candidate;
  }
  return LayoutAttr::get(context, *best);
}

LinearLayout LayoutChoice::spreadOver(const Fill &fill, ArrayRef<int64_t> whole,
                                      ArrayRef<int> order, int64_t width,
                                      ArrayRef<int64_t> repeats) const {
  const ArrayRef<int64_t> shape = fill.shape;
  const size_t rank = shape.size();
  const int64_t elements =
      std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  Extents size(rank, 1), lanes(rank, 1), warps(rank, 1);
  const int64_t perThread = std::max<int64_t>(elements / (32 * fill.warps), 1);
  size[order[0]] = std::min({width, perThread, shape[order[0]]});
  int64_t room = perThread / size[order[0]];
  if (!repeats.empty())
    for (int d : order.drop_front()) {
      size[d] = std::min({repeats[d], machine.tiles.packedElements, room, shape[d]});
      room /= size[d];
    }
  int64_t left = 32;
  for (int d : order) {
    lanes[d] = std::min(left, shape[d] / size[d]);
    left /= lanes[d];
  }
  lanes[order.back()] *= left;
  left = fill.warps;
  for (int d : llvm::reverse(order)) {
    warps[d] = std::clamp<int64_t>(shape[d] / (size[d] * lanes[d]), 1, left);
    left /= warps[d];
  }
  warps[order[0]] *= left;
  warps[fill.dim] *= fill.odd;
  return LinearLayout::blocked(whole, size, lanes, warps, order).withWarps(numWarps);
}

LayoutAttr LayoutChoice::fallback(Type type) const {
  const ArrayRef<int64_t> shape = shapeOf(type);
  SmallVector<int> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return spread(shape, order, 4);
}

/// An access of single elements gains nothing from vectors, and loses where adjacent lanes no longer
/// read adjacent elements: a warp's reads touch more lines of memory. They do not where elements are
/// small or repeat addresses, of which a thread reads each once.
bool LayoutChoice::readsSinglyAsWell(Value ptr, const Wish &wish, int64_t width) const {
  const int dim = wish.order.front();
  const int64_t sameAddress = axes.of(ptr).runOfEquals(dim);
  if (sameAddress == 1 && isStrided(ptr))
    return true;
  auto linesPerElement = [&](int64_t held) {
    const double bytes = double(32 * held * bytesOf(ptr)) / sameAddress;
    return std::max(1.0, bytes / InstructionSet::lineBytes) / std::min(held, wish.repeats[dim]);
  };
  return linesPerElement(width) <= linesPerElement(1);
}

LayoutAttr LayoutChoice::access(Value ptr, Value mask, bool reads) const {
  const Wish own = wish(ptr, mask);
  int64_t width = own.width;
  auto group = groups.find(groupOf(ptr));
  const bool isShared = group != groups.end() && !operands.contains(ptr);
  const int64_t common =
      isShared
          ? std::min(group->second.width, InstructionSet::vectorBytes / group->second.elementBytes)
          : width;
  if (width > 1 || (reads && readsSinglyAsWell(ptr, own, common)))
    width = common;
  return spread(shapeOf(ptr.getType()), own.order, width,
                isShared ? ArrayRef(group->second.repeats) : ArrayRef<int64_t>());
}

int64_t LayoutChoice::runBytes(const LinearLayout &layout, Value ptr, Value mask) const {
  const int dim = wish(ptr, mask).order.front();
  const int64_t width = std::min<int64_t>(widthOf(ptr, mask, dim), layout.contiguousRegs(dim));
  return std::min(runOfWarp(layout, dim, width) * bytesOf(ptr), InstructionSet::sectorBytes);
}

bool LayoutChoice::accessesWell(LayoutAttr layout, Value ptr, Value mask) const {
  const LinearLayout candidate = layout.getLinear(), best = access(ptr, mask).getLinear();
  const int dim = wish(ptr, mask).order.front();
  const int64_t possible = widthOf(ptr, mask, dim);
  auto width = [&](const LinearLayout &l) {
    return std::min<int64_t>(possible, l.contiguousRegs(dim));
  };
  return width(candidate) >= width(best) &&
         runBytes(candidate, ptr, mask) >= runBytes(best, ptr, mask);
}

bool LayoutChoice::storesDirectly(LayoutAttr layout, Value ptr, Value mask) const {
  const LayoutAttr best = access(ptr, mask);
  const LinearLayout from = layout.getLinear(), to = best.getLinear();
  const int64_t vector = std::min<int64_t>(from.contiguousRegs(to.fastestDim()),
                                           InstructionSet::vectorBytes / bytesOf(ptr));
  const int64_t throughShared =
      from.numPresentRegs() / vector + 2 * accesses(best, ptr, mask); // writes; reads and stores
  return accesses(layout, ptr, mask) <= throughShared &&
         runBytes(from, ptr, mask) >= runBytes(to, ptr, mask);
}

bool LayoutChoice::isStrided(Value ptr) const {
  return llvm::all_of(axes.of(ptr).contiguity, [](int64_t run) { return run == 1; });
}

int64_t LayoutChoice::accesses(LayoutAttr layout, Value ptr, Value mask) const {
  const LinearLayout linear = layout.getLinear();
  const int dim = linear.fastestDim();
  return linear.numPresentRegs() /
         std::min<int64_t>(widthOf(ptr, mask, dim), linear.contiguousRegs(dim));
}

SharedLayout LayoutChoice::bufferOf(LoadOp load) const {
  auto tile = cast<RankedTensorType>(load.getType());
  return SharedLayout::forOperand(tile.getShape(), storageBits(tile.getElementType()),
                                  wish(load.getPtr(), load.getMask()).order);
}

MmaAttr LayoutChoice::mmaOf(DotOp dot) const {
  const MmaAttr mma = dot.getMmaAttr();
  const auto left = leftInRegisters.find(dot);
  return left == leftInRegisters.end()
             ? mma
             : MmaAttr::get(context, mma.getKind(), mma.getM(), mma.getN(), mma.getK(),
                            mma.getWarpsM(), mma.getWarpsN(), mma.getRun(), left->second);
}

LayoutAttr LayoutChoice::dotResult(DotOp dot) const {
  const ArrayRef<int64_t> shape = shapeOf(dot.getType());
  const MmaAttr mma = mmaOf(dot);
  const Extents warps = warpsOf(mma, shape.size());
  if (const auto accumulator = asyncAccumulatorLayout(mma, shape))
    return forAllWarps(*accumulator);
  if (mma.getKind() == MmaKind::Fma)
    return forAllWarps(fmaResult(shape, warps, machine.tiles));
  if (dot.getType().getElementType().isF64())
    return forAllWarps(LinearLayout::mmaFp64Accumulator(shape, warps, fp64Orders.at(dot)));
  return forAllWarps(LinearLayout::mma16816Accumulator(shape, warps, orders.lookup(dot)));
}

LayoutAttr LayoutChoice::forAllWarps(const LinearLayout &ofDot) const {
  return LayoutAttr::get(context, ofDot.withWarps(numWarps));
}

LayoutAttr LayoutChoice::dotOperand(DotOp dot, unsigned index) const {
  auto type = cast<RankedTensorType>(dot.getOperand(index).getType());
  const MmaAttr mma = mmaOf(dot);
  const Extents warps = warpsOf(mma, type.getRank());
  // A row of the instruction's operands has 32 bytes, also where fp32 is split into narrower types.
  const int bits = 256 / static_cast<int>(mma.getK());
  if (index == 0 && leftInRegisters.contains(dot))
    return forAllWarps(wgmmaLeftLayout(mma, type.getShape(), storageBits(type.getElementType())));
  if (mma.getKind() != MmaKind::MmaSync) // others read buffers
    return nullptr;
  if (type.getElementType().isF64()) {
    const auto fragments = index == 0 ? LinearLayout::mmaFp64A : LinearLayout::mmaFp64B;
    return forAllWarps(fragments(type.getShape(), warps, fp64Orders.at(dot)));
  }
  const auto fragments = index == 0 ? LinearLayout::mmaOperandA : LinearLayout::mmaOperandB;
  return forAllWarps(fragments(type.getShape(), warps, bits, orders.lookup(dot)));
}

} // namespace pantile
