//===- Passes.td - every pass over the tile IR ------------------------------------------===//
// Declared here, called in Pipeline.cpp, written in one .cpp, tested by one .mlir of the same stem.
// scripts/passes_page.py makes docs/passes.md of this file: the summary says what the pass does, the
// description when and with which limits, the header of its .cpp how.
//===-----------------------------------------------------------------------------------===//
#ifndef PANTILE_PASSES
#define PANTILE_PASSES
include "mlir/Pass/PassBase.td"

def HoistInvariants : Pass<"tile-hoist-invariants", "::mlir::ModuleOp"> {
  let summary = "Move what does not change in a loop out of it";
  let description = [{
    Loads and what else has effects stay. So does all that is computed in a loop of `tl.range(..., disable_licm=True)` or of a `while` with
    `tl.condition(..., disable_licm=True)`, which LLVM's pass of the kind leaves alone, too.
  }];
}

def CountLoops : Pass<"tile-count-loops", "::mlir::ModuleOp"> {
  let summary = "Make a `while` that counts a loop over a range";
  let description = [{
    `while k < end:` whose body adds a power of two to `k` once becomes what `for k in range(k, end, step):` is, so that its loads are prefetched and
    its dots fed by a producer warp, too. A loop with a `break`, a `return` or another condition stays a `while`.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def CountIterations : Pass<"tile-count-iterations", "::mlir::ModuleOp"> {
  let summary = "Count the iterations of a loop with exits before it runs";
  let description = [{
    A loop with dots that `break`, `return` or the condition of a `while` ends, where only scalars decide, and none that memory or a tile gives:
    a loop of these scalars alone counts how often it iterates, and the loop becomes one over that range, whose loads are prefetched. After
    `if done: break` nothing is under a condition any more. Without it such a loop waits for its loads.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def OrderMemory : Pass<"tile-order-memory", "::mlir::ModuleOp"> {
  let summary = "Order accesses to one place as the program does";
  let description = [{
    Inserts a barrier between two accesses through the same pointers, one of them a store, that different threads may do. Without it kernels that
    send values through memory within a program, or overwrite what they go on using, are wrong.
  }];
  let dependentDialects = ["::pantile::TileDialect"];
}

def ApproximateExp : Pass<"tile-approximate-exp", "::mlir::ModuleOp"> {
  let summary = "Compute exponentials without denormal results where these change nothing";
  let description = [{
    `math.exp` of fp32 becomes `math.exp2` of the scaled operand where results below 2^-126 are as good as 0: where a constant is added, as in
    `1 + exp(-x)`, in a narrower format, among the weights of a softmax. `tl.exp2` always gives 0 for them. Without it each exponential takes three
    instructions more.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def SplitOverCluster : Pass<"nv-split-over-cluster", "::mlir::ModuleOp"> {
  let summary = "Split rows that no SM holds over a thread-block cluster";
  let description = [{
    On Hopper, where all tiles of a kernel are rows of one length, of 131072 elements or more, that are reduced, such as a softmax of many columns:
    four or eight CTAs run a program, each has a part of the row, and results of reductions are exchanged through distributed shared memory. Sets
    `ctas_per_program` of `nv.launch`; `metadata.num_ctas` has it, and a launch starts as many times the CTAs. Without it most of such a row is spilled.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}

def SelectMma : Pass<"tile-select-mma", "::mlir::ModuleOp"> {
  let summary = "Choose the instruction of each dot";
  let description = [{
    Sets `mma` on every `tile.dot`: wgmma where the target and the shape allow it, else mma.sync, else scalar FMA. Without
    the choice `wgmma`, Hopper runs mma.sync.

    wgmma reads fp32 (as tf32) from shared memory along K alone, and A also from registers, where it may lie in any order. With A of M by K and B of K
    by N: both along K are read from shared memory; A along M goes through registers; with B along N and A along K, the dot becomes the transposed
    one, C^T = B^T A^T, and loops carry its accumulator; where both lie otherwise, the smaller one is transposed between two buffers. What is
    computed counts as lying along either.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [Option<"wgmma", "wgmma", "bool", "true", "dots may run on wgmma">,
                 Option<"fp32OnMmaSync", "fp32-on-mma-sync", "bool", "false", "dots of fp32 take no buffers that wgmma would need">];
}
def AssignLayouts : Pass<"tile-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "Give every tile a layout";
  let description = [{
    A layout says which register, lane and warp holds an element. Loads, stores and dots fix layouts, inexpensive values are computed again where
    another layout is needed, and the rest is converted. With the choice `in-warp-stores`, a warp stores its own part of a dot's result; without it,
    results are exchanged between warps first.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::scf::SCFDialect"];
  let options = [Option<"inWarpStores", "in-warp-stores", "bool", "true", "a warp may write its own part of a dot's result">,
                 Option<"storesInPlace", "stores-in-place", "bool", "false", "a dot's result is stored in its own layout, without a buffer">];
}
def DeferReductions : Pass<"tile-defer-reductions", "::mlir::ModuleOp"> {
  let summary = "Reduce running sums of rows across threads once, after the loop";
  let description = [{
    In loops with MMAs, a sum of rows that is only scaled and added to, such as that of an online softmax, becomes one of each thread's own elements.
    Without it the threads of a row exchange their sums in each iteration.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
def StageOperands : Pass<"nv-stage-operands", "::mlir::ModuleOp"> {
  let summary = "Put the operands of tensor-core dots into shared memory";
  let description = [{
    A wgmma dot becomes `nv.wgmma` and a scalar one `nv.fma`, on buffers. In loops, the operand of an mma.sync dot goes through a buffer too, so that
    its load can be made asynchronous.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"inPlace", "in-place", "bool", "false", "dots outside of loops have no buffers that they can do without">];
}
def ShareOperands : Pass<"nv-share-operands", "::mlir::ModuleOp"> {
  let summary = "Keep an operand that several loops read in one buffer";
  let description = [{
    Such as the queries of causal attention, for the tiles left of the diagonal and those on it. Without it the operand is held in registers over the
    first loop, and stored once more.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
/// What the plan of a producer (FedLoops.h) is told; the same for all passes that ask for one.
defvar producerOptions = [Option<"thirdCta", "third-cta", "bool", "false", "stages that are added do not take the place of a third CTA of an SM">,
                          Option<"bufferedValues", "buffered-values", "bool", "true", "tiles that no dot reads as they are may have stages">];

def PlanPrograms : Pass<"nv-plan-programs", "::mlir::ModuleOp"> {
  let summary = "Choose how a kernel's programs are run: by CTAs of their own or persistently, with a producer or without one";
  let description = [{
    Weighs the ways to run a kernel with load-dot loops, lists them in `nv.candidates` with what each takes of an SM or why it is refused, and marks the
    chosen one; the passes after it apply that. Programs are run persistently only with a producer, and only where as many CTAs share an SM.
    In kernels such as attention, whose MMAs are waited for in their iteration, more CTAs per SM are worth more than a producer: they fill each
    other's waits. So are as many, if waits can be deferred by one iteration. The choice `nv-keep-occupancy` is for that rule: without it there is a
    producer wherever TMA can do the loads. The choice `third-cta`: stages and scratch that are added do not cost a third CTA per SM, else not
    a second.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = !listconcat([Option<"keepsOccupancy", "keeps-occupancy", "bool", "true", "more CTAs per SM are worth more than a producer">,
                             Option<"producer", "producer", "bool", "true", "a producer may load for the others">,
                             Option<"persistent", "persistent", "bool", "true", "a CTA may run several programs">,
                             Option<"carriesAccumulators", "carried-accumulators", "bool", "true", "waits for dots may be deferred by one iteration">],
                            producerOptions);
}
def MakePersistent : Pass<"nv-make-persistent", "::mlir::ModuleOp"> {
  let summary = "Make the kernel persistent, so that stores of one program overlap loads of the next";
  let description = [{
    Puts the body of a kernel for which that was chosen into a loop over program numbers. Sets `persistent` of `nv.launch`; the launcher then starts at
    most as many CTAs as run at once, and passes the user's grid. Without it each program has a CTA of its own.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
}
def OrderRaster : Pass<"nv-order-raster", "::mlir::ModuleOp"> {
  let summary = "Visit output tiles in an order in which those of a wave read the same rows and columns";
  let description = [{
    In a persistent kernel whose MMAs take their rows from one axis of a grid and their columns from another (or from quotient and remainder of
    one), and where there are more than four bands of 1024 rows or columns: programs are found through `nv.raster_program`, a threadblock swizzle. A
    kernel whose source groups its programs (`GROUP_M`) is left as it is. Without it they run as they are numbered.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::arith::ArithDialect"];
}
def StreamK : Pass<"nv-stream-k", "::mlir::ModuleOp"> {
  let summary = "Split the output tiles of the last waves over CTAs by K-iterations, so that all CTAs end together";
  let description = [{
    Stream-K (Osama et al., arXiv:2301.03598), on Hopper, where it is switched on. If tiles do not divide evenly over the CTAs, those of the last full
    wave and what is left, or all if there is less than a wave, are split into equal work ranges. A CTA that has the beginning of a tile stores its
    partial tile to global memory; the one that has the end reduces the partial tiles in the order of the CTAs and runs the epilogue. Where that saves
    less than it costs, as the kernel finds at its start, tiles stay whole. Sets `partial_bytes` of `nv.launch`. Without it CTAs idle in the last wave.

    - The kernel must be one that runs persistently, with one loop of loads and one `tl.dot` whose fp32 accumulator begins at zero; whatever else the
      loop carries must grow by the same amount in each iteration. Remarks say which rule is broken.
    - Partial tiles are added in another order than without it, so the last bits differ; they are the same from run to run on one kind of GPU.
    - The first such launch on a stream takes memory, a tile of fp32 for each CTA that runs at once (17 MB for 128×256 on an H200), and keeps it; so
      does each capture of a graph, whose memory is used again once the graph and all that was made of it are gone.
      `pantile.runtime.release_workspaces()` frees what no graph holds (in C++ `releaseWorkspaces`). Of the 64 that a context has at most, those of
      streams after the eighth go to new streams when their launches have ended. Where all are in use or memory is short, and in launchers that
      `pantile.tools.compile` or `pantilec` writes, tiles stay whole.
    - One executable graph must not run twice at the same time; CUDA allows that for two that were instantiated from one capture, but they would share
      this memory. (Nodes that allocate would give each its own, but CUDA instantiates, copies and nests graphs that have them only once.)
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
  let options = producerOptions;
}
def SpecialiseWarps : Pass<"nv-specialise-warps", "::mlir::ModuleOp"> {
  let summary = "Give the loads of load-dot loops to a producer warp that uses TMA";
  let description = [{
    On Hopper, where every staged load of a loop has an affine access that a tensor map can describe, also with data-dependent offsets: one thread of
    an extra warp runs ahead through the stages of a circular buffer; full and empty mbarriers connect it with the consumer warps. Sets
    `producer_warps` of `nv.launch`. A loop that stays as it is gets a remark that says why. Without it loads are prefetched by cp.async.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
  let options = producerOptions;
}
def ScheduleLoops : Pass<"nv-schedule-loops", "::mlir::ModuleOp"> {
  let summary = "Decide which staged loads of a loop are prefetched, how far ahead, and through how many stages";
  let description = [{
    Marks each staged store with `nv.prefetch` (vector bytes of its cp.async) and the loop with `nv.distance` and `nv.depth`.
    A load that cannot be prefetched gets a remark that says why. Without it loads wait for memory.

    The choice `carried-accumulators` adds a stage, or prefetches one iteration less far, for MMAs whose wait is deferred by one iteration, where a thread has
    registers for what several read meanwhile; `nv-plan-programs` counts on it for kernels with several such accumulators, as the gradients of keys
    and values. Without it they are waited for in their own iteration. With the choice `buffered-values`, tiles that a loop with MMAs computes with, such
    as weights that are unpacked first, pass through buffers too and are prefetched by all warps. Without it they are loaded into registers when
    they are needed, or one iteration ahead where they are small.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"carriesAccumulators", "carried-accumulators", "bool", "true", "buffers for dots that end in the next iteration">,
                 Option<"fewerBuffers", "fewer-buffers", "bool", "false", "loops prefetch through one buffer less than they have stages">
                 ] # producerOptions;
}
def ExpandPipeline : Pass<"nv-expand-pipeline", "::mlir::ModuleOp"> {
  let summary = "Turn marked loads into asynchronous copies issued iterations ahead";
  let description = "Software pipelining by cp.async, as `nv-schedule-loops` has decided. Without it loads wait for memory.";
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
}
def PrefetchLoads : Pass<"nv-prefetch-loads", "::mlir::ModuleOp"> {
  let summary = "Load the next row into registers while this one is computed with";
  let description = [{
    In loops of `tl.range(..., num_stages=...)` without MMAs, the tiles of coming iterations, one iteration less ahead than there are stages, while
    registers suffice. In loops with MMAs, the next iteration's vectors, such as the sums that attention's gradients begin with. Without it loads wait
    for memory.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}
def PrefetchRows : Pass<"nv-prefetch-rows", "::mlir::ModuleOp"> {
  let summary = "Prefetch the row of a later program into L2 while this one's is computed with";
  let description = [{
    In kernels that hold a row over a reduction, such as layer norm and softmax, where addresses follow from the program's number: the row of the
    program four megabytes further on, or, in a loop over rows, the program's own next one, where the rows of all fit. Without it memory waits while
    programs compute.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::pantile::nv::NvDialect", "::mlir::arith::ArithDialect"];
}
def DropDeadArgs : Pass<"tile-drop-dead-args", "::mlir::ModuleOp"> {
  let summary = "Remove loop-carried values that only feed themselves";
  let description = "Such as the pointers of loads that have become copies. Without it they take registers.";
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}
def TmaStores : Pass<"nv-tma-stores", "::mlir::ModuleOp"> {
  let summary = "Convert stores of matrices to TMA stores";
  let description = [{
    On Hopper, for accumulators of 64×128 elements or more whose store has an affine access that a tensor map can describe: the result goes through
    swizzled shared memory, of which each warp has its own part. A store that stays as it is gets a remark that says why. Where the pass is switched
    on by name, stores are converted of which it is not known to pay. Without it warps store their parts in vectors. With the choice `tma-reductions`,
    TMA reduces fp32 tiles that relaxed atomics in loops with MMAs would add, and whose old values nothing reads. Without it threads add them.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::arith::ArithDialect"];
  let options = [Option<"all", "all", "bool", "false", "also stores of which it is not known to pay">,
                 Option<"sums", "sums", "bool", "true", "also the sums of relaxed atomics">];
}
def CarryAccumulators : Pass<"nv-carry-accumulators", "::mlir::ModuleOp"> {
  let summary = "Defer the wait for the second of two chained MMAs by one iteration";
  let description = [{
    In loops of wgmma that no producer feeds, such as attention: the wait stands after the first MMA of the next iteration. Without it the tensor cores
    stop between iterations.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def AllocateShared : Pass<"nv-allocate-shared", "::mlir::ModuleOp"> {
  let summary = "Give each buffer and each operation's scratch its place in shared memory";
  let description = "Sets `offset` of `nv.alloc`, `nv.scratch` of operations, and `shared_bytes` of `nv.launch`.";
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def DeferWaits : Pass<"nv-defer-waits", "::mlir::ModuleOp"> {
  let summary = "Start MMAs when their operands are there, and wait for them where their results are used";
  let description = [{
    In loops with several wgmma per iteration, such as the gradients of attention. Without it the MMAs run one after the other.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def OverlapIterations : Pass<"nv-overlap-iterations", "::mlir::ModuleOp"> {
  let summary = "Run the last MMAs of an iteration together with the first of the next, as attention and its gradients can";
  let description = [{
    MMAs that add to carried accumulators, and whose left operand is computed from the results of others, run one iteration later: they are in flight
    together with the first MMAs of the next iteration, while the elements between those two stages are computed. Only where a producer fills the
    circular buffers, where these have room for a stage more where it is needed, and where registers suffice. Without it MMAs wait for what lies
    between them. The choice `nv-overlap-dots` is for loops that rescale their accumulators, as attention does.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
  let options = [Option<"rescaled", "rescaled", "bool", "true", "also loops that rescale their accumulators">,
                 Option<"isLast", "last", "bool", "true", "a remark says which loops have too few registers">];
}
def PingPong : Pass<"nv-ping-pong", "::mlir::ModuleOp"> {
  let summary = "Start the MMAs of consumer warp groups in turn (ping-pong)";
  let description = [{
    So that one group multiplies while another computes elements. In loops of more than two MMAs that start together, such as attention's gradients,
    whose groups do not synchronise otherwise, and only where a producer fills the circular buffers. Without it groups multiply together, and compute
    together.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def InsertWaits : Pass<"nv-insert-waits", "::mlir::ModuleOp"> {
  let summary = "Count what each wait for MMAs leaves in flight, and insert the waits that are missing";
  let description = [{
    A forward data-flow analysis of the MMAs in flight. Sets `pending` and `held` of each `nv.wgmma_wait`, and inserts one before what would read
    accumulators of an MMA in flight, write registers that it reads, or release its stage.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def CountStages : Pass<"nv-count-stages", "::mlir::ModuleOp"> {
  let summary = "Increment and wrap stage indices instead of dividing";
  let description = "Where the number of stages is no power of two. Without it each iteration has a division.";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
def ReallocateRegisters : Pass<"nv-reallocate-registers", "::mlir::ModuleOp"> {
  let summary = "Reallocate registers of the producer to the consumer warps (setmaxnreg)";
  let description = [{
    Where loops need more registers per thread than all warps can have. Sets `registers` of `nv.launch`, and `producer_warps` to a whole warp group. Without it
    the consumers spill.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def InsertBarriers : Pass<"nv-insert-barriers", "::mlir::ModuleOp"> {
  let summary = "Order the threads' accesses to shared memory";
  let description = [{
    A forward data-flow analysis of what is read and written since the last barrier. Without it threads race: only to test tools that find races. With
    the choice `barriers-before-loops`, a barrier stands before a loop where that saves one in it, as in the gradients of attention.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"inFront", "in-front", "bool", "true", "in front of a loop where that saves a barrier in it">];
}

def Rematerialise : Pass<"nv-rematerialise", "::mlir::ModuleOp"> {
  let summary = "Widen rows of 16 bits again after a reduction, where wide ones fill the registers";
  let description = [{
    Uses after the reduction get an `arith.extf` of their own, of an opaque copy: rematerialisation. Without it ptxas spills, or `nv-spill-to-shared` spills
    half of the row to shared memory.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::arith::ArithDialect"];
}
def SpillToShared : Pass<"nv-spill-to-shared", "::mlir::ModuleOp"> {
  let summary = "Spill half of a row that fills the registers to shared memory";
  let description = [{
    In kernels without loops, over a reduction. Sets `parked` of `nv.launch`, and adds to `shared_bytes`. Without it ptxas spills to local memory.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def PackPrograms : Pass<"nv-pack-programs", "::mlir::ModuleOp"> {
  let summary = "Allow a launch to put several programs of one warp into a CTA";
  let description = [{
    Where they use no shared memory and do not synchronise with others. A launch packs four where more programs wait than fit the GPU in CTAs of their
    own. Sets `programs_per_cta` of `nv.launch`. Without it each program has a CTA of its own.
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
  let summary = "Remark on accesses that use memory badly";
  let description = [{
    Global accesses of which a warp takes parts of sectors, and shared ones with bank conflicts. Runs when remarks are asked for, and changes nothing.
  }];
}
def TestAxisInfo : Pass<"test-axis-info", "::mlir::ModuleOp"> {
  let summary = "Remark on the facts that AxisInfo knows of each result";
  let description = "For tests and for questions such as `why is this load not vectorised`. Changes nothing.";
}
def TestPlantError : Pass<"test-plant-error", "::mlir::ModuleOp"> {
  let summary = "Make one deliberate mistake, to see that a test notices";
  let description = "The mistake of `kind` at opportunity `at`, counted from 0 in the order of the text. Nothing where there are fewer.";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [Option<"kind", "kind", "std::string", "\"\"", "the mistake, e.g. `drop-barrier`">,
                 Option<"at", "at", "unsigned", "0", "which of the opportunities">];
}
#endif
