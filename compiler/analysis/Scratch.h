//===- Scratch.h - shared memory that an operation needs for itself -------------------------===//
// Needs: operations with layouts.
// Gives: scratchBytes(), which AllocateShared reserves, and the plans behind it, which the code
//        generator follows.
// How:   one function decides, both ask it. Inside such an operation the code generator places
//        the barriers between its own writes and reads; before the first write and after the
//        last read InsertBarriers does.
//===-----------------------------------------------------------------------------------===//
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

/// How a layout conversion moves data: inside a thread, inside a warp by shuffles or through a part
/// of shared memory that the warp has for itself, or through shared memory of all.
enum class ConversionKind { Registers, Shuffles, WarpShared, Shared };
ConversionKind conversionKind(const LinearLayout &from, const LinearLayout &to, unsigned bits);
/// The buffer of a conversion through shared memory: rows along the fastest dimension of `to`,
/// turned so that threads meet in as few banks as can be.
SharedLayout conversionScratch(const LinearLayout &from, const LinearLayout &to, unsigned bits);

/// Bytes of one operand's partial results, when several warps share the reduced dimension.
int64_t reduceScratchBytes(const LinearLayout &layout, int axis, unsigned bits);
/// Bytes of one operand's block totals for one run of warp bits of a scan that starts at bit
/// `first`.
int64_t scanScratchBytes(const LinearLayout &layout, const AxisBits &axis, size_t first,
                         unsigned bits);

/// How far the bits of register, lane and warp lie from those that hold the element `distance`
/// (in the bits of the index) away along `axis`; the same in every thread.
struct ExchangeMoves {
  int reg, lane, warp;
};
ExchangeMoves exchangeMoves(const LinearLayout &layout, int axis, int64_t distance);
/// Whether a gather can shuffle: index and source lie alike, and its dimension inside warps and few
/// registers.
bool gatherStaysInWarp(GatherOp op);

/// Whether a part of a tile comes to its threads without shared memory; of an insertion, whether it
/// lies in the threads whose elements it replaces.
bool sliceStaysInWarp(ExtractSliceOp op);
bool sliceStaysInThread(InsertSliceOp op);
/// Whether an element at a run-time index comes to its threads without shared memory.
bool extractStaysInWarp(ExtractOp op);

/// Whether each warp works in a part of the operation's scratch of its own, and orders its accesses
/// itself.
bool scratchIsPerWarp(mlir::Operation *op);

/// Scratch in bytes of any operation; 0 for most. Aligned to 16 inside, start it at a multiple of
/// scratchAlignment().
int64_t scratchBytes(mlir::Operation *op);
/// 128; more where TMA reads it, whose swizzle counts on it.
int64_t scratchAlignment(mlir::Operation *op);

} // namespace pantile
