//===- Translator.h - the walk from tile IR to instructions -------------------------------===//
// Needs: tile IR in which definitions come before uses.
// Gives: instructions in a CodeBuilder, one or a few per operation.
// How:   One visit of each operation; each value has a register. An operation with constant
//        operands runs in the setup code. Operations that only rename (reshape, expand_dims) use
//        their operand's register. The next value of a loop-carried value is written in place if
//        nothing reads the old one any longer. Combiners of reductions are translated once per
//        step, with scalars standing for `lanes` elements.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/CodeBuilder.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <map>
#include <optional>

namespace pantile {
class SourceManager;
}

namespace pantile::interp {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;
using mlir::Value;

/// Nothing for types that registers cannot hold.
std::optional<Elem> elemOf(mlir::Type type);

class Translator {
public:
  explicit Translator(const SourceManager *sources) : sources(sources) {}
  Result<std::unique_ptr<Code>> run(mlir::func::FuncOp kernel);

private:
  // Translate.cpp: the walk.
  LogicalResult visitArguments(mlir::func::FuncOp kernel);
  LogicalResult visitBlock(mlir::Block &block);
  LogicalResult visit(mlir::Operation *op);
  LogicalResult unsupported(mlir::Operation *op, StringRef what = "");
  uint32_t placeOf(mlir::Location loc);

  // Registers of values.
  Reg reg(Value value);
  void bind(Value value, Reg reg) { registers[value] = reg; }
  /// A new register for a result. Constant only if the value is not written in place.
  Reg define(Value result, bool constant = false);
  uint32_t countOf(mlir::Type type) const;
  uint64_t bytesOf(mlir::Type type) const;
  bool allConstant(mlir::ValueRange values);
  /// `lanes` copies of the scalar in `scalar`.
  Reg splat(Reg scalar, mlir::Type type, uint32_t count);
  void emitCopy(Reg dst, Reg src, uint64_t bytes);

  // TranslateElementwise.cpp: arith, math and the arithmetic of tile.
  std::optional<LogicalResult> visitElementwise(mlir::Operation *op);
  LogicalResult emitMap(mlir::Operation *op, Handler run, uint32_t extra = 0);
  LogicalResult visitConstant(Value result, mlir::Attribute value);
  LogicalResult visitSelect(mlir::Operation *op);
  LogicalResult visitClamp(mlir::Operation *op);
  LogicalResult visitExtended(mlir::Operation *op);
  LogicalResult visitIntPower(mlir::Operation *op);

  // TranslateExtern.cpp.
  LogicalResult visitExternCall(ExternCallOp op);

  // TranslateShape.cpp.
  std::optional<LogicalResult> visitShape(mlir::Operation *op);
  LogicalResult visitArange(ArangeOp op);
  LogicalResult visitSplat(SplatOp op);
  LogicalResult visitBroadcast(BroadcastOp op);
  LogicalResult visitTrans(TransOp op);
  LogicalResult visitJoin(JoinOp op);
  LogicalResult visitSplit(SplitOp op);
  LogicalResult visitDot(DotOp op);
  /// acc + lhs rhs, the types as those of tile.dot.
  LogicalResult emitDot(Value result, Reg lhs, Reg rhs, Reg acc,
                        std::array<mlir::ShapedType, 2> types, bool tf32);
  /// A tile of narrow floats as fp32.
  Reg widened(Reg tile, mlir::Type type);
  void emitStrided(Reg dst, Reg src, Elem elem, StridedCopy copy);
  Reg emitPermute(Reg src, Elem elem, uint32_t table, uint32_t count);

  // TranslateGather.cpp.
  std::optional<LogicalResult> visitSelection(mlir::Operation *op);
  LogicalResult visitGather(GatherOp op);
  LogicalResult visitExchange(ExchangeOp op);
  LogicalResult visitHistogram(HistogramOp op);
  LogicalResult visitSpecial(SpecialOp op);

  // TranslateSlice.cpp.
  std::optional<LogicalResult> visitSlice(mlir::Operation *op);
  LogicalResult visitExtractSlice(ExtractSliceOp op);
  LogicalResult visitInsertSlice(InsertSliceOp op);
  LogicalResult visitExtract(ExtractOp op);
  LogicalResult visitWrapIndex(WrapIndexOp op);

  // TranslateMap.cpp.
  LogicalResult visitMap(MapOp op);
  LogicalResult mapWhole(MapOp op);
  LogicalResult mapElements(MapOp op);
  /// Runs `body` for `iterations` times, on `pack` elements of each source at a time.
  LogicalResult loopOverElements(mlir::Block &block, ArrayRef<Reg> sources, ArrayRef<Reg> results,
                                 uint32_t pack, uint32_t iterations);
  Reg scalarConstant(uint32_t value);

  // TranslateMemory.cpp.
  std::optional<LogicalResult> visitMemory(mlir::Operation *op);
  LogicalResult visitLoad(LoadOp op);
  LogicalResult visitStore(StoreOp op);
  LogicalResult visitAtomicRmw(AtomicRmwOp op);
  LogicalResult visitAtomicPoll(AtomicRmwOp op);
  LogicalResult visitAtomicCas(AtomicCasOp op);
  LogicalResult visitPrint(PrintOp op);
  LogicalResult visitAssert(AssertOp op);
  Access accessOf(Value pointers);
  /// The kernel's argument that `pointers` is computed from on every path, or -1.
  int argumentOf(Value pointers);

  // TranslateControl.cpp.
  std::optional<LogicalResult> visitControl(mlir::Operation *op);
  LogicalResult visitFor(mlir::scf::ForOp op);
  LogicalResult visitWhile(mlir::scf::WhileOp op);
  LogicalResult visitIf(mlir::scf::IfOp op);
  SmallVector<Reg> defineAll(mlir::TypeRange types);
  /// Copies all values as if at once: a destination may be the source of another.
  void emitMoves(ArrayRef<Reg> dst, mlir::ValueRange src);
  void writeInPlace(mlir::scf::ForOp op, ArrayRef<Reg> carried);

  // TranslateBuffers.cpp: the `nv` dialect, operation by operation.
  struct Stage;
  std::optional<LogicalResult> visitBuffers(mlir::Operation *op);
  LogicalResult visitAlloc(nv::BufferOpInterface op);
  LogicalResult visitCopyAsync(nv::CopyAsyncOp op);
  LogicalResult visitWgmma(nv::WgmmaOp op);
  LogicalResult visitFma(nv::FmaOp op);
  Stage stageOf(Value buffer);
  Reg addressOf(Value buffer);
  Reg loadStage(Value buffer);
  void storeStage(Reg tile, Value buffer);
  Reg zeroTile(mlir::Type type);
  Reg transposed(Reg tile, ArrayRef<int64_t> shape, Elem elem);

  // TranslateTensors.cpp: tensor maps, mbarriers, and persistent kernels.
  std::optional<LogicalResult> visitTensors(mlir::Operation *op);
  std::optional<LogicalResult> visitBlocks(mlir::Operation *op);
  LogicalResult visitTensorMap(nv::TensorMapOp op);
  LogicalResult visitTmaLoad(nv::TmaLoadOp op);
  static uint32_t producerOf(mlir::Operation *op);
  LogicalResult visitTmaStore(nv::TmaStoreOp op);
  Reg wideConstant(int64_t value);
  Reg valueOf(mlir::AffineExpr expr, mlir::func::FuncOp kernel);
  Reg packed(ArrayRef<Reg> numbers, uint64_t bytes);
  TensorBox boxOf(nv::TensorMapOp map);

  // TranslateCombine.cpp.
  LogicalResult visitReduce(ReduceOp op);
  LogicalResult visitScan(ScanOp op);
  /// Runs the combiner on `count` elements at once and returns the registers of what it yields.
  mlir::FailureOr<SmallVector<Reg>> combine(mlir::Region &region, ArrayRef<Reg> left,
                                            ArrayRef<Reg> right, uint32_t count);
  LogicalResult visitCombinerIf(mlir::scf::IfOp op);
  uint32_t axisFirstTable(mlir::RankedTensorType type, int axis, bool inPairs, bool reversed);
  uint32_t inverseTable(uint32_t table);
  /// A tile of the rows of two.
  Reg joinRows(Reg first, uint32_t firstCount, Reg rest, uint32_t restCount, Elem elem);

  const SourceManager *sources;
  CodeBuilder builder;
  std::optional<Error> error;
  llvm::DenseMap<Value, Reg> registers;
  llvm::DenseMap<Value, Reg> inPlace; ///< results that are written over a loop-carried value
  llvm::DenseMap<mlir::Location, uint32_t> placeNumbers;
  llvm::DenseMap<Value, int> assumedArguments; ///< loop-carried values, while they are traced
  std::map<std::vector<int64_t>, uint32_t> permutations; ///< tables made so far, by their contents
  Reg shared;                       ///< shared memory, if buffers have offsets in it
  uint32_t lanes = 0;               ///< within a combiner: elements a scalar stands for
  mlir::Region *combiner = nullptr; ///< the combiner being translated
};

} // namespace pantile::interp
