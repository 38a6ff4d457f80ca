//===- SelectMma.cpp - choose the instruction of each dot ---------------------===//
// Needs: tile IR; the module names its target and number of warps.
// Gives: every tile.dot has `mma`: wgmma, mma.sync or fma, the shape of one instruction, and the
//        division of the result among warps. A dot that is left to scalar FMA gets a remark with
//        the reason. fp8 operands that no instruction multiplies are widened to fp16.
// How:   try wgmma, mma.sync and FMA in this order; each either fits or says why not. Warps go to M
//        first for wgmma, and where the result of one dot is the left operand of the next, so that
//        fragments stay in their threads. Otherwise the part of each warp is as square as possible,
//        which minimises shared-memory reads. wgmma reads fp32 from shared memory contiguous along
//        K alone, and A also from registers. So A in another order goes through registers, and B in
//        another order becomes the A of the transposed dot, C^T = B^T A^T. So does a B of 16 bits
//        that a loop computes from what it loads: A may stay in registers. A number of rows that
//        does not fill warp groups, such as 80, also takes the transposed dot, if a loop
//        accumulates (tryWgmmaInOrder).
//===--------------------------------------------------------------------------===//
#include "analysis/OperandOrder.h"
#include "ir/FindOps.h"
#include "ir/Remarks.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"
#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <variant>

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SELECTMMA
#include "passes/Passes.h.inc"

namespace {

/// An instruction, or why there is none.
using Choice = std::variant<MmaAttr, const char *>;

struct DotShape {
  int64_t m, n, k;
  Type operand, accumulator;
  bool isMatrix, isSplitIntoBf16;

  explicit DotShape(DotOp dot) {
    auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
    auto acc = cast<RankedTensorType>(dot.getAcc().getType());
    const int64_t rank = acc.getRank();
    m = acc.getDimSize(rank - 2);
    n = acc.getDimSize(rank - 1);
    k = lhs.getDimSize(rank - 1);
    operand = lhs.getElementType();
    accumulator = acc.getElementType();
    isMatrix = rank == 2;
    isSplitIntoBf16 = operand.isF32() && (dot.getPrecision() == Precision::Bf16x3 ||
                                          dot.getPrecision() == Precision::Bf16x6);
  }

  bool fillsHull() const {
    return llvm::isPowerOf2_64(m) && llvm::isPowerOf2_64(n) && llvm::isPowerOf2_64(k);
  }
  bool isFp8() const { return isa<FloatType>(operand) && storageBits(operand) == 8; }
  /// Whether tensor cores have an MMA with these operand and accumulator types.
  bool isNative() const {
    if (operand.isF16())
      return accumulator.isF32() || accumulator.isF16();
    if (operand.isInteger(8))
      return accumulator.isInteger(32);
    if (operand.isF64())
      return accumulator.isF64();
    return (operand.isBF16() || operand.isF32() || isFp8()) && accumulator.isF32();
  }
  /// K of one instruction, wgmma or mma.sync, with operands of this width. fp32 that is split into
  /// bf16 counts as bf16.
  int64_t depth() const { return 256 / (isSplitIntoBf16 ? 16 : storageBits(operand)); }
};

struct Warps {
  int64_t m, n;
};

/// The split of rows or columns by the odd factor of the number of warps, into parts that are
/// powers of two, and the warps of each part. If there is no such split, the largest power of two
/// of warps works, and the other warps are replicas.
struct OddParts {
  int64_t m = 1, n = 1, warps;

  OddParts(const DotShape &s, int64_t numWarps, int64_t minM, int64_t minN) {
    const int64_t powerOf2 = numWarps & -numWarps, odd = numWarps / powerOf2;
    auto hasParts = [&](int64_t extent, int64_t least) {
      return odd > 1 && extent % odd == 0 && llvm::isPowerOf2_64(extent / odd) &&
             extent / odd >= least;
    };
    if (hasParts(s.m, minM))
      m = odd;
    else if (hasParts(s.n, minN))
      n = odd;
    warps = m * n > 1 ? powerOf2 : int64_t(llvm::bit_floor(uint64_t(numWarps)));
  }
  DotShape partOf(DotShape shape) const {
    shape.m /= m, shape.n /= n;
    return shape;
  }
  Warps all(Warps ofPart) const { return {m * ofPart.m, n * ofPart.n}; }
};

/// Chained dots: those whose left operand is computed elementwise from the result of a dot, and
/// that dot.
class ChainedDots {
public:
  explicit ChainedDots(ModuleOp module) {
    module.walk([&](DotOp dot) {
      if (DotOp source = sourceDot(dot.getLhs())) {
        chained.insert(dot);
        chained.insert(source);
      }
    });
  }
  bool contains(DotOp dot) const { return chained.contains(dot); }

private:
  static DotOp sourceDot(Value value, int depth = 8) {
    Operation *op = value.getDefiningOp();
    if (!op || depth == 0)
      return nullptr;
    if (auto dot = dyn_cast<DotOp>(op))
      return dot;
    if (!op->hasTrait<OpTrait::Elementwise>())
      return nullptr;
    for (Value operand : op->getOperands())
      if (DotOp dot = sourceDot(operand, depth - 1))
        return dot;
    return nullptr;
  }

  llvm::DenseSet<Operation *> chained;
};

/// How the columns are divided among warp groups and wgmma instructions.
struct ColumnSplit {
  int64_t instrN;
  int64_t run = 0; ///< as of MmaAttr
};

/// Splits a power of two of columns: each warp group has consecutive columns, and so has each
/// instruction.
std::variant<ColumnSplit, const char *> splitWholeColumns(int64_t n, int64_t groups) {
  if (n % (16 * groups) != 0)
    return "each warp group needs columns in multiples of 16";
  return ColumnSplit{std::min(n / groups, InstructionSet::wgmmaColumns)};
}

/// Splits other numbers of columns. They belong to one instruction, or are interleaved over the
/// instructions, since the stride between warp groups is a power of two: in runs of 8 columns, or,
/// if the right operand is contiguous along N, in runs of one panel in shared memory, the only
/// stride that a descriptor has.
std::variant<ColumnSplit, const char *> splitColumns(const DotShape &s, int64_t groups,
                                                     OperandOrder right) {
  const unsigned bits = storageBits(s.operand);
  const int64_t unit = s.operand.isInteger(8) ? 16 : 8; // PTX ISA, wgmma: N of integers
  int64_t instructions = groups;
  while (s.n > instructions * InstructionSet::wgmmaColumns)
    instructions *= 2;
  if (s.n % (instructions * unit) != 0)
    return "the columns cannot be divided evenly among the warp groups, in multiples of 8, or "
           "16 of int8";
  const int64_t instrN = s.n / instructions;
  if (right != OperandOrder::AcrossK || bits != 16) // 16 bits alone are read along N
    return ColumnSplit{instrN, instructions > 1 ? 8 : 0};
  for (int64_t bytes = InstructionSet::lineBytes; bytes >= InstructionSet::sectorBytes; bytes /= 2)
    if (const int64_t columns = bytes * 8 / bits; instrN % columns == 0)
      return ColumnSplit{instrN, instructions > 1 ? columns : 0};
  return "rows of the right operand, which is contiguous along N, fill no swizzle of each warp "
         "group's columns";
}

/// The columns of one instruction such that its accumulator fits the registers at launch with a
/// producer as well: three warp groups have 168 per thread without one, and 128 with one until
/// setmaxnreg. All columns if the whole accumulator does not fit without a producer either: fewer
/// would not help.
int64_t columnsWithProducer(int64_t columns, const DotShape &part, int64_t warpsOfPart,
                            int64_t numWarps, const MachineModel &machine) {
  const int64_t bits = storageBits(part.accumulator), extra = machine.registers.overheadOfMma;
  auto most = [&](int64_t warps) {
    return machine.registersOfThread(InstructionSet::warpThreads * warps) - extra;
  };
  const int64_t all = part.m * part.n * bits / 32 / (InstructionSet::warpThreads * warpsOfPart);
  const int64_t withProducer = llvm::alignTo(numWarps + 1, InstructionSet::warpsOfGroup);
  while (all <= most(numWarps) && columns * bits / 64 > most(withProducer) && columns % 32 == 0)
    columns /= 2;
  return columns;
}

Choice tryWgmma(DotOp dot, const DotShape &s, const Target &target, int64_t numWarps,
                OperandOrder right) {
  if (!target.hasWgmma())
    return "the target has no wgmma";
  if (numWarps % 4 != 0)
    return "wgmma needs warp groups of 4 warps";
  if (!s.isMatrix || !s.isNative() || s.operand.isF64() ||
      (s.operand.isF32() && dot.getPrecision() != Precision::Tf32))
    return "wgmma multiplies matrices of fp16, bf16, tf32, fp8 or int8 here";
  if (s.m % 64 != 0 || s.k % s.depth() != 0)
    return "wgmma needs M in multiples of 64 and K in multiples of 32 bytes";
  const OddParts parts(s, numWarps, 64, 16);
  const DotShape part = parts.partOf(s);
  const int64_t groups = parts.warps / 4, rows = part.m / 64;
  const int64_t groupsM = std::min(groups, llvm::isPowerOf2_64(rows) ? rows : rows & -rows);
  const int64_t groupsN = groups / groupsM;
  const auto split = llvm::isPowerOf2_64(part.n) ? splitWholeColumns(part.n, groupsN)
                                                 : splitColumns(part, groupsN, right);
  if (auto *reason = std::get_if<const char *>(&split))
    return *reason;
  auto [instrN, run] = std::get<ColumnSplit>(split);
  if (!run && !llvm::isPowerOf2_64(numWarps))
    instrN = columnsWithProducer(instrN, part, parts.warps, numWarps, target.machine());
  const int64_t accumulatorRegisters = instrN * storageBits(s.accumulator) / 64;
  const MachineModel &machine = target.machine();
  if (accumulatorRegisters + machine.registers.overheadOfMma >
      machine.registersOfThread(InstructionSet::warpThreads * numWarps))
    return "the accumulator of one instruction leaves a thread too few registers";
  const Warps warps = parts.all({groupsM * 4, groupsN});
  return MmaAttr::get(dot.getContext(), MmaKind::Wgmma, 64, instrN, s.depth(), warps.m, warps.n,
                      run);
}

/// Divides numWarps between M and N; the part of a warp stays at least one instruction if it can.
Warps squareWarps(const DotShape &whole, int64_t numWarps, int64_t minM, int64_t minN) {
  const OddParts parts(whole, numWarps, minM, minN);
  const DotShape s = parts.partOf(whole);
  Warps warps{1, 1};
  // For extents that are no powers of two, too, the part of a warp is a multiple of an instruction.
  auto halves = [](int64_t extent, int64_t part, int64_t least) {
    return part > least && (llvm::isPowerOf2_64(extent) || part % (2 * least) == 0);
  };
  while (warps.m * warps.n < parts.warps) {
    const int64_t partM = s.m / warps.m, partN = s.n / warps.n;
    const bool canM = halves(s.m, partM, minM), canN = halves(s.n, partN, minN);
    if (canM && (partM >= partN || !canN))
      warps.m *= 2;
    else if (canN)
      warps.n *= 2;
    else
      warps.m *= 2; // more warps than work: replicas
  }
  return parts.all(warps);
}

Warps rowWarps(const DotShape &whole, int64_t numWarps, int64_t minM) {
  const OddParts parts(whole, numWarps, minM, 8);
  const int64_t rows = whole.m / parts.m, tiles = rows / minM;
  const int64_t most = llvm::isPowerOf2_64(rows) ? tiles : tiles & -tiles;
  const int64_t m = std::clamp<int64_t>(most, 1, parts.warps);
  return parts.all({m, parts.warps / m});
}

bool hasMmaSync(DotOp dot, const DotShape &s, const Target &target) {
  if ((s.operand.isBF16() || s.isSplitIntoBf16) && !target.hasBf16Mma())
    return false;
  if (s.operand.isF32() && !s.isSplitIntoBf16 &&
      (!target.hasTf32Mma() || dot.getPrecision() == Precision::Ieee))
    return false;
  if (s.operand.isF64() && !target.hasFp64Mma())
    return false;
  return s.isNative() && (!s.isFp8() || target.hasFp8Mma());
}

/// Registers per thread of all fragments of an fp64 dot.
int64_t registersOfFp64(DotOp dot, const DotShape &s, Warps warps) {
  const int64_t batches = cast<RankedTensorType>(dot.getType()).getNumElements() / (s.m * s.n);
  const int64_t rows = std::max<int64_t>(s.m / warps.m, 16),
                columns = std::max<int64_t>(s.n / warps.n, 8);
  return 2 * batches * (rows * columns + (rows + columns) * s.k) / InstructionSet::warpThreads;
}

/// M, N and K of one mma.sync. For fp64 the largest one of the target, except for 8 rows, which
/// would leave it half empty, and where its many adjacent registers would be spilled.
MmaAttr mmaSyncOf(DotOp dot, const DotShape &s, const Target &target, Warps warps) {
  auto of = [&](unsigned m, int64_t k) {
    return MmaAttr::get(dot.getContext(), MmaKind::MmaSync, m, 8, k, warps.m, warps.n);
  };
  if (!s.operand.isF64())
    return of(16, s.depth());
  if (!target.hasLargeFp64Mma() || s.m < 16)
    return of(8, 4);
  const MachineModel &machine = target.machine();
  const bool hasRoom = registersOfFp64(dot, s, warps) + machine.registers.overheadOfFp64Mma <=
                       machine.registersOfThread(InstructionSet::warpThreads * warps.m * warps.n);
  return of(16, hasRoom ? std::min<int64_t>(s.k, 16) : 4);
}

/// Selects mma.sync. M and N may be smaller than those of the instruction: its fragments are then
/// partly empty.
Choice tryMmaSync(DotOp dot, const DotShape &s, const Target &target, int64_t numWarps,
                  bool chained) {
  if (!target.hasMmaSync())
    return "the target has no mma.sync";
  if (s.operand.isF64() && target.machine().perCycle.fp64 == 0)
    return "fp64 on this GPU's tensor cores is no faster";
  if (!hasMmaSync(dot, s, target))
    return "no tensor-core instruction for these element types and this precision";
  if (s.k % s.depth() != 0)
    return "K of the tiles is not a multiple of the K of a tensor-core instruction";
  if (s.operand.isF64() && !s.fillsHull())
    return "on tensor cores, tiles of fp64 have extents that are powers of two";
  const Warps warps = chained ? rowWarps(s, numWarps, 16) : squareWarps(s, numWarps, 16, 8);
  return mmaSyncOf(dot, s, target, warps);
}

/// Converts operands of another type to `element`.
void widenOperands(DotOp dot, Type element) {
  OpBuilder b(dot);
  for (OpOperand *operand : {&dot.getLhsMutable(), &dot.getRhsMutable()}) {
    Value value = operand->get();
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getElementType() == element)
      continue;
    if (isa<FloatType>(element))
      operand->set(arith::ExtFOp::create(b, dot.getLoc(), type.clone(element), value));
    else
      operand->set(arith::ExtSIOp::create(b, dot.getLoc(), type.clone(element), value));
  }
}

MmaAttr scalarFma(DotOp dot, const DotShape &s, int64_t numWarps) {
  const Warps warps = squareWarps(s, numWarps, 4, 8);
  return MmaAttr::get(dot.getContext(), MmaKind::Fma, 1, 1, 1, warps.m, warps.n);
}

/// What the selection of all dots of a kernel depends on.
struct Selection {
  const Target &target;
  int64_t numWarps;
  const AxisInfoAnalysis &axes;
  SelectMmaOptions options;
};

/// Whether a loop carries the accumulator of `dot`, and nothing else reads it there: it may then be
/// carried transposed.
bool carriesAccumulatorAlone(DotOp dot) {
  auto acc = dyn_cast<BlockArgument>(dot.getAcc());
  auto loop = acc ? dyn_cast<scf::ForOp>(acc.getOwner()->getParentOp()) : scf::ForOp();
  return loop && dot->getParentOp() == loop && acc.hasOneUse() && dot->hasOneUse() &&
         loop.getTiedLoopYieldedValue(acc)->get() == dot.getResult();
}

/// Whether rows that do not fill warp groups can become the columns of the transposed dot. Powers of
/// two stay as they are.
bool hasOddRows(DotOp dot, const DotShape &shape) {
  return !shape.fillsHull() && shape.m % 64 != 0 && shape.isMatrix && carriesAccumulatorAlone(dot);
}

/// Whether the transposed dot saves shared memory: its left operand may be computed in registers,
/// from which wgmma reads no right one.
bool isComputedOnTheRight(DotOp dot, const DotShape &shape) {
  return shape.isMatrix && storageBits(shape.operand) == 16 &&
         isa<scf::ForOp>(dot->getParentOp()) && isLoaded(dot, 0) && isComputedFromLoads(dot, 1);
}

/// Selects wgmma for `dot`, or for the transposed dot, which then replaces it. The right operand of
/// fp32 must be contiguous along K, so it is the one that is cheaper to bring into that order: B of
/// the plain dot, A^T of the transposed one. The left operand is read from shared memory if it is
/// contiguous along K, else it goes through registers. If neither is contiguous along K, the
/// smaller one is transposed on its way into shared memory.
Choice tryWgmmaInOrder(DotOp &dot, const DotShape &shape, const Selection &by) {
  const bool isFp32 = shape.operand.isF32() && shape.isMatrix;
  if (!by.options.wgmma)
    return "it is switched off";
  if (isFp32 && by.options.fp32OnMmaSync)
    return "its operands do not fit into shared memory";
  const OperandOrder orders[] = {orderOf(by.axes, dot, 0), orderOf(by.axes, dot, 1)};
  auto isAcross = [&](unsigned operand) { return orders[operand] == OperandOrder::AcrossK; };
  const bool isComputed = by.options.computedLeft && isComputedOnTheRight(dot, shape);
  const bool transposedFirst =
      isComputed || (isFp32 && (isAcross(0) ? shape.m : 0) < (isAcross(1) ? shape.n : 0));
  Choice refused = "";
  for (const bool transposes : {transposedFirst, !transposedFirst}) {
    if (transposes && !isFp32 && !isComputed && !hasOddRows(dot, shape))
      continue;
    DotShape own = shape;
    if (transposes)
      std::swap(own.m, own.n);
    Choice choice = tryWgmma(dot, own, by.target, by.numWarps,
                             isFp32 ? OperandOrder::AlongK : orders[transposes ? 0 : 1]);
    if (const auto *mma = std::get_if<MmaAttr>(&choice)) {
      if (transposes)
        dot = transposeDot(dot);
      return MmaAttr::get(dot.getContext(), mma->getKind(), mma->getM(), mma->getN(), mma->getK(),
                          mma->getWarpsM(), mma->getWarpsN(), mma->getRun(),
                          /*adjacentRows=*/isFp32 && isAcross(transposes ? 1 : 0) ? 2 : 1);
    }
    if (!transposes)
      refused = choice; // the reason, in terms of what was written
  }
  return refused;
}

/// `noWgmma` becomes the reason why another instruction is taken.
Choice tryTensorCores(DotOp &dot, const Selection &by, bool chained, const char *&noWgmma) {
  const DotShape shape(dot);
  Choice choice = tryWgmmaInOrder(dot, shape, by);
  auto *reason = std::get_if<const char *>(&choice);
  if (!reason)
    return choice;
  if (by.target.hasWgmma())
    noWgmma = *reason;
  return tryMmaSync(dot, shape, by.target, by.numWarps, chained);
}

/// Remarks on warps past a power of two that have no part of the dot.
void remarkReplicas(DotOp dot, int64_t numWarps) {
  const MmaAttr mma = dot.getMmaAttr();
  const int64_t working = int64_t(mma.getWarpsM()) * mma.getWarpsN(),
                powerOf2 = numWarps & -numWarps;
  if (working < numWarps)
    remarkMissed(dot.getLoc(), Technique::TensorCores)
        << numWarps - working << " of " << numWarps
        << " warps repeat the work of others: to use all of them, M or N of this dot must be "
        << numWarps / powerOf2 << " times a power of two of instruction tiles";
}

/// Remarks on the instruction. `noWgmma`: why a dot does not run on wgmma, if the target has that.
void remarkChoice(DotOp dot, const char *noWgmma) {
  const MmaAttr mma = dot.getMmaAttr();
  if (mma.getKind() == MmaKind::Fma)
    return;
  InFlightDiagnostic remark = remarkApplied(dot.getLoc(), Technique::TensorCores);
  remark << "this dot runs on " << (mma.getKind() == MmaKind::Wgmma ? "wgmma" : "mma.sync") << " m"
         << mma.getM() << "n" << mma.getN() << "k" << mma.getK() << ", " << mma.getWarpsM() << " x "
         << mma.getWarpsN() << " warps";
  if (noWgmma)
    remark << "; not on wgmma: " << noWgmma;
}

void selectFor(DotOp dot, const Selection &by, bool chained) {
  const DotShape shape(dot);
  const char *refusal = nullptr;
  Choice choice = tryTensorCores(dot, by, chained, refusal);
  if (shape.isFp8() && std::holds_alternative<const char *>(choice)) {
    // Every fp8 number is one of fp16.
    widenOperands(dot, Float16Type::get(dot.getContext()));
    refusal = nullptr;
    choice = tryTensorCores(dot, by, chained, refusal);
  }
  if (auto *reason = std::get_if<const char *>(&choice)) {
    remarkMissed(dot.getLoc(), Technique::TensorCores)
        << "this dot runs on scalar FMA: " << *reason;
    widenOperands(dot, shape.accumulator);
    choice = scalarFma(dot, shape, by.numWarps);
  }
  dot.setMmaAttr(std::get<MmaAttr>(choice));
  remarkChoice(dot, refusal);
  remarkReplicas(dot, by.numWarps);
}

struct SelectMmaPass : impl::SelectMmaBase<SelectMmaPass> {
  using SelectMmaBase::SelectMmaBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    const auto target = Target::parse(moduleTarget(module));
    if (!target) {
      module.emitError("unknown target `") << moduleTarget(module) << "`";
      return signalPassFailure();
    }
    const ChainedDots chained(module);
    const AxisInfoAnalysis axes(module);
    const Selection by{
        *target, moduleInt(module, names::numWarps, 4), axes, {wgmma, fp32OnMmaSync, computedLeft}};
    for (DotOp dot : opsIn<DotOp>(module))
      if (!dot.getMmaAttr())
        selectFor(dot, by, chained.contains(dot));
    carryTransposes(module);
    eraseUnusedTransposes(module);
  }

private:
  /// Of dots that are transposed. Each would count as another use of its tile.
  static void eraseUnusedTransposes(ModuleOp module) {
    module.walk([](TransOp trans) {
      if (trans->use_empty())
        trans.erase();
    });
  }
};

} // namespace
} // namespace pantile
