//===- LayoutChoice.h - the layout that an operation itself would choose -----------===//
// Needs: shapes, AxisInfo of pointers, and the `mma` that SelectMma put on dots.
// Gives: layouts of memory accesses, of dots and their operands, and one for anything else.
// How:   Memory accesses put their contiguous dimension first: vectors in a thread, adjacent
//        vectors in adjacent lanes, warps along the slowest dimension, so that a reduction along a
//        row stays in a warp. All accesses of one shape and order have one vector length, so that
//        tiles that are loaded can be combined without a conversion. It is the longest for which
//        accesses of the widest elements stay coalesced. Rows that repeat one address, as those of
//        packed numbers do, are held by one thread, which loads the address once.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_PASSES_LAYOUT_LAYOUTCHOICE_H
#define PANTILE_PASSES_LAYOUT_LAYOUTCHOICE_H

#include "analysis/AxisInfo.h"
#include "ir/Machine.h"
#include "ir/Tile.h"
#include "layout/SharedLayout.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <map>
#include <set>

namespace pantile {

class LayoutChoice {
public:
  /// `inWarpStores`: accessInWarps may return a layout.
  LayoutChoice(mlir::FunctionOpInterface function, const AxisInfoAnalysis &axes, bool inWarpStores);

  /// For a tile whose layout no operation decides.
  LayoutAttr fallback(mlir::Type type) const;
  /// For reading or writing through the tile `ptr`; `mask` may be null. `reads`: no element is
  /// written, so those of one address may be one access.
  LayoutAttr access(mlir::Value ptr, mlir::Value mask, bool reads = false) const;
  /// For a store of a dot's result, which has layout `from`, in which each warp stores its own
  /// elements; null where that would access memory badly.
  LayoutAttr accessInWarps(LayoutAttr from, mlir::Value ptr, mlir::Value mask) const;
  /// Whether `layout` is about as good for the access as that of access().
  bool accessesWell(LayoutAttr layout, mlir::Value ptr, mlir::Value mask) const;
  /// Access instructions per thread for all of `ptr` in `layout`.
  int64_t accesses(LayoutAttr layout, mlir::Value ptr, mlir::Value mask) const;
  bool isVectorAccess(mlir::Value ptr, mlir::Value mask) const { return wish(ptr, mask).width > 1; }
  /// Whether to store from `layout` takes no more instructions than to go through shared memory to that
  /// of access(), and writes whole sectors of memory.
  bool storesDirectly(LayoutAttr layout, mlir::Value ptr, mlir::Value mask) const;
  /// Whether no two elements are known to be contiguous in memory.
  bool isStrided(mlir::Value ptr) const;

  LayoutAttr dotResult(DotOp dot) const;
  /// Operand 0 or 1 of a dot on mma.sync, or operand 0 of one on wgmma that reads it from registers;
  /// null for others, which are read from shared memory.
  LayoutAttr dotOperand(DotOp dot, unsigned index) const;
  /// The order of the fragments of a dot on mma.sync, for dotResult and dotOperand.
  FragmentOrder orderOf(DotOp dot) const { return orders.lookup(dot); }
  void setOrder(DotOp dot, FragmentOrder order) { orders[dot] = order; }
  /// Lets a dot on wgmma read its left operand from registers, where so many rows of a thread are
  /// adjacent.
  void readLeftFromRegisters(DotOp dot, unsigned rows) { leftInRegisters[dot] = rows; }
  /// The instruction of `dot`, with the rows that are adjacent.
  MmaAttr mmaOf(DotOp dot) const;

  /// Whether a buffer from which any layout can be read may hold the loaded tile: a loop with dots
  /// loads it, and no rows repeat one address.
  bool isPrefetchCandidate(LoadOp load) const;
  /// The buffer that an asynchronous copy of the loaded tile goes to.
  SharedLayout bufferOf(LoadOp load) const;

private:
  using Order = llvm::SmallVector<int, 4>;
  using Extents = llvm::SmallVector<int64_t, 4>;
  struct Wish {
    Order order;
    int64_t width;   // elements
    Extents repeats; // adjacent elements along each dimension with one address
  };
  using Group = std::pair<std::vector<int64_t>, std::vector<int>>; // shape, order

  Wish wish(mlir::Value ptr, mlir::Value mask) const;
  /// Adjacent elements along `dim` that one access takes. It has a tail of single ones where its mask
  /// ends (widthWithTail), unless another access of its group takes single elements anyway: then both
  /// are in one layout.
  int64_t widthOf(mlir::Value ptr, mlir::Value mask, int dim) const;
  /// Whether a thread may as well hold `width` adjacent elements that it reads one by one.
  bool readsSinglyAsWell(mlir::Value ptr, const Wish &wish, int64_t width) const;
  /// `ofDot` for all warps: a dot may use fewer of them.
  LayoutAttr forAllWarps(const LinearLayout &ofDot) const;
  /// Whether elements along the last dimension of `operand` are contiguous in memory, as far as is
  /// known.
  bool isRowMajor(mlir::Value operand) const;
  Fp64Order fp64Order(DotOp dot) const;
  /// Bytes of a run that a warp reaches by one access, of a sector at most.
  int64_t runBytes(const LinearLayout &layout, mlir::Value ptr, mlir::Value mask) const;
  Order memoryOrder(mlir::Value ptr) const;
  Group groupOf(mlir::Value ptr) const;
  void noteSingles(mlir::Operation *op);
  void join(mlir::Operation *op, bool inLoop);
  void join(mlir::Value ptr, mlir::Value mask, bool inLoop);
  LayoutAttr spread(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order, int64_t width,
                    llvm::ArrayRef<int64_t> repeats = {}) const;
  /// The part of a tile over which the threads are distributed once: a shape of powers of two, held
  /// by a power of two of warps. With `odd` it is the same in each of `odd` parts along dimension
  /// `dim`.
  struct Fill {
    Extents shape;
    int64_t warps;
    int64_t odd = 1;
    int dim = 0;
  };
  llvm::SmallVector<Fill> fillsOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order) const;
  /// The layout of a tile of shape `whole` with this fill.
  LinearLayout spreadOver(const Fill &fill, llvm::ArrayRef<int64_t> whole,
                          llvm::ArrayRef<int> order, int64_t width,
                          llvm::ArrayRef<int64_t> repeats) const;

  mlir::MLIRContext *context;
  const AxisInfoAnalysis &axes;
  const MachineModel &machine;
  int64_t numWarps;
  bool storesInWarps;
  /// What the accesses of a group have in common: the longest vector, of the widest elements of
  /// those that take vectors, in loops where any are, and the most repeats.
  struct Shared {
    int64_t width = 1, elementBytes = 1;
    bool inLoop = false;
    Extents repeats;
  };
  std::map<Group, Shared> groups;
  std::set<Group> singles;              ///< with an access of single elements
  llvm::DenseSet<mlir::Value> operands; ///< pointers of loads that go to dots or buffers
  llvm::DenseMap<mlir::Operation *, FragmentOrder> orders;     ///< of dots on mma.sync
  llvm::DenseMap<mlir::Operation *, unsigned> leftInRegisters; ///< adjacent rows, of dots on wgmma
  /// Of fp64 dots, computed before their operands are replaced.
  llvm::DenseMap<mlir::Operation *, Fp64Order> fp64Orders;
};

} // namespace pantile

#endif // PANTILE_PASSES_LAYOUT_LAYOUTCHOICE_H
