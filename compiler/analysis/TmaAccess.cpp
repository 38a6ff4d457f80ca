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
//           clips nothing. So does one whose bounds always hold. Of an innermost extent, what the host
//           does not know, such as the begin of a head in a row of all heads, becomes a dimension.
//        4. Modulo-wrapped indices (`% M`) are legal in two cases. The dividend is taken to be
//           non-negative.
//           - The rows that wrap reach only lanes that a store masks off. The extent is then M. The
//             same holds for `where(rows < M, rows, 0)`.
//           - M is a multiple of the tile, which the launch checks. The modulo is then applied to
//             the tile's start.
//        Coordinates: see TmaCoordinates.h.
//        Loads:
//        5. Rows begin at multiples of 16 bytes: an H200 ends other copies with an illegal
//           instruction. This is proved here, or depends on arguments only and the launch checks
//           it.
//        6. No earlier write of the kernel may alias the load: the caller checks that.
//===-------------------------------------------------------------------------------===//
#include "analysis/TmaAccess.h"
#include "analysis/MaskedStores.h"
#include "analysis/MotionLegality.h"
#include "analysis/TmaCoordinates.h"
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

constexpr size_t maxRank = InstructionSet::tensorMapRank;
constexpr int64_t smallStep = 1 << 16;
/// The least constant step that becomes a dimension of its own where its coordinate might not fit.
constexpr int64_t wideStep = 1 << 10;

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
    if (access.dims[0].extent.constant() == TmaAccess::unbounded &&
        !affine.isComputedIn32Bits(ptr, access.dims[0].start))
      moveWideSteps();
    const StringRef unfit = placeCoordinates(affine, ptr, access, ends, wrappedPlace(*form));
    if (!unfit.empty())
      return refuse(unfit);
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

  /// A product as one of what the host knows and one of what it does not.
  std::pair<Polynomial, Polynomial> factors(const Polynomial::Product &product,
                                            int64_t coefficient) {
    Polynomial host(coefficient), device(1);
    for (unsigned leaf : product) {
      Polynomial factor = Polynomial::of(leaf);
      (affine.isHostValue(factor) ? host : device) =
          (affine.isHostValue(factor) ? host : device) * factor;
    }
    return {host, device};
  }

  /// A coordinate has 32 bits, an offset 64: only steps that are known to be small go to the
  /// fastest dimension.
  bool placeProduct(const Polynomial::Product &product, int64_t coefficient) {
    const auto [host, device] = factors(product, coefficient);
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
    access.dims.push_back({TmaAccess::unbounded, stride, start, 1});
  }

  TmaAccess::Dim &dimOf(size_t tileDim) {
    return access.dims[llvm::find(order, static_cast<int32_t>(tileDim)) - order.begin()];
  }

  /// The dimension whose indices a modulo wraps, if there is one.
  std::optional<size_t> wrappedPlace(const AffineTile &form) {
    if (form.wrappedDim < 0 || form.isChoice)
      return std::nullopt;
    return &dimOf(form.wrappedDim) - access.dims.data();
  }

  bool placeBounds(const AffineTile &form) {
    size_t rank = form.coefficients.size();
    for (size_t d = 0; d < rank; ++d)
      dimOf(d).extent = TmaAccess::unbounded;
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
    if (bound.isLower)
      return placeLowerBound(dimOf(dim), bound.offset);
    if (const auto last = (bound.offset + Polynomial(dimOf(dim).size - 1)).constant();
        last && *last < 0)
      return nullptr; // it always holds
    Polynomial extent = dimOf(dim).start - bound.offset;
    if (!extent.isValid())
      return "a bound in its mask is not a number";
    if (&dimOf(dim) == &access.dims.front())
      moveFromExtent(extent);
    if (!affine.isHostValue(extent))
      return placeEnd(dimOf(dim), extent);
    Polynomial &known = dimOf(dim).extent;
    if (known.constant() != TmaAccess::unbounded && !(known == extent))
      return "its mask bounds a dimension twice";
    known = extent;
    return nullptr;
  }

  /// A bound that always holds needs no extent: rows of a sequence count from its begin, for example.
  const char *placeLowerBound(TmaAccess::Dim &dim, const Polynomial &offset) {
    if (offset == dim.start) {
      dim.fromZero = true;
      return nullptr;
    }
    llvm::SetVector<Value> assumed = access.nonNegative;
    if (!affine.isNonNegative(offset, assumed))
      return "its mask has a lower bound that is not zero";
    access.nonNegative = assumed;
    return nullptr;
  }

  /// Gives parts of the innermost `extent` that the host does not know dimensions of their own, where
  /// these are parts of the coordinate, too, such as the begin of a head in a row of all heads.
  void moveFromExtent(Polynomial &extent) {
    const TmaAccess::Dim row = access.dims.front();
    if (row.fromZero || row.extent.constant() != TmaAccess::unbounded)
      return;
    std::vector<std::pair<Polynomial, Polynomial>> parts;
    Polynomial left = extent, start = row.start;
    for (const auto &[product, coefficient] : extent.products()) {
      const auto [host, device] = factors(product, coefficient);
      if (device.constant() == 1)
        continue;
      auto same = row.start.products().find(product);
      if (coefficient < 0 || same == row.start.products().end() || same->second != coefficient ||
          !isStride(host))
        return;
      left = left - host * device, start = start - host * device;
      parts.emplace_back(host, device);
    }
    extent = left, access.dims.front().start = start;
    for (const auto &[host, device] : parts)
      addFurther(host, device);
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
  DataDependentEnds ends;
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
