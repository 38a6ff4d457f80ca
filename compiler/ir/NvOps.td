//===- NvOps.td - the `nv` dialect: shared memory, asynchronous operations, tensor cores -===//
// Between layouts and LLVM IR. An operation is one instruction, or one per element that a thread
// holds. A constraint has a number, used in the description, the verifier and the negative test; an
// operation without one has only the constraints of its types.
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
    /// The same buffer with so many stages.
    BufferType withDepth(unsigned depth) const;
    BufferType getStageType() const { return withDepth(1); }
    /// Whether each stage is a pair of mbarriers.
    bool holdsMbarriers() const;
  }];
}

class Nv_Op<string mn, list<Trait> traits = []> : Op<Nv_Dialect, mn, traits>;
def Nv_PtrTile : RankedTensorOf<[Tile_PtrType]>;

def Nv_AllocOp : Nv_Op<"alloc", [MemoryEffects<[MemAlloc]>, Nv_BufferOpInterface]> {
  let summary = "reserve a buffer; `offset` (bytes into the dynamic shared memory) is set by AllocateShared";
  let description = "- alloc_c1: `offset` is not negative.";
  let arguments = (ins OptionalAttr<I32Attr>:$offset);
  let results = (outs Nv_BufferType:$buffer);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Nv_TransportAttr : EnumAttr<Nv_Dialect, Nv_Transport, "transport">;
def Nv_ChannelOp : Nv_Op<"channel", [MemoryEffects<[MemAlloc]>, Nv_BufferOpInterface]> {
  let summary = "reserve the circular buffer through which the iterations of loops get a tile";
  let description = [{
    `nv.channel via cp_async ahead 2 by 16 : <3 x[64, 64] x f16, <[1, 0], 128>>`: three stages, filled by cp.async of 16 bytes, two iterations
    before they are read. The loops order the accesses to it: by groups of copies and a barrier, or, without `ahead`, by a pair of mbarriers
    per stage: then a producer fills it. An iteration fills and reads `nv.current_stage`, and once stages are counted the result of
    `nv.select_stage`.
    - channel_c4: TMA or cp.async fills it.
    - channel_c5: for cp.async, `ahead` is positive and not more than there are stages, if given, and `vectorBytes` is 4, 8 or 16; for TMA there is
      neither.
    - channel_c6: `offset` is not negative.
  }];
  let arguments = (ins Nv_TransportAttr:$via, OptionalAttr<I32Attr>:$ahead, OptionalAttr<I32Attr>:$vectorBytes, OptionalAttr<I32Attr>:$offset);
  let results = (outs Nv_BufferType:$buffer);
  let builders = [OpBuilder<(ins "::pantile::nv::BufferType":$type, "::pantile::nv::Transport":$via),
                            [{ build($_builder, $_state, type, via, IntegerAttr(), IntegerAttr(), IntegerAttr()); }]>];
  let extraClassDeclaration = [{
    /// Whether the warps of a producer fill it, for consumers that wait for its stages.
    bool isFilledByProducer() { return !getAhead(); }
  }];
  let assemblyFormat = "(`at` $offset^)? `via` `` $via (`ahead` $ahead^)? (`by` $vectorBytes^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Nv_CurrentStageOp : Nv_Op<"current_stage"> {
  let summary = "the stage of a channel that this iteration fills and reads, as a buffer of one stage";
  let description = [{
    Which one that is has not been counted yet. In sequence any will do.
    - current_stage_c1: the result is the operand with one stage.
    - current_stage_c2: it is in a loop that does not define the channel.
  }];
  let arguments = (ins Nv_BufferType:$channel);
  let results = (outs Nv_BufferType:$result);
  let builders = [OpBuilder<(ins "ChannelOp":$channel), [{ build($_builder, $_state, channel.getType().getStageType(), channel); }]>];
  let assemblyFormat = "$channel attr-dict `:` type($channel) `->` type($result)";
  let hasVerifier = 1;
}
def Nv_DeallocOp : Nv_Op<"dealloc", [MemoryEffects<[MemFree]>]> {
  let summary = "end the lifetime of a buffer: nothing reads or writes it later";
  let arguments = (ins Nv_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}
def Nv_SelectStageOp : Nv_Op<"select_stage", [Pure]> {
  let summary = "one stage of a circular buffer, as a buffer of one stage";
  let description = "- select_stage_c1: the result is the operand with one stage.";
  let arguments = (ins Nv_BufferType:$buffer, I32:$index);
  let results = (outs Nv_BufferType:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$buffer, "::mlir::Value":$index), [{
    build($_builder, $_state, ::llvm::cast<BufferType>(buffer.getType()).getStageType(), buffer, index);
  }]>];
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
    in global and in shared memory, and their mask is true for the first ones only: for all, some or none. With a `barrier` one warp copies, and each of its lanes arrives
    at the full barrier when its copies are complete; a second time, at once, if there is a mask: after it has stored zeros.
    With `run` the elements of each aligned run of so many are equal, and the first one is copied, for loads that read no other
    (`runs` of `nv.local_load`).
    - copy_async_c1: `buffer` has the shape of `ptr`.
    - copy_async_c2: `mask` has the shape and layout of `ptr`.
    - copy_async_c3: `vectorBytes` is 4, 8 or 16.
    - copy_async_c4: `barrier` is one pair of i64; `ptr` then has the layout of one warp.
    - copy_async_c5: copies of an `nv.producer`, and no others, have a `barrier`.
    - copy_async_c6: `run` is a power of two, for a vector with a `barrier`.
  }];
  let arguments = (ins Nv_PtrTile:$ptr, Nv_BufferType:$buffer, Optional<RankedTensorOf<[I1]>>:$mask, Optional<I1>:$enable,
                       Optional<Nv_BufferType>:$barrier, I32Attr:$vectorBytes, OptionalAttr<I64Attr>:$run);
  let builders = [OpBuilder<(ins "::mlir::Value":$ptr, "::mlir::Value":$buffer, "::mlir::Value":$mask, "::mlir::Value":$enable,
                                 "::mlir::Value":$barrier, "uint32_t":$vectorBytes),
                            [{ build($_builder, $_state, ptr, buffer, mask, enable, barrier, vectorBytes, IntegerAttr()); }]>];
  let extraClassDeclaration = [{
    /// How often the lanes of one that has a barrier arrive there.
    static int64_t arrivalsOf(bool isMasked);
  }];
  let assemblyFormat = "$ptr `,` $buffer (`mask` $mask^ `:` type($mask))? (`if` $enable^)? (`on` $barrier^ `:` type($barrier))? attr-dict `:` type($ptr) `,` type($buffer)";
  let hasVerifier = 1;
}
def Nv_CommitOp : Nv_Op<"commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "cp.async.commit_group";
  let assemblyFormat = "attr-dict";
}
def Nv_WaitOp : Nv_Op<"wait", [MemoryEffects<[MemWrite, MemRead]>]> {
  let summary = "cp.async.wait_group: at most `pending` groups of this thread are still in flight; does not wait for other threads' copies";
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
  let summary = "bar.sync 0: synchronise all threads of the CTA; orders shared memory";
  let assemblyFormat = "attr-dict";
}
def Nv_LocalLoadOp : Nv_Op<"local_load", [MemoryEffects<[MemRead]>]> {
  let summary = "a buffer of one stage into registers, in the result's layout (ldmatrix where it fits)";
  let description = [{
    Elements of an aligned block of so many along a dimension as `runs` has are equal, so that the first one is loaded for all.
    - local_load_c1: `buffer` has one stage of the shape and element type of the result.
    - local_load_c2: `runs` has a power of two for each dimension.
  }];
  let arguments = (ins Nv_BufferType:$buffer, OptionalAttr<DenseI64ArrayAttr>:$runs);
  let results = (outs AnyRankedTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$buffer),
                            [{ build($_builder, $_state, type, buffer, nullptr); }]>];
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
  let summary = "round the elements of a buffer of one stage to tf32 in place, for an MMA that reads them from there";
  let description = [{
    TMA loads of a producer round while they copy: `nv.tensor_map` of `tf32`.
    - round_buffer_c1: `buffer` is one stage of fp32.
  }];
  let arguments = (ins Nv_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Nv_WgmmaOp : Nv_Op<"wgmma", [AllTypesMatch<["acc", "result"]>, MemoryEffects<[MemRead, MemWrite]>, Nv_AsyncMmaOpInterface,
                                DeclareOpInterfaceMethods<Nv_AsyncOpInterface, ["getBuffersRead", "getHeldRegisters"]>]> {
  let summary = "wgmma over a whole tile: fence, one wgmma.mma_async for each piece, commit; the result is in flight until nv.wgmma_wait";
  let description = [{
    `lhs` is a buffer or a register tile, `rhs` a buffer. With `init_zero` the accumulator starts at zero, and `acc` is not read.
    It changes what is in flight, so that two with equal operands are not one: waits count MMAs.
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
  let summary = "dot of two buffers by scalar FMA, added to a register tile";
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
    `done` are accumulators of further MMAs that must be over, but whose registers a later MMA already accumulates into. Passes that order
    MMAs omit `pending` and `held`; nv-insert-waits fills them in. `held` are the register tiles that these MMAs read: they stay in their
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
  let summary = "copy a register tile, for readers of it while an MMA in flight uses the registers of the tile itself";
  let arguments = (ins AnyRankedTensor:$src);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src)";
}
def Nv_SettleOp : Nv_Op<"settle", [MemoryEffects<[MemWrite, MemRead]>]> {
  let summary = "keep the computation of `value` before the waits that follow";
  let description = "ptxas moves waits up, before arithmetic that is meant to overlap an MMA. This operation prevents that.";
  let arguments = (ins RankedTensorOf<[F32]>:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Nv_PrefetchOp : Nv_Op<"prefetch", [MemoryEffects<[MemWrite]>]> {
  let summary = "prefetch.global.L2: prefetch the line of each element into L2, by one of the threads that hold it; nothing waits for it";
  let description = "- prefetch_c1: `mask` has the shape and layout of `ptr`.";
  let arguments = (ins Nv_PtrTile:$ptr, Optional<RankedTensorOf<[I1]>>:$mask);
  let assemblyFormat = "$ptr (`mask` $mask^ `:` type($mask))? attr-dict `:` type($ptr)";
  let hasVerifier = 1;
}

//===- persistent kernels and clusters -------------------------------------------------===//

def Nv_CtaIdOp : Nv_Op<"cta_id", [Pure]> {
  let summary = "index of this CTA among those that were launched";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Nv_NumCtasOp : Nv_Op<"num_ctas", [Pure]> {
  let summary = "number of CTAs that were launched; more than there are programs only if the launch allows split tiles (stream-K)";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Nv_ProgramCountOp : Nv_Op<"program_count", [Pure]> {
  let summary = "number of programs of the user's grid, over all axes";
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
  let summary = "rank of this CTA in the cluster that runs its program";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Nv_ClusterGatherOp : Nv_Op<"cluster_gather", [MemoryEffects<[MemRead, MemWrite]>, TypesMatchWith<"src is an element", "result", "src",
      "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "all-gather of one scalar per CTA of the cluster, in the order of their ranks; synchronises the cluster";
  let description = [{
    No CTA may exit before all have read: see `nv.cluster_arrive`.
    - cluster_gather_c1: the result has rank 1.
  }];
  let arguments = (ins AnyType:$src);
  let results = (outs RankedTensorOf<[AnyType]>:$result);
  let assemblyFormat = "$src attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Nv_ClusterArriveOp : Nv_Op<"cluster_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "barrier.cluster.arrive: accesses of this CTA before it are done for CTAs that have passed `nv.cluster_wait`";
  let assemblyFormat = "attr-dict";
}
def Nv_ClusterWaitOp : Nv_Op<"cluster_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "barrier.cluster.wait: wait until all CTAs of the cluster have arrived";
  let assemblyFormat = "attr-dict";
}
def Nv_RasterProgramOp : Nv_Op<"raster_program", [Pure]> {
  let summary = "threadblock swizzle: the program at `position` of the raster order of planes of `width` by `height` programs";
  let description = [{
    Program numbers run along the width first. A plane is divided into raster groups `group` programs wide, and each is visited row by row. Positions map
    to programs one to one. Programs after the last whole plane keep their order; all do if a plane has at most four groups, or a CTA runs one program.
  }];
  let arguments = (ins I32:$position, I32:$width, I32:$height, ConfinedAttr<I32Attr, [IntPositive]>:$group);
  let results = (outs I32:$result);
  let assemblyFormat = "$position `,` $width `x` $height `by` $group attr-dict";
}

//===- stream-K (WorkSplit.h) ------------------------------------------------------===//

def Nv_WorkRangeOp : Nv_Op<"work_range", [Pure]> {
  let summary = "how the launch splits tiles: for `cycles` times (0: never), `ctas` CTAs divide the work of `programs` programs";
  let results = (outs I32:$cycles, I32:$ctas, I32:$programs);
  let assemblyFormat = "attr-dict";
}
def Nv_StorePartialOp : Nv_Op<"store_partial", [MemoryEffects<[MemWrite]>]> {
  let summary = "store `value`, a partial tile of this CTA, for the CTA that reduces it; once per launch";
  let description = "- store_partial_c1: the elements are fp32 or int32.";
  let arguments = (ins AnyRankedTensor:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def Nv_AwaitPartialsOp : Nv_Op<"await_partials", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "if `enable`: wait until the helper warp has seen the partial tiles for this CTA; once per launch";
  let arguments = (ins I1:$enable);
  let assemblyFormat = "$enable attr-dict";
}
def Nv_LoadPartialOp : Nv_Op<"load_partial", [MemoryEffects<[MemRead]>]> {
  let summary = "the partial tile that CTA `from` stored; undefined unless `enable`";
  let description = "- load_partial_c1: the elements are fp32 or int32.";
  let arguments = (ins I32:$from, Optional<I1>:$enable);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$from (`if` $enable^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Nv_HelperWarpOp : Nv_Op<"helper_warp", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the work of the helper warp: publish the partial tile of this CTA, if it `stores` one, then wait for those of its peers";
  let description = [{
    The peers are the CTAs from `first` up to, not including, `cta`, which is this CTA, by `step`. The other warps need not wait for their stores or poll
    flags. The operation is in the producer's region, before its loops.
  }];
  let arguments = (ins I1:$stores, I32:$first, I32:$cta, I32:$step);
  let assemblyFormat = "$stores `from` $first `to` $cta `step` $step attr-dict";
}

include "NvProducers.td"

#endif
