//===- TileOps.td - operations of the `tile` dialect ------------------------------------===//
// A constraint has a number, used in the description, the verifier and the negative test.
//===-----------------------------------------------------------------------------------===//
#ifndef PANTILE_TILE_OPS
#define PANTILE_TILE_OPS
include "TileBase.td"

class Tile_Op<string mn, list<Trait> traits = []> : Op<Tile_Dialect, mn, traits>;

def Tile_PtrLike : AnyTypeOf<[Tile_PtrType, RankedTensorOf<[Tile_PtrType]>]>;
def Tile_IntLike : AnyTypeOf<[AnySignlessInteger, RankedTensorOf<[AnySignlessInteger]>]>;
def Tile_MaskLike : AnyTypeOf<[I1, RankedTensorOf<[I1]>]>;
def Tile_FloatLike : AnyTypeOf<[AnyFloat, RankedTensorOf<[AnyFloat]>]>;
defvar Tile_Tile = AnyRankedTensor;

//===- position ------------------------------------------------------------------------===//

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "index of this program along one axis of the grid";
  let description = "- program_id_c1: `axis` is 0, 1 or 2.";
  let arguments = (ins I32Attr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
  let hasVerifier = 1;
}
def Tile_NumProgramsOp : Tile_Op<"num_programs", [Pure]> {
  let summary = "size of the grid along one axis";
  let description = "- num_programs_c1: `axis` is 0, 1 or 2.";
  let arguments = (ins I32Attr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
  let hasVerifier = 1;
}

//===- creation and shape --------------------------------------------------------------===//

def Tile_ArangeOp : Tile_Op<"arange", [Pure]> {
  let summary = "the integers from `start` to `end`, exclusive";
  let description = "- arange_c1: the result has rank 1 and `end - start` elements.";
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "$start `,` $end attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Tile_SplatOp : Tile_Op<"splat", [Pure, TypesMatchWith<"scalar is of the element type", "result", "src",
      "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "a tile with one scalar in every element";
  let arguments = (ins AnyType:$src);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($result)";
  let hasFolder = 1;
}
def Tile_UnsplatOp : Tile_Op<"unsplat", [Pure, TypesMatchWith<"result is of the element type", "src", "result",
      "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "the only element of a one-element tile";
  let description = "- unsplat_c1: `src` has one element.";
  let arguments = (ins Tile_Tile:$src);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$src attr-dict `:` type($src)";
  let hasVerifier = 1;
}
def Tile_ExpandDimsOp : Tile_Op<"expand_dims", [Pure, SameOperandsAndResultElementType]> {
  let summary = "insert a dimension of size 1 at `axis`";
  let description = "- expand_dims_c1: the result's shape is the operand's with a 1 inserted at `axis`.";
  let arguments = (ins Tile_Tile:$src, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src `,` $axis attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure, SameOperandsAndResultElementType]> {
  let summary = "repeat along the dimensions of size 1";
  let description = "- broadcast_c1: ranks are equal; each dimension of the operand is the result's or 1.";
  let arguments = (ins Tile_Tile:$src);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Tile_ReshapeOp : Tile_Op<"reshape", [Pure, SameOperandsAndResultElementType]> {
  let summary = "the same elements in row-major order under another shape";
  let description = "- reshape_c1: element counts are equal.";
  let arguments = (ins Tile_Tile:$src, UnitAttr:$allow_reorder);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_TransOp : Tile_Op<"trans", [Pure, SameOperandsAndResultElementType]> {
  let summary = "permute the dimensions: dimension i of the result is dimension order[i] of the operand";
  let description = "- trans_c1: `order` is a permutation, and the result's shape follows it.";
  let arguments = (ins Tile_Tile:$src, DenseI32ArrayAttr:$order);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src $order attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Tile_JoinOp : Tile_Op<"join", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "concatenate two tiles along a new last dimension of size 2";
  let description = "- join_c1: the result's shape is the operands' with a 2 appended.";
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}
def Tile_SplitOp : Tile_Op<"split", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "the two halves of a tile whose last dimension has size 2";
  let description = "- split_c1: the operand's shape is the results' with a 2 appended.";
  let arguments = (ins Tile_Tile:$src);
  let results = (outs Tile_Tile:$lhs, Tile_Tile:$rhs);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($lhs)";
  let hasVerifier = 1;
}
def Tile_GatherOp : Tile_Op<"gather", [Pure]> {
  let summary = "the element at `index` along one dimension";
  let description = [{
    `result[.., i, ..] = src[.., index[.., i, ..], ..]`. An index outside the dimension gives any element of it.
    - gather_c1: `src` and `index` have one rank and equal dimensions but for `axis`; the result has the shape of `index`.
  }];
  let arguments = (ins Tile_Tile:$src, RankedTensorOf<[AnySignlessInteger]>:$index, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src `,` $index `,` $axis attr-dict `:` type($src) `,` type($index) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_ExchangeOp : Tile_Op<"exchange", [Pure, SameOperandsAndResultType]> {
  let summary = "the element whose index along `axis` differs in the bits of `distance`";
  let description = [{
    `result[.., i, ..] = src[.., i xor distance, ..]`: the partner of a compare-and-swap in sorting; of a power of two, the largest index as
    distance reverses the dimension. Where that element lies outside the tile, an element stays: `src[.., i, ..]`.
    - exchange_c1: `axis` is a dimension of `src`, and `distance` lies between 0 and its size, rounded up to a power of two, exclusive.
  }];
  let arguments = (ins Tile_Tile:$src, I32Attr:$axis, I32Attr:$distance);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src `,` $axis `,` $distance attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Tile_ExtractSliceOp : Tile_Op<"extract_slice", [Pure, SameOperandsAndResultElementType]> {
  let summary = "a strided slice of a tile, at constant offsets, with as many dimensions";
  let description = [{
    `result[i, j, ..] = src[offsets[0] + strides[0] * i, offsets[1] + strides[1] * j, ..]`.
    - extract_slice_c1: one offset and one stride per dimension; strides are positive.
    - extract_slice_c2: the first and the last element along each dimension are in `src`.
  }];
  let arguments = (ins Tile_Tile:$src, DenseI32ArrayAttr:$offsets, DenseI32ArrayAttr:$strides);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src $offsets `step` $strides attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    TileSlice slice();
  }];
}
def Tile_InsertSliceOp : Tile_Op<"insert_slice", [Pure, AllTypesMatch<["dest", "result"]>]> {
  let summary = "a tile with a strided slice, at constant offsets, replaced";
  let description = [{
    `result` is `dest` but for `result[offsets[0] + strides[0] * i, ..] = src[i, ..]`.
    - insert_slice_c1: as extract_slice_c1, and element types are equal.
    - insert_slice_c2: as extract_slice_c2.
  }];
  let arguments = (ins Tile_Tile:$src, Tile_Tile:$dest, DenseI32ArrayAttr:$offsets, DenseI32ArrayAttr:$strides);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src `into` $dest $offsets `step` $strides attr-dict `:` type($src) `into` type($dest)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    TileSlice slice();
  }];
}
def Tile_ExtractOp : Tile_Op<"extract", [Pure]> {
  let summary = "the elements at one index along a dimension, which keeps size 1";
  let description = [{
    `result[.., 0, ..] = src[.., index, ..]`. An index outside the dimension gives any element of it.
    - extract_c1: the result has the shape of `src` with 1 at `axis`, and its elements.
  }];
  let arguments = (ins Tile_Tile:$src, I32:$index, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src `,` $index `,` $axis attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}
def Tile_WrapIndexOp : Tile_Op<"wrap_index", [NoMemoryEffect]> {
  let summary = "an index into a dimension of `extent` elements; negative ones count from its end";
  let description = [{
    An index below `-extent`, or not below `extent`, gives any index of the dimension; the interpreter reports it. So the
    operation must not run where the source does not run it: it has no effect, but is not speculated.
    - wrap_index_c1: `extent` is positive.
  }];
  let arguments = (ins AnyTypeOf<[I32, I64]>:$index, I32Attr:$extent);
  let results = (outs I32:$result);
  let assemblyFormat = "$index `in` $extent attr-dict `:` type($index)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "the same tile in another layout";
  let arguments = (ins Tile_Tile:$src);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
}

//===- pointers and memory -------------------------------------------------------------===//

def Tile_AddPtrOp : Tile_Op<"addptr", [Pure, AllTypesMatch<["ptr", "result"]>, SameOperandsAndResultShape]> {
  let summary = "the address `offset` elements further on";
  let arguments = (ins Tile_PtrLike:$ptr, Tile_IntLike:$offset);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$ptr `,` $offset attr-dict `:` type($ptr) `,` type($offset)";
}
def Tile_PtrToIntOp : Tile_Op<"ptr_to_int", [Pure, SameOperandsAndResultShape]> {
  let summary = "the address as an integer of 64 bits";
  let arguments = (ins Tile_PtrLike:$src);
  let results = (outs Tile_IntLike:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
}
def Tile_IntToPtrOp : Tile_Op<"int_to_ptr", [Pure, SameOperandsAndResultShape]> {
  let summary = "an integer of 64 bits as an address";
  let arguments = (ins Tile_IntLike:$src);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
}
def Tile_PtrCastOp : Tile_Op<"ptr_cast", [Pure, SameOperandsAndResultShape]> {
  let summary = "the same address with another element type";
  let arguments = (ins Tile_PtrLike:$src);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
}

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "read one element per address";
  let description = [{
    Lanes where `mask` is false read nothing and give `other`, or 0. A volatile load, or one that bypasses the caches (`cv`),
    counts as a write, too, so that two equal ones are not merged.
    - load_c1: result, `mask` and `other` have the shape (and layout) of `ptr`; result and `other` its element type.
  }];
  let arguments = (ins Tile_PtrLike:$ptr, Optional<Tile_MaskLike>:$mask, Optional<AnyType>:$other,
      DefaultValuedAttr<Tile_Cache, "::pantile::CacheModifier::None">:$cache,
      DefaultValuedAttr<Tile_Evict, "::pantile::EvictionPolicy::Normal">:$evict, UnitAttr:$isVolatile);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$ptr (`mask` $mask^ `:` type($mask))? (`other` $other^ `:` type($other))? attr-dict `:` type($ptr) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "write one element per address";
  let description = "- store_c1: `value` and `mask` have the shape (and layout) of `ptr`; `value` its element type.";
  let arguments = (ins Tile_PtrLike:$ptr, AnyType:$value, Optional<Tile_MaskLike>:$mask,
      DefaultValuedAttr<Tile_Cache, "::pantile::CacheModifier::None">:$cache,
      DefaultValuedAttr<Tile_Evict, "::pantile::EvictionPolicy::Normal">:$evict);
  let assemblyFormat = "$ptr `,` $value (`mask` $mask^ `:` type($mask))? attr-dict `:` type($ptr) `,` type($value)";
  let hasVerifier = 1;
}
def Tile_AtomicRmwOp : Tile_Op<"atomic_rmw", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments,
                                              AllTypesMatch<["value", "result"]>]> {
  let summary = "atomic read-modify-write of one element per address; gives the old value";
  let description = [{
    `load` only reads, and ignores `value`; `store` only writes, and its result is not used. `poll` reads until
    memory holds `value`, or `timeout` nanoseconds have passed, and gives the last value read; then all threads synchronise.
    - atomic_rmw_c1: `value`, `mask` and result have the shape (and layout) of `ptr`.
    - atomic_rmw_c2: integers for `load`, `store` and `poll`; `timeout` for `poll` alone, `mask` not for it.
  }];
  let arguments = (ins Tile_RmwKind:$kind, Tile_PtrLike:$ptr, AnyType:$value, Optional<Tile_MaskLike>:$mask,
                       Optional<I64>:$timeout, Tile_Sem:$sem, Tile_Scope:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind `,` $sem `,` $scope `,` $ptr `,` $value (`mask` $mask^ `:` type($mask))? (`timeout` $timeout^)? attr-dict `:` type($ptr) `->` type($result)";
  let extraClassDeclaration = [{
    /// Whether one thread can do it for all: it polls a scalar, without a timeout, and its result is unused.
    bool isPlainPoll() {
      return getKind() == RmwKind::Poll && !getTimeout() && getResult().use_empty() &&
             !::mlir::isa<::mlir::RankedTensorType>(getPtr().getType());
    }
  }];
  let hasVerifier = 1;
}
def Tile_AtomicCasOp : Tile_Op<"atomic_cas", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["cmp", "value", "result"]>]> {
  let summary = "atomic compare-and-swap: write `value` where memory holds `cmp`; gives the old value";
  let description = "- atomic_cas_c1: `cmp` and `value` have the shape (and layout) of `ptr`.";
  let arguments = (ins Tile_PtrLike:$ptr, AnyType:$cmp, AnyType:$value, Tile_Sem:$sem, Tile_Scope:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$sem `,` $scope `,` $ptr `,` $cmp `,` $value attr-dict `:` type($ptr) `,` type($cmp)";
  let hasVerifier = 1;
}
def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "synchronise all threads of the program (`debug_barrier`)";
  let assemblyFormat = "attr-dict";
}

//===- arithmetic that arith and math lack ---------------------------------------------===//

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "dot: the matrix multiplication of two tiles, added to an accumulator";
  let description = [{
    `result = acc + lhs x rhs`, accumulated in the element type of `acc`.
    - dot_c1: `lhs` is MxK, `rhs` is KxN, `acc` is MxN (rank 3: with an equal leading batch dimension).
    - dot_c2: `lhs` and `rhs` have one element type (fp8: both are fp8).
    `max_imprecise`: the most steps of K for which fp8 dots may accumulate in tensor cores, which is imprecise, before the result is added to an fp32
    accumulator; 0: no limit.
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Tile_Tile:$acc,
      DefaultValuedAttr<Tile_Precision, "::pantile::Precision::Tf32">:$precision,
      DefaultValuedAttr<I32Attr, "0">:$max_imprecise, OptionalAttr<Tile_MmaAttr>:$mma);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc (`mma` `` $mma^)? attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)";
  let hasVerifier = 1;
}
def Tile_MulHiUOp : Tile_Op<"mulhi_u", [Pure, SameOperandsAndResultType]> {
  let summary = "upper half of the unsigned product";
  let arguments = (ins Tile_IntLike:$lhs, Tile_IntLike:$rhs);
  let results = (outs Tile_IntLike:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
def Tile_PreciseDivOp : Tile_Op<"precise_div", [Pure, SameOperandsAndResultType]> {
  let summary = "quotient rounded to nearest even as IEEE 754 requires (`div_rn`); arith.divf may be approximate on the GPU";
  let arguments = (ins Tile_FloatLike:$lhs, Tile_FloatLike:$rhs);
  let results = (outs Tile_FloatLike:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
def Tile_PreciseSqrtOp : Tile_Op<"precise_sqrt", [Pure, SameOperandsAndResultType]> {
  let summary = "square root rounded to nearest even as IEEE 754 requires (`sqrt_rn`)";
  let arguments = (ins Tile_FloatLike:$src);
  let results = (outs Tile_FloatLike:$result);
  let assemblyFormat = "$src attr-dict `:` type($result)";
}

//===- calls element by element --------------------------------------------------------===//

def Tile_ExternCallOp : Tile_Op<"extern_call", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "call a function of a bitcode library on every element";
  let description = [{
    `symbol` is linked from libdevice, or from the bitcode file `library`. The interpreter has the functions of libdevice,
    by symbol. A call that is not `pure` counts as a read and a write.
    - extern_call_c1: operands and result have one shape (and layout).
  }];
  let arguments = (ins StrAttr:$symbol, Variadic<AnyType>:$args, DefaultValuedStrAttr<StrAttr, "">:$library, UnitAttr:$pure);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$symbol `(` $args `)` attr-dict `:` functional-type($args, $result)";
  let hasVerifier = 1;
}
def Tile_InlineAsmOp : Tile_Op<"inline_asm", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "run PTX on `pack` elements at a time";
  let description = [{
    Operands of less than 32 bits are packed into 32-bit registers, `pack` elements in order, then those of the next
    operand; results likewise. An asm string that is not `pure` counts as a read and a write.
    - inline_asm_c1: operands and results have one shape (and layout).
  }];
  let arguments = (ins StrAttr:$text, StrAttr:$constraints, Variadic<AnyType>:$args,
                       DefaultValuedAttr<I32Attr, "1">:$pack, UnitAttr:$pure);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$text `,` $constraints `(` $args `)` attr-dict `:` functional-type($args, $results)";
  let hasVerifier = 1;
}
def Tile_MapOp : Tile_Op<"map", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "compute every element by a region of scalars, which may branch";
  let description = [{
    The region takes `pack` scalars per operand (all of the first operand, then of the next) and yields `pack` scalars per result.
    - map_c1: operands and results have one shape (and layout).
    - map_c2: the region's arguments and yields have the element types, `pack` times each.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$srcs, DefaultValuedAttr<I32Attr, "1">:$pack);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $srcs `)` $body attr-dict `:` functional-type($srcs, $results)";
  let hasVerifier = 1;
}

//===- reductions and scans ------------------------------------------------------------===//

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, SameOperandsShape, SingleBlock]> {
  let summary = "combine the elements along one dimension";
  let description = [{
    The region takes two scalars per operand (left operands first) and yields one per operand. The combination is
    associative; its order is not fixed.
    - reduce_c1: results have the operands' shape without `axis`; a rank-1 operand gives a scalar.
    - reduce_c2: the region's arguments and yields have the operands' element types.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$srcs, I32Attr:$axis);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $srcs `)` `,` $axis $combine attr-dict `:` functional-type($srcs, $results)";
  let hasVerifier = 1;
}
def Tile_ScanOp : Tile_Op<"scan", [Pure, SameOperandsShape, SingleBlock]> {
  let summary = "inclusive prefix combination along one dimension";
  let description = [{
    Region as for `tile.reduce`.
    - scan_c1: result types are the operands'.
    - scan_c2: the region's arguments and yields have the operands' element types.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$srcs, I32Attr:$axis, UnitAttr:$reverse);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $srcs `)` `,` $axis $combine attr-dict `:` functional-type($srcs, $results)";
  let hasVerifier = 1;
}
def Tile_HistogramOp : Tile_Op<"histogram", [Pure]> {
  let summary = "how often each of 0, 1, .. bins - 1 occurs where `mask` holds";
  let description = [{
    Values outside the bins are not counted.
    - histogram_c1: `src` and result have rank 1; `mask` has the shape (and layout) of `src`.
  }];
  let arguments = (ins RankedTensorOf<[AnySignlessInteger]>:$src, Optional<RankedTensorOf<[I1]>>:$mask);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "$src (`mask` $mask^ `:` type($mask))? attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ParentOneOf<["ReduceOp", "ScanOp", "MapOp"]>]> {
  let summary = "the combined values";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

//===- debugging -----------------------------------------------------------------------===//

def Tile_SpecialOp : Tile_Op<"special", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "read a special register, or execute a control instruction";
  let description = [{
    `globaltimer` (nanoseconds, i64) and `smid` (i32) have a result; `gdc_wait` and `gdc_launch_dependents` (programmatic
    dependent launch) have none.
    - special_c1: `name` is one of these, with the result given here.
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Optional<AnySignlessInteger>:$result);
  let assemblyFormat = "$name attr-dict (`:` type($result)^)?";
  let hasVerifier = 1;
}
def Tile_AssumeOp : Tile_Op<"assume", [MemoryEffects<[MemWrite]>]> {
  let summary = "promise that `condition` holds: the optimiser relies on it, the interpreter checks it";
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}
def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stop the kernel with `message` if an element of `condition` is false";
  let arguments = (ins Tile_MaskLike:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}
def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "print `prefix` and every element, with program and element index";
  let description = "`signs[i]` is 1 if operand i prints as signed.";
  let arguments = (ins StrAttr:$prefix, Variadic<AnyType>:$values, DenseI32ArrayAttr:$signs, UnitAttr:$hex);
  let assemblyFormat = "$prefix `,` $signs ($values^ `:` type($values))? attr-dict";
}
#endif
