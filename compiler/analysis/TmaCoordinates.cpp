//===- TmaCoordinates.cpp - see TmaCoordinates.h -------------------------------------------===//
#include "analysis/TmaCoordinates.h"
#include "ir/Machine.h"
#include "ir/Tile.h"
#include <limits>

using namespace mlir;

namespace pantile {
namespace {

constexpr int64_t mostCoordinate = std::numeric_limits<int32_t>::max();

class CoordinatePlacer {
public:
  CoordinatePlacer(AffineAnalysis &affine, Value ptr, TmaAccess &access)
      : affine(affine), ptr(ptr), access(access),
        elementBytes(storageBits(cast<PtrType>(elementTypeOf(ptr.getType())).getPointee()) / 8) {}

  StringRef place(const DataDependentEnds &ends, std::optional<size_t> wrapped) {
    for (size_t i = 0, own = access.dims.size(); i < own; ++i) {
      auto end = ends.find(i);
      const StringRef reason = end != ends.end() ? placeBelowEnd(i, end->second, i == wrapped)
                                                 : placeStart(i, i == wrapped);
      if (!reason.empty())
        return reason;
    }
    return access.dims.size() <= InstructionSet::tensorMapRank
               ? ""
               : "its address has more than five dimensions";
  }

private:
  static constexpr llvm::StringLiteral doesNotFit = "a coordinate might not fit 32 bits";

  StringRef placeBelowEnd(size_t place, const Polynomial &end, bool isWrapped) {
    const TmaAccess::Dim &dim = access.dims[place];
    if (isWrapped || dim.fromZero || dim.extent.constant() != TmaAccess::unbounded)
      return "its mask bounds a dimension twice";
    if (!hasFewRows(dim.stride))
      return doesNotFit;
    splitAtEnd(place, end);
    return "";
  }

  StringRef placeStart(size_t place, bool isWrapped) {
    TmaAccess::Dim &dim = access.dims[place];
    llvm::SetVector<Value> assumed = access.nonNegative;
    if (affine.isNonNegative(dim.start, assumed) || isWrapped || dim.fromZero) {
      if (!isWrapped && !dim.fromZero)
        access.nonNegative = assumed;
      return fitCoordinate(dim, isWrapped) ? "" : doesNotFit;
    }
    if (place == 0 || !comesFromMemory(dim.start))
      return "a coordinate may be negative";
    return countFromFar(place) ? "" : doesNotFit;
  }

  /// Makes the launch check that `value` is not negative; false if it is known to be.
  bool require(const Polynomial &value) {
    if (auto known = value.constant())
      return *known >= 0;
    if (value.isValid() && !llvm::is_contained(access.conditions, value))
      access.conditions.push_back(value);
    return value.isValid();
  }

  bool fitCoordinate(TmaAccess::Dim &dim, bool isWrapped) {
    if (affine.isComputedIn32Bits(ptr, dim.start))
      return true;
    llvm::SetVector<Value> assumed = access.nonNegative;
    auto most = affine.upperBound(dim.start, assumed);
    if (most && require(Polynomial(mostCoordinate) - *most)) {
      access.nonNegative = assumed;
      return true;
    }
    if (isWrapped || dim.extent.constant() == TmaAccess::unbounded)
      return false;
    dim.kind = TmaAccess::Dim::Saturated;
    return require(Polynomial(mostCoordinate - TmaAccess::far) - dim.extent);
  }

  /// Makes the launch check that `far` rows are more memory than any GPU with TMA has.
  bool hasFewRows(const Polynomial &stride) {
    static_assert(TmaAccess::far == 1 << 30);
    const int64_t leastRow = machineOf(ptr.getParentBlock()->getParentOp()).memoryGiB; // bytes
    return require(stride * Polynomial(elementBytes) - Polynomial(leastRow));
  }

  bool comesFromMemory(const Polynomial &polynomial) {
    return !polynomial.onlyUses([&](unsigned leaf) { return !comesFromMemory(affine.leaf(leaf)); });
  }
  static bool comesFromMemory(Value value) {
    Operation *op = value.getDefiningOp();
    return op && (isa<LoadOp>(op) ||
                  llvm::any_of(op->getOperands(), [](Value v) { return comesFromMemory(v); }));
  }

  /// Subtracts `times` * `far` elements along a dimension of this stride. The base stays in the
  /// tensor, since boxes outside of all extents touch it (seen on an H200). Addresses are added
  /// modulo 2^64, so a stride of 2^64 bytes less those elements does the same.
  void stepBack(const Polynomial &stride, int64_t times) {
    constexpr int64_t wholeSteps = int64_t(1) << 34; // bytes; `far` of them are 2^64
    static_assert(TmaAccess::far == 1 << 30);
    const Polynomial complement =
        Polynomial(wholeSteps / elementBytes) - stride * Polynomial(times);
    access.dims.push_back({TmaAccess::unbounded, complement, TmaAccess::far, 1});
  }

  /// Coordinates that might be negative count from `far` elements before the tensor, and read what
  /// the plain load reads. Coordinates beyond `far` in the other direction saturate: they are
  /// outside of an extent, or in more memory than a GPU has.
  bool countFromFar(size_t place) {
    TmaAccess::Dim &dim = access.dims[place];
    const Polynomial extent = dim.extent, stride = dim.stride;
    const bool isBounded = extent.constant() != TmaAccess::unbounded;
    if (isBounded)
      dim.extent = extent + Polynomial(TmaAccess::far);
    dim.start = dim.start + Polynomial(TmaAccess::far);
    dim.kind = TmaAccess::Dim::Saturated;
    stepBack(stride, 1);
    return isBounded ? require(Polynomial(mostCoordinate - TmaAccess::far) - extent)
                     : hasFewRows(stride);
  }

  /// The index is below an end that differs between programs, but a map's extent is the same for
  /// all. So the coordinate is split in two dimensions of the same stride. The first is the index
  /// minus the end plus a fixed extent, the second the rest. Both count from `far`, as they may be
  /// negative; their sum is the index plus twice `far`.
  void splitAtEnd(size_t place, const Polynomial &end) {
    TmaAccess::Dim &dim = access.dims[place];
    TmaAccess::Dim atEnd{TmaAccess::unbounded, dim.stride, dim.start, 1};
    dim.kind = TmaAccess::Dim::ToEnd, atEnd.kind = TmaAccess::Dim::End;
    dim.end = atEnd.end = end;
    dim.rows = atEnd.rows = dim.size;
    dim.startFits = atEnd.startFits = affine.isComputedIn32Bits(ptr, dim.start);
    dim.extent = TmaAccess::far;
    access.dims.push_back(atEnd);
    stepBack(atEnd.stride, 2);
  }

  AffineAnalysis &affine;
  Value ptr;
  TmaAccess &access;
  int64_t elementBytes;
};
} // namespace

StringRef placeCoordinates(AffineAnalysis &affine, Value ptr, TmaAccess &access,
                           const DataDependentEnds &ends, std::optional<size_t> wrapped) {
  return CoordinatePlacer(affine, ptr, access).place(ends, wrapped);
}

} // namespace pantile
