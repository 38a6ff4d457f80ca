//===- Scratch.h - shared memory that an operation needs as scratch ----------------===//
// Needs: operations with layouts.
// Gives: scratchBytes(), which AllocateShared reserves, and the plans that it follows from, which
//        the lowering uses, too.
// How:   One function decides for both. The lowering inserts the barriers between an operation's
//        own writes and reads. InsertBarriers inserts those before the first write and after the
//        last read.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "layout/AxisBits.h"
#include "layout/SharedLayout.h"

namespace mlir {
class Operation;
}

namespace pantile {

class ExtractOp;
class ExtractSliceOp;
class GatherOp;
class InsertSliceOp;

/// How a layout conversion moves data: between registers of a thread, inside a warp by shuffles of
/// elements, of halves of words (HalfExchange.h) or through shared memory of that warp, or between
/// warps through shared memory.
enum class ConversionKind { Registers, Shuffles, HalfShuffles, WarpShared, Shared };
ConversionKind conversionKind(const LinearLayout &from, const LinearLayout &to, unsigned bits);
/// The buffer of a conversion through shared memory: rows along the fastest dimension of `to`, or
/// along another one if the store and the load then take so much fewer cycles (`turnedScratch`).
SharedLayout conversionScratch(const LinearLayout &from, const LinearLayout &to, unsigned bits);

/// Bytes of shared memory that such a conversion takes.
int64_t conversionBytes(const LinearLayout &from, const LinearLayout &to, unsigned bits);

/// Bytes of one operand's partial results, when several warps share the reduced dimension.
int64_t reduceScratchBytes(const LinearLayout &layout, int axis, unsigned bits);
/// Bytes of one operand's totals per warp, for one run of warp bits of a scan that starts at bit
/// `first`.
int64_t scanScratchBytes(const LinearLayout &layout, const AxisBits &axis, size_t first,
                         unsigned bits);

/// What to XOR to register, lane and warp to get the holder of the element whose index along `axis`
/// differs by XOR `distance`; the same in every thread.
struct ExchangeMoves {
  int reg, lane, warp;
};
ExchangeMoves exchangeMoves(const LinearLayout &layout, int axis, int64_t distance);
/// Whether a gather can use shuffles: index and source have one layout, and the gathered dimension
/// lies inside warps and in few registers.
bool gatherStaysInWarp(GatherOp op);

/// Whether a part of a tile gets to its threads without shared memory; for an insertion, whether
/// the part is in the threads whose elements it replaces.
bool sliceStaysInWarp(ExtractSliceOp op);
bool sliceStaysInThread(InsertSliceOp op);
/// Whether an element at a run-time index gets to its threads without shared memory.
bool extractStaysInWarp(ExtractOp op);

/// Whether each warp has a separate part of the operation's scratch, and orders its accesses
/// itself.
bool scratchIsPerWarp(mlir::Operation *op);

/// Bytes of scratch of any operation; 0 for most. It must start at a multiple of
/// scratchAlignment().
int64_t scratchBytes(mlir::Operation *op);
/// 128 bytes; more where TMA reads the scratch, whose swizzle depends on the address.
int64_t scratchAlignment(mlir::Operation *op);

} // namespace pantile
