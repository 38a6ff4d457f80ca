//===- ScalarRegion.cpp - see ScalarRegion.h --------------------------------------------===//
#include "frontend/ScalarRegion.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace pantile;

namespace {
bool isTile(mlir::Type type) { return mlir::isa<mlir::RankedTensorType>(type); }

std::string complaintAbout(mlir::Operation *op) {
  if (llvm::any_of(op->getResultTypes(), isTile) || llvm::any_of(op->getOperandTypes(), isTile))
    return "works on single elements, and makes a tile";
  if (mlir::isa<StoreOp>(op))
    return "cannot store";
  if (mlir::isa<AtomicRmwOp, AtomicCasOp>(op))
    return "cannot do atomics";
  if (mlir::isa<BarrierOp, PrintOp>(op))
    return "cannot print or wait";
  return "";
}

/// A tile may have been made for its type alone, as in `promote_to_tensor(x).dtype`.
void eraseUnused(mlir::Region &region) {
  for (mlir::Block &block : region)
    for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      for (mlir::Region &inner : op.getRegions())
        eraseUnused(inner);
      if (mlir::isOpTriviallyDead(&op))
        op.erase();
    }
}
} // namespace

bool pantile::worksOnScalars(Emitter &e, mlir::Region &region, SourceSpan span,
                             llvm::StringRef what) {
  eraseUnused(region);
  std::string complaint;
  region.walk([&](mlir::Operation *op) {
    complaint = complaintAbout(op);
    return complaint.empty() ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
  if (!complaint.empty())
    e.error(span, "the function of `" + what.str() + "` " + complaint);
  return complaint.empty();
}
