//===- LayoutPlan.h - in which layouts each tile of a function is needed -----------===//
// Needs: a function without layouts, whose dots carry `mma`.
// Gives: for each tile its native layout, or that it has none; for each use the layout in which it
//        is wanted; for loop-carried and branch results without a native layout, all layouts in
//        which they are wanted. Changes nothing.
// How:   Forward, to a fixpoint: loads, dots, reductions and what is computed from their results
//        are *anchored* in one native layout. Constants, ranges, splats, broadcasts and what is
//        computed from these alone are *free*: they can be rematerialised in any layout. A
//        broadcast of an anchored value converts the small operand, not the large result.
//        Backward, with a worklist: every anchored operation and every store wants its operands in
//        some layout. A free operand requests the same of its own operands.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_PASSES_LAYOUT_LAYOUTPLAN_H
#define PANTILE_PASSES_LAYOUT_LAYOUTPLAN_H

#include "passes/layout/LayoutChoice.h"
#include "llvm/ADT/SetVector.h"

namespace pantile {

class LayoutPlan {
public:
  struct Options {
    bool inWarpStores, storesInPlace, computedOperands, computedLeft;
  };
  LayoutPlan(mlir::FunctionOpInterface function, const AxisInfoAnalysis &axes, Options options);

  /// The native layout; null for free tiles and scalars.
  LayoutAttr native(mlir::Value value) const { return anchorOf(value).layout; }
  /// A tile without a native layout.
  bool isFree(mlir::Value value) const;
  /// An operation that is rematerialised for each layout in which its results are wanted.
  bool isFree(mlir::Operation *op) const;

  /// The layout in which `load` accesses memory. If another one is native, the loaded tile is
  /// converted at once.
  LayoutAttr access(LoadOp load) const { return workLayout.lookup(load); }

  /// The instruction of `dot`, with the order of its rows.
  MmaAttr mmaOf(DotOp dot) const { return choice.mmaOf(dot); }
  /// The layout in which an operation that is not free wants a tile operand.
  LayoutAttr wanted(mlir::OpOperand &use) const;
  /// The layout that `use` of a free operation (or a widening cast) needs for the result to have
  /// layout `result`.
  static LayoutAttr wantedFor(mlir::OpOperand &use, LayoutAttr result);
  /// The layouts of a free result of scf.for or scf.if, in a fixed order.
  llvm::ArrayRef<LayoutAttr> versions(mlir::OpResult carried) const;

  /// A cast to wider elements. To convert its result it is better to convert its operand.
  static bool isWideningCast(mlir::Operation *op);
  /// Without effects, and each element of the result computed from those at the same index.
  static bool isPureElementwise(mlir::Operation *op);

private:
  /// Stronger anchors win where an operation combines tiles of two layouts.
  enum Strength { None, Fallback, Memory, Dot };
  struct Anchor {
    LayoutAttr layout;
    Strength strength = None;
    bool operator==(const Anchor &other) const = default;
  };

  // Forward.
  Anchor anchorOf(mlir::Value value) const;
  Anchor strongest(mlir::ValueRange values) const;
  Anchor orFallback(Anchor anchor, mlir::Type type) const;
  void anchor(mlir::Value value, Anchor to);
  void anchorBlock(mlir::Block &block);
  void anchorOp(mlir::Operation *op);
  void anchorFor(mlir::Operation *op);
  void anchorWhile(mlir::Operation *op);
  void anchorIf(mlir::Operation *op);
  void anchorMemory(mlir::Operation *op);
  void anchorReduction(mlir::Operation *op);
  void anchorShapeChange(mlir::Operation *op);
  void anchorPairs(mlir::Operation *op);
  void anchorGather(mlir::Operation *op);
  void anchorSlice(mlir::Operation *op);
  void anchorInsertion(mlir::Operation *op);
  void anchorExtract(mlir::Operation *op);
  void anchorTogether(mlir::Operation *op);
  void anchorOther(mlir::Operation *op);

  /// wanted() of an operation that takes a part of a tile or replaces one.
  LayoutAttr wantedByPart(mlir::OpOperand &use) const;

  // Small loads.
  void moveSmallLoads(mlir::FunctionOpInterface function);
  using Wishes = llvm::SmallSetVector<LayoutAttr, 4>;
  void collectWishes(LoadOp load, Wishes &wishes) const;
  bool collectWish(mlir::OpOperand &use, Wishes &wishes) const;
  bool canLoadIn(LoadOp load, const Wishes &wishes) const;

  // Operands that are computed from loaded tiles.
  struct Computation;
  std::optional<Computation> computationOf(mlir::OpOperand &operand, LayoutAttr layout) const;
  bool trace(mlir::OpOperand &use, LayoutAttr layout, Computation &found) const;
  void takeLoads(const Computation &found);
  int64_t cyclesOfLoaded(mlir::Value operand, LayoutAttr layout) const;
  int64_t cyclesOfLoads(const Computation &found) const;
  int64_t cyclesBefore(DotOp dot, unsigned index, const Computation &found) const;
  int64_t cyclesThroughBuffer(DotOp dot, const Computation &found) const;
  void computeInPlace(mlir::FunctionOpInterface function);
  void computeInPlace(DotOp dot, bool isAlone);
  void computeLeftInRegisters(DotOp dot, bool isAlone);

  void plan(mlir::FunctionOpInterface function);
  // Backward.
  void chooseStoreLayouts(mlir::FunctionOpInterface function);
  void demandAll(mlir::FunctionOpInterface function);
  void demandOperands(mlir::Operation *op);
  void demand(mlir::Value value, LayoutAttr layout);
  void demandCarried(mlir::OpResult carried, LayoutAttr layout);

  LayoutChoice choice;
  const Options options; ///< `storesInPlace`: dot results are stored in their own layout
  llvm::DenseMap<mlir::Value, Anchor> anchors;
  /// Loads that use their users' layout instead of their own.
  llvm::DenseMap<mlir::Operation *, LayoutAttr> moved;
  /// Loads whose tile is converted at once to this layout, in which a dot's operand is computed.
  llvm::DenseMap<mlir::Operation *, LayoutAttr> computed;
  /// Loads that are free: their users have several layouts, and each gets a load of its own.
  llvm::DenseSet<mlir::Operation *> repeated;
  /// The one layout of all tiles of an operation: stores, reductions, pairs.
  llvm::DenseMap<mlir::Operation *, LayoutAttr> workLayout;
  llvm::DenseMap<mlir::Value, llvm::SmallSetVector<LayoutAttr, 2>> carriedVersions;
  llvm::DenseSet<std::pair<mlir::Value, LayoutAttr>> demanded;
  bool changed = false;
};

} // namespace pantile

#endif // PANTILE_PASSES_LAYOUT_LAYOUTPLAN_H
