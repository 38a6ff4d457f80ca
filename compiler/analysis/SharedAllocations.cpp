//===- SharedAllocations.cpp - see SharedAllocations.h -------------------------------------===//
#include "analysis/SharedAllocations.h"
#include "analysis/CtasPerSm.h"
#include "analysis/Scratch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/MachineModel.h"
#include <limits>

using namespace mlir;

namespace pantile {
namespace {

using Numbers = llvm::DenseMap<Operation *, int>;

Numbers inProgramOrder(ModuleOp module) {
  Numbers number;
  module.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { number.insert({op, static_cast<int>(number.size())}); });
  return number;
}

/// The outermost loop around `op`, or itself.
int firstOf(Operation *op, const Numbers &number) {
  int first = number.at(op);
  for (; !isa<func::FuncOp>(op); op = op->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(op))
      first = number.at(op);
  return first;
}

/// TMA writes boxes at multiples of 128 bytes, also where no swizzle needs that.
int64_t alignmentOf(nv::BufferOpInterface alloc) {
  const int64_t ofLayout = sharedLayoutOf(alloc.getBuffer().getType()).alignment();
  auto channel = dyn_cast<nv::ChannelOp>(*alloc);
  const bool isFilled = channel && channel.getVia() == nv::Transport::Tma;
  return isFilled ? std::max(ofLayout, InstructionSet::lineBytes) : ofLayout;
}

SharedAllocation allocationOf(nv::BufferOpInterface alloc, const Numbers &number) {
  const nv::BufferType type = alloc.getBuffer().getType();
  int end = number.at(&alloc->getBlock()->back());
  for (Operation *user : alloc->getUsers())
    if (isa<nv::DeallocOp>(user))
      end = number.at(user);
  return {alloc, bufferBytes(type), alignmentOf(alloc), number.at(alloc), end};
}

SharedAllocation scratchOf(Operation *op, const Numbers &number) {
  const bool stays = isa<nv::TmaStoreOp, nv::ClusterGatherOp>(op);
  const int at = number.at(op);
  SharedAllocation allocation{op, scratchBytes(op), scratchAlignment(op),
                              stays ? firstOf(op, number) : at,
                              stays ? std::numeric_limits<int>::max() : at};
  if (isa<nv::ProducerOp>(op)) // nv.dismiss_producer in other branches writes there, too
    allocation.liveThroughout();
  return allocation;
}

SharedAllocation scratchOfTmaStore(Operation *store, int64_t bytes, const Numbers &number) {
  return {store, bytes, InstructionSet::boxAlignment, firstOf(store, number),
          std::numeric_limits<int>::max()};
}

std::vector<SharedAllocation> collect(ModuleOp module, const Numbers &number) {
  std::vector<SharedAllocation> all;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto alloc = dyn_cast<nv::BufferOpInterface>(op))
      all.push_back(allocationOf(alloc, number));
    else if (SharedAllocation scratch = scratchOf(op, number); scratch.bytes > 0)
      all.push_back(scratch);
  });
  return all;
}

void sortBySize(std::vector<SharedAllocation> &all) {
  llvm::stable_sort(all, [](auto &a, auto &b) { return a.bytes > b.bytes; });
}

/// The lowest aligned offset where `next` meets none of `allocated`.
int64_t lowestFree(const SharedAllocation &next, ArrayRef<SharedAllocation> allocated) {
  SmallVector<const SharedAllocation *> neighbours;
  for (const SharedAllocation &other : allocated)
    if (next.interferes(other))
      neighbours.push_back(&other);
  llvm::sort(neighbours, [](auto *a, auto *b) { return a->offset < b->offset; });
  int64_t offset = 0;
  for (const SharedAllocation *other : neighbours) {
    if (offset + next.bytes <= other->offset)
      break;
    offset = std::max(
        offset, static_cast<int64_t>(llvm::alignTo(other->offset + other->bytes, next.alignment)));
  }
  return offset;
}

} // namespace

void SharedAllocation::liveThroughout() { begin = 0, end = std::numeric_limits<int>::max(); }

std::vector<SharedAllocation> sharedAllocations(ModuleOp module) {
  std::vector<SharedAllocation> all = collect(module, inProgramOrder(module));
  sortBySize(all);
  return all;
}

int64_t placeAll(MutableArrayRef<SharedAllocation> all) {
  int64_t total = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].offset = lowestFree(all[i], all.take_front(i));
    total = std::max(total, all[i].offset + all[i].bytes);
  }
  return total;
}

int64_t sharedBytesWith(ModuleOp module, const SharedChange &change) {
  const Numbers number = inProgramOrder(module);
  std::vector<SharedAllocation> all = collect(module, number);
  if (change.isGone)
    llvm::erase_if(
        all, [&](const SharedAllocation &allocation) { return change.isGone(allocation.op); });
  for (SharedAllocation &allocation : all)
    if (const auto found = change.stages.find(allocation.op); found != change.stages.end()) {
      auto loop = allocation.op->getParentOfType<scf::ForOp>();
      allocation.bytes *= found->second;
      allocation.begin = number.at(loop);
      allocation.end = number.at(loop.getBody()->getTerminator());
    }
  for (SharedAllocation &allocation : all)
    if (Operation *last = change.liveUntil.lookup(allocation.op))
      allocation.end = std::max(allocation.end, number.at(last));
  for (auto [store, bytes] : change.tmaStores)
    all.push_back(scratchOfTmaStore(store, bytes, number));
  sortBySize(all);
  return placeAll(all);
}

} // namespace pantile
