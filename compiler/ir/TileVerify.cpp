//===- TileVerify.cpp - verifiers of the `tile` operations -------------------------------===//
// Each message names the constraint of TileOps.td that does not hold.
//===-----------------------------------------------------------------------------------===//
#include "ir/Tile.h"

using namespace mlir;
using namespace pantile;

namespace {
ArrayRef<int64_t> shapeOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getShape() : ArrayRef<int64_t>();
}

Attribute encodingOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getEncoding() : Attribute();
}

bool sameShapeAndLayout(Type a, Type b) {
  return shapeOf(a) == shapeOf(b) && encodingOf(a) == encodingOf(b);
}

LogicalResult verifyAxis(Operation *op, int64_t axis, StringRef constraint) {
  if (axis < 0 || axis > 2)
    return op->emitOpError() << constraint << ": axis is " << axis;
  return success();
}

/// Memory operations: every other operand has the shape and layout of `ptr`.
LogicalResult verifyCompanion(Operation *op, Type ptr, Value companion, StringRef name,
                              StringRef constraint) {
  if (companion && !sameShapeAndLayout(ptr, companion.getType()))
    return op->emitOpError() << constraint << ": `" << name << "` is " << companion.getType()
                             << ", pointers are " << ptr;
  return success();
}

Type pointeeOf(Type ptr) { return cast<PtrType>(elementTypeOf(ptr)).getPointee(); }

LogicalResult verifyPointee(Operation *op, Type ptr, Type value, StringRef name,
                            StringRef constraint) {
  if (pointeeOf(ptr) != elementTypeOf(value))
    return op->emitOpError() << constraint << ": `" << name << "` has elements "
                             << elementTypeOf(value) << ", pointers are to " << pointeeOf(ptr);
  return success();
}

LogicalResult verifyCombine(Operation *op, Region &combine, ValueRange srcs, StringRef constraint) {
  Block &block = combine.front();
  size_t count = srcs.size();
  if (block.getNumArguments() != 2 * count)
    return op->emitOpError() << constraint << ": the region takes " << block.getNumArguments()
                             << " values, not " << 2 * count;
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != count)
    return op->emitOpError() << constraint << ": the region does not yield " << count << " values";
  for (size_t i = 0; i < count; ++i) {
    Type element = elementTypeOf(srcs[i].getType());
    if (block.getArgument(i).getType() != element ||
        block.getArgument(i + count).getType() != element ||
        yield.getValues()[i].getType() != element)
      return op->emitOpError() << constraint << ": value " << i << " of the region is not of type "
                               << element;
  }
  return success();
}

LogicalResult verifyElementwise(Operation *op, StringRef constraint) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types)
    if (!sameShapeAndLayout(type, types.front()))
      return op->emitOpError() << constraint << ": " << type << " and " << types.front();
  return success();
}
} // namespace

LogicalResult ProgramIdOp::verify() { return verifyAxis(*this, getAxis(), "program_id_c1"); }
LogicalResult NumProgramsOp::verify() { return verifyAxis(*this, getAxis(), "num_programs_c1"); }

LogicalResult ArangeOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  int64_t count =
      static_cast<int64_t>(static_cast<int32_t>(getEnd())) - static_cast<int32_t>(getStart());
  if (type.getRank() != 1 || count <= 0 || type.getDimSize(0) != count)
    return emitOpError() << "arange_c1: " << count << " elements in a result of type " << type;
  return success();
}

LogicalResult UnsplatOp::verify() {
  if (getSrc().getType().getNumElements() != 1)
    return emitOpError("unsplat_c1: the tile has more than one element");
  return success();
}

LogicalResult ExpandDimsOp::verify() {
  SmallVector<int64_t> expected(getSrc().getType().getShape());
  if (getAxis() > expected.size())
    return emitOpError("expand_dims_c1: axis is beyond the rank");
  expected.insert(expected.begin() + getAxis(), 1);
  if (ArrayRef<int64_t>(expected) != getType().getShape())
    return emitOpError("expand_dims_c1: result shape does not follow");
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto src = getSrc().getType().getShape(), dst = getType().getShape();
  if (src.size() != dst.size())
    return emitOpError("broadcast_c1: ranks differ");
  for (auto [from, to] : llvm::zip(src, dst))
    if (from != to && from != 1)
      return emitOpError() << "broadcast_c1: dimension " << from << " does not broadcast to " << to;
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (getSrc().getType().getNumElements() != getType().getNumElements())
    return emitOpError("reshape_c1: element counts differ");
  return success();
}

LogicalResult TransOp::verify() {
  auto src = getSrc().getType().getShape(), dst = getType().getShape();
  SmallVector<bool> seen(src.size(), false);
  if (getOrder().size() != src.size() || dst.size() != src.size())
    return emitOpError("trans_c1: ranks differ");
  for (auto [i, from] : llvm::enumerate(getOrder())) {
    if (from < 0 || from >= static_cast<int>(src.size()) || std::exchange(seen[from], true))
      return emitOpError("trans_c1: `order` is no permutation");
    if (dst[i] != src[from])
      return emitOpError("trans_c1: result shape does not follow");
  }
  return success();
}

static LogicalResult verifyPair(Operation *op, Type half, Type whole, StringRef constraint) {
  SmallVector<int64_t> expected(shapeOf(half));
  expected.push_back(2);
  if (ArrayRef<int64_t>(expected) != shapeOf(whole) || elementTypeOf(half) != elementTypeOf(whole))
    return op->emitOpError() << constraint << ": " << half << " is no half of " << whole;
  return success();
}
LogicalResult JoinOp::verify() {
  return verifyPair(*this, getLhs().getType(), getType(), "join_c1");
}
LogicalResult SplitOp::verify() {
  return verifyPair(*this, getLhs().getType(), getSrc().getType(), "split_c1");
}

LogicalResult GatherOp::verify() {
  SmallVector<int64_t> src(getSrc().getType().getShape()), index(getIndex().getType().getShape());
  bool fits = src.size() == index.size() && getAxis() < src.size();
  for (size_t i = 0; fits && i < src.size(); ++i)
    fits = i == getAxis() || src[i] == index[i];
  if (!fits)
    return emitOpError() << "gather_c1: cannot take " << getIndex().getType() << " along dimension "
                         << getAxis() << " of " << getSrc().getType();
  if (shapeOf(getType()) != ArrayRef<int64_t>(index) ||
      elementTypeOf(getType()) != elementTypeOf(getSrc().getType()))
    return emitOpError() << "gather_c1: " << getType() << " does not follow";
  return success();
}

LogicalResult ExchangeOp::verify() {
  ArrayRef<int64_t> shape = getSrc().getType().getShape();
  if (getAxis() >= shape.size() || getDistance() == 0 ||
      getDistance() >= llvm::PowerOf2Ceil(shape[getAxis()]))
    return emitOpError() << "exchange_c1: no distance " << getDistance() << " along dimension "
                         << getAxis() << " of " << getSrc().getType();
  return success();
}

LogicalResult SpecialOp::verify() {
  unsigned bits = getResult() ? getResult().getType().getIntOrFloatBitWidth() : 0;
  bool fits = (getName() == "globaltimer" && bits == 64) || (getName() == "smid" && bits == 32) ||
              ((getName() == "gdc_wait" || getName() == "gdc_launch_dependents") && bits == 0);
  if (!fits)
    return emitOpError() << "special_c1: no `" << getName() << "` with this result";
  return success();
}

LogicalResult ExternCallOp::verify() { return verifyElementwise(*this, "extern_call_c1"); }
LogicalResult InlineAsmOp::verify() { return verifyElementwise(*this, "inline_asm_c1"); }

LogicalResult MapOp::verify() {
  if (failed(verifyElementwise(*this, "map_c1")))
    return failure();
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError("map_c2: the region does not end in `tile.yield`");
  auto follows = [&](TypeRange tiles, TypeRange scalars) {
    if (scalars.size() != tiles.size() * getPack())
      return false;
    for (size_t i = 0; i < scalars.size(); ++i)
      if (scalars[i] != elementTypeOf(tiles[i / getPack()]))
        return false;
    return true;
  };
  if (!follows(getSrcs().getTypes(), getBody().front().getArgumentTypes()) ||
      !follows(getResults().getTypes(), yield.getValues().getTypes()))
    return emitOpError("map_c2: the region's arguments or yields do not follow from the types");
  return success();
}

LogicalResult HistogramOp::verify() {
  if (getSrc().getType().getRank() != 1 || getType().getRank() != 1)
    return emitOpError("histogram_c1: a rank is not 1");
  return verifyCompanion(*this, getSrc().getType(), getMask(), "mask", "histogram_c1");
}

LogicalResult LoadOp::verify() {
  Type ptr = getPtr().getType();
  return failure(
      failed(verifyCompanion(*this, ptr, getResult(), "result", "load_c1")) ||
      failed(verifyCompanion(*this, ptr, getMask(), "mask", "load_c1")) ||
      failed(verifyCompanion(*this, ptr, getOther(), "other", "load_c1")) ||
      failed(verifyPointee(*this, ptr, getType(), "result", "load_c1")) ||
      (getOther() && failed(verifyPointee(*this, ptr, getOther().getType(), "other", "load_c1"))));
}

LogicalResult StoreOp::verify() {
  Type ptr = getPtr().getType();
  return failure(failed(verifyCompanion(*this, ptr, getValue(), "value", "store_c1")) ||
                 failed(verifyCompanion(*this, ptr, getMask(), "mask", "store_c1")) ||
                 failed(verifyPointee(*this, ptr, getValue().getType(), "value", "store_c1")));
}

LogicalResult AtomicRmwOp::verify() {
  Type ptr = getPtr().getType();
  const bool isPoll = getKind() == RmwKind::Poll;
  const bool isAccess = isPoll || getKind() == RmwKind::Load || getKind() == RmwKind::Store;
  if (isAccess && !elementTypeOf(getValue().getType()).isInteger())
    return emitOpError() << "atomic_rmw_c2: `" << stringifyRmwKind(getKind())
                         << "` takes integers, got " << getValue().getType();
  if ((getTimeout() && !isPoll) || (getMask() && isPoll))
    return emitOpError("atomic_rmw_c2: `timeout` is of `poll` alone, and `mask` not of it");
  return failure(failed(verifyCompanion(*this, ptr, getResult(), "result", "atomic_rmw_c1")) ||
                 failed(verifyCompanion(*this, ptr, getValue(), "value", "atomic_rmw_c1")) ||
                 failed(verifyCompanion(*this, ptr, getMask(), "mask", "atomic_rmw_c1")) ||
                 failed(verifyPointee(*this, ptr, getValue().getType(), "value", "atomic_rmw_c1")));
}

LogicalResult AtomicCasOp::verify() {
  Type ptr = getPtr().getType();
  return failure(failed(verifyCompanion(*this, ptr, getValue(), "value", "atomic_cas_c1")) ||
                 failed(verifyPointee(*this, ptr, getValue().getType(), "value", "atomic_cas_c1")));
}

LogicalResult DotOp::verify() {
  auto lhs = getLhs().getType().getShape(), rhs = getRhs().getType().getShape(),
       acc = getAcc().getType().getShape();
  size_t rank = acc.size();
  if ((rank != 2 && rank != 3) || lhs.size() != rank || rhs.size() != rank)
    return emitOpError("dot_c1: ranks differ, or are neither 2 nor 3");
  if (lhs[rank - 1] != rhs[rank - 2] || lhs[rank - 2] != acc[rank - 2] ||
      rhs[rank - 1] != acc[rank - 1] || (rank == 3 && (lhs[0] != rhs[0] || lhs[0] != acc[0])))
    return emitOpError() << "dot_c1: cannot multiply " << getLhs().getType() << " by "
                         << getRhs().getType() << " into " << getAcc().getType();
  Type left = elementTypeOf(getLhs().getType()), right = elementTypeOf(getRhs().getType());
  bool bothFp8 = left.getIntOrFloatBitWidth() == 8 && right.getIntOrFloatBitWidth() == 8 &&
                 isa<FloatType>(left) && isa<FloatType>(right);
  if (left != right && !bothFp8)
    return emitOpError() << "dot_c2: operands have elements " << left << " and " << right;
  return success();
}

LogicalResult ReduceOp::verify() {
  for (auto [src, result] : llvm::zip(getSrcs(), getResults())) {
    SmallVector<int64_t> expected(shapeOf(src.getType()));
    if (getAxis() >= expected.size())
      return emitOpError("reduce_c1: axis is beyond the rank");
    expected.erase(expected.begin() + getAxis());
    if (ArrayRef<int64_t>(expected) != shapeOf(result.getType()) ||
        elementTypeOf(src.getType()) != elementTypeOf(result.getType()))
      return emitOpError() << "reduce_c1: " << result.getType() << " does not follow from "
                           << src.getType();
  }
  return verifyCombine(*this, getCombine(), getSrcs(), "reduce_c2");
}

LogicalResult ScanOp::verify() {
  if (getSrcs().getTypes() != getResults().getTypes())
    return emitOpError("scan_c1: result types differ from operand types");
  if (getAxis() >= shapeOf(getSrcs()[0].getType()).size())
    return emitOpError("scan_c1: axis is beyond the rank");
  return verifyCombine(*this, getCombine(), getSrcs(), "scan_c2");
}
