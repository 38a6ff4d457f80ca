//===- Passes.td - every pass over the tile IR ------------------------------------------===//
// A pass is declared here, called in Pipeline.cpp, implemented in one .cpp, and tested by one .mlir of
// the same stem. scripts/passes_page.py generates docs/passes.md from this file: the summary says what
// the pass does, the description when and with which limits, the header of its .cpp how.
//===-----------------------------------------------------------------------------------===//
#ifndef PANTILE_PASSES
#define PANTILE_PASSES
include "mlir/Pass/PassBase.td"

def HoistInvariants : Pass<"tile-hoist-invariants", "::mlir::ModuleOp"> {
  let summary = "Move loop-invariant operations out of loops";
  let description = [{
    Loads and other operations with effects stay. So does all that is computed in a loop of `tl.range(..., disable_licm=True)` or of a `while` with
    `tl.condition(..., disable_licm=True)`; LLVM's loop-invariant code motion leaves these alone, too.
  }];
}

def CountLoops : Pass<"tile-count-loops", "::mlir::ModuleOp"> {
  let summary = "Convert a counting `while` to a loop over a range";
  let description = [{
    `while k < end:` whose body adds a power of two to `k` once becomes `for k in range(k, end, step):`. Then its loads can be prefetched, and its
    warps specialised. A loop with a `break`, a `return` or another condition stays a `while`.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def CountIterations : Pass<"tile-count-iterations", "::mlir::ModuleOp"> {
  let summary = "Count the iterations of a loop with exits before it runs";
  let description = [{
    For a loop with dots that ends by `break`, `return` or the condition of a `while`, if that depends on scalars alone, and none of these on memory
    or a tile. A loop of these scalars counts the iterations, and the original loop becomes one over that range, whose loads are prefetched. What
    follows `if done: break` is then no longer under a condition. Without it such a loop waits for its loads.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def CountFromZero : Pass<"tile-count-from-zero", "::mlir::ModuleOp"> {
  let summary = "Number the iterations of loops whose pointers advance by no multiple of the loop's step";
  let description = [{
    A loop over `range(0, K, 128)` that advances a pointer by 64, such as to packed weights of 4 bits, becomes one over the numbers of its iterations. What it
    advances is then affine in the counter, so that TMA can load it. The step must be a constant of at least 2, and the first counter one that is not negative.
    Without it a producer loads less of such loops, or nothing.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def OrderMemory : Pass<"tile-order-memory", "::mlir::ModuleOp"> {
  let summary = "Insert barriers between dependent accesses to global memory within a program";
  let description = [{
    Inserts a barrier between two accesses through the same pointers, one of them a store, which different threads may execute. Without it kernels
    are wrong that pass values through memory within a program, or overwrite memory that they loaded from.
  }];
  let dependentDialects = ["::pantile::TileDialect"];
}

def ApproximateExp : Pass<"tile-approximate-exp", "::mlir::ModuleOp"> {
  let summary = "Flush denormal results of exponentials to zero where that changes nothing";
  let description = [{
    `math.exp` of fp32 becomes `math.exp2` of the scaled operand where results below 2^-126 may be 0: where a constant is added, as in
    `1 + exp(-x)`, in a narrower format, and in the weights of a softmax. `tl.exp2` always gives 0 for them. Without it each exponential takes three
    instructions more.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def CombineFactors : Pass<"tile-combine-factors", "::mlir::ModuleOp"> {
  let summary = "Multiply the factors of rows and columns with each other before the tile";
  let description = [{
    `dot(a, b) * row_scales[:, None] * column_scales[None, :]` of fp32 is computed as the dot times the product of both scales, which is one operation per
    element where the result is added to a sum, and not two. Results may differ in the last bit, and by more where the product of the scales is infinite or
    denormal, so it is for `enabled_passes` alone.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SplitOverCluster : Pass<"nv-split-over-cluster", "::mlir::ModuleOp"> {
  let summary = "Split rows that no SM holds over a thread-block cluster";
  let description = [{
    On Hopper, where all tiles of a kernel are rows of one length, of 131072 elements or more, that are reduced, such as a softmax of many columns.
    A cluster of four or eight CTAs runs a program, each CTA has a part of the row, and results of reductions are exchanged through distributed
    shared memory (DSMEM). Sets `ctas_per_program` of `nv.launch`, which is also `metadata.num_ctas`; a launch starts as many CTAs per program.
    Without it most of such a row is spilled.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}

def SelectMma : Pass<"tile-select-mma", "::mlir::ModuleOp"> {
  let summary = "Choose the instruction of each dot";
  let description = [{
    Sets `mma` on every `tile.dot`: wgmma where the target and the shape allow it, else mma.sync, else scalar FMA. Without
    the choice `wgmma`, Hopper runs mma.sync.

    wgmma reads fp32 (as tf32) from shared memory contiguous along K alone. It reads A also from registers, where any order is possible. For A of M by
    K and B of K by N:

    - A and B contiguous along K are read from shared memory.
    - A contiguous along M goes through registers.
    - With B contiguous along N and A along K, the dot becomes the transposed one, C^T = B^T A^T, and loops carry its accumulator.
    - If neither is contiguous along K, the smaller one is transposed between two buffers.

    A computed operand counts as contiguous along either dimension. If a loop computes B from tiles that it loads, and loads A, the dot becomes the
    transposed one, whose left operand may stay in registers (`computed-left`).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [Option<"wgmma", "wgmma", "bool", "true", "dots may run on wgmma">,
                 Option<"fp32OnMmaSync", "fp32-on-mma-sync", "bool", "false", "dots of fp32 run on mma.sync, without the buffers of wgmma">,
                 Option<"computedLeft", "computed-left", "bool", "true", "right operands that are computed become left ones, of the transposed dot">];
}
def AssignLayouts : Pass<"tile-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "Give every tile a layout";
  let description = [{
    A layout says which register, lane and warp holds an element. Loads, stores and dots fix layouts, inexpensive values are rematerialised where
    another layout is needed, and other values are converted. With the choice `in-warp-stores`, a warp stores its own part of a dot's result; without
    it, results are exchanged between warps first. With the choice `computed-operands`, operands that a loop computes from loaded tiles, such as
    weights of 4 bits, are computed in the layout of their MMA where that takes fewer cycles; without it, they go through shared memory.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::scf::SCFDialect"];
  let options = [Option<"inWarpStores", "in-warp-stores", "bool", "true", "a warp may write its own part of a dot's result">,
                 Option<"storesInPlace", "stores-in-place", "bool", "false", "a dot's result is stored in its own layout, without a buffer">,
                 Option<"computedOperands", "computed-operands", "bool", "false", "operands may be computed in the layout of their MMA">,
                 Option<"computedLeft", "computed-left", "bool", "true", "left operands of wgmma may be computed in registers">];
}
def ReduceByMma : Pass<"tile-reduce-by-mma", "::mlir::ModuleOp"> {
  let summary = "Compute row sums of a dot's left operand by an MMA";
  let description = [{
    On Hopper, a running sum over K of elements that a dot's left operand has in 16 bits, such as the rounded weights of attention, becomes an MMA of
    that operand and eight columns of ones. Each iteration's sum starts from zero, and fp32 additions accumulate the sums. Without it each thread
    widens and adds its elements.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
def DeferReductions : Pass<"tile-defer-reductions", "::mlir::ModuleOp"> {
  let summary = "Defer reductions of running row sums across threads until after the loop";
  let description = [{
    In loops with MMAs, a sum over rows that is only scaled and added to, such as that of an online softmax, becomes one over each thread's own
    elements. Without it the threads of a row exchange their sums in each iteration.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
def StageOperands : Pass<"nv-stage-operands", "::mlir::ModuleOp"> {
  let summary = "Put the operands of tensor-core dots into shared memory";
  let description = [{
    A wgmma dot becomes `nv.wgmma`, and a scalar one `nv.fma`, on buffers. In loops, a loaded operand of an mma.sync dot goes through a buffer, too,
    so that its load can become an asynchronous copy, and so does one that the loop keeps, if registers do not hold it.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"inPlace", "in-place", "bool", "false", "operands that are loaded outside of loops have no buffers that are not required">,
                 Option<"turnsBytes", "turns-bytes", "bool", "true", "right operands of bytes that are contiguous along columns have two buffers">];
}
def ShareOperands : Pass<"nv-share-operands", "::mlir::ModuleOp"> {
  let summary = "Keep an operand that several MMAs or loops read in one buffer";
  let description = [{
    A tile that several MMAs read, loaded or computed, such as the corrected values of a delta rule, which each part of the state adds; or the queries
    of causal attention, whose first loop visits the tiles left of the diagonal, and whose second those on it. Without it each MMA stores the
    tile into a buffer of its own: a load is not prefetched, a computed tile is stored after the MMA before is complete, and the queries are
    held in registers over the first loop, and stored once more. A computed tile of a loop that threads also need in another layout, as to store
    it to global memory, is read from its buffer, too. Without it that goes through scratch, and barriers order the two where they have the same bytes. So is
    a tile that the loop loads for an MMA and for its threads, which cannot be prefetched else: as long as its stages leave as many CTAs per SM as there were, or two.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
/// Options of the plan of a producer (SpecialisableLoops.h), the same for all passes that make one.
defvar producerOptions = [Option<"thirdCta", "third-cta", "bool", "false", "added stages do not cost the third CTA per SM">,
                          Option<"bufferedValues", "buffered-values", "bool", "true", "tiles that no dot reads unchanged may have stages">,
                          Option<"tmaValues", "tma-values", "bool", "true", "a producer may fill these stages by TMA">,
                          Option<"mixedTransports", "mixed-transports", "bool", "false", "consumers may copy what TMA cannot load">,
                          Option<"copiedVectors", "copied-vectors", "bool", "true", "and a producer vectors that it cannot">,
                          Option<"pastStores", "past-stores", "bool", "true", "a producer may load past stores of its loop through other arguments">];

def PlanPrograms : Pass<"nv-plan-programs", "::mlir::ModuleOp"> {
  let summary = "Choose how a kernel's programs are run: by CTAs of their own or persistently, with a producer or without one";
  let description = [{
    Compares the ways to run a kernel with load-dot loops, and lists them in `nv.candidates` with what each takes of an SM, or why it is refused. Marks
    the chosen one, which the passes after it apply. A kernel becomes persistent only with a producer, and only if as many CTAs fit on an SM. Where `nv-stream-k` is
    switched on, CTAs split the tiles of a persistent kernel whose loop obeys its rules; where it is not disabled either, such a kernel gets
    `nv.stream_k_estimate`, by which each launch chooses between it and a variant with `nv-stream-k`.

    In kernels such as attention, whose MMAs are waited for in their iteration, a higher occupancy is preferred to a producer: CTAs hide each other's
    waits. So is the same occupancy, if waits can be deferred by one iteration. The choice `occupancy-first` switches that rule: without it there is a
    producer wherever TMA can do the loads. With the choice `third-cta`, added stages and scratch do not cost the third CTA per SM; without it, not
    the second.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = !listconcat([Option<"occupancyFirst", "occupancy-first", "bool", "true", "a higher occupancy is preferred to a producer">,
                             Option<"producer", "producer", "bool", "true", "a producer warp may load for the consumers">,
                             Option<"persistent", "persistent", "bool", "true", "a CTA may run several programs">,
                             Option<"streamK", "stream-k", "bool", "false", "CTAs may split a program's iterations">,
                             Option<"estimatesStreamK", "estimates-stream-k", "bool", "true", "launches may choose a variant that does">,
                             Option<"carriesAccumulators", "carried-accumulators", "bool", "true", "waits for dots may be deferred by one iteration">],
                            producerOptions);
}
def MakePersistent : Pass<"nv-make-persistent", "::mlir::ModuleOp"> {
  let summary = "Make the kernel persistent, so that stores of one program overlap loads of the next";
  let description = [{
    Puts the body of a kernel for which that was chosen into a loop over program numbers. Sets `persistent` of `nv.launch`; the launcher then starts at
    most as many CTAs as fit the GPU at once, and passes the user's grid. Without it each program has a CTA of its own.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
}
def OrderRaster : Pass<"nv-order-raster", "::mlir::ModuleOp"> {
  let summary = "Visit output tiles in raster order (threadblock swizzle), so that a wave reads the same rows and columns";
  let description = [{
    In a persistent kernel whose MMAs take their rows from one axis of a grid and their columns from another (or from quotient and remainder of
    one), and where there are more than four raster groups of 1024 rows or columns. Program indices then come from `nv.raster_program`. A kernel whose
    source groups its programs (`GROUP_M`) stays as it is. Without it programs run in the order of their numbers.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::arith::ArithDialect"];
}
def StreamK : Pass<"nv-stream-k", "::mlir::ModuleOp"> {
  let summary = "Split the output tiles of the last waves over CTAs by K-iterations, so that all CTAs end together";
  let description = [{
    Stream-K (Osama et al., arXiv:2301.03598), on Hopper: where it is switched on, and in the variant that a launch compiles and runs if it predicts at
    least 1.2 times the speed and is not captured in a graph. If tiles do not divide evenly over the CTAs, those of the last full
    wave and the rest, or all if there is less than a wave, are split into equal work ranges. A CTA that has the first iterations of a tile stores its
    partial tile to global memory. The CTA that has the last iteration reduces the partial tiles in the order of the CTAs and runs the epilogue. If that
    saves less than it costs, which the kernel computes at its start, tiles stay whole. Sets `partial_bytes` of `nv.launch`. Without it CTAs idle in the
    last wave.

    - The kernel must be persistent, with one load-dot loop that has one `tl.dot`. The loop carries one sum in fp32 or int32 that begins at zero: the accumulator
      of that dot, or a tile that each iteration adds to, such as a dot times scales. All other carried values of the loop must grow by the same amount in each
      iteration. Remarks say which rule is broken.
    - Partial tiles are added in another order than without it, so the last bits differ; they are the same from run to run on one kind of GPU.
    - The first such launch on a stream allocates a workspace, a tile of 32-bit elements per CTA that runs at once (17 MB for 128×256 on an H200), and keeps it. So
      does each capture of a graph, whose workspace is reused once the graph and all that was made from it are destroyed.
      `pantile.runtime.release_workspaces()` frees those that no graph holds (in C++ `releaseWorkspaces`). A context has at most 64 workspaces; those of
      streams after the eighth go to new streams when their launches have completed. If all are in use, or memory is short, and in launchers that
      `pantile.tools.compile` or `pantilec` writes, tiles stay whole.
    - Two executable graphs that were instantiated from one capture must not run at the same time, which CUDA allows: they share a workspace. (Memory
      allocation nodes would give each its own, but CUDA instantiates, copies and nests graphs with such nodes only once.)
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
  let options = producerOptions;
}
def SpecialiseWarps : Pass<"nv-specialise-warps", "::mlir::ModuleOp"> {
  let summary = "Specialise warps: a producer warp issues the loads of load-dot loops by TMA";
  let description = [{
    On Hopper, where every staged load of a loop has an affine access that a tensor map can describe, also with data-dependent offsets. One thread of
    an extra warp fills the stages of circular buffers by TMA; full and empty mbarriers synchronise it with the consumer warps. Sets
    `producer_warps` of `nv.launch`. Where memory may be written before the loops, or coordinates come from it, the producer starts after that
    (`nv.fork_producer`). It polls scalars between loops in place of the consumers, which wait for that (`nv.acquire`). A loop that is not specialised gets a remark that says why. Without it loads are prefetched by cp.async.

    With the choice `tma-values`, the producer also loads tiles that threads read: matrices that the loop computes with, such as weights that are
    unpacked first, and vectors, such as the row sums of attention's gradients, where registers do not suffice to hold those of the next iteration.
    Threads load them from their stage at their first use, and release it after the last. Without it a loop that computes with such matrices has no
    producer, and vectors stay in registers.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
  let options = producerOptions;
}
def ScheduleLoops : Pass<"nv-schedule-loops", "::mlir::ModuleOp"> {
  let summary = "Decide which staged loads of a loop are prefetched, how far ahead, and through how many stages";
  let description = [{
    Gives each an `nv.channel`: the depth of its circular buffer, the distance in iterations, and the bytes of one cp.async.
    A load that cannot be prefetched gets a remark that says why. Without it loads wait for memory.

    The choice `carried-accumulators` adds a stage, or shortens the prefetch distance by one iteration, for MMAs whose wait is deferred by one iteration,
    if a thread has registers for the left operands of several. `nv-plan-programs` counts on it for kernels with several such accumulators, such as
    the gradients of keys and values. Without it they are waited for in their own iteration.

    With the choice `buffered-values`, tiles that a loop with MMAs computes with, such as weights that are unpacked first, go through buffers, too, and
    are prefetched by all warps, unless a producer loads them (`tma-values`). Without it they are loaded into registers at their use, or one iteration
    before it if they are small.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"carriesAccumulators", "carried-accumulators", "bool", "true", "buffers for dots whose wait is deferred by one iteration">,
                 Option<"fewerBuffers", "fewer-buffers", "bool", "false", "circular buffers have one stage less than `num_stages`">
                 ] # producerOptions;
}
def ExpandPipeline : Pass<"nv-expand-pipeline", "::mlir::ModuleOp"> {
  let summary = "Convert loads into channels to asynchronous copies that are issued iterations before their use";
  let description = "Software pipelining by cp.async, as `nv-schedule-loops` has decided. Without it loads wait for memory.";
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
}
def PrefetchLoads : Pass<"nv-prefetch-loads", "::mlir::ModuleOp"> {
  let summary = "Prefetch tiles of later iterations into registers";
  let description = [{
    In loops of `tl.range(..., num_stages=...)` without MMAs: the tiles of up to `num_stages - 1` later iterations, as far as registers suffice. In loops
    with MMAs: the vectors of the next iteration, such as the row sums that attention's gradients begin with. Without it loads wait for memory.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}
def PrefetchRows : Pass<"nv-prefetch-rows", "::mlir::ModuleOp"> {
  let summary = "Prefetch the row of a later program into L2";
  let description = [{
    In kernels that hold a row over a reduction, such as layer norm and softmax, where addresses follow from the program number. The row is that of the
    program four megabytes later in memory or, in a loop over rows, the program's own next row, if the rows of all programs fit into L2. Without it
    memory is idle while programs compute.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::pantile::nv::NvDialect", "::mlir::arith::ArithDialect"];
}
def RemoveUnreachable : Pass<"tile-remove-unreachable", "::mlir::ModuleOp"> {
  let summary = "Remove the bodies of `while` and `if` that constants show to be never entered";
  let description = [{
    Such as `while i < n` with an `n` of 0 at compile time, and what a `break` in its first iteration skips. MLIR's remove-dead-values, which comes
    next, does not take them.
  }];
}

def TmaStores : Pass<"nv-tma-stores", "::mlir::ModuleOp"> {
  let summary = "Convert stores of matrices to TMA stores";
  let description = [{
    On Hopper, for accumulators of 64×128 elements or more whose store has an affine access that a tensor map can describe. The result goes through
    swizzled shared memory, of which each warp has its own part. Where strides or the ends of rows are not known to be multiples of 16 bytes, a branch
    of the kernel tests that, and stores in vectors otherwise. A store that is not converted gets a remark that says why. If the pass is switched
    on by name, stores are converted too of which it is not known to pay. Without it warps store their parts in vectors.

    With the choice `tma-reductions`, TMA reduces fp32 tiles that relaxed atomics in loops with MMAs would add, and whose old values nothing reads.
    Without it threads add them.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [Option<"all", "all", "bool", "false", "convert also stores of which it is not known to pay">,
                 Option<"sums", "sums", "bool", "true", "convert also relaxed atomic adds to TMA reductions">];
}
def ScaleAfterReduction : Pass<"nv-scale-after-reduction", "::mlir::ModuleOp"> {
  let summary = "Scale the maxima of rows instead of all elements";
  let description = [{
    The maximum of a row times a positive number is that number times the maximum of the row: a softmax then multiplies its scores where it subtracts
    the maximum, by the same instruction. That an argument is positive and of moderate size is a condition of launches, next to those of a tensor map;
    kernels without TMA are not changed. Without it each score is multiplied before the maximum is taken.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::arith::ArithDialect"];
}
def AllocateShared : Pass<"nv-allocate-shared", "::mlir::ModuleOp"> {
  let summary = "Allocate shared memory for buffers and for the scratch of operations";
  let description = "Sets `offset` of `nv.alloc`, `nv.scratch` of operations, and `shared_bytes` of `nv.launch`.";
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def DeferWaits : Pass<"nv-defer-waits", "::mlir::ModuleOp"> {
  let summary = "Issue MMAs when their operands are there, and wait for them where their results are used";
  let description = [{
    In loops with several wgmma per iteration, such as the gradients of attention. Without it one MMA completes before the next is issued. With the
    choice `carried-accumulators` of `nv-schedule-loops`, MMAs that add to carried accumulators, as in attention without a producer, are waited for in the
    next iteration: else the tensor cores idle between iterations. In a loop with one wgmma, conversions of layouts that it does not need, such as those of scales for its result, run while it is in flight.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def OverlapIterations : Pass<"nv-overlap-iterations", "::mlir::ModuleOp"> {
  let summary = "Overlap the last MMAs of an iteration with the first of the next";
  let description = [{
    In loops such as those of attention and its gradients. MMAs that add to carried accumulators, and whose left operand is computed from the results
    of other MMAs, run one iteration later: they are in flight together with the first MMAs of the next iteration, while the elements between those
    two stages are computed. Only if a producer fills the circular buffers, if these have one more stage where it is needed, and if registers suffice.
    Without it the second MMAs wait for that computation. The choice `nv-overlap-dots` is for loops that rescale their accumulators, as attention does.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
  let options = [Option<"rescaled", "rescaled", "bool", "true", "also loops that rescale their accumulators">];
}
def OverlapResults : Pass<"nv-overlap-results", "::mlir::ModuleOp"> {
  let summary = "Issue the MMAs of the next iteration before the results of this one are read";
  let description = [{
    In loops whose MMAs start from zero, and whose results are scaled and added, as in GEMM with a scale per block of K. The tensor cores multiply the
    next block meanwhile. Only if a producer fills the circular buffers, with at least three stages, if nothing in the loop writes memory, and if
    registers suffice for a second result. Without it the tensor cores idle while a result is read.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def ExpandLoops : Pass<"nv-expand-loops", "::mlir::ModuleOp"> {
  let summary = "Expand loops whose operations have stages: software pipelining";
  let description = [{
    Of loops with `nv.expand`, whose operations have `nv.stage` and `nv.cluster`: stages of an iteration run together with earlier stages of later
    ones. Stage 0 of the first iteration is peeled, stage 1 of the last one follows the loop, and values that are read in later iterations are carried.
    With `nv.expand = 2` the loop is unrolled by two, so that such values stay in their registers. With `nv.predicated` it is not peeled: loads and
    copies of the stages before the last, of which there may be several, are predicated. Before this pass these loops run as they are written.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
def CarryMmas : Pass<"nv-carry-mmas", "::mlir::ModuleOp"> {
  let summary = "Keep the last MMAs of an iteration in flight while the next one begins";
  let description = [{
    In loops of several MMAs that no other pass overlaps, such as the gradients of attention in one kernel. MMAs at the end of an iteration that add
    to carried accumulators are waited for at the first wait of the next iteration, and the stages that they read are released there. So the tensor cores
    are busy while the iteration ends, stores results, and waits for its next operands. Only if a producer fills the circular buffers, and if registers
    suffice for these accumulators next to the first results. Without it they idle between iterations.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::arith::ArithDialect"];
}
def PingPong : Pass<"nv-ping-pong", "::mlir::ModuleOp"> {
  let summary = "Alternate the MMAs of consumer warp groups (ping-pong)";
  let description = [{
    So that one warp group multiplies while another computes elements. In loops of more than two MMAs that are issued together, such as attention's
    gradients, whose groups do not synchronise otherwise, and only if a producer fills the circular buffers. With the choice `ping-pong-pairs`, loops of
    two MMAs, too, such as attention. Without it groups multiply at the same time, and compute at the same time.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"pairs", "pairs", "bool", "false", "also loops of two MMAs">];
}
def InsertWaits : Pass<"nv-insert-waits", "::mlir::ModuleOp"> {
  let summary = "Count what each wait for MMAs leaves in flight, and insert the waits that are missing";
  let description = [{
    A forward data-flow analysis of the MMAs in flight. Sets `pending` and `held` of each `nv.wgmma_wait`, and inserts one before an operation that
    would read accumulators of an MMA in flight, overwrite registers that it reads, or release its stage.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def CountStages : Pass<"nv-count-stages", "::mlir::ModuleOp"> {
  let summary = "Increment and wrap stage indices instead of dividing";
  let description = "Where the depth of a circular buffer is no power of two. Without it each iteration has a division.";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
def ReallocateRegisters : Pass<"nv-reallocate-registers", "::mlir::ModuleOp"> {
  let summary = "Reallocate registers of the producer to the consumer warps (setmaxnreg)";
  let description = [{
    If loops need more registers per thread than all warps can have. Sets `registers` of `nv.launch`, and `producer_warps` to a whole warp group.
    Without it the consumers spill.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def InsertBarriers : Pass<"nv-insert-barriers", "::mlir::ModuleOp"> {
  let summary = "Order the threads' accesses to shared memory";
  let description = [{
    A forward data-flow analysis of what is read and written since the last barrier. Without it threads race: only to test tools that find races. With
    the choice `barriers-before-loops`, a barrier is inserted before a loop if that saves one in it, as in the gradients of attention.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"beforeLoops", "before-loops", "bool", "true", "insert a barrier before a loop where that saves one in it">];
}

def Rematerialise : Pass<"nv-rematerialise", "::mlir::ModuleOp"> {
  let summary = "Widen rows of 16 bits again after a reduction, where wide ones fill the registers";
  let description = [{
    Rematerialisation: uses after the reduction get an `arith.extf` of their own, of an opaque copy. Without it ptxas spills, or `nv-spill-to-shared`
    spills half of the row to shared memory.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::arith::ArithDialect"];
}
def SpillToShared : Pass<"nv-spill-to-shared", "::mlir::ModuleOp"> {
  let summary = "Spill half of a row that fills the registers to shared memory";
  let description = [{
    In kernels without loops, over a reduction. Sets `spills` of `nv.launch`, and adds to `shared_bytes`. Without it ptxas spills to local memory.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def PackPrograms : Pass<"nv-pack-programs", "::mlir::ModuleOp"> {
  let summary = "Allow a launch to put several programs of one warp into a CTA";
  let description = [{
    If they use no shared memory and do not synchronise with others. A launch packs four per CTA if it has more programs than CTAs fit the GPU at once.
    Sets `programs_per_cta` of `nv.launch`. Without it each program has a CTA of its own.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def RecordPlan : Pass<"nv-record-plan", "::mlir::ModuleOp"> {
  let summary = "Record what was decided, and what it is predicted to cost, as `nv.plan`";
  let description = [{
    On the kernel and on its loops with MMAs or channels; [`kernel.plan`](remarks-and-plans.md#the-plan-of-a-kernel) shows it. Changes nothing else.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"maxRegisters", "max-registers", "int64_t", "0", "registers per thread that the assembler is limited to; 0: no limit">];
}
def RemarkAccesses : Pass<"nv-remark-accesses", "::mlir::ModuleOp"> {
  let summary = "Remark on inefficient memory accesses";
  let description = [{
    Global accesses in which a warp uses parts of sectors only, and shared-memory accesses with bank conflicts. Runs if remarks are requested, and changes
    nothing.
  }];
}
def TestAxisInfo : Pass<"test-axis-info", "::mlir::ModuleOp"> {
  let summary = "Remark on the AxisInfo facts of each result";
  let description = "For tests and for questions such as `why is this load not vectorised`. Changes nothing.";
}
def TestPlantError : Pass<"test-plant-error", "::mlir::ModuleOp"> {
  let summary = "Plant one deliberate mistake, to check that a test finds it";
  let description = "The mistake of `kind` at opportunity `at`, counted from 0 in the order of the IR. Changes nothing where there are fewer.";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [Option<"kind", "kind", "std::string", "\"\"", "the mistake, e.g. `drop-barrier`">,
                 Option<"at", "at", "unsigned", "0", "which of the opportunities">];
}
#endif
