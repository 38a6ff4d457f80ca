//===- NvDialect.cpp - the `nv` dialect: registration and its types ---------------------===//
#include "ir/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::nv;

#include "ir/NvAsync.cpp.inc"
#include "ir/NvAsyncEnums.cpp.inc"
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

int64_t BufferType::getStageBytes() const { return sharedLayoutOf(*this).bytes(); }

BufferType BufferType::withDepth(unsigned depth) const {
  return BufferType::get(getContext(), depth, getShape(), getElementType(), getSwizzle());
}

bool BufferType::holdsMbarriers() const {
  return getShape() == ArrayRef<int64_t>{2} && getElementType().isInteger(64);
}

SharedLayout pantile::sharedLayoutOf(BufferType type) {
  return SharedLayout(
      SmallVector<int64_t>(type.getShape()), storageBits(type.getElementType()),
      SmallVector<int>(type.getSwizzle().getOrder().begin(), type.getSwizzle().getOrder().end()),
      static_cast<int>(type.getSwizzle().getSpan()));
}
