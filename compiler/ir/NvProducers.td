//===- NvProducers.td - the `nv` dialect: tensor maps, producers and their mbarriers --------===//
// What runs on extra warps, what it copies, and how consumers wait for that and take turns. A part
// of NvOps.td, which includes it.
//===--------------------------------------------------------------------------------------===//
#ifndef PANTILE_NV_PRODUCERS
#define PANTILE_NV_PRODUCERS

//===- tensor maps and warps with roles ------------------------------------------------===//

def Nv_TensorMapType : TypeDef<Nv_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "tensor map (CUtensorMap) that the host encodes at launch and passes by value";
}
def Nv_TensorMapOp : Nv_Op<"tensor_map", [Pure]> {
  let summary = "how the host encodes one tensor map from the kernel's arguments";
  let description = [{
    The symbols of the affine maps are the kernel's arguments in order, one of fp32 by its bits; for `conditions` also the three extents of the grid. A `floordiv` of one by a constant
    rounds towards zero. `offset` is added to argument `base`, in bytes; `extents` has one result per dimension, fastest first; `strides` one per dimension but the first, in bytes. `box` is the shape that one
    instruction copies, `span` the swizzle in bytes. With the element `tf32`, copies round fp32 to tf32. The map may be used only if the arguments
    `non_negative` are not negative, the results of `multiples` are divisible by `divisors`, and those of `conditions` are not negative: then all coordinates
    fit in 32 bits, and scales that nv-scale-after-reduction found are positive. With `may_be_empty` the kernel tests `multiples` itself: where they do not hold, the
    host passes zeros in the map's place, and the kernel does not use it.
    - tensor_map_c1: there are 1 to 5 dimensions: as many extents as sizes of the box, and one stride fewer.
    - tensor_map_c2: `span` is 0, 32, 64 or 128.
    - tensor_map_c3: `multiples` has as many results as there are `divisors`, which are positive.
    - tensor_map_c4: one that may be empty has `multiples`, and only TMA stores in branches use it.
  }];
  let arguments = (ins I32Attr:$base, AffineMapAttr:$offset, AffineMapAttr:$extents, AffineMapAttr:$strides,
                       DenseI32ArrayAttr:$box, I32Attr:$span, TypeAttr:$element, DenseI32ArrayAttr:$non_negative,
                       OptionalAttr<AffineMapAttr>:$multiples, OptionalAttr<DenseI64ArrayAttr>:$divisors,
                       OptionalAttr<AffineMapAttr>:$conditions, UnitAttr:$may_be_empty);
  let results = (outs Nv_TensorMapType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Nv_MbarrierInitOp : Nv_Op<"mbarrier_init", [MemoryEffects<[MemWrite]>]> {
  let summary = "mbarrier.init for a circular buffer: for each stage a full barrier of `arrivals` and an empty barrier of `consumers`";
  let description = [{
    - mbarrier_init_c1: `barriers` has a pair of i64 in each stage.
    - mbarrier_init_c2: `consumers` and `arrivals` are positive.
  }];
  let arguments = (ins Nv_BufferType:$barriers, I32Attr:$consumers, DefaultValuedAttr<I32Attr, "1">:$arrivals);
  let assemblyFormat = "$barriers `,` $consumers attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}
def Nv_ProducerOp : Nv_Op<"producer", [SingleBlock, NoTerminator, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "code that an extra warp, and the helper warp if there is one, run while the consumer warps continue; these warps exit after it";
  let description = [{
    Several run on a warp each. One thread of the warp runs it, or, if it copies by cp.async, all of them, of which one arrives.
    All threads synchronise before it, so that the barriers initialised above are visible. It is at the kernel's start; or later,
    after an `nv.fork_producer`: what consumers did before it is then visible to its copies, and they hand it the scalars that it uses.
    It may poll scalars in the consumers' place: its copies after a poll read what the poll has acquired.
    - producer_c1: it is in the function itself; in branches only after an `nv.fork_producer`.
    - producer_c2: its atomic operations are polls of scalars, without a timeout, whose results are unused.
    - producer_c3: one that copies by cp.async neither loads by TMA nor polls: one thread does that.
  }];
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// Whether all threads of its warp run it: these copy by cp.async.
    bool isRunByWarp();
  }];
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
}
def Nv_ForkProducerOp : Nv_Op<"fork_producer", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the extra warps wait here until the consumer warps come to nv.producer or nv.dismiss_producer";
  let description = [{
    - fork_producer_c1: it is in the function itself.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}
def Nv_DismissProducerOp : Nv_Op<"dismiss_producer", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the consumer warps will not come to nv.producer: the extra warps exit";
  let description = [{
    - dismiss_producer_c1: it is in a branch, and the kernel has an `nv.producer`.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}
def Nv_ExpectOp : Nv_Op<"expect", [MemoryEffects<[MemWrite]>]> {
  let summary = "arrive at the full barrier of a stage, which completes when `bytes` have been copied";
  let description = [{
    With 0 `bytes` nothing is copied: it signals that a poll is over (`nv.acquire`).
    - expect_c1: `barrier` is one pair of i64.
    - expect_c2: `bytes` is not negative.
  }];
  let arguments = (ins Nv_BufferType:$barrier, I32Attr:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict `:` type($barrier)";
  let hasVerifier = 1;
}
def Nv_TmaLoadOp : Nv_Op<"tma_load", [MemoryEffects<[MemRead, MemWrite]>,
                                      DeclareOpInterfaceMethods<Nv_AsyncOpInterface, ["getBuffersWritten"]>]> {
  let summary = "cp.async.bulk.tensor: copy a tile from `coords` (fastest dimension first) into `buffer`; completes on the full barrier";
  let description = [{
    Elements outside the map's extents are written as zeros. A buffer of several panels takes several instructions. `buffer` has
    one stage (async_c1).
    - tma_load_c1: there is a coordinate for each dimension of the map.
    - tma_load_c2: `barrier` is one pair of i64.
  }];
  let arguments = (ins Nv_TensorMapType:$map, Variadic<I32>:$coords, Nv_BufferType:$buffer, Nv_BufferType:$barrier);
  let assemblyFormat = "$map `[` $coords `]` `,` $buffer `,` $barrier attr-dict `:` type($buffer) `,` type($barrier)";
  let hasVerifier = 1;
}
def Nv_TmaStoreOp : Nv_Op<"tma_store", [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<Nv_AsyncOpInterface>]> {
  let summary = "TMA store (TMA reduction with `adding`) of a register tile, by warps, to `coords` (fastest dimension first)";
  let description = [{
    Memory outside the map's extents is not written. Rows run along dimension `fast` of the tile. A warp stores its
    pieces (layout/WarpBoxes.h) one after another through its part of the scratch, which holds `pieces` of them. TMA still reads the
    scratch after the operation, so nothing else may use it until `nv.tma_store_wait`. `adding`: adds fp32 to memory, atomically per
    element.
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
  let summary = "wait until TMA has read the shared memory of all TMA stores of this thread";
  let assemblyFormat = "attr-dict";
}
def Nv_MbarrierWaitOp : Nv_Op<"mbarrier_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until the phase of this parity of a stage's full or empty barrier is over";
  let description = "- mbarrier_wait_c1: `barrier` is one pair of i64.";
  let arguments = (ins Nv_BufferType:$barrier, BoolAttr:$empty, I32:$parity);
  let assemblyFormat = "$barrier `,` $empty `,` $parity attr-dict `:` type($barrier)";
  let hasVerifier = 1;
}
def Nv_AcquireOp : Nv_Op<"acquire", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until the producer has polled in the consumers' place, and acquire what the poll has acquired";
  let description = [{
    The producer arrives at the full barrier of the stage after its poll.
    - acquire_c1: `barrier` is one pair of i64.
  }];
  let arguments = (ins Nv_BufferType:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `,` $parity attr-dict `:` type($barrier)";
  let hasVerifier = 1;
}
def Nv_ReleaseOp : Nv_Op<"release", [MemoryEffects<[MemWrite]>]> {
  let summary = "release a stage: each warp arrives once at its empty barrier, unless `enable` is false";
  let description = "- release_c1: `barrier` is one pair of i64.";
  let arguments = (ins Nv_BufferType:$barrier, Optional<I1>:$enable);
  let assemblyFormat = "$barrier (`if` $enable^)? attr-dict `:` type($barrier)";
  let hasVerifier = 1;
}
def Nv_PingPongWaitOp : Nv_Op<"ping_pong_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "ping-pong: a consumer warp group waits until the previous group has arrived";
  let description = "The groups are in cyclic order. `last`: only the first group waits, for the last arrival of the last group.";
  let arguments = (ins UnitAttr:$last);
  let assemblyFormat = "(`last` $last^)? attr-dict";
}
def Nv_PingPongArriveOp : Nv_Op<"ping_pong_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "ping-pong: a consumer warp group arrives at the barrier of the next group, without waiting";
  let description = "`first`: only the last group arrives, so that the first group can start.";
  let arguments = (ins UnitAttr:$first);
  let assemblyFormat = "(`first` $first^)? attr-dict";
}

#endif // PANTILE_NV_PRODUCERS
