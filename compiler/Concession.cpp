//===- Concession.cpp - see Concession.h --------------------------------------------------===//
#include "Concession.h"
#include "analysis/BufferReaders.h"
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {
namespace {

/// Whether `op` reads an operand that was loaded outside of loops, or of the loop around `op`, from a
/// buffer of its own.
bool readsOperandBuffer(mlir::Operation *op) {
  auto read = mlir::dyn_cast<nv::LocalLoadOp>(op);
  if (!read || !mlir::isa<mlir::scf::ForOp>(op->getParentOp()))
    return read != nullptr;
  mlir::Operation *buffer = viewedBuffer(read.getBuffer()).getDefiningOp();
  return mlir::isa_and_nonnull<nv::AllocOp>(buffer) && buffer->getBlock() != op->getBlock();
}

/// Whether `op` is an asynchronous MMA of elements of so many bits.
template <unsigned bits> bool isMmaOf(mlir::Operation *op) {
  auto mma = mlir::dyn_cast<nv::AsyncMmaOpInterface>(op);
  return mma && storageBits(mma.getRhs().getType().getElementType()) == bits;
}
} // namespace

std::vector<Concession> concessionsOf(mlir::ModuleOp module, bool isPersistent) {
  auto has = [&](auto isIt) {
    return module
        .walk([&](mlir::Operation *op) {
          return isIt(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
        })
        .wasInterrupted();
  };
  return {
      {"TMA does no stores: what they go through does not fit into shared memory",
       Technique::TensorMaps, &Concessions::tmaStores, has(llvm::IsaPred<nv::TmaStoreOp>)},
      {"the kernel is not persistent: the stages of one program and the scratch of another do "
       "not fit into shared memory",
       Technique::Persistence, &Concessions::persistence, isPersistent},
      {"warps are not specialised: their circular buffers do not fit into shared memory",
       Technique::WarpSpecialisation, &Concessions::producer, has(llvm::IsaPred<nv::ProducerOp>)},
      {"operands that are loaded outside of loops have no buffers of their own: they do not fit "
       "into shared memory",
       Technique::Pipelining, &Concessions::operandBuffers, has(readsOperandBuffer)},
      {"loads are prefetched one iteration less ahead: the buffers of all stages do not fit into "
       "shared memory",
       Technique::Pipelining, &Concessions::lastStage, true},
      {"bytes along columns are not prefetched: two buffers for them do not fit into "
       "shared memory",
       Technique::Pipelining, &Concessions::turnedBytes, has(isMmaOf<8>)},
      {"dots of fp32 do not run on wgmma: what it reads does not fit into shared memory",
       Technique::TensorCores, &Concessions::fp32OnWgmma, has(isMmaOf<32>)},
      {"results of dots are stored in the accumulator's layout: scratch for another layout does "
       "not fit into shared memory",
       Technique::GlobalMemory, &Concessions::resultBuffers, true}};
}

} // namespace pantile
