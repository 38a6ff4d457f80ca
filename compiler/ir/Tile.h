//===- Tile.h - the `tile` and `nv` dialects in C++ -------------------------------------===//
#pragma once
#include "layout/LinearLayout.h"
#include "layout/SharedLayout.h"
#include "layout/TileSlice.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "pantile/StreamK.h"

#include "ir/TileDialect.h.inc"
#include "ir/TileEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/TileTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/TileAttrs.h.inc"
#define GET_OP_CLASSES
#include "ir/TileOps.h.inc"

#include "ir/NvAsyncEnums.h.inc"
#include "ir/NvDialect.h.inc"
#include "ir/NvPlanEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/NvAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/NvTypes.h.inc"

namespace pantile::nv {
/// The constraints of `AsyncOpInterface`.
mlir::LogicalResult verifyAsync(mlir::Operation *op);
} // namespace pantile::nv

#include "ir/NvAsync.h.inc"
#define GET_OP_CLASSES
#include "ir/NvOps.h.inc"

namespace pantile {

/// Attribute names of kernels, arguments and modules.
namespace names {
constexpr llvm::StringLiteral kernel = "tile.kernel"; // unit, on func.func
constexpr llvm::StringLiteral divisibility =
    "tile.divisibility"; // i32, on arguments; hint arrays on ops
constexpr llvm::StringLiteral contiguity = "tile.contiguity";
constexpr llvm::StringLiteral constancy = "tile.constancy";
constexpr llvm::StringLiteral target = "tile.target";      // string, on the module: "sm_90a"
constexpr llvm::StringLiteral numWarps = "tile.num_warps"; // i32, on the module
constexpr llvm::StringLiteral numStages =
    "tile.num_stages"; // i32, on the module; also on scf.for (tl.range)
constexpr llvm::StringLiteral disableLicm =
    "tile.disable_licm"; // unit, on scf.for and scf.while: from tl.range and tl.condition
constexpr llvm::StringLiteral candidates = "nv.candidates";             // on kernels: Candidates.h
constexpr llvm::StringLiteral launch = "nv.launch";                     // on the module: Launch.h
constexpr llvm::StringLiteral streamKEstimate = "nv.stream_k_estimate"; // on kernels: NvPlan.td
constexpr llvm::StringLiteral maxImprecise =
    "nv.max_imprecise"; // i32, on nv.wgmma: tile.dot's `max_imprecise`, if it is not 0
constexpr llvm::StringLiteral scratch =
    "nv.scratch"; // i32: offset of an operation's scratch memory, after AllocateShared
constexpr llvm::StringLiteral plan = "nv.plan"; // on kernels and loops, after RecordPlan: NvPlan.td
} // namespace names

/// The layout of a tile type that has one.
LinearLayout layoutOf(mlir::Type type);
/// `type` with another layout.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, const LinearLayout &layout);
/// The shared layout of one stage of `type`.
SharedLayout sharedLayoutOf(nv::BufferType type);
/// Element type of a tile, or the type itself.
mlir::Type elementTypeOf(mlir::Type type);
/// Whether `value` is a tile and no scalar.
inline bool isTile(mlir::Value value) { return mlir::isa<mlir::RankedTensorType>(value.getType()); }
/// Whether `type` is a pointer, or a tile of pointers.
inline bool hasPointers(mlir::Type type) { return mlir::isa<PtrType>(elementTypeOf(type)); }
/// Width in memory, in bits: 64 for pointers, 8 for i1.
unsigned storageBits(mlir::Type elementType);
/// A constant tile with one value, as a constant of another tile type; null for others.
mlir::OpFoldResult splatAs(mlir::Attribute constant, mlir::Type type);
/// An integer attribute of the module that contains `op`; `fallback` if absent.
int moduleInt(mlir::Operation *op, llvm::StringRef name, int fallback);
llvm::StringRef moduleTarget(mlir::Operation *op);

/// Registers all dialects of the tile IR.
void registerTileDialects(mlir::DialectRegistry &registry);

} // namespace pantile
