//===- NvVerify.cpp - verifiers of the `nv` types and operations --------------------------===//
// Each message names the constraint of NvOps.td that does not hold.
//===-----------------------------------------------------------------------------------===//
#include "ir/FindOps.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/MachineModel.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::nv;

namespace {

/// An I32Attr is read as an unsigned number; from this value on it is a negative one.
constexpr uint32_t signedLimit = 1U << 31;

/// Whether one cp.async copies so many bytes.
bool isVector(uint32_t bytes) { return bytes == 4 || bytes == 8 || bytes == 16; }

bool isPositive(uint32_t number) { return number != 0 && number < signedLimit; }

bool isSpan(uint32_t bytes) { return bytes == 0 || bytes == 32 || bytes == 64 || bytes == 128; }

LogicalResult verifyBarrier(Operation *op, BufferType type, StringRef constraint) {
  if (type.getDepth() != 1 || !type.holdsMbarriers())
    return op->emitOpError() << constraint << ": " << type << " is no pair of barriers";
  return success();
}

/// A tile that is copied between registers and a buffer has the same shape and elements in both.
LogicalResult verifySelectStage(Operation *op, BufferType buffer, RankedTensorType tile,
                                StringRef constraint) {
  if (buffer.getDepth() != 1 || buffer.getShape() != tile.getShape() ||
      buffer.getElementType() != tile.getElementType())
    return op->emitOpError() << constraint << ": " << buffer << " does not hold " << tile;
  return success();
}

LogicalResult verifyMask(Operation *op, RankedTensorType ptr, Value mask, StringRef constraint) {
  auto type = mask ? cast<RankedTensorType>(mask.getType()) : ptr;
  if (type.getShape() != ptr.getShape() || type.getEncoding() != ptr.getEncoding())
    return op->emitOpError() << constraint << ": `mask` is " << type << ", pointers are " << ptr;
  return success();
}

LogicalResult verifyFp32(Operation *op, RankedTensorType tile, StringRef constraint) {
  if (!tile.getElementType().isF32())
    return op->emitOpError() << constraint << ": elements are " << tile.getElementType();
  return success();
}

LogicalResult verifySum(Operation *op, RankedTensorType tile, StringRef constraint) {
  return tile.getElementType().isInteger(32) ? success() : verifyFp32(op, tile, constraint);
}

LogicalResult verifyCoordinates(Operation *op, Value map, size_t count, StringRef constraint) {
  auto made = map.getDefiningOp<TensorMapOp>();
  if (made && made.getBox().size() != count)
    return op->emitOpError() << constraint << ": " << count << " coordinates for a map of "
                             << made.getBox().size() << " dimensions";
  return success();
}

} // namespace

LogicalResult SwizzleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<int32_t> order, unsigned span) {
  llvm::SmallVector<bool> seen(order.size(), false);
  for (int32_t dimension : order)
    if (dimension < 0 || dimension >= static_cast<int32_t>(order.size()) ||
        std::exchange(seen[dimension], true))
      return emitError() << "swizzle_c1: `order` is no permutation";
  if (!isSpan(span))
    return emitError() << "swizzle_c1: a span of " << span << " bytes";
  return success();
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, unsigned depth,
                                 ArrayRef<int64_t> shape, Type, SwizzleAttr swizzle) {
  if (depth == 0)
    return emitError() << "buffer_c1: there is no stage";
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 1; }))
    return emitError() << "buffer_c1: an extent is not positive";
  if (swizzle.getOrder().size() != shape.size())
    return emitError() << "buffer_c2: " << swizzle << " orders " << swizzle.getOrder().size()
                       << " of " << shape.size() << " dimensions";
  return success();
}

LogicalResult AllocOp::verify() {
  if (getOffset().value_or(0) >= signedLimit)
    return emitOpError("alloc_c1: `offset` is negative");
  return success();
}

LogicalResult ChannelOp::verify() {
  const bool isCopied = getVia() == Transport::CpAsync;
  if (!isCopied && getVia() != Transport::Tma)
    return emitOpError() << "channel_c4: `" << stringifyTransport(getVia())
                         << "` fills no circular buffer";
  const uint32_t ahead = getAhead().value_or(1);
  const bool fits =
      ahead >= 1 && ahead <= getType().getDepth() && isVector(getVectorBytes().value_or(0));
  if (isCopied ? !fits : getAhead() || getVectorBytes())
    return emitOpError() << "channel_c5: copies of " << getVectorBytes().value_or(0) << " bytes, "
                         << getAhead().value_or(0) << " iterations ahead, into " << getType();
  if (getOffset().value_or(0) >= signedLimit)
    return emitOpError("channel_c6: `offset` is negative");
  return success();
}

LogicalResult CurrentStageOp::verify() {
  const BufferType circular = getChannel().getType();
  if (getType() != circular.getStageType())
    return emitOpError() << "current_stage_c1: " << getType() << " is no stage of " << circular;
  auto loop = (*this)->getParentOfType<scf::ForOp>();
  if (!loop || !loop.isDefinedOutsideOfLoop(getChannel()))
    return emitOpError("current_stage_c2: no loop has its channel before it");
  return success();
}

LogicalResult SelectStageOp::verify() {
  if (getType() != getBuffer().getType().getStageType())
    return emitOpError() << "select_stage_c1: " << getType() << " is no stage of "
                         << getBuffer().getType();
  return success();
}

LogicalResult BufferTransOp::verify() {
  const BufferType from = getBuffer().getType(), to = getType();
  auto exchanged = [](auto range) { return llvm::to_vector(llvm::reverse(range)); };
  auto order = [](BufferType type) { return type.getSwizzle().getOrder(); };
  const bool fits = from.getShape().size() == 2 && to.getShape().size() == 2 &&
                    exchanged(from.getShape()) == to.getShape() &&
                    order(to)[0] == 1 - order(from)[0] && from.getDepth() == to.getDepth() &&
                    from.getElementType() == to.getElementType() &&
                    from.getSwizzle().getSpan() == to.getSwizzle().getSpan();
  if (!fits)
    return emitOpError() << "buffer_trans_c1: " << to << " is not " << from << " transposed";
  return success();
}

int64_t CopyAsyncOp::arrivalsOf(bool isMasked) {
  return (isMasked ? 2 : 1) * InstructionSet::warpThreads;
}

LogicalResult CopyAsyncOp::verify() {
  auto ptr = cast<RankedTensorType>(getPtr().getType());
  const BufferType buffer = getBuffer().getType();
  if (buffer.getShape() != ptr.getShape())
    return emitOpError() << "copy_async_c1: " << buffer << " does not hold " << ptr;
  if (!isVector(getVectorBytes()))
    return emitOpError() << "copy_async_c3: cp.async does not copy " << getVectorBytes()
                         << " bytes";
  if (getBarrier() && failed(verifyBarrier(*this, getBarrier().getType(), "copy_async_c4")))
    return failure();
  if (getBarrier() && ptr.getEncoding() && layoutOf(ptr).numWarps() != 1)
    return emitOpError() << "copy_async_c4: " << ptr << " is held by several warps";
  if (!getBarrier() != !(*this)->getParentOfType<ProducerOp>())
    return emitOpError("copy_async_c5: ")
           << (getBarrier() ? "consumers complete copies in groups" : "a producer needs a barrier");
  if (auto run = getRun();
      run && (!llvm::isPowerOf2_64(*run) || ptr.getRank() != 1 || !getBarrier()))
    return emitOpError() << "copy_async_c6: " << ptr << " has runs of " << *run
                         << (getBarrier() ? "" : " without a barrier");
  return verifyMask(*this, ptr, getMask(), "copy_async_c2");
}

LogicalResult WaitOp::verify() {
  if (getPending() >= signedLimit)
    return emitOpError("wait_c1: `pending` is negative");
  return success();
}

LogicalResult LocalLoadOp::verify() {
  const auto runs = getRuns();
  if (runs && (runs->size() != size_t(getType().getRank()) ||
               !llvm::all_of(*runs, [](int64_t run) { return llvm::isPowerOf2_64(run); })))
    return emitOpError("local_load_c2: `runs` is no power of two for each dimension");
  return verifySelectStage(*this, getBuffer().getType(), getType(), "local_load_c1");
}

LogicalResult LocalStoreOp::verify() {
  return verifySelectStage(*this, getBuffer().getType(), getValue().getType(), "local_store_c1");
}

LogicalResult RoundBufferOp::verify() {
  const BufferType type = getBuffer().getType();
  if (!type.getElementType().isF32() || type.getDepth() != 1)
    return emitOpError("round_buffer_c1: `buffer` is not one stage of fp32");
  return success();
}

/// Whether the buffer is contiguous along dimension `k`, or may have any order.
static bool liesAlong(int k, BufferType buffer) {
  return storageBits(buffer.getElementType()) == 16 || buffer.getSwizzle().getOrder()[0] == k;
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
  if (getMma().getKind() != MmaKind::Wgmma)
    return emitOpError("wgmma_c2: `mma` is of another family");
  if (lhs.size() != 2 || rhs.size() != 2 || lhs[1] != rhs[0] || acc[0] != lhs[0] ||
      acc[1] != rhs[1])
    return emitOpError("wgmma_c1: shapes do not match");
  auto left = dyn_cast<BufferType>(getLhs().getType());
  if ((left && !liesAlong(1, left)) || !liesAlong(0, getRhs().getType()))
    return emitOpError("wgmma_c3: a buffer of other than 16 bits does not lie along K");
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
  if (getPending().value_or(0) >= signedLimit)
    return emitOpError("wgmma_wait_c3: `pending` is negative");
  for (Value value : getValues()) {
    auto mma = value.getDefiningOp<AsyncMmaOpInterface>();
    const Value read = mma ? mma.getHeldRegisters() : Value();
    if (getPending() && read && mma->getBlock() == (*this)->getBlock() &&
        !llvm::is_contained(getHeld(), read))
      return emitOpError(
          "wgmma_wait_c2: registers that an MMA reads are not held until it is over");
  }
  return success();
}

LogicalResult PrefetchOp::verify() {
  return verifyMask(*this, cast<RankedTensorType>(getPtr().getType()), getMask(), "prefetch_c1");
}

LogicalResult ClusterGatherOp::verify() {
  if (getType().getRank() != 1)
    return emitOpError() << "cluster_gather_c1: the result is " << getType();
  return success();
}

LogicalResult StorePartialOp::verify() {
  return verifySum(*this, getValue().getType(), "store_partial_c1");
}
LogicalResult LoadPartialOp::verify() { return verifySum(*this, getType(), "load_partial_c1"); }

LogicalResult TensorMapOp::verify() {
  const size_t rank = getBox().size();
  constexpr size_t most = 5; // PTX ISA
  if (rank < 1 || rank > most || getExtents().getNumResults() != rank ||
      getStrides().getNumResults() + 1 != rank)
    return emitOpError() << "tensor_map_c1: a box of " << rank << " dimensions with "
                         << getExtents().getNumResults() << " extents and "
                         << getStrides().getNumResults() << " strides";
  if (!isSpan(getSpan()))
    return emitOpError() << "tensor_map_c2: a span of " << getSpan() << " bytes";
  const ArrayRef<int64_t> divisors = getDivisors().value_or(ArrayRef<int64_t>());
  const size_t multiples = getMultiples() ? getMultiples()->getNumResults() : 0;
  if (multiples != divisors.size() || llvm::any_of(divisors, [](int64_t by) { return by < 1; }))
    return emitOpError() << "tensor_map_c3: " << multiples << " multiples and " << divisors.size()
                         << " positive divisors";
  auto isStoreInBranch = [](Operation *user) {
    return isa<TmaStoreOp>(user) && isa<scf::IfOp>(user->getParentOp());
  };
  if (getMayBeEmpty() && (multiples == 0 || !llvm::all_of((*this)->getUsers(), isStoreInBranch)))
    return emitOpError("tensor_map_c4: nothing tells whether the map is empty where it is used");
  return success();
}

LogicalResult MbarrierInitOp::verify() {
  if (!getBarriers().getType().holdsMbarriers())
    return emitOpError() << "mbarrier_init_c1: " << getBarriers().getType()
                         << " has no pairs of barriers";
  if (!isPositive(getConsumers()))
    return emitOpError("mbarrier_init_c2: `consumers` is not positive");
  if (!isPositive(getArrivals()))
    return emitOpError("mbarrier_init_c2: `arrivals` is not positive");
  return success();
}

bool ProducerOp::isRunByWarp() { return containsOp<CopyAsyncOp>(*this); }

LogicalResult ProducerOp::verify() {
  Operation *around = (*this)->getParentOp();
  while (isa<scf::IfOp>(around))
    around = around->getParentOp();
  auto kernel = dyn_cast<func::FuncOp>(around);
  const bool mayBeInBranch = kernel && !kernel.getOps<ForkProducerOp>().empty();
  if (!kernel || (kernel != (*this)->getParentOp() && !mayBeInBranch))
    return emitOpError("producer_c1: it is not in the function itself");
  auto isRefused = [](Operation *op) {
    auto atomic = dyn_cast<AtomicRmwOp>(op);
    return isa<AtomicCasOp>(op) || (atomic && !atomic.isPlainPoll());
  };
  if (Operation *op = findOp(*this, isRefused))
    return op->emitOpError("producer_c2: it is no poll of a scalar whose result is unused");
  if (isRunByWarp() && containsOp<TmaLoadOp, AtomicRmwOp>(*this))
    return emitOpError("producer_c3: it copies by cp.async, and has operations of one thread");
  return success();
}

LogicalResult ForkProducerOp::verify() {
  if (!isa<func::FuncOp>((*this)->getParentOp()))
    return emitOpError("fork_producer_c1: it is not in the function itself");
  return success();
}

LogicalResult DismissProducerOp::verify() {
  if (!isa<scf::IfOp>((*this)->getParentOp()) ||
      !containsOp<ProducerOp>((*this)->getParentOfType<func::FuncOp>()))
    return emitOpError("dismiss_producer_c1: it is in no branch of a kernel with `nv.producer`");
  return success();
}

LogicalResult ExpectOp::verify() {
  if (static_cast<int32_t>(getBytes()) < 0)
    return emitOpError("expect_c2: `bytes` is negative");
  return verifyBarrier(*this, getBarrier().getType(), "expect_c1");
}

LogicalResult AcquireOp::verify() {
  return verifyBarrier(*this, getBarrier().getType(), "acquire_c1");
}

LogicalResult TmaLoadOp::verify() {
  return failure(failed(verifyCoordinates(*this, getMap(), getCoords().size(), "tma_load_c1")) ||
                 failed(verifyBarrier(*this, getBarrier().getType(), "tma_load_c2")));
}

LogicalResult TmaStoreOp::verify() {
  const RankedTensorType tile = getValue().getType();
  if (getFast() >= tile.getRank() || !isPositive(getPieces()))
    return emitOpError() << "tma_store_c2: " << static_cast<int32_t>(getPieces())
                         << " pieces with rows along dimension " << static_cast<int32_t>(getFast())
                         << " of " << tile;
  return failure(failed(verifyCoordinates(*this, getMap(), getCoords().size(), "tma_store_c1")) ||
                 (getAdds() && failed(verifyFp32(*this, tile, "tma_store_c3"))));
}

LogicalResult MbarrierWaitOp::verify() {
  return verifyBarrier(*this, getBarrier().getType(), "mbarrier_wait_c1");
}

LogicalResult ReleaseOp::verify() {
  return verifyBarrier(*this, getBarrier().getType(), "release_c1");
}
