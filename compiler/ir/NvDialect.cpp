//===- NvDialect.cpp - the `nv` dialect: registration and verifiers ---------------------===//
#include "ir/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::nv;

#include "ir/NvDialect.cpp.inc"
#include "ir/NvPlanEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/NvAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/NvTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/NvOps.cpp.inc"

void NvDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/NvAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/NvTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/NvOps.cpp.inc"
      >();
}

int64_t BufferType::getSlotBytes() const { return sharedLayoutOf(*this).bytes(); }

BufferType BufferType::getSlotType() const {
  return BufferType::get(getContext(), 1, getShape(), getElementType(), getSwizzle());
}

SharedLayout pantile::sharedLayoutOf(BufferType type) {
  return SharedLayout(
      SmallVector<int64_t>(type.getShape()), storageBits(type.getElementType()),
      SmallVector<int>(type.getSwizzle().getOrder().begin(), type.getSwizzle().getOrder().end()),
      static_cast<int>(type.getSwizzle().getSpan()));
}

LogicalResult WgmmaOp::verify() {
  auto rhs = getRhs().getType().getShape();
  ArrayRef<int64_t> lhs;
  if (auto buffer = dyn_cast<BufferType>(getLhs().getType()))
    lhs = buffer.getShape();
  else if (auto tile = dyn_cast<RankedTensorType>(getLhs().getType()))
    lhs = tile.getShape();
  else
    return emitOpError("wgmma_c1: `lhs` is neither a buffer nor a tile");
  auto acc = getAcc().getType().getShape();
  if (lhs.size() != 2 || rhs.size() != 2 || lhs[1] != rhs[0] || acc[0] != lhs[0] ||
      acc[1] != rhs[1])
    return emitOpError("wgmma_c1: shapes do not match");
  return success();
}

LogicalResult FmaOp::verify() {
  auto lhs = getLhs().getType().getShape(), rhs = getRhs().getType().getShape(),
       acc = getAcc().getType().getShape();
  const size_t rank = acc.size();
  if (rank < 2 || rank > 3 || lhs.size() != rank || rhs.size() != rank ||
      lhs[rank - 1] != rhs[rank - 2] || lhs[rank - 2] != acc[rank - 2] ||
      rhs[rank - 1] != acc[rank - 1] || (rank == 3 && (lhs[0] != acc[0] || rhs[0] != acc[0])))
    return emitOpError("fma_c1: shapes do not match");
  const Type element = getAcc().getType().getElementType();
  if (getLhs().getType().getElementType() != element ||
      getRhs().getType().getElementType() != element)
    return emitOpError("fma_c1: element types differ");
  return success();
}

LogicalResult WgmmaWaitOp::verify() {
  if (getValues().getTypes() != getResults().getTypes())
    return emitOpError("wgmma_wait_c1: result types differ from operand types");
  for (Value value : getValues()) {
    auto mma = value.getDefiningOp<WgmmaOp>();
    if (getPending() && mma && mma->getBlock() == (*this)->getBlock() &&
        isa<RankedTensorType>(mma.getLhs().getType()) &&
        !llvm::is_contained(getHeld(), mma.getLhs()))
      return emitOpError(
          "wgmma_wait_c2: registers that an MMA reads are not held until it is over");
  }
  return success();
}
