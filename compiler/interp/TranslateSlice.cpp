//===- TranslateSlice.cpp - slices of tiles -----------------------------------------------===//
// Needs: see Translator.h.
// Gives: instructions of tile.extract_slice, insert_slice, extract and wrap_index.
// How:   A slice is a strided box of the whole, from its first element.
//===------------------------------------------------------------------------------------===//
#include "interp/Gather.h"
#include "interp/Translator.h"

using namespace mlir;

namespace pantile::interp {
namespace {

/// A slice within the whole, in elements, row-major.
struct PartBox {
  SmallVector<uint32_t> sizes, inWhole, inPart;
  uint32_t first = 0;

  explicit PartBox(const TileSlice &slice) {
    uint32_t whole = 1, part = 1;
    for (int dim = slice.rank(); dim-- > 0;) {
      sizes.insert(sizes.begin(), static_cast<uint32_t>(slice.part[dim]));
      inWhole.insert(inWhole.begin(), whole * static_cast<uint32_t>(slice.strides[dim]));
      inPart.insert(inPart.begin(), part);
      first += whole * static_cast<uint32_t>(slice.offsets[dim]);
      whole *= static_cast<uint32_t>(slice.whole[dim]);
      part *= static_cast<uint32_t>(slice.part[dim]);
    }
  }
  StridedCopy copy(ArrayRef<uint32_t> src, ArrayRef<uint32_t> dst) const {
    return {{sizes.begin(), sizes.end()}, {src.begin(), src.end()}, {dst.begin(), dst.end()}};
  }
};

Reg movedBy(Reg reg, uint64_t bytes) {
  reg.addend += bytes;
  return reg;
}

} // namespace

LogicalResult Translator::visitExtractSlice(ExtractSliceOp op) {
  const PartBox box(op.slice());
  const Elem elem = *elemOf(op.getType());
  const Reg src = reg(op.getSrc());
  emitStrided(define(op, src.constant), movedBy(src, uint64_t(box.first) * sizeOf(elem)), elem,
              box.copy(box.inWhole, box.inPart));
  return success();
}

LogicalResult Translator::visitInsertSlice(InsertSliceOp op) {
  const PartBox box(op.slice());
  const Elem elem = *elemOf(op.getType());
  const Reg src = reg(op.getSrc()), dest = reg(op.getDest()), result = define(op);
  emitCopy(result, dest, bytesOf(op.getType()));
  emitStrided(movedBy(result, uint64_t(box.first) * sizeOf(elem)), src, elem,
              box.copy(box.inPart, box.inWhole));
  return success();
}

LogicalResult Translator::visitExtract(ExtractOp op) {
  const auto shape = op.getSrc().getType().getShape();
  uint32_t outer = 1, inner = 1;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (dim != op.getAxis())
      (dim < op.getAxis() ? outer : inner) *= static_cast<uint32_t>(size);
  auto &tables = builder.code().tables;
  tables.push_back({outer, static_cast<uint32_t>(shape[op.getAxis()]), inner});
  Operands operands{{}, reg(op.getSrc()), reg(op.getIndex()), {}};
  operands.dst = define(op);
  builder.emit(extract(sizeOf(*elemOf(op.getType()))), operands, 1,
               static_cast<uint32_t>(tables.size() - 1), 0);
  return success();
}

LogicalResult Translator::visitWrapIndex(WrapIndexOp op) {
  const Reg index = reg(op.getIndex());
  const bool isWide = elemOf(op.getIndex().getType()) == Elem::I64;
  builder.emit(wrapIndex(isWide), {define(op), index}, 1, op.getExtent(), placeOf(op.getLoc()));
  return success();
}

std::optional<LogicalResult> Translator::visitSlice(Operation *op) {
  if (auto slice = dyn_cast<ExtractSliceOp>(op))
    return visitExtractSlice(slice);
  if (auto slice = dyn_cast<InsertSliceOp>(op))
    return visitInsertSlice(slice);
  if (auto extract = dyn_cast<ExtractOp>(op))
    return visitExtract(extract);
  if (auto index = dyn_cast<WrapIndexOp>(op))
    return visitWrapIndex(index);
  return std::nullopt;
}

} // namespace pantile::interp
