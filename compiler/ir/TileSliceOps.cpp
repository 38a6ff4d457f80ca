//===- TileSliceOps.cpp - verifiers, folds and canonicalisation of slices ----------------===//
// Gives: verifiers, folds and canonicalisation patterns of tile.extract_slice, insert_slice,
//        extract and wrap_index.
// How:   Once layouts are assigned, patterns that would change the layout of an operand do not
//        apply.
//===-----------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace pantile;

namespace {
TileSlice sliceOf(Type whole, Type part, ArrayRef<int32_t> offsets, ArrayRef<int32_t> strides) {
  auto ints = [](auto values) { return TileSlice::Ints(values.begin(), values.end()); };
  return {ints(cast<RankedTensorType>(whole).getShape()),
          ints(cast<RankedTensorType>(part).getShape()), ints(offsets), ints(strides)};
}

/// `lengths` and `bounds` name the constraints.
LogicalResult verifySlice(Operation *op, const TileSlice &slice, StringRef lengths,
                          StringRef bounds) {
  const size_t rank = slice.whole.size();
  if (slice.part.size() != rank || slice.offsets.size() != rank || slice.strides.size() != rank ||
      llvm::any_of(slice.strides, [](int64_t stride) { return stride <= 0; }))
    return op->emitOpError() << lengths << ": " << slice.offsets.size() << " offsets and "
                             << slice.strides.size() << " strides for " << slice.part.size()
                             << " of " << rank << " dimensions, or a stride is not positive";
  for (size_t dim = 0; dim < rank; ++dim) {
    const int64_t last = slice.offsets[dim] + slice.strides[dim] * (slice.part[dim] - 1);
    if (slice.offsets[dim] < 0 || last >= slice.whole[dim])
      return op->emitOpError() << bounds << ": elements " << slice.offsets[dim] << " to " << last
                               << " of dimension " << dim << ", which has " << slice.whole[dim];
  }
  return success();
}

bool hasLayout(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getEncoding() != nullptr;
}

bool sameSlice(ExtractSliceOp extract, InsertSliceOp insert) {
  return extract.getType() == insert.getSrc().getType() &&
         extract.getOffsets() == insert.getOffsets() && extract.getStrides() == insert.getStrides();
}

/// Whether two slices are disjoint: their ranges do not overlap along some dimension.
bool areApart(const TileSlice &a, const TileSlice &b) {
  for (int dim = 0; dim < a.rank(); ++dim) {
    const int64_t lastOfA = a.offsets[dim] + a.strides[dim] * (a.part[dim] - 1);
    const int64_t lastOfB = b.offsets[dim] + b.strides[dim] * (b.part[dim] - 1);
    if (lastOfA < b.offsets[dim] || lastOfB < a.offsets[dim])
      return true;
  }
  return false;
}

/// Composes two slices: a slice of a slice is a slice of the whole.
LogicalResult compose(ExtractSliceOp op, ExtractSliceOp inner, PatternRewriter &rewriter) {
  SmallVector<int32_t> offsets, strides;
  for (size_t dim = 0; dim < op.getOffsets().size(); ++dim) {
    offsets.push_back(inner.getOffsets()[dim] + inner.getStrides()[dim] * op.getOffsets()[dim]);
    strides.push_back(inner.getStrides()[dim] * op.getStrides()[dim]);
  }
  rewriter.replaceOpWithNewOp<ExtractSliceOp>(op, op.getType(), inner.getSrc(), offsets, strides);
  return success();
}

/// Folds a slice of an arange into an arange, times the stride.
LogicalResult extractRange(ExtractSliceOp op, ArangeOp range, PatternRewriter &rewriter) {
  const Location loc = op.getLoc();
  const auto type = op.getType();
  const int32_t count = static_cast<int32_t>(type.getDimSize(0)), stride = op.getStrides()[0];
  const int32_t start = static_cast<int32_t>(range.getStart()) + op.getOffsets()[0];
  if (stride == 1 || count == 1) {
    rewriter.replaceOpWithNewOp<ArangeOp>(op, type, start, start + count);
    return success();
  }
  auto constant = [&](int32_t value) {
    return arith::ConstantOp::create(
        rewriter, loc, DenseElementsAttr::get(type, rewriter.getI32IntegerAttr(value)));
  };
  Value steps = ArangeOp::create(rewriter, loc, type, 0, count);
  Value scaled = arith::MulIOp::create(rewriter, loc, steps, constant(stride));
  rewriter.replaceOpWithNewOp<arith::AddIOp>(op, scaled, constant(start));
  return success();
}
} // namespace

//===- extract_slice -------------------------------------------------------------------===//

TileSlice ExtractSliceOp::slice() {
  return sliceOf(getSrc().getType(), getType(), getOffsets(), getStrides());
}

LogicalResult ExtractSliceOp::verify() {
  return verifySlice(*this, slice(), "extract_slice_c1", "extract_slice_c2");
}

OpFoldResult ExtractSliceOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  if (auto insert = getSrc().getDefiningOp<InsertSliceOp>(); insert && sameSlice(*this, insert))
    return insert.getSrc();
  return splatAs(adaptor.getSrc(), getType());
}

LogicalResult ExtractSliceOp::canonicalize(ExtractSliceOp op, PatternRewriter &rewriter) {
  if (auto splat = op.getSrc().getDefiningOp<SplatOp>()) {
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), splat.getSrc());
    return success();
  }
  if (hasLayout(op.getSrc()))
    return failure();
  if (auto inner = op.getSrc().getDefiningOp<ExtractSliceOp>())
    return compose(op, inner, rewriter);
  if (auto range = op.getSrc().getDefiningOp<ArangeOp>())
    return extractRange(op, range, rewriter);
  auto insert = op.getSrc().getDefiningOp<InsertSliceOp>();
  if (!insert || !areApart(op.slice(), insert.slice()))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getSrcMutable().assign(insert.getDest()); });
  return success();
}

//===- insert_slice --------------------------------------------------------------------===//

TileSlice InsertSliceOp::slice() {
  return sliceOf(getType(), getSrc().getType(), getOffsets(), getStrides());
}

LogicalResult InsertSliceOp::verify() {
  if (elementTypeOf(getSrc().getType()) != elementTypeOf(getType()))
    return emitOpError() << "insert_slice_c1: elements of " << getSrc().getType() << " into "
                         << getType();
  return verifySlice(*this, slice(), "insert_slice_c1", "insert_slice_c2");
}

OpFoldResult InsertSliceOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  auto part = dyn_cast_or_null<DenseElementsAttr>(adaptor.getSrc());
  auto whole = dyn_cast_or_null<DenseElementsAttr>(adaptor.getDest());
  if (part && whole && part.isSplat() && whole.isSplat() &&
      part.getSplatValue<Attribute>() == whole.getSplatValue<Attribute>())
    return getDest();
  return {};
}

//===- extract and wrap_index ----------------------------------------------------------===//

LogicalResult ExtractOp::verify() {
  SmallVector<int64_t> expected(getSrc().getType().getShape());
  if (getAxis() >= expected.size())
    return emitOpError("extract_c1: axis is beyond the rank");
  expected[getAxis()] = 1;
  if (ArrayRef<int64_t>(expected) != getType().getShape() ||
      elementTypeOf(getSrc().getType()) != elementTypeOf(getType()))
    return emitOpError() << "extract_c1: " << getType() << " is not along dimension " << getAxis()
                         << " of " << getSrc().getType();
  return success();
}

OpFoldResult ExtractOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  return splatAs(adaptor.getSrc(), getType());
}

LogicalResult ExtractOp::canonicalize(ExtractOp op, PatternRewriter &rewriter) {
  if (auto splat = op.getSrc().getDefiningOp<SplatOp>()) {
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), splat.getSrc());
    return success();
  }
  APInt index;
  const auto shape = op.getSrc().getType().getShape();
  if (!matchPattern(op.getIndex(), m_ConstantInt(&index)) || index.isNegative() ||
      index.sge(shape[op.getAxis()]))
    return failure();
  SmallVector<int32_t> offsets(shape.size(), 0), strides(shape.size(), 1);
  offsets[op.getAxis()] = static_cast<int32_t>(index.getSExtValue());
  rewriter.replaceOpWithNewOp<ExtractSliceOp>(op, op.getType(), op.getSrc(), offsets, strides);
  return success();
}

LogicalResult WrapIndexOp::verify() {
  const int64_t extent = static_cast<int32_t>(getExtent());
  if (extent <= 0)
    return emitOpError() << "wrap_index_c1: extent is " << extent;
  return success();
}

/// Folds constant indices inside the dimension; those outside are reported at run time.
OpFoldResult WrapIndexOp::fold(FoldAdaptor adaptor) {
  auto index = dyn_cast_or_null<IntegerAttr>(adaptor.getIndex());
  const int64_t extent = getExtent();
  if (!index || index.getInt() < -extent || index.getInt() >= extent)
    return {};
  return IntegerAttr::get(getType(), index.getInt() < 0 ? index.getInt() + extent : index.getInt());
}
