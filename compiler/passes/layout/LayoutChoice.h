//===- LayoutChoice.h - the layout that an operation itself would choose ------===//
// Needs: shapes, facts about pointers, and the `mma` that SelectMma put on dots.
// Gives: layouts of memory accesses, of dots and of their operands, and one for anything else.
// How:   memory accesses put their contiguous dimension first: vectors in a thread, neighbouring
//        vectors in neighbouring lanes, warps on the slowest dimension, so that a reduction along
//        a row stays inside a warp. Accesses of one shape and order share one vector length, so
//        that what was loaded together can be combined without a conversion: the longest by which
//        lanes lie side by side also where elements are widest. Rows that
//        come from one address, as those of packed numbers do, lie in one thread, which loads once.
//===--------------------------------------------------------------------------===//
#ifndef PANTILE_PASSES_LAYOUT_LAYOUTCHOICE_H
#define PANTILE_PASSES_LAYOUT_LAYOUTCHOICE_H

#include "analysis/AxisInfo.h"
#include "ir/Machine.h"
#include "ir/Tile.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <map>

namespace pantile {

class LayoutChoice {
public:
  /// `inWarpStores`: accessInWarps may have something to offer.
  LayoutChoice(mlir::FunctionOpInterface function, const AxisInfoAnalysis &axes, bool inWarpStores);

  /// For a tile that no operation has an opinion on.
  LayoutAttr fallback(mlir::Type type) const;
  /// For reading or writing through the tile `ptr`; `mask` may be null.
  LayoutAttr access(mlir::Value ptr, mlir::Value mask) const;
  /// For writing what `from`, of a dot, holds, each warp its own part; null where that reaches
  /// memory badly.
  LayoutAttr accessInWarps(LayoutAttr from, mlir::Value ptr, mlir::Value mask) const;
  /// Whether memory is reached through `layout` about as well as through access()'s.
  bool accessesWell(LayoutAttr layout, mlir::Value ptr, mlir::Value mask) const;
  /// Instructions of each thread to reach all of `ptr` in `layout`.
  int64_t accesses(LayoutAttr layout, mlir::Value ptr, mlir::Value mask) const;
  bool isVectorAccess(mlir::Value ptr, mlir::Value mask) const { return wish(ptr, mask).width > 1; }
  /// Whether no two neighbours are known to be neighbours in memory.
  bool isStrided(mlir::Value ptr) const;

  LayoutAttr dotResult(DotOp dot) const;
  /// Operand 0 or 1 of a dot on mma.sync; null for wgmma and fma, which read shared memory.
  LayoutAttr dotOperand(DotOp dot, unsigned index) const;

private:
  using Order = llvm::SmallVector<int, 4>;
  using Extents = llvm::SmallVector<int64_t, 4>;
  struct Wish {
    Order order;
    int64_t width;   // elements
    Extents repeats; // neighbours along each dimension at one address
  };
  using Group = std::pair<std::vector<int64_t>, std::vector<int>>; // shape, order

  Wish wish(mlir::Value ptr, mlir::Value mask) const;
  bool isCopiedAhead(LoadOp load) const;
  /// A dot may be shared out over fewer warps than there are.
  LayoutAttr forAllWarps(const LinearLayout &ofDot) const;
  /// Whether neighbours along the last dimension of `operand` are neighbours in memory, as far as is
  /// known.
  bool isRowMajor(mlir::Value operand) const;
  Fp64Order fp64Order(DotOp dot) const;
  Group groupOf(mlir::Value ptr, const Wish &wish) const;
  void join(mlir::Operation *op, bool inLoop);
  void join(mlir::Value ptr, mlir::Value mask, bool inLoop);
  LayoutAttr spread(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order, int64_t width,
                    llvm::ArrayRef<int64_t> repeats = {}) const;
  /// What threads fill of a tile before they begin again: a shape of powers of two, by a power of two
  /// of warps; of each of `odd` parts of the tile along dimension `dim`.
  struct Fill {
    Extents shape;
    int64_t warps;
    int64_t odd = 1;
    int dim = 0;
  };
  llvm::SmallVector<Fill> fillsOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order) const;
  /// Of a tile of shape `whole`.
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
  llvm::DenseSet<mlir::Value> operands; ///< pointers of what products or buffers take
  /// Of dots of fp64, as their operands were: these are replaced one after the other.
  llvm::DenseMap<mlir::Operation *, Fp64Order> fp64Orders;
};

} // namespace pantile

#endif // PANTILE_PASSES_LAYOUT_LAYOUTCHOICE_H
