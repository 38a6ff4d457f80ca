//===- TestPlantError.cpp - make one deliberate mistake ----------------------------===//
// Needs: the IR after the pass that could make the mistake, see Pipeline.cpp; a kind of mistake,
//        and the number of the opportunity.
// Gives: the IR as if that pass had made the mistake there. Nothing else changes, and nothing at
//        all if there are fewer opportunities.
// How:   A kind is a function that makes the mistake in an operation where that is possible; a
//        trial only says whether it is. So passes have no code for mistakes.
//===-------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_TESTPLANTERROR
#include "passes/Passes.h.inc"
namespace {

/// Returns whether the mistake can be made in `op`, and makes it unless `trial`.
using Mistake = bool (*)(Operation *op, bool trial);

template <typename Op> bool drop(Operation *op, bool trial) {
  if (!isa<Op>(op))
    return false;
  if (!trial)
    op->erase();
  return true;
}

template <typename Op> bool waitLess(Operation *op, bool trial) {
  auto wait = dyn_cast<Op>(op);
  std::optional<uint32_t> pending;
  if (wait)
    pending = wait.getPending();
  if (pending && !trial)
    wait.setPending(*pending + 1);
  return pending.has_value();
}

template <typename Op> bool dropMask(Operation *op, bool trial) {
  auto access = dyn_cast<Op>(op);
  if (!access || !access.getMask())
    return false;
  if (!trial)
    access.getMaskMutable().clear();
  return true;
}

bool dropLoadMask(Operation *op, bool trial) {
  return dropMask<LoadOp>(op, trial) || dropMask<nv::CopyAsyncOp>(op, trial);
}

/// `i < n` of a tile becomes `i <= n`.
bool widenBound(Operation *op, bool trial) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || !isa<RankedTensorType>(compare.getType()))
    return false;
  const bool isSigned = compare.getPredicate() == arith::CmpIPredicate::slt;
  if (!isSigned && compare.getPredicate() != arith::CmpIPredicate::ult)
    return false;
  if (!trial)
    compare.setPredicate(isSigned ? arith::CmpIPredicate::sle : arith::CmpIPredicate::ule);
  return true;
}

/// The registers of `value`, as those of a tile with the layout of `type`: unlike others, the
/// operations between integers and addresses may have different layouts.
Value takeRegistersAs(OpBuilder &b, Value value, RankedTensorType type) {
  const Location loc = value.getLoc();
  auto from = cast<RankedTensorType>(value.getType());
  const Type integer = b.getIntegerType(elementTypeOf(type).getIntOrFloatBitWidth());
  auto address = PtrType::get(b.getContext(), b.getI8Type());
  if (!isa<IntegerType>(elementTypeOf(type)))
    value = arith::BitcastOp::create(b, loc, from.clone(integer), value);
  value = IntToPtrOp::create(b, loc, type.clone(address), value);
  value = PtrToIntOp::create(b, loc, type.clone(integer), value);
  return isa<IntegerType>(elementTypeOf(type))
             ? value
             : arith::BitcastOp::create(b, loc, type, value).getResult();
}

bool takeConversionAsFree(Operation *op, bool trial) {
  auto convert = dyn_cast<ConvertLayoutOp>(op);
  if (!convert || !elementTypeOf(convert.getType()).isIntOrFloat() ||
      layoutOf(convert.getType()).numRegs() != layoutOf(convert.getSrc().getType()).numRegs())
    return false;
  if (!trial) {
    OpBuilder b(op);
    auto type = cast<RankedTensorType>(convert.getType());
    convert.replaceAllUsesWith(takeRegistersAs(b, convert.getSrc(), type));
    op->erase();
  }
  return true;
}

/// Changes all channels whose stages are current in the loop `op`, if there are some that can be.
bool changeChannels(Operation *op, bool trial, llvm::function_ref<void(nv::ChannelOp)> change) {
  auto loop = dyn_cast<scf::ForOp>(op);
  llvm::SetVector<nv::ChannelOp> channels;
  if (loop)
    for (auto stage : loop.getBody()->getOps<nv::CurrentStageOp>())
      channels.insert(stage.getChannel().getDefiningOp<nv::ChannelOp>());
  auto isSpare = [](nv::ChannelOp each) {
    return each && each.getAhead() && *each.getAhead() < each.getType().getDepth();
  };
  if (channels.empty() || !llvm::all_of(channels, isSpare))
    return false;
  if (!trial)
    llvm::for_each(channels, change);
  return true;
}

bool dropStage(Operation *op, bool trial) {
  return changeChannels(op, trial, [](nv::ChannelOp channel) {
    channel.getBuffer().setType(channel.getType().withDepth(channel.getType().getDepth() - 1));
  });
}

bool prefetchFurther(Operation *op, bool trial) {
  return changeChannels(op, trial,
                        [](nv::ChannelOp channel) { channel.setAhead(*channel.getAhead() + 1); });
}

/// The last stage overlaps what comes after the buffer.
bool reserveOneStageLess(Operation *op, bool trial) {
  auto alloc = dyn_cast<nv::BufferOpInterface>(op);
  const unsigned depth = alloc ? alloc.getBuffer().getType().getDepth() : 0;
  if (depth < 2)
    return false;
  if (!trial)
    alloc.getBuffer().setType(alloc.getBuffer().getType().withDepth(depth - 1));
  return true;
}

/// A buffer begins where the one before it in the text begins.
bool overlapBuffers(Operation *op, bool trial) {
  auto alloc = dyn_cast<nv::BufferOpInterface>(op);
  Operation *other = op->getPrevNode();
  while (alloc && other && !isa<nv::BufferOpInterface>(other))
    other = other->getPrevNode();
  if (!alloc || !other || !alloc.getOffset() || !cast<nv::BufferOpInterface>(other).getOffset())
    return false;
  if (!trial)
    alloc.setOffset(cast<nv::BufferOpInterface>(other).getOffset());
  return true;
}

/// The scratch of an operation begins where shared memory does.
bool overlapScratch(Operation *op, bool trial) {
  auto offset = op->getAttrOfType<IntegerAttr>(names::scratch);
  if (!offset || offset.getInt() == 0)
    return false;
  if (!trial)
    op->setAttr(names::scratch, IntegerAttr::get(offset.getType(), 0));
  return true;
}

/// A stage is released before the wait for the MMAs that read it, so copies may overwrite it.
bool releaseBeforeWait(Operation *op, bool trial) {
  if (!isa<nv::ReleaseOp>(op))
    return false;
  Operation *wait = op->getPrevNode();
  while (wait && !isa<nv::MmaWaitOpInterface>(wait))
    wait = wait->getPrevNode();
  auto isAfter = [&](Operation *user) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    return ancestor && op->isBeforeInBlock(ancestor);
  };
  if (!wait || !llvm::all_of(wait->getUsers(), isAfter))
    return false;
  if (!trial)
    wait->moveAfter(op);
  return true;
}

/// `value + 1` instead of operand `index`.
void addOne(Operation *op, unsigned index) {
  OpBuilder b(op);
  Value one = arith::ConstantIntOp::create(b, op->getLoc(), 1, 32);
  op->setOperand(index, arith::AddIOp::create(b, op->getLoc(), op->getOperand(index), one));
}

template <typename Op> bool moveBox(Operation *op, bool trial) {
  auto copy = dyn_cast<Op>(op);
  if (copy && !trial)
    addOne(op, copy.getCoords().getBeginOperandIndex() + copy.getCoords().size() - 1);
  return bool(copy);
}

bool widenTensor(Operation *op, bool trial) {
  auto map = dyn_cast<nv::TensorMapOp>(op);
  if (!map)
    return false;
  if (!trial) {
    const AffineMap extents = map.getExtents();
    SmallVector<AffineExpr> results(extents.getResults());
    results.back() = results.back() + 1;
    map.setExtents(AffineMap::get(extents.getNumDims(), extents.getNumSymbols(), results,
                                  extents.getContext()));
  }
  return true;
}

bool flipParity(Operation *op, bool trial) {
  auto wait = dyn_cast<nv::MbarrierWaitOp>(op);
  if (wait && !trial) {
    OpBuilder b(op);
    Value one = arith::ConstantIntOp::create(b, op->getLoc(), 1, 32);
    wait.getParityMutable().assign(arith::XOrIOp::create(b, op->getLoc(), wait.getParity(), one));
  }
  return bool(wait);
}

struct Kind {
  StringLiteral name;
  Mistake mistake;
};

constexpr Kind kinds[] = {
    {"drop-barrier", drop<nv::BarrierOp>},
    {"drop-fence", drop<nv::FenceAsyncOp>},
    {"drop-release", drop<nv::ReleaseOp>},
    {"late-wait", waitLess<nv::WaitOp>},
    {"late-mma-wait", waitLess<nv::MmaWaitOpInterface>},
    {"drop-load-mask", dropLoadMask},
    {"drop-store-mask", dropMask<StoreOp>},
    {"wide-bound", widenBound},
    {"free-conversion", takeConversionAsFree},
    {"missing-stage", dropStage},
    {"far-prefetch", prefetchFurther},
    {"short-buffer", reserveOneStageLess},
    {"overlap-buffers", overlapBuffers},
    {"overlap-scratch", overlapScratch},
    {"early-release", releaseBeforeWait},
    {"moved-load", moveBox<nv::TmaLoadOp>},
    {"moved-store", moveBox<nv::TmaStoreOp>},
    {"wide-tensor", widenTensor},
    {"flipped-parity", flipParity},
};

struct TestPlantErrorPass : impl::TestPlantErrorBase<TestPlantErrorPass> {
  using TestPlantErrorBase::TestPlantErrorBase;

  void runOnOperation() override {
    const auto *found = llvm::find_if(kinds, [&](const Kind &known) { return known.name == kind; });
    if (found == std::end(kinds)) {
      getOperation().emitError("there is no mistake `") << kind.getValue() << "`";
      return signalPassFailure();
    }
    SmallVector<Operation *> opportunities;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op->getBlock() && found->mistake(op, /*trial=*/true))
        opportunities.push_back(op);
    });
    if (at < opportunities.size())
      found->mistake(opportunities[at], /*trial=*/false);
  }
};
} // namespace
} // namespace pantile
