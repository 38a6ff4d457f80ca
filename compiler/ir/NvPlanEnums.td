//===- NvPlanEnums.td - the choices that a plan names ------------------------------------===//
// No dialect is included, so that the C++ of these enums is generated from this file alone.
//===-----------------------------------------------------------------------------------===//
#ifndef PANTILE_NV_PLAN_ENUMS
#define PANTILE_NV_PLAN_ENUMS
include "mlir/IR/EnumAttr.td"

class Nv_PlanEnum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::pantile::nv";
  let genSpecializedAttr = 0;
}
def Nv_ProgramMap : Nv_PlanEnum<"ProgramMap", "how programs are mapped to CTAs", [
    I32EnumAttrCase<"Grid", 0, "grid">,             // a CTA per program
    I32EnumAttrCase<"Persistent", 1, "persistent">, // a CTA runs programs one after another
    I32EnumAttrCase<"StreamK", 2, "stream_k">,      // the same, and the last tiles are split over CTAs
    I32EnumAttrCase<"Cluster", 3, "cluster">,       // a cluster of CTAs runs a program
    I32EnumAttrCase<"Packed", 4, "packed">]>;       // several programs of one warp in a CTA
def Nv_Role : Nv_PlanEnum<"Role", "what the warps of a partition do", [
    I32EnumAttrCase<"All", 0, "all">,           // everything: warps are not specialised
    I32EnumAttrCase<"Producer", 1, "producer">, // loads, by TMA
    I32EnumAttrCase<"Consumer", 2, "consumer">, // everything but the work of producer and helper
    I32EnumAttrCase<"Helper", 3, "helper">]>;   // waits for partial tiles of peer CTAs
def Nv_Transport : Nv_PlanEnum<"Transport", "how a tile gets into a channel", [
    I32EnumAttrCase<"Tma", 0, "tma">,
    I32EnumAttrCase<"CpAsync", 1, "cp_async">,
    I32EnumAttrCase<"Registers", 2, "registers">, // loaded in one iteration, read in a later one
    I32EnumAttrCase<"Shared", 3, "shared">]>;     // threads store it to shared memory
def Nv_Limiter : Nv_PlanEnum<"Limiter", "the unit of an SM that an iteration keeps busy longest", [
    I32EnumAttrCase<"TensorCore", 0, "tensor_core">,
    I32EnumAttrCase<"SharedMemory", 1, "shared_memory">, // including what TMA writes
    I32EnumAttrCase<"L2", 2, "l2">,
    I32EnumAttrCase<"SpecialFunction", 3, "special_function">,
    I32EnumAttrCase<"Issue", 4, "issue">]>;
#endif
