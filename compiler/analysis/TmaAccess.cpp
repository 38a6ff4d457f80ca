//===- TmaAccess.cpp - the rules by which TMA can do an access ---------------------===//
// Needs: see TmaAccess.h.
// Gives: tmaAccess.
// How:   Addresses:
//        1. The address is an argument plus a sum of index * stride. The argument is a multiple of
//           16 bytes. The host can compute the strides: the fastest one is 1 element, the others
//           are multiples of 16 bytes. The launch checks that of quotients, such as `K // 2`, and
//           of loads of 16 bits: a number that 16 does not divide may be one that 8 divides. The
//           kernel checks it of stores.
//        2. The address may have further terms. A term that a stride divides is added to the
//           coordinate of that dimension. A term of arguments alone is added to the base. A term
//           with a small constant step is added to the fastest coordinate. Any other term gets a
//           dimension of its own, with a stride as in rule 1. There are at most five dimensions.
//        Extents:
//        3. The mask gives the extents. A dimension that it does not bound gets an extent that
//           clips nothing.
//        4. Modulo-wrapped indices (`% M`) are legal in two cases. The dividend is taken to be
//           non-negative.
//           - The rows that wrap reach only lanes that a store masks off. The extent is then M. The
//             same holds for `where(rows < M, rows, 0)`.
//           - M is a multiple of the tile, which the launch checks. The modulo is then applied to
//             the tile's start.
//        Coordinates:
//        5. A coordinate is never negative unless the mask excludes such lanes: the plain load
//           would read memory before the tensor, which TMA does not. A data-dependent coordinate
//           that might be negative counts from far before the tensor (countFromFar).
//        6. A coordinate below an end that the host does not have counts from there, too
//           (splitAtEnd).
//        7. Coordinates have 32 bits, addresses 64. One of three must hold: the kernel computes the
//           coordinate in 32 bits; or a condition that the launch checks bounds it; or it saturates
//           outside of an extent.
//        Loads:
//        8. Rows begin at multiples of 16 bytes: an H200 ends other copies with an illegal
//           instruction. This is proved here, or depends on arguments only and the launch checks
//           it.
//        9. No earlier write of the kernel may alias the load: the caller checks that.
//===-------------------------------------------------------------------------------===//
#include "analysis/TmaAccess.h"
#include "analysis/MaskedStores.h"
#include "analysis/MotionLegality.h"
#include "ir/FindOps.h"
#include "ir/Hints.h"
#include "ir/Machine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include <limits>
#include <map>
#include <numeric>

using namespace mlir;

namespace pantile {
namespace {

constexpr int64_t unbounded = std::numeric_limits<int32_t>::max();
constexpr size_t maxRank = InstructionSet::tensorMapRank;
constexpr int64_t smallStep = 1 << 16;
/// The least constant step that becomes a dimension of its own where its coordinate might not fit.
constexpr int64_t wideStep = 1 << 10;
constexpr int64_t mostCoordinate = std::numeric_limits<int32_t>::max();

class AccessBuilder {
public:
  AccessBuilder(AffineAnalysis &affine, const AxisInfoAnalysis &axes, LoadOp load,
                nv::BufferType buffer, const BufferReader &reader, std::string &reason)
      : AccessBuilder(affine, load.getPtr(), load.getMask(), buffer.getSwizzle().getOrder(),
                      reason) {
    this->axes = &axes;
    this->load = load;
    this->buffer = buffer;
    this->reader = reader;
  }
  AccessBuilder(AffineAnalysis &affine, Value ptr, Value mask, ArrayRef<int32_t> order,
                std::string &reason)
      : affine(affine), ptr(ptr), mask(mask), order(order), reason(reason),
        elementBytes(storageBits(cast<PtrType>(elementTypeOf(ptr.getType())).getPointee()) / 8) {}

  std::optional<TmaAccess> buildLoad() {
    if (!isStableLoad(load))
      return refuse("it is volatile");
    if (load.getOther() && !matchPattern(load.getOther(), m_Zero()) &&
        !matchPattern(load.getOther(), m_PosZeroFloat()))
      return refuse("`other` is not zero");
    if (!build() || !alignRows())
      return std::nullopt;
    return access;
  }

  std::optional<TmaAccess> build() {
    auto form = affine.tile(ptr);
    if (!form)
      return refuse("its addresses are not affine in the indices");
    if (!placeBase(*form) || !placeDims(*form) || !placeOffset(form->offset) || !placeBounds(*form))
      return std::nullopt;
    if (access.dims[0].extent.constant() == unbounded &&
        !affine.isComputedIn32Bits(ptr, access.dims[0].start))
      moveWideSteps();
    if (!placeStarts(*form))
      return std::nullopt;
    return access;
  }

private:
  std::nullopt_t refuse(const llvm::Twine &why) {
    reason = why.str();
    return std::nullopt;
  }
  bool refused(const llvm::Twine &why) { return refuse(why), false; }

  bool placeBase(const AffineTile &form) {
    auto arg = dyn_cast<BlockArgument>(form.base);
    auto function = arg ? dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp()) : func::FuncOp();
    if (!function)
      return refused("its base is not an argument of the kernel");
    auto known = function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(), names::divisibility);
    if (!known || known.getInt() % 16 != 0)
      return refused("its base is not known to be aligned to 16 bytes");
    access.base = arg;
    return true;
  }

  /// The tile's own dimensions in the order of the buffer, fastest first.
  bool placeDims(const AffineTile &form) {
    auto type = cast<RankedTensorType>(ptr.getType());
    for (int32_t d : order) {
      TmaAccess::Dim dim;
      dim.stride = form.coefficients[d];
      dim.size = type.getDimSize(d);
      if (access.dims.empty() ? dim.stride.constant() != 1
                              : dim.stride.products().size() != 1 ||
                                    !(isStride(dim.stride) || requireStride(dim.stride)))
        return refused(
            access.dims.empty()
                ? "elements contiguous in shared memory are not contiguous in global memory"
                : "a stride is not known on the host to be a multiple of 16 bytes");
      access.dims.push_back(dim);
    }
    return true;
  }

  bool isStride(const Polynomial &stride) {
    return affine.isHostValue(stride) && affine.divisorOf(stride) * elementBytes % 16 == 0;
  }

  /// Whether the kernel calls bitcode that may have variables: none initialises those of a variant.
  bool callsOwnLibrary() {
    auto calls = opsIn<ExternCallOp>(load->getParentOfType<ModuleOp>());
    return llvm::any_of(calls, [](ExternCallOp call) { return !call.getLibrary().empty(); });
  }

  /// Makes the launch check that a number is a stride. Of a load that is a quotient, or of elements of 2
  /// bytes: by wider ones there are copies of 4 bytes next to TMA, which the variant without maps lacks;
  /// narrower ones are multiples of 16 bytes by their specialisation.
  bool requireStride(const Polynomial &stride) {
    const bool hasQuotient =
        !stride.onlyUses([&](unsigned leaf) { return isKernelArgument(affine.leaf(leaf)); });
    const bool mayTest = !load || hasQuotient || elementBytes == 2;
    if (stride.constant() || !affine.isHostValue(stride) || !mayTest || (load && callsOwnLibrary()))
      return false;
    auto isSame = [&](const auto &other) { return other.value == stride; };
    if (llvm::none_of(access.multiples, isSame))
      access.multiples.push_back({stride, 16 / elementBytes});
    return true;
  }

  /// Checks that the innermost coordinate is a multiple of 16 bytes, or makes the launch check it.
  bool alignRows() {
    const int64_t chunk = 16 / elementBytes;
    Polynomial unknown;
    for (const auto &[product, coefficient] : access.dims[0].start.products()) {
      Polynomial term(coefficient);
      int64_t known = std::gcd(coefficient, chunk);
      for (unsigned leaf : product) {
        term = term * Polynomial::of(leaf);
        known *= std::gcd(divisorOf(leaf), chunk);
      }
      if (known % chunk != 0)
        unknown = unknown + term;
    }
    if (unknown.isZero())
      return true;
    if (!affine.isHostValue(unknown))
      return refused("its rows are not known to begin at multiples of 16 bytes");
    access.multiples.push_back({unknown, chunk});
    return true;
  }

  /// A number that divides `leaf`. A promise about the counter of a loop that counts its iterations does
  /// not hold for their numbers.
  int64_t divisorOf(unsigned leaf) {
    std::optional<CountedLoop> counted = affine.countedLoop();
    Value value = affine.leaf(leaf);
    if (counted && leaf == counted->number)
      return 1;
    if (counted && leaf == counted->counter)
      return std::gcd(axes->of(counted->loop.getLowerBound()).divisibilityOfAll(), counted->step);
    if (counted && counted->loop->hasAttr(indexDivisibility) &&
        !counted->loop.isDefinedOutsideOfLoop(value))
      return 1;
    return axes->of(value).divisibilityOfAll();
  }

  bool placeOffset(const Polynomial &offset) {
    Polynomial left = offset;
    // The fastest dimension last: every term is a multiple of its stride 1.
    for (TmaAccess::Dim &dim : llvm::drop_begin(access.dims)) {
      Polynomial rest;
      dim.start = left.dividedBy(dim.stride, rest);
      left = rest;
    }
    for (const auto &[product, coefficient] : left.products())
      if (!placeProduct(product, coefficient))
        return refused("an offset might not fit a coordinate of 32 bits");
    if (access.dims.size() > maxRank)
      return refused("its address has more than five dimensions");
    if (affine.divisorOf(access.offset) * elementBytes % 16 != 0)
      return refused("its base is not known to be aligned to 16 bytes");
    return true;
  }

  /// A coordinate has 32 bits, an offset 64: only steps that are known to be small go to the
  /// fastest dimension.
  bool placeProduct(const Polynomial::Product &product, int64_t coefficient) {
    Polynomial host(coefficient), device(1);
    for (unsigned leaf : product) {
      Polynomial factor = Polynomial::of(leaf);
      (affine.isHostValue(factor) ? host : device) =
          (affine.isHostValue(factor) ? host : device) * factor;
    }
    if (device.constant() == 1) {
      access.offset = access.offset + host;
    } else if (host.constant().value_or(smallStep) < smallStep) {
      access.dims[0].start = access.dims[0].start + host * device;
    } else if (isStride(host) || requireStride(host)) {
      addFurther(host, device);
    } else {
      return false;
    }
    return true;
  }

  /// Moves wide steps, such as those between the matrices of a batch, to further dimensions.
  void moveWideSteps() {
    const Polynomial start = std::exchange(access.dims[0].start, Polynomial());
    for (const auto &[product, coefficient] : start.products()) {
      Polynomial device(1);
      for (unsigned leaf : product)
        device = device * Polynomial::of(leaf);
      if (coefficient >= wideStep && !product.empty() && access.dims.size() < maxRank &&
          isStride(coefficient))
        addFurther(coefficient, device);
      else
        access.dims[0].start = access.dims[0].start + Polynomial(coefficient) * device;
    }
  }

  void addFurther(const Polynomial &stride, const Polynomial &start) {
    for (TmaAccess::Dim &dim : llvm::drop_begin(access.dims, std::min<size_t>(order.size(), 2)))
      if (dim.stride == stride) {
        dim.start = dim.start + start;
        return;
      }
    access.dims.push_back({unbounded, stride, start, 1});
  }

  TmaAccess::Dim &dimOf(size_t tileDim) {
    return access.dims[llvm::find(order, static_cast<int32_t>(tileDim)) - order.begin()];
  }

  bool placeBounds(const AffineTile &form) {
    size_t rank = form.coefficients.size();
    for (size_t d = 0; d < rank; ++d)
      dimOf(d).extent = unbounded;
    if (form.wrappedDim >= 0 && !placeWrap(form))
      return refused(form.isChoice ? "a `where` in its address changes rows that are used"
                                   : "a modulo in its address wraps rows that are used");
    if (!mask)
      return true;
    auto bounds = affine.bounds(mask);
    if (!bounds)
      return refused("its mask is not a conjunction of bounds");
    for (const AffineBound &bound : *bounds)
      if (const char *why = placeBound(bound))
        return refused(why);
    return true;
  }

  bool placeWrap(const AffineTile &form) {
    TmaAccess::Dim &dim = dimOf(form.wrappedDim);
    if (!reader.mma || !affine.isHostValue(form.modulus) || !(dim.start == form.dividend))
      return false;
    dim.extent = form.modulus;
    return wrapsOnlyMasked(form) || wrapsBetweenTiles(form, dim);
  }

  /// Where the modulus is a multiple of the tile, no tile wraps within itself.
  bool wrapsBetweenTiles(const AffineTile &form, TmaAccess::Dim &dim) {
    if (form.isChoice || affine.divisorOf(dim.start) % dim.size != 0)
      return false;
    dim.modulus = form.modulus;
    if (affine.divisorOf(form.modulus) % dim.size != 0)
      access.multiples.push_back({form.modulus, dim.size});
    return true;
  }

  /// Takes `start + index < start - offset` as an extent, without the part of both sides that is in
  /// the base; or `start + index >= 0`. Returns what is wrong with the bound, or null.
  const char *placeBound(const AffineBound &bound) {
    const char *const mixed = "its mask bounds something else than one dimension";
    int dim = -1;
    for (auto [d, coefficient] : llvm::enumerate(bound.coefficients)) {
      if (coefficient.isZero())
        continue;
      if (dim >= 0 || coefficient.constant() != 1)
        return mixed;
      dim = static_cast<int>(d);
    }
    if (dim < 0)
      return mixed;
    if (!dimOf(dim).modulus.isZero())
      return "its mask bounds modulo-wrapped indices";
    if (bound.isLower) {
      dimOf(dim).fromZero = bound.offset == dimOf(dim).start;
      return dimOf(dim).fromZero ? nullptr : "its mask has a lower bound that is not zero";
    }
    Polynomial extent = dimOf(dim).start - bound.offset;
    Polynomial &known = dimOf(dim).extent;
    if (!extent.isValid())
      return "a bound in its mask is not a number";
    if (!affine.isHostValue(extent))
      return placeEnd(dimOf(dim), extent);
    if (known.constant() != unbounded && !(known == extent))
      return "its mask bounds a dimension twice";
    known = extent;
    return nullptr;
  }

  /// A data-dependent bound, such as the end of a group's rows.
  const char *placeEnd(TmaAccess::Dim &dim, const Polynomial &end) {
    if (&dim == &access.dims.front() || dim.fromZero)
      return "a bound in its mask is not known on the host";
    Polynomial &known = ends[&dim - access.dims.data()];
    if (!known.isZero() && !(known == end))
      return "its mask bounds a dimension twice";
    known = end;
    return nullptr;
  }

  bool placeStarts(const AffineTile &form) {
    for (size_t i = 0, own = access.dims.size(); i < own; ++i) {
      TmaAccess::Dim &dim = access.dims[i];
      const bool isWrapped =
          form.wrappedDim >= 0 && !form.isChoice && &dim == &dimOf(form.wrappedDim);
      llvm::SetVector<Value> assumed = access.nonNegative;
      const bool isPositive = affine.isNonNegative(dim.start, assumed);
      if (auto end = ends.find(i); end != ends.end()) {
        if (isWrapped || dim.fromZero || dim.extent.constant() != unbounded)
          return refused("its mask bounds a dimension twice");
        if (!hasFewRows(dim.stride))
          return refused(doesNotFit);
        splitAtEnd(i, end->second);
      } else if (isWrapped || dim.fromZero || isPositive) {
        if (!isWrapped && !dim.fromZero)
          access.nonNegative = assumed;
        if (!fitCoordinate(dim, isWrapped))
          return refused(doesNotFit);
      } else if (i == 0 || !comesFromMemory(dim.start)) {
        return refused("a coordinate may be negative");
      } else if (!countFromFar(i)) {
        return refused(doesNotFit);
      }
    }
    return access.dims.size() <= maxRank || refused("its address has more than five dimensions");
  }

  static constexpr llvm::StringLiteral doesNotFit = "a coordinate might not fit 32 bits";

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
    if (isWrapped || dim.extent.constant() == unbounded)
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
    access.dims.push_back({unbounded, complement, TmaAccess::far, 1});
  }

  /// Coordinates that might be negative count from `far` elements before the tensor, and read what
  /// the plain load reads. Coordinates beyond `far` in the other direction saturate: they are
  /// outside of an extent, or in more memory than a GPU has.
  bool countFromFar(size_t place) {
    TmaAccess::Dim &dim = access.dims[place];
    const Polynomial extent = dim.extent, stride = dim.stride;
    const bool isBounded = extent.constant() != unbounded;
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
    TmaAccess::Dim atEnd{unbounded, dim.stride, dim.start, 1};
    dim.kind = TmaAccess::Dim::ToEnd, atEnd.kind = TmaAccess::Dim::End;
    dim.end = atEnd.end = end;
    dim.rows = atEnd.rows = dim.size;
    dim.startFits = atEnd.startFits = affine.isComputedIn32Bits(ptr, dim.start);
    dim.extent = TmaAccess::far;
    access.dims.push_back(atEnd);
    stepBack(atEnd.stride, 2);
  }

  //===- modulo-wrapped indices ----------------------------------------------------------===//

  /// Whether the elements of the MMA's result that depend on a wrapped row reach only stores that
  /// mask them off.
  bool wrapsOnlyMasked(const AffineTile &form) {
    bool swapped = buffer.getSwizzle() != cast<nv::BufferType>(reader.view.getType()).getSwizzle();
    int operandDim = swapped ? 1 - form.wrappedDim : form.wrappedDim;
    if (operandDim != reader.operand) // along K every element of the result depends on it
      return false;
    return reachesMaskedStoresAlone(affine, reader.mma.getResult(), reader.operand,
                                    dimOf(form.wrappedDim).start - form.modulus);
  }

  AffineAnalysis &affine;
  Value ptr, mask;
  SmallVector<int32_t> order; ///< fastest first
  std::string &reason;
  const AxisInfoAnalysis *axes = nullptr; ///< of loads
  LoadOp load;                            ///< of loads
  nv::BufferType buffer;                  ///< of loads
  BufferReader reader{};                  ///< of loads
  int64_t elementBytes;
  std::map<size_t, Polynomial> ends; ///< of dimensions, not known on the host
  TmaAccess access;
};
} // namespace

std::optional<TmaAccess> tmaAccess(AffineAnalysis &affine, const AxisInfoAnalysis &axes,
                                   LoadOp load, nv::BufferType buffer, const BufferReader &reader,
                                   std::string &reason) {
  return AccessBuilder(affine, axes, load, buffer, reader, reason).buildLoad();
}

std::optional<TmaAccess> tmaAccess(AffineAnalysis &affine, Value ptr, Value mask,
                                   ArrayRef<int32_t> order, std::string &reason) {
  return AccessBuilder(affine, ptr, mask, order, reason).build();
}

} // namespace pantile
