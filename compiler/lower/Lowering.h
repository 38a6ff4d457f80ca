//===- Lowering.h - the state that lowers every operation -----------------------------------===//
// Needs: one kernel; its LLVM function under construction.
// Gives: Lowering: the LLVM values of each MLIR value, the lane and warp of this thread, shared
//        memory accesses and packing into words, for all families of operations. Handlers: which
//        function lowers which operation.
// How:   A tile is one LLVM value per register of its layout, a scalar or pointer is one value, a
//        shared buffer is its byte offset from `@shared` (i32). An absent register of a layout is
//        poison: nothing defines or reads it. Values that depend on the thread alone are computed
//        once, in the entry block. So every address is such a value plus a constant, which folds
//        into the instruction.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AxisInfo.h"
#include "ir/Tile.h"
#include "layout/SharedLayout.h"
#include "mlir/IR/BuiltinOps.h"
#include "support/Target.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Allocator.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pantile::lower {

using Values = llvm::SmallVector<llvm::Value *, 8>;
using ValueList = llvm::ArrayRef<llvm::Value *>;

class Lowering;
class DebugLocations;

/// The table of operations: the file of each family adds its operations.
class Handlers {
public:
  using Handler = std::function<llvm::LogicalResult(Lowering &, mlir::Operation *)>;
  template <typename Op> void add(llvm::LogicalResult (*handler)(Lowering &, Op)) {
    table[mlir::TypeID::get<Op>()] = [handler](Lowering &l, mlir::Operation *op) {
      return handler(l, llvm::cast<Op>(op));
    };
  }
  template <typename Op> void add(Handler handler) {
    table[mlir::TypeID::get<Op>()] = std::move(handler);
  }
  const Handler *find(mlir::Operation *op) const {
    auto it = table.find(op->getName().getTypeID());
    return it == table.end() ? nullptr : &it->second;
  }
  static const Handlers &all();

private:
  llvm::DenseMap<mlir::TypeID, Handler> table;
};

/// The bytes from the full to the empty barrier of a stage.
constexpr int emptyOffset = 8;

/// The constraint of inline assembly for a register of so many bits.
constexpr const char *constraintOf(unsigned bits) {
  return bits == 64 ? "l" : bits == 32 ? "r" : "h";
}

/// The blocks of the warps that are no consumers.
struct ExtraWarps {
  llvm::BasicBlock *start, *produce, *exit;
};

class Lowering {
public:
  Lowering(mlir::ModuleOp source, llvm::Module &module, const Target &target,
           DebugLocations &locations);

  // Running.
  llvm::LogicalResult lowerFunction(mlir::Operation *function);
  llvm::LogicalResult lowerBlock(mlir::Block &block);
  /// Lowers the body of a region of scalars, with these arguments; returns the terminator's
  /// operands.
  mlir::FailureOr<Values> inlineRegion(mlir::Region &region, ValueList arguments);

  // Values.
  ValueList get(mlir::Value value) const;
  llvm::Value *scalar(mlir::Value value) const { return get(value).front(); }
  void set(mlir::Value value, ValueList values);
  /// Number of LLVM values that an MLIR value of this type consists of.
  int count(mlir::Type type);
  llvm::Type *type(mlir::Type elementType) const;
  /// The layout of a tile type; computed once per type.
  const LinearLayout &layout(mlir::Type tile);
  /// False for the absent registers of a tile; `type` may be a scalar.
  bool isPresent(mlir::Type type, int reg);

  // This thread.
  llvm::Value *thread() const { return threadId; }
  llvm::Value *lane() const { return laneId; }
  llvm::Value *warp() const { return warpId; }
  /// The warp index in a form that ptxas can see is uniform within the warp.
  llvm::Value *uniformWarp();
  int numWarps() const { return warps; }
  int numThreads() const { return 32 * warps; }
  /// The bits of a warp index, absent warps included (LinearLayout.h).
  unsigned warpMask() const { return llvm::bit_ceil(static_cast<unsigned>(warps)) - 1; }
  /// Additional warps, which hold no tiles.
  int producerWarps() const { return producers; }
  /// XOR of `ofLane[i]`, `ofWarp[j]` over the set bits i of the lane and j of the warp: any linear
  /// map over F2. Computed in the entry block, once for equal maps.
  llvm::Value *linear(llvm::ArrayRef<int64_t> ofLane, llvm::ArrayRef<int64_t> ofWarp,
                      bool uniform = false);
  /// One coordinate of every register's element: a value of the thread plus a constant.
  Values coordinates(const LinearLayout &layout, int dim);
  /// For each register, whether its element in this thread is within the shape; null if it is in
  /// every thread.
  Values inside(mlir::Type type);
  /// `mask` and `isInside` combined; both may be null, for true.
  llvm::Value *masked(llvm::Value *mask, llvm::Value *isInside);
  /// `thread ^ constant`, for each constant, where `thread` has no bits outside `threadBits`.
  Values xorConstants(llvm::Value *threadPart, int64_t threadBits,
                      llvm::ArrayRef<int64_t> constants);
  /// True in one thread among those that hold the same elements; null when all threads differ.
  llvm::Value *firstReplica(mlir::Type type);
  /// The grid that the user launched, in a persistent kernel; else empty.
  ValueList userGrid() const { return grid; }
  /// Runs `store` in the threads whose lane and warp have none of these bits: one of the threads
  /// that hold the same elements, since even stores of equal values must not race.
  void inFirstThreads(const LinearLayout::FreeBits &free, llvm::function_ref<void()> store);
  llvm::Value *isFirstThread();
  /// True in the first thread past those that hold tiles: the first of the producers.
  llvm::Value *isFirstProducer();
  /// Synchronises all threads that hold tiles.
  void barrier();
  /// Synchronises the threads of each warp.
  void warpBarrier();
  /// A block at the end of the function.
  llvm::BasicBlock *newBlock(const llvm::Twine &name) {
    return llvm::BasicBlock::Create(module.getContext(), name, function);
  }

  // Shared memory.
  /// Pointer to the byte at `offset` (i32) from `@shared`.
  llvm::Value *sharedPointer(llvm::Value *offset);
  llvm::Value *sharedPointer(int64_t offset) { return sharedPointer(b.getInt32(offset)); }
  /// The same as a 32-bit number for inline assembly.
  llvm::Value *sharedAddress(llvm::Value *offset);
  /// Byte offsets from `@shared` of this thread's registers in a buffer at `base`: the XOR of what
  /// its lane, its warp and the register contribute. With `shared`, these are linear offsets of it.
  Values sharedOffsets(llvm::Value *base, llvm::ArrayRef<int64_t> ofLane,
                       llvm::ArrayRef<int64_t> ofWarp, llvm::ArrayRef<int64_t> ofReg,
                       const SharedLayout *shared = nullptr);
  /// SharedLayout::place of a linear offset that has no bits outside `bits`.
  llvm::Value *placed(llvm::Value *linear, int64_t bits, const SharedLayout &shared);
  /// The same for every register of `layout`, in `shared`, which has no padding; null for absent
  /// registers.
  Values sharedOffsets(llvm::Value *base, const SharedLayout &shared, const LinearLayout &layout);
  /// Offset of the scratch memory that AllocateShared reserved for this operation.
  mlir::FailureOr<int64_t> scratch(mlir::Operation *op);
  /// Move whole tiles between registers and shared memory, in vectors of up to 16 bytes; registers
  /// whose offset is null are skipped. `inside`, if given, is the result of inside().
  void storeShared(ValueList values, unsigned bits, ValueList offsets, int vectorBytes,
                   ValueList inside = {});
  Values loadShared(llvm::Type *elementType, unsigned bits, ValueList offsets, int vectorBytes);

  // Words: integers of 8, 16, 32 or 64 bits into which elements of vectors are packed.
  /// Width of the words into which `count` elements of `bits` are packed.
  static unsigned wordBits(unsigned bits, int count);
  Values pack(ValueList elements, unsigned bits);
  Values unpack(ValueList words, llvm::Type *elementType, unsigned bits, int count);
  llvm::Value *toInteger(llvm::Value *value, unsigned bits);
  llvm::Value *fromInteger(llvm::Value *value, llvm::Type *type);
  /// shfl.sync of a value of any type.
  llvm::Value *shuffleXor(llvm::Value *value, int laneMask);
  llvm::Value *shuffleFrom(llvm::Value *value, llvm::Value *lane);

  /// An inline assembly call. `pure`: may be removed, duplicated and moved.
  llvm::CallInst *assembly(llvm::Type *result, llvm::StringRef asmString,
                           llvm::StringRef constraints, ValueList operands, bool pure = false);
  /// The results of such a call, one or many.
  Values results(llvm::Value *call, int count);

  llvm::IRBuilder<> b;
  llvm::Module &module;
  llvm::Function *function = nullptr;
  const Target &target;
  const AxisInfoAnalysis &axisInfo() const { return *facts; }
  std::optional<ExtraWarps> extraWarps; ///< that wait for a producer to start

private:
  void startKernel(mlir::Operation *op);
  void passTensorMaps(llvm::ArrayRef<nv::TensorMapOp> maps, unsigned first);
  llvm::Value *shuffle(llvm::Value *value, llvm::Intrinsic::ID kind, llvm::Value *operand);
  /// Runs `make` with the builder at the end of the entry block.
  llvm::Value *inEntry(llvm::function_ref<llvm::Value *()> make);

  mlir::ModuleOp source;
  DebugLocations &locations;
  std::unique_ptr<AxisInfoAnalysis> facts;
  int warps, producers;
  llvm::GlobalVariable *shared = nullptr;
  llvm::Instruction *entryEnd = nullptr;
  llvm::Value *threadId = nullptr, *laneId = nullptr, *warpId = nullptr, *uniformWarpId = nullptr,
              *first = nullptr;
  Values grid;
  llvm::DenseMap<mlir::Value, ValueList> values;
  llvm::BumpPtrAllocator arena;
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<LinearLayout>> layouts;
  llvm::DenseMap<mlir::Attribute, llvm::BitVector> presentRegs; ///< of tiles that fill no hull
  std::map<std::vector<int64_t>, llvm::Value *> linearMaps;
};

/// For every register of `want`, the register of `have` in the same thread with the same element.
mlir::FailureOr<llvm::SmallVector<int, 16>>
registersOf(mlir::Operation *op, const LinearLayout &have, const LinearLayout &want);
/// `elements` with zeros in place of absent (poison) registers, for packing: a word with one poison
/// element would be poison.
Values withoutPoison(ValueList elements);
/// The 32-bit word whose bytes these four values are, in order; null if they are of none.
llvm::Value *wordOfBytes(ValueList bytes);
/// The vector of two 16-bit floats whose elements these are, in order; null if they are of none.
llvm::Value *pairOfHalves(llvm::IRBuilder<> &b, llvm::Value *low, llvm::Value *high);
/// `values` picked by register number.
Values pick(ValueList values, llvm::ArrayRef<int> registers);

// One function per file; the file has the family's name.
void addElementwise(Handlers &);
void addCasts(Handlers &);
void addMath(Handlers &);
void addExtern(Handlers &);
void addShape(Handlers &);
void addSlice(Handlers &);
void addPrograms(Handlers &);
void addCluster(Handlers &);
void addPartialTiles(Handlers &);
void addMemory(Handlers &);
void addAtomics(Handlers &);
void addControl(Handlers &);
void addConvert(Handlers &);
void addReduce(Handlers &);
void addScan(Handlers &);
void addDot(Handlers &);
void addFma(Handlers &);
void addShared(Handlers &);
void addProducer(Handlers &);
void addTma(Handlers &);
void addTmaStore(Handlers &);
void addWgmma(Handlers &);
void addDebug(Handlers &);
void addGather(Handlers &);
void addMap(Handlers &);

} // namespace pantile::lower
