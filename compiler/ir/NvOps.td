//===- NvOps.td - the `nv` dialect: shared buffers and what fills and reads them --------===//
// Below layouts, above LLVM IR. One operation is one instruction, or one for each element that
// a thread holds. A constraint has a number, used in the description, the verifier and the negative
// test; an operation without one has nothing that its types do not say.
//===-----------------------------------------------------------------------------------===//
#ifndef PANTILE_NV_OPS
#define PANTILE_NV_OPS
include "TileBase.td"

def Nv_Dialect : Dialect {
  let name = "nv";
  let cppNamespace = "::pantile::nv";
  let summary = "shared-memory buffers, asynchronous copies, barriers and tensor-core instructions of NVIDIA GPUs";
  let description = "- plan_c1: `nv.plan` is a kernel's `#nv.kernel_plan` or a loop's `#nv.loop_plan`.";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::pantile::TileDialect"];
  let hasOperationAttrVerify = 1;
}
include "NvPlan.td"
include "NvAsync.td"

def Nv_SwizzleAttr : AttrDef<Nv_Dialect, "Swizzle"> {
  let mnemonic = "swizzle";
  let summary = "order of the dimensions (fastest first) and swizzle span in bytes (0, 32, 64, 128) of one buffer";
  let parameters = (ins ArrayRefParameter<"int32_t">:$order, "unsigned":$span);
  let description = "- swizzle_c1: `order` is a permutation of the dimensions, and `span` is 0, 32, 64 or 128.";
  let assemblyFormat = "`<` `[` $order `]` `,` $span `>`";
  let genVerifyDecl = 1;
}
def Nv_BufferType : TypeDef<Nv_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a tile in shared memory, `stages` times (a circular buffer)";
  let description = [{
    `!nv.buffer<3 x [128, 64] x f16, #nv.swizzle<[1, 0], 128>>`: three stages of 128x64.
    The byte offset of an element within its stage is SharedLayout's (layout/SharedLayout.h).
    - buffer_c1: there is at least one stage, and all extents are positive.
    - buffer_c2: the swizzle orders as many dimensions as the tile has.
  }];
  let genVerifyDecl = 1;
  let parameters = (ins "unsigned":$depth, ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::pantile::nv::SwizzleAttr":$swizzle);
  let assemblyFormat = "`<` $depth `x` `[` $shape `]` `x` $elementType `,` $swizzle `>`";
  let extraClassDeclaration = [{
    /// Bytes of one stage, without padding between stages.
    int64_t getStageBytes() const;
    /// The same buffer with one stage.
    BufferType getStageType() const;
  }];
}

class Nv_Op<string mn, list<Trait> traits = []> : Op<Nv_Dialect, mn, traits>;
def Nv_PtrTile : RankedTensorOf<[Tile_PtrType]>;

def Nv_AllocOp : Nv_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "reserve a buffer; `offset` (bytes into the dynamic shared memory) is set by AllocateShared";
  let description = "- alloc_c1: `offset` is not negative.";
  let arguments = (ins OptionalAttr<I32Attr>:$offset);
  let results = (outs Nv_BufferType:$buffer);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Nv_DeallocOp : Nv_Op<"dealloc", [MemoryEffects<[MemFree]>]> {
  let summary = "end of a buffer's life: nothing reads or writes it later";
  let arguments = (ins Nv_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}
def Nv_SelectStageOp : Nv_Op<"select_stage", [Pure]> {
  let summary = "one stage of a circular buffer, as a buffer of one stage";
  let description = "- select_stage_c1: the result is the operand with one stage.";
  let arguments = (ins Nv_BufferType:$buffer, I32:$index);
  let results = (outs Nv_BufferType:$result);
  let assemblyFormat = "$buffer `[` $index `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
def Nv_BufferTransOp : Nv_Op<"buffer_trans", [Pure]> {
  let summary = "the same bytes seen with the two dimensions exchanged";
  let description = "- buffer_trans_c1: the result has as many stages and the same elements and span; its two extents are exchanged, and so is their order.";
  let arguments = (ins Nv_BufferType:$buffer);
  let results = (outs Nv_BufferType:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
def Nv_CopyAsyncOp : Nv_Op<"copy_async", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>,
                                          DeclareOpInterfaceMethods<Nv_AsyncOpInterface, ["getBuffersWritten"]>]> {
  let summary = "cp.async: each thread starts copying the elements of `ptr` that it holds to their places in `buffer`";
  let description = [{
    Masked-off elements are filled with zeros. With a false `enable` nothing is copied and nothing is written.
    `vectorBytes` (4, 8 or 16) is what one cp.async moves: as many consecutive elements are contiguous in registers,
    in global and in shared memory, and share one mask value.
    - copy_async_c1: `buffer` has the shape of `ptr`.
    - copy_async_c2: `mask` has the shape and layout of `ptr`.
    - copy_async_c3: `vectorBytes` is 4, 8 or 16.
  }];
  let arguments = (ins Nv_PtrTile:$ptr, Nv_BufferType:$buffer, Optional<RankedTensorOf<[I1]>>:$mask, Optional<I1>:$enable,
                       I32Attr:$vectorBytes);
  let assemblyFormat = "$ptr `,` $buffer (`mask` $mask^ `:` type($mask))? (`if` $enable^)? attr-dict `:` type($ptr) `,` type($buffer)";
  let hasVerifier = 1;
}
def Nv_CommitOp : Nv_Op<"commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "cp.async.commit_group";
  let assemblyFormat = "attr-dict";
}
def Nv_WaitOp : Nv_Op<"wait", [MemoryEffects<[MemWrite, MemRead]>]> {
  let summary = "cp.async.wait_group: at most `pending` groups of this thread are still under way; says nothing of other threads";
  let description = "- wait_c1: `pending` is not negative.";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}
def Nv_FenceAsyncOp : Nv_Op<"fence_async", [MemoryEffects<[MemWrite, MemRead]>]> {
  let summary = "fence.proxy.async: shared memory written by this thread's ordinary stores and cp.async becomes visible to wgmma and TMA";
  let assemblyFormat = "attr-dict";
}
def Nv_BarrierOp : Nv_Op<"barrier", [MemoryEffects<[MemWrite, MemRead]>]> {
  let summary = "bar.sync 0: all threads of the block meet; shared memory is ordered";
  let assemblyFormat = "attr-dict";
}
def Nv_LocalLoadOp : Nv_Op<"local_load", [MemoryEffects<[MemRead]>]> {
  let summary = "a buffer of one stage into registers, in the result's layout (ldmatrix where it fits)";
  let description = "- local_load_c1: `buffer` has one stage of the shape and element type of the result.";
  let arguments = (ins Nv_BufferType:$buffer);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
def Nv_LocalStoreOp : Nv_Op<"local_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "registers into a buffer of one stage";
  let description = "- local_store_c1: `buffer` has one stage of the shape and element type of `value`.";
  let arguments = (ins AnyRankedTensor:$value, Nv_BufferType:$buffer);
  let assemblyFormat = "$value `,` $buffer attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}
def Nv_RoundTf32Op : Nv_Op<"round_tf32", [Pure, SameOperandsAndResultType]> {
  let summary = "cvt.rna.tf32.f32 of each element: the hardware drops the bits that tf32 lacks, which is no rounding";
  let arguments = (ins RankedTensorOf<[F32]>:$src);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$src attr-dict `:` type($src)";
}
def Nv_RoundBufferOp : Nv_Op<"round_buffer", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the elements of a buffer of one stage are rounded to tf32 in place, where an MMA reads them from there";
  let description = [{
    A producer's copies round on their way instead: `nv.tensor_map` of `tf32`.
    - round_buffer_c1: `buffer` is one stage of fp32.
  }];
  let arguments = (ins Nv_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Nv_WgmmaOp : Nv_Op<"wgmma", [AllTypesMatch<["acc", "result"]>, MemoryEffects<[MemRead]>, Nv_AsyncMmaOpInterface,
                                DeclareOpInterfaceMethods<Nv_AsyncOpInterface, ["getBuffersRead", "getHeldRegisters"]>]> {
  let summary = "wgmma over a whole tile: fence, one wgmma.mma_async for each piece, commit; the result is under way until nv.wgmma_wait";
  let description = [{
    `lhs` is a buffer or a register tile, `rhs` a buffer. A zero `acc` (`init_zero` true) starts the sum at zero.
    - wgmma_c1: `lhs` is MxK, `rhs` KxN, `acc` MxN in the accumulator layout of `mma`.
    - wgmma_c2: `mma` is of the family wgmma.
    - wgmma_c3: buffers of elements that do not have 16 bits lie along K, as no instruction reads them otherwise.
  }];
  let arguments = (ins AnyType:$lhs, Nv_BufferType:$rhs, AnyRankedTensor:$acc, Tile_MmaAttr:$mma, UnitAttr:$init_zero);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc `mma` `` $mma attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isWaitedForAtOnce();
    MmaWaitOpInterface createWait(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange values);
  }];
}
def Nv_FmaOp : Nv_Op<"fma", [AllTypesMatch<["acc", "result"]>, MemoryEffects<[MemRead]>]> {
  let summary = "product of two buffers by scalar FMA, added to a register tile";
  let description = [{
    - fma_c1: `lhs` is MxK, `rhs` KxN, `acc` MxN (rank 3: with an equal leading batch dimension), of one element type.
  }];
  let arguments = (ins Nv_BufferType:$lhs, Nv_BufferType:$rhs, AnyRankedTensor:$acc);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)";
  let hasVerifier = 1;
}
def Nv_WgmmaWaitOp : Nv_Op<"wgmma_wait", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>, Nv_MmaWaitOpInterface]> {
  let summary = "wgmma.wait_group: the MMAs of `values` and `done` are over, and at most `pending` are in flight; gives the accumulators back (tied)";
  let description = [{
    `done` are accumulators of MMAs that have to be over as well, but that a younger MMA has taken over by then. Passes that order MMAs
    leave `pending` and `held` out; nv-insert-waits fills them in. `held` are the register tiles that these MMAs read: they stay in their
    registers until the wait.
    - wgmma_wait_c1: the results have the types of `values`.
    - wgmma_wait_c2: where a counted wait's value is the result of an MMA in the same block that reads a register tile until it is over, that tile is held.
    - wgmma_wait_c3: `pending` is not negative.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values, Variadic<AnyRankedTensor>:$done, Variadic<AnyRankedTensor>:$held,
                       OptionalAttr<I32Attr>:$pending);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$values), [{ build($_builder, $_state, values.getTypes(), values, {}, {}, {}); }]>];
  let assemblyFormat = "($pending^ `,`)? $values (`done` $done^ `:` type($done))? (`holding` $held^ `:` type($held))? attr-dict `:` functional-type($values, $results)";
  let hasVerifier = 1;
}

def Nv_CopyRegistersOp : Nv_Op<"copy_registers", [Pure, SameOperandsAndResultType]> {
  let summary = "a copy of a register tile, for what reads it while an MMA has the registers of the tile itself";
  let arguments = (ins AnyRankedTensor:$src);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src)";
}
def Nv_SettleOp : Nv_Op<"settle", [MemoryEffects<[MemWrite, MemRead]>]> {
  let summary = "numbers have been computed before any wait behind this begins";
  let description = "The assembler moves waits up, past arithmetic that was to run beside a product. This keeps it in front of them.";
  let arguments = (ins RankedTensorOf<[F32]>:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Nv_PrefetchOp : Nv_Op<"prefetch", [MemoryEffects<[MemWrite]>]> {
  let summary = "prefetch.global.L2: ask L2 for the line around each element, once among the threads that hold it; nothing waits for it";
  let description = "- prefetch_c1: `mask` has the shape and layout of `ptr`.";
  let arguments = (ins Nv_PtrTile:$ptr, Optional<RankedTensorOf<[I1]>>:$mask);
  let assemblyFormat = "$ptr (`mask` $mask^ `:` type($mask))? attr-dict `:` type($ptr)";
  let hasVerifier = 1;
}

//===- programs that outnumber the blocks ----------------------------------------------===//

def Nv_CtaIdOp : Nv_Op<"cta_id", [Pure]> {
  let summary = "number of this block among those that were launched";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Nv_NumCtasOp : Nv_Op<"num_ctas", [Pure]> {
  let summary = "how many blocks were launched; more than there are programs only if the launch lets programs be split";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Nv_ProgramCountOp : Nv_Op<"program_count", [Pure]> {
  let summary = "programs of the user's grid over all axes";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Nv_ProgramAtOp : Nv_Op<"program_at", [Pure]> {
  let summary = "index along `axis` of the user's grid of program number `program`, the first axis running fastest";
  let arguments = (ins I32:$program, ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$program `,` $axis attr-dict";
}
def Nv_ClusterRankOp : Nv_Op<"cluster_rank", [Pure]> {
  let summary = "number of this block among those that run its program together";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Nv_ClusterGatherOp : Nv_Op<"cluster_gather", [MemoryEffects<[MemRead, MemWrite]>, TypesMatchWith<"src is an element", "result", "src",
      "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "a scalar of each block that runs this program, in the order of their ranks; they meet";
  let description = [{
    No block may leave before all have read, see `nv.cluster_arrive`.
    - cluster_gather_c1: the result has rank 1.
  }];
  let arguments = (ins AnyType:$src);
  let results = (outs RankedTensorOf<[AnyType]>:$result);
  let assemblyFormat = "$src attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Nv_ClusterArriveOp : Nv_Op<"cluster_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what this block has read and written so far is done, for all who wait behind `nv.cluster_wait`";
  let assemblyFormat = "attr-dict";
}
def Nv_ClusterWaitOp : Nv_Op<"cluster_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until all blocks of the program have arrived";
  let assemblyFormat = "attr-dict";
}
def Nv_RasterProgramOp : Nv_Op<"raster_program", [Pure]> {
  let summary = "number of the program that is run at `place`, where planes of `width` by `height` programs are walked in bands";
  let description = [{
    Numbers run along the width first; a plane is cut into bands `band` programs wide, of which each is walked row by row. Places map to numbers one
    to one: what is left behind the last whole plane stays in order, and so do all where a plane has at most four bands, or a block runs one program.
  }];
  let arguments = (ins I32:$place, I32:$width, I32:$height, ConfinedAttr<I32Attr, [IntPositive]>:$band);
  let results = (outs I32:$result);
  let assemblyFormat = "$place `,` $width `x` $height `by` $band attr-dict";
}

//===- programs that are split over CTAs (SplitPrograms.h) -----------------------------===//

def Nv_WorkRangeOp : Nv_Op<"work_range", [Pure]> {
  let summary = "how the launch wants programs to be cut: as often as `cycles`, which is 0 if not at all, `blocks` blocks share `programs` programs";
  let results = (outs I32:$cycles, I32:$blocks, I32:$programs);
  let assemblyFormat = "attr-dict";
}
def Nv_StorePartialOp : Nv_Op<"store_partial", [MemoryEffects<[MemWrite]>]> {
  let summary = "hands `value`, this block's part of a sum, to the block that adds up; once in a launch";
  let description = "- store_partial_c1: the elements are fp32.";
  let arguments = (ins AnyRankedTensor:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def Nv_AwaitPartialsOp : Nv_Op<"await_partials", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "where `enable`: waits until the courier has seen the parts that are for this block; once in a launch";
  let arguments = (ins I1:$enable);
  let assemblyFormat = "$enable attr-dict";
}
def Nv_LoadPartialOp : Nv_Op<"load_partial", [MemoryEffects<[MemRead]>]> {
  let summary = "the part that block `from` put; nothing is known of it unless `enable`";
  let description = "- load_partial_c1: the elements are fp32.";
  let arguments = (ins I32:$from, Optional<I1>:$enable);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$from (`if` $enable^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Nv_HelperWarpOp : Nv_Op<"helper_warp", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all that the second extra warp does: passes on the part that this block puts, if it `gives` one, then waits for those for it";
  let description = [{
    Those come from the blocks from `first` to `block`, which is this one, by `step`. The other warps neither wait for writes to arrive nor poll. It
    stands in the producer's region, in front of its loops.
  }];
  let arguments = (ins I1:$gives, I32:$first, I32:$block, I32:$step);
  let assemblyFormat = "$gives `from` $first `to` $block `step` $step attr-dict";
}

//===- tensor maps and warps with roles ------------------------------------------------===//

def Nv_TensorMapType : TypeDef<Nv_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "a tensor map (CUtensorMap) that the host encodes at launch and passes by value";
}
def Nv_TensorMapOp : Nv_Op<"tensor_map", [Pure]> {
  let summary = "how the host makes one tensor map of the kernel's arguments";
  let description = [{
    The symbols of the maps are the kernel's arguments in order, those of `conditions` also the three extents of the grid. `offset` is added to argument `base`, in bytes; `extents`
    has one result a dimension, fastest first; `strides` one a dimension but the first, in bytes. `box` is what one
    instruction copies, `span` the swizzle in bytes. With the element `tf32`, copies round fp32 to tf32. The map is only right while the arguments `non_negative` are, and the
    results of `multiples` are divisible by `divisors`, and those of `conditions` are not negative: then all coordinates fit 32 bits.
    - tensor_map_c1: there are 1 to 5 dimensions: as many extents as sizes of the box, and one stride fewer.
    - tensor_map_c2: `span` is 0, 32, 64 or 128.
    - tensor_map_c3: `multiples` has as many results as there are `divisors`, which are positive.
  }];
  let arguments = (ins I32Attr:$base, AffineMapAttr:$offset, AffineMapAttr:$extents, AffineMapAttr:$strides,
                       DenseI32ArrayAttr:$box, I32Attr:$span, TypeAttr:$element, DenseI32ArrayAttr:$non_negative,
                       OptionalAttr<AffineMapAttr>:$multiples, OptionalAttr<DenseI64ArrayAttr>:$divisors,
                       OptionalAttr<AffineMapAttr>:$conditions);
  let results = (outs Nv_TensorMapType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Nv_MbarrierInitOp : Nv_Op<"mbarrier_init", [MemoryEffects<[MemWrite]>]> {
  let summary = "make the barriers of a circular buffer: for each stage one of one arrival (full) and one of `consumers` (empty)";
  let description = [{
    - mbarrier_init_c1: `barriers` has a pair of i64 in each stage.
    - mbarrier_init_c2: `consumers` is positive.
  }];
  let arguments = (ins Nv_BufferType:$barriers, I32Attr:$consumers);
  let assemblyFormat = "$barriers `,` $consumers attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}
def Nv_ProducerOp : Nv_Op<"producer", [SingleBlock, NoTerminator, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what one thread of an extra warp does while the other warps go on, and another warp if there is a courier; they end behind it";
  let description = [{
    All threads meet before it, so that barriers made above are seen. It stands at the kernel's start.
    - producer_c1: it stands in the function itself, not in a loop or a branch.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
}
def Nv_ExpectOp : Nv_Op<"expect", [MemoryEffects<[MemWrite]>]> {
  let summary = "arrive at the full barrier of a stage, which completes when `bytes` have been copied";
  let description = [{
    - expect_c1: `barrier` is one pair of i64.
    - expect_c2: `bytes` is positive.
  }];
  let arguments = (ins Nv_BufferType:$barrier, I32Attr:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict `:` type($barrier)";
  let hasVerifier = 1;
}
def Nv_TmaLoadOp : Nv_Op<"tma_load", [MemoryEffects<[MemRead, MemWrite]>,
                                      DeclareOpInterfaceMethods<Nv_AsyncOpInterface, ["getBuffersWritten"]>]> {
  let summary = "cp.async.bulk.tensor: copy a tile from `coords` (fastest dimension first) into `buffer`; completes on the full barrier";
  let description = [{
    Outside of the map's extents zeros are written. A buffer of several panels takes several instructions. `buffer` has
    one stage (async_c1).
    - tma_load_c1: there is a coordinate for each dimension of the map.
    - tma_load_c2: `barrier` is one pair of i64.
  }];
  let arguments = (ins Nv_TensorMapType:$map, Variadic<I32>:$coords, Nv_BufferType:$buffer, Nv_BufferType:$barrier);
  let assemblyFormat = "$map `[` $coords `]` `,` $buffer `,` $barrier attr-dict `:` type($buffer) `,` type($barrier)";
  let hasVerifier = 1;
}
def Nv_TmaStoreOp : Nv_Op<"tma_store", [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<Nv_AsyncOpInterface>]> {
  let summary = "each warp hands its part of a tile to TMA, which writes it at `coords` (fastest dimension first)";
  let description = [{
    Memory outside of the map's extents stays as it is. Rows run along dimension `fast` of the tile. A warp goes through its
    pieces (layout/WarpBoxes.h) by a part of the scratch that holds `pieces` of them; the scratch is still read
    when the operation is over, so nothing else may lie there until `nv.tma_store_wait`. `adding`: fp32, to what memory
    holds, indivisibly.
    - tma_store_c1: there is a coordinate for each dimension of the map.
    - tma_store_c2: `fast` is a dimension of `value`, and `pieces` is positive.
    - tma_store_c3: what is added is fp32.
  }];
  let arguments = (ins Nv_TensorMapType:$map, Variadic<I32>:$coords, AnyRankedTensor:$value, I32Attr:$fast, I32Attr:$pieces,
                       UnitAttr:$adds);
  let assemblyFormat = "(`adding` $adds^)? $map `[` $coords `]` `,` $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def Nv_TmaStoreWaitOp : Nv_Op<"tma_store_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "until TMA has read all that this thread handed to it";
  let assemblyFormat = "attr-dict";
}
def Nv_MbarrierWaitOp : Nv_Op<"mbarrier_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until the phase of this parity of a stage's full or empty barrier is over";
  let description = "- mbarrier_wait_c1: `barrier` is one pair of i64.";
  let arguments = (ins Nv_BufferType:$barrier, BoolAttr:$empty, I32:$parity);
  let assemblyFormat = "$barrier `,` $empty `,` $parity attr-dict `:` type($barrier)";
  let hasVerifier = 1;
}
def Nv_ReleaseOp : Nv_Op<"release", [MemoryEffects<[MemWrite]>]> {
  let summary = "each warp arrives once at the empty barrier of a stage: it has read it; nothing where `enable` is false";
  let description = "- release_c1: `barrier` is one pair of i64.";
  let arguments = (ins Nv_BufferType:$barrier, Optional<I1>:$enable);
  let assemblyFormat = "$barrier (`if` $enable^)? attr-dict `:` type($barrier)";
  let hasVerifier = 1;
}
def Nv_PingPongWaitOp : Nv_Op<"ping_pong_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a group of four warps waits until the group before it has passed the turn on";
  let description = "Groups stand in a circle. `last`: only the first group, for what the last one has passed on.";
  let arguments = (ins UnitAttr:$last);
  let assemblyFormat = "(`last` $last^)? attr-dict";
}
def Nv_PingPongArriveOp : Nv_Op<"ping_pong_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a group of four warps lets the group behind it go on; waits for nobody";
  let description = "`first`: only the last group, so that the first one has a turn to take.";
  let arguments = (ins UnitAttr:$first);
  let assemblyFormat = "(`first` $first^)? attr-dict";
}
#endif
