//===- NvPlan.td - what was decided for a kernel and its loops ---------------------------===//
// `nv.plan` on a kernel and on its loops. NvOps.td includes this file.
//===-----------------------------------------------------------------------------------===//
#ifndef PANTILE_NV_PLAN
#define PANTILE_NV_PLAN
include "NvPlanEnums.td"

class Nv_PlanAttr<string name, string mn> : AttrDef<Nv_Dialect, name> {
  let mnemonic = mn;
  let genVerifyDecl = 1;
}

def Nv_PartitionAttr : Nv_PlanAttr<"Partition", "partition"> {
  let summary = "warps of a CTA that have one role";
  let description = [{
    `#nv.partition<producer, 4 warps, 24 registers>`; without `registers` a thread has as many registers as at launch.
    - partition_c1: there are 1 to 64 warps.
    - partition_c2: `registers` is 0, or a multiple of 8 from 24 to 256, which is what setmaxnreg takes.
  }];
  let parameters = (ins EnumParameter<Nv_Role>:$role, "unsigned":$warps, DefaultValuedParameter<"unsigned", "0">:$registers);
  let assemblyFormat = "`<` $role `,` $warps `warps` (`,` $registers^ `registers`)? `>`";
}
def Nv_ChannelAttr : Nv_PlanAttr<"Channel", "channel"> {
  let summary = "circular buffer that provides a tile for each iteration of a loop";
  let description = [{
    `#nv.channel<4 x[128, 64] x f16 via tma>`: four stages of 128x64.
    - channel_c1: there is at least one stage.
    - channel_c2: a stage has at least one extent, and all are positive.
    - channel_c3: elements are integers, floating-point numbers or pointers.
  }];
  let parameters = (ins "unsigned":$depth, ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        EnumParameter<Nv_Transport>:$transport);
  let assemblyFormat = "`<` $depth `x` `[` $shape `]` `x` $elementType `via` $transport `>`";
  let extraClassDeclaration = [{
    /// Bytes of one stage, without padding.
    int64_t getStageBytes() const;
  }];
}
def Nv_CandidateAttr : Nv_PlanAttr<"Candidate", "candidate"> {
  let summary = "a program map that was considered for a kernel; `nv.candidates` on the kernel lists them";
  let description = [{
    `#nv.candidate<map = persistent, producer = true, shared_bytes = 196672, ctas_per_sm = 1, chosen = true>`, or with the reason why it was
    refused, `#nv.candidate<map = stream_k, producer = true, refused = "the accumulator is not that of one dot">`. Passes apply the chosen one.
    - candidate_c1: numbers are not negative.
    - candidate_c2: what was refused is not chosen.
  }];
  let parameters = (ins EnumParameter<Nv_ProgramMap>:$map, DefaultValuedParameter<"bool", "false">:$producer,
                        DefaultValuedParameter<"int64_t", "0">:$shared_bytes, DefaultValuedParameter<"int64_t", "0">:$ctas_per_sm,
                        OptionalParameter<"::mlir::StringAttr">:$refused, DefaultValuedParameter<"bool", "false">:$chosen);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Nv_StreamKEstimateAttr : Nv_PlanAttr<"StreamKEstimate", "stream_k_estimate"> {
  let summary = "by what a launch predicts whether stream-K pays; `nv.stream_k_estimate` on a kernel that does not split its tiles but could";
  let description = [{
    `#nv.stream_k_estimate<()[s0] -> (s0 + 63), divisor = 64, sm_cycles = 256, l2_cycles = 683, least_gain = 6, partial_bytes = 32768>`

    A tile has as many iterations as the map gives, over `divisor`, rounded down; symbols are the kernel's arguments. An iteration of one CTA keeps the
    busiest unit of the SM busy for `sm_cycles`, and the SM's part of L2 for `l2_cycles`. For each partial tile, of `partial_bytes`, a split must save
    `least_gain` iterations.
    - stream_k_estimate_c1: the map has symbols and one result.
    - stream_k_estimate_c2: `divisor`, `sm_cycles` and `least_gain` are positive, the other numbers are not negative.
  }];
  let parameters = (ins "::mlir::AffineMap":$dividend, "int64_t":$divisor, "int64_t":$sm_cycles, "int64_t":$l2_cycles, "int64_t":$least_gain,
                        "int64_t":$partial_bytes);
  let assemblyFormat = [{
    `<` $dividend `,` `divisor` `=` $divisor `,` `sm_cycles` `=` $sm_cycles `,` `l2_cycles` `=` $l2_cycles `,` `least_gain` `=` $least_gain `,`
    `partial_bytes` `=` $partial_bytes `>`
  }];
  let extraClassDeclaration = [{
    /// The same for a launch, whose arguments give `dividend`.
    ::pantile::StreamKEstimate getEstimate(::pantile::HostPolynomial dividend) const;
  }];
}
def Nv_LaunchAttr : Nv_PlanAttr<"Launch", "launch"> {
  let summary = "what a kernel requires of its launches, and its occupancy; `nv.launch` on the module";
  let description = [{
    `#nv.launch<producer_warps = 1, persistent = true, shared_bytes = 196672>`. What is not printed has its default. Passes add to it; Launch.h has
    the same as a struct.

    `producer_warps`: warps in addition to `tile.num_warps`. `persistent`: a CTA runs several programs (`nv.program_at`). `partial_bytes`: size of the
    partial tile that a CTA stores in stream-K kernels (WorkSplit.h). `programs_per_cta`: a launch may pack up to so many programs of one warp,
    consecutive along the grid's first axis, into one CTA; the kernel computes their number from the CTA's size. `ctas_per_program`: size of the cluster
    that runs a program; its CTAs are consecutive along the grid's first axis, and each has a part of a row. `shared_bytes`: per CTA. `ctas_per_sm`: the
    occupancy to aim at; 0: the largest possible. `registers`: per thread at launch, then of the producer's and of the other warps after setmaxnreg.
    `spills`: spill slots in shared memory: the byte offset at which they start, and the 32-bit slots per thread; the same slot of all threads of
    a CTA is contiguous.
    - launch_c1: numbers are not negative; `programs_per_cta` and `ctas_per_program` are powers of two, of which one at most is more than 1.
    - launch_c2: tiles are split only if CTAs are persistent.
    - launch_c3: `registers` has three numbers, which setmaxnreg takes: multiples of 8 from 24 to 256; there is a producer then.
    - launch_c4: `spills` has two numbers, and its slots are within `shared_bytes`.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$producer_warps, DefaultValuedParameter<"bool", "false">:$persistent,
                        DefaultValuedParameter<"int64_t", "0">:$partial_bytes, DefaultValuedParameter<"int64_t", "1">:$programs_per_cta,
                        DefaultValuedParameter<"int64_t", "1">:$ctas_per_program, DefaultValuedParameter<"int64_t", "0">:$shared_bytes,
                        DefaultValuedParameter<"int64_t", "0">:$ctas_per_sm, OptionalParameter<"::mlir::DenseI32ArrayAttr">:$registers,
                        OptionalParameter<"::mlir::DenseI32ArrayAttr">:$spills);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Nv_KernelPlanAttr : Nv_PlanAttr<"KernelPlan", "kernel_plan"> {
  let summary = "the plan of a kernel: program map, partitions of warps, shared memory and registers";
  let description = [{
    `#nv.kernel_plan<persistent raster_group 8, [<producer, 1 warps>, <consumer, 8 warps>], shared = 229440, ctas = 1, registers = 168>`

    `of`: CTAs per program (cluster), or the most programs per CTA (packed). `raster_group`: width of a group of the raster order, in programs; 0: in the
    order of their numbers. `shared`: bytes per CTA. `ctas`: predicted CTAs per SM. `registers`: predicted registers per thread at launch; 0: there is no
    estimate for such a kernel.
    - kernel_plan_c1: `of` is more than 1 where the map is `cluster` or `packed`, and 1 elsewhere.
    - kernel_plan_c2: only CTAs that run several programs have a `raster_group`.
    - kernel_plan_c3: the partitions are one of role `all`, or have different roles, `consumer` among them.
    - kernel_plan_c4: either all partitions have registers of their own, or none has.
    - kernel_plan_c5: `shared`, `ctas` and `registers` are not negative.
  }];
  let parameters = (ins EnumParameter<Nv_ProgramMap>:$map, DefaultValuedParameter<"unsigned", "1">:$of,
                        DefaultValuedParameter<"unsigned", "0">:$rasterGroup, ArrayRefParameter<"::pantile::nv::PartitionAttr">:$partitions,
                        "int64_t":$sharedBytes, "int64_t":$ctasPerSm, "int64_t":$registers);
  let assemblyFormat = [{
    `<` $map (`of` $of^)? (`raster_group` $rasterGroup^)? `,` `[` $partitions `]` `,` `shared` `=` $sharedBytes `,` `ctas` `=` $ctasPerSm `,`
    `registers` `=` $registers `>`
  }];
}
def Nv_LoopPlanAttr : Nv_PlanAttr<"LoopPlan", "loop_plan"> {
  let summary = "the plan of a loop: the channels that provide its tiles, and the cycles per iteration";
  let description = [{
    `#nv.loop_plan<channels = [<4 x[128, 64] x f16 via tma>], in_flight = 1, cycles = 1045 by l2>`

    `in_flight`: MMAs (groups of wgmma) that are still in flight when the iteration ends. `cycles`: predicted, per iteration of one CTA: how long
    the iteration keeps the busiest unit of the SM busy. Nested loops are not counted: they have plans of their own.
    - loop_plan_c1: `cycles` is not negative.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::pantile::nv::ChannelAttr">:$channels, "unsigned":$inFlight, "int64_t":$cycles,
                        EnumParameter<Nv_Limiter>:$limiter);
  let assemblyFormat = "`<` (`channels` `=` `[` $channels^ `]` `,` ` `)? `in_flight` `=` $inFlight `,` `cycles` `=` $cycles `by` $limiter `>`";
}
#endif
