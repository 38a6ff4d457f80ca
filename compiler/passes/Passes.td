//===- Passes.td - every pass over the tile IR ------------------------------------------===//
// Declared here, called in Pipeline.cpp, written in one .cpp, tested by one .mlir of the same stem.
//===-----------------------------------------------------------------------------------===//
#ifndef PANTILE_PASSES
#define PANTILE_PASSES
include "mlir/Pass/PassBase.td"

def OrderRoundTrips : Pass<"tile-order-round-trips", "::mlir::ModuleOp"> {
  let summary = "let accesses to one place happen in the order of the program";
  let description = "A barrier between two accesses through the same pointers, one a store, which different threads may do.";
  let dependentDialects = ["::pantile::TileDialect"];
}

def FlushExponentials : Pass<"tile-flush-exponentials", "::mlir::ModuleOp"> {
  let summary = "exponentials without denormal results where nobody sees them";
  let description = [{
    `math.exp` of fp32 becomes `math.exp2` of the scaled operand where results below 2^-126 are as good as 0: beside a constant that
    is added, in a narrower format, among the weights of a softmax.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def SpreadRows : Pass<"nv-spread-rows", "::mlir::ModuleOp"> {
  let summary = "let a cluster of blocks run a program whose row no multiprocessor holds";
  let description = [{
    On Hopper, where all tiles of a kernel are rows of the same length that is reduced: each block has a part of the row, and results of
    reductions are exchanged through shared memory. Sets `nv.blocks_per_program`.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}

def SelectMma : Pass<"tile-select-mma", "::mlir::ModuleOp"> {
  let summary = "choose the instruction of each dot";
  let description = [{
    Sets `mma` on every `tile.dot`: wgmma where the target and the shape allow it, else mma.sync, else fma.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}
def AssignLayouts : Pass<"tile-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "give every tile a layout";
  let description = [{
    Loads, stores and dots fix layouts, what is cheap is made again where another layout asks for it, and the rest is converted.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::scf::SCFDialect"];
  let options = [Option<"inWarpStores", "in-warp-stores", "bool", "true", "a warp may write its own part of a dot's result">];
}
def DeferSums : Pass<"tile-defer-sums", "::mlir::ModuleOp"> {
  let summary = "threads add up their own parts of a row, and meet behind the loop";
  let description = [{
    In loops with products, a sum of rows that is only scaled and added to becomes one of each thread's elements.
  }];
  let dependentDialects = ["::pantile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
def StageOperands : Pass<"nv-stage-operands", "::mlir::ModuleOp"> {
  let summary = "put the operands of tensor-core dots into shared memory";
  let description = [{
    A wgmma dot becomes `nv.wgmma` and a scalar one `nv.fma`, on buffers. In loops, the operand of an mma.sync dot goes through a buffer too, so that
    its load can be made asynchronous.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def ShareOperands : Pass<"nv-share-operands", "::mlir::ModuleOp"> {
  let summary = "keep an operand that several loops read in one buffer";
  let description = "Such as the queries of attention, for the blocks left of the diagonal and those on it.";
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def KeepOccupancy : Pass<"nv-keep-occupancy", "::mlir::ModuleOp"> {
  let summary = "let kernels such as attention do without a producer where more blocks share a multiprocessor then";
  let description = "Sets `nv.without_producer`.";
  let options = [Option<"carriesSums", "carried-sums", "bool", "true", "sums of dots may end in the next iteration">];
}
def MakePersistent : Pass<"nv-make-persistent", "::mlir::ModuleOp"> {
  let summary = "let a block run one program after the other, so that one's stores overlap the next one's loads";
  let description = [{
    Puts the body of a kernel with load-dot loops that can have a producer warp into a loop over program numbers. Sets `nv.persistent`; the launcher
    then starts at most as many blocks as run at once, and passes the user's grid.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
}
def OrderPrograms : Pass<"nv-order-programs", "::mlir::ModuleOp"> {
  let summary = "run programs in bands, so that those which run together read the same rows and columns";
  let description = [{
    In a persistent kernel whose products take their rows from one axis of a grid and their columns from another (or from quotient and remainder of
    one), a block's programs are found through `nv.ordered_program`.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::arith::ArithDialect"];
}
def StreamK : Pass<"nv-stream-k", "::mlir::ModuleOp"> {
  let summary = "cut the programs of the last waves between blocks, by iterations of their load-dot loop, so that all blocks end together";
  let description = [{
    In a persistent kernel with one such loop, of which everything but a sum advances evenly. Blocks hand over parts of a sum through memory that the
    launch brings, in the order of blocks; sums are rounded otherwise than without it, but the same from run to run. Sets `nv.partial_bytes`.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}
def SpecialiseWarps : Pass<"nv-specialise-warps", "::mlir::ModuleOp"> {
  let summary = "give the loads of load-dot loops to an extra warp that copies by TMA";
  let description = [{
    Where every staged load of a loop has an affine access that a tensor map can describe, one thread of an extra warp runs
    ahead through a ring of slots; full and empty barriers connect it with the warps that multiply. Sets
    `nv.producer_warps`. A loop that stays as it is gets a remark that says why.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
}
def OverlapProducts : Pass<"nv-overlap-products", "::mlir::ModuleOp"> {
  let summary = "start the first of two chained products one iteration ahead, as attention can";
  let description = [{
    The second product of an iteration is under way together with the first one of the next, while the elements between them are computed. Only
    where a producer fills the rings and registers suffice.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
}
def ScheduleLoops : Pass<"nv-schedule-loops", "::mlir::ModuleOp"> {
  let summary = "decide which staged loads of a loop are prefetched, how far, and through how many slots";
  let description = [{
    Marks each staged store with `nv.prefetch` (vector bytes of its cp.async) and the loop with `nv.distance` and `nv.slots`.
    A load that cannot be prefetched gets a remark that says why.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"carriesSums", "carried-sums", "bool", "true", "buffers for dots that end in the next iteration">];
}
def ExpandPipeline : Pass<"nv-expand-pipeline", "::mlir::ModuleOp"> {
  let summary = "turn marked loads into asynchronous copies issued iterations ahead";
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
}
def LoadAhead : Pass<"nv-load-ahead", "::mlir::ModuleOp"> {
  let summary = "load the next row into registers while this one is computed with";
  let description = "In loops that were given `num_stages` by `tl.range` and have no product. In loops with products, the vectors of the next iteration.";
  let dependentDialects = ["::pantile::TileDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}
def PrefetchRows : Pass<"nv-prefetch-rows", "::mlir::ModuleOp"> {
  let summary = "ask L2 for the row of a later program while this one's is computed with";
  let description = "In kernels without loops that reduce what they load, where the addresses follow from the program's number.";
  let dependentDialects = ["::pantile::TileDialect", "::pantile::nv::NvDialect", "::mlir::arith::ArithDialect"];
}
def DropDeadArgs : Pass<"tile-drop-dead-args", "::mlir::ModuleOp"> {
  let summary = "remove loop-carried values that only feed themselves";
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}
def RaiseStores : Pass<"nv-raise-stores", "::mlir::ModuleOp"> {
  let summary = "let the copy engine write results to global memory";
  let description = [{
    A store of a matrix with an affine access that a tensor map can describe goes through swizzled shared memory, a part of
    which each warp has for itself. A store that stays as it is gets a remark that says why. Where it is switched on by
    name, stores of which it is not known to pay are raised, too.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::arith::ArithDialect"];
  let options = [Option<"all", "all", "bool", "false", "also stores of which it is not known to pay">,
                 Option<"sums", "sums", "bool", "true", "also the sums of relaxed atomics">];
}
def CarrySums : Pass<"nv-carry-sums", "::mlir::ModuleOp"> {
  let summary = "wait for the second of two chained products beside the first of the next iteration";
  let description = "In loops of products of warp groups that no producer feeds.";
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def AllocateShared : Pass<"nv-allocate-shared", "::mlir::ModuleOp"> {
  let summary = "give each buffer and each operation's scratch its place in shared memory";
  let description = "Sets `offset` of `nv.alloc`, `nv.scratch` of operations, and `nv.shared_bytes` of the module.";
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def DeferWaits : Pass<"nv-defer-waits", "::mlir::ModuleOp"> {
  let summary = "start products when their operands are there, and wait for them where their sums are used";
  let description = "In loops with several products of warp groups, such as the gradients of attention.";
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def OverlapIterations : Pass<"nv-overlap-iterations", "::mlir::ModuleOp"> {
  let summary = "let the last products of an iteration end beside the first of the next";
  let description = [{
    In loops with several products whose elements are computed with before others read them, such as the gradients of attention. Only where a producer
    fills the rings and registers suffice.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect", "::mlir::scf::SCFDialect"];
}
def AlternateGroups : Pass<"nv-alternate-groups", "::mlir::ModuleOp"> {
  let summary = "let groups of warps start their products in turn, so that one multiplies while another computes elements";
  let description = "In loops such as attention's whose products start together, and whose groups do not meet otherwise. Only where a producer fills the rings.";
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def InsertWaits : Pass<"nv-insert-waits", "::mlir::ModuleOp"> {
  let summary = "count what each wait for MMAs leaves in flight, and insert the waits that are missing";
  let description = [{
    A forward data-flow analysis of the MMAs in flight. Sets `pending` and `held` of each `nv.wgmma_wait`, and inserts one before what would read
    accumulators of an MMA in flight, write registers that it reads, or release its stage.
  }];
  let dependentDialects = ["::pantile::nv::NvDialect"];
}
def CountSlots : Pass<"nv-count-slots", "::mlir::ModuleOp"> {
  let summary = "count on to the next slot of a ring instead of dividing";
  let description = "Where the number of slots is no power of two.";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
def ShareRegisters : Pass<"nv-share-registers", "::mlir::ModuleOp"> {
  let summary = "let the warps that multiply have registers of the producer";
  let description = "Where loops need more than all warps can have. Sets `nv.registers`, and `nv.producer_warps` to a whole group.";
}
def InsertBarriers : Pass<"nv-insert-barriers", "::mlir::ModuleOp"> {
  let summary = "order the threads' accesses to shared memory";
  let description = "A forward data-flow analysis of what is read and written since the last barrier.";
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"inFront", "in-front", "bool", "true", "in front of a loop where that saves a barrier in it">];
}

def WidenLate : Pass<"nv-widen-late", "::mlir::ModuleOp"> {
  let summary = "widen rows of 16 bits anew behind a reduction, where wide ones fill the registers";
  let description = "Uses behind the reduction get an `arith.extf` of their own, of an opaque copy.";
  let dependentDialects = ["::pantile::TileDialect", "::mlir::arith::ArithDialect"];
}
def ParkRows : Pass<"nv-park-rows", "::mlir::ModuleOp"> {
  let summary = "keep half of a row that fills the registers in shared memory";
  let description = "In kernels without loops. Sets `nv.parked`, and adds to `nv.shared_bytes`.";
}
def PackPrograms : Pass<"nv-pack-programs", "::mlir::ModuleOp"> {
  let summary = "let a launch put several programs of one warp into a block";
  let description = "Where they use no shared memory and do not meet. Sets `nv.programs_per_block`.";
}
def RecordPlan : Pass<"nv-record-plan", "::mlir::ModuleOp"> {
  let summary = "record what was decided, and what it is predicted to cost, as `nv.plan`";
  let description = "On the kernel and on its loops with MMAs or channels. Changes nothing else.";
  let dependentDialects = ["::pantile::nv::NvDialect"];
  let options = [Option<"maxRegisters", "max-registers", "int64_t", "0", "registers per thread that the assembler is limited to; 0: no limit">];
}
def RemarkAccesses : Pass<"nv-remark-accesses", "::mlir::ModuleOp"> {
  let summary = "remark on accesses that use memory badly";
  let description = [{
    Global accesses of which a warp takes parts of sectors, and shared ones of which threads meet in a bank. Runs when remarks are asked for, and
    changes nothing.
  }];
}
def TestAxisInfo : Pass<"test-axis-info", "::mlir::ModuleOp"> {
  let summary = "remark on the facts that AxisInfo knows of each result";
  let description = "For tests and for questions such as `why is this load not vectorised`. Changes nothing.";
}
def TestPlantError : Pass<"test-plant-error", "::mlir::ModuleOp"> {
  let summary = "make one deliberate mistake, to see that a test notices";
  let description = "The mistake of `kind` at opportunity `at`, counted from 0 in the order of the text. Nothing where there are fewer.";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [Option<"kind", "kind", "std::string", "\"\"", "the mistake, e.g. `drop-barrier`">,
                 Option<"at", "at", "unsigned", "0", "which of the opportunities">];
}
#endif
