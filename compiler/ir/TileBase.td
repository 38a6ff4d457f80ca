//===- TileBase.td - the `tile` dialect, its types and attributes ----------------------===//
#ifndef PANTILE_TILE_BASE
#define PANTILE_TILE_BASE
include "mlir/IR/OpBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::pantile";
  let summary = "portable tiles, pointers and the memory operations on them";
  let description = [{
    A kernel is a `func.func` with the attribute `tile.kernel`. Tiles are ranked tensors of static shape.
    A tile type without an encoding has no layout yet; `#tile.layout` says which register, lane and warp holds an element.
    Integers are signless: signedness is in the operations.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasConstantMaterializer = 1;
}

class Tile_Attr<string name, string mn, list<Trait> traits = []> : AttrDef<Tile_Dialect, name, traits> {
  let mnemonic = mn;
}

def Tile_PtrType : TypeDef<Tile_Dialect, "Ptr"> {
  let mnemonic = "ptr";
  let summary = "address of an element in global memory";
  let parameters = (ins "::mlir::Type":$pointee);
  let assemblyFormat = "`<` $pointee `>`";
}

def Tile_LayoutAttr : Tile_Attr<"Layout", "layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "which register, lane and warp holds each element: a linear map over F2";
  let description = [{
    One basis per bit, least significant first; the coordinate of an element is the XOR of the bases of the bits set in
    (register, lane, warp). A zero basis is a replica. Source: Zhou et al., "Linear Layouts", arXiv:2505.23819.
    `#tile.layout<{reg = [[0, 1], [0, 2]], lane = [...], warp = [...]}>`

    `warps = 12` follows if their number is no power of two: of the 16 that four bits can number, the last four are absent.
    - layout_c1: the warps are more than half of those that the bits can number, and no element belongs to an absent one.
  }];
  let parameters = (ins ArrayRefParameter<"int32_t">:$shape, ArrayRefParameter<"int32_t">:$regBases,
                        ArrayRefParameter<"int32_t">:$laneBases, ArrayRefParameter<"int32_t">:$warpBases, "unsigned":$warps);
  let hasCustomAssemblyFormat = 1;
  let builders = [AttrBuilder<(ins "const LinearLayout &":$layout)>];
  let extraClassDeclaration = [{
    LinearLayout getLinear() const;
  }];
}

def Tile_MmaKind : I32EnumAttr<"MmaKind", "instruction family of a dot", [
    I32EnumAttrCase<"Fma", 0, "fma">, I32EnumAttrCase<"MmaSync", 1, "mma_sync">, I32EnumAttrCase<"Wgmma", 2, "wgmma">]> {
  let cppNamespace = "::pantile";
  let genSpecializedAttr = 0;
}
def Tile_MmaKindAttr : EnumAttr<Tile_Dialect, Tile_MmaKind, "mma_kind">;

def Tile_MmaAttr : Tile_Attr<"Mma", "mma"> {
  let summary = "the instruction that a dot runs on: family, shape of one instruction, warps along M and N";
  let description = [{
    `adjacentRows`, for wgmma with A in registers: so many rows of a thread are adjacent in the tile (LinearLayout::withAdjacentRows),
    both in the accumulator and in A.

    `run`, for wgmma whose N is no power of two: the columns of the instructions and warp groups along N are interleaved in runs of
    so many columns (LinearLayout::wgmmaAccumulator). 0: each has consecutive columns.
  }];
  let parameters = (ins EnumParameter<Tile_MmaKind>:$kind, "unsigned":$m, "unsigned":$n, "unsigned":$k,
                        "unsigned":$warpsM, "unsigned":$warpsN, DefaultValuedParameter<"unsigned", "0">:$run,
                        DefaultValuedParameter<"unsigned", "1">:$adjacentRows);
  let assemblyFormat = "`<` $kind `,` $m `x` $n `x` $k `,` `warps` `=` $warpsM `x` $warpsN (`in` `runs` `of` $run^)? (`,` `adjacent_rows` `=` $adjacentRows^)? `>`";
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "MmaKind":$kind, "unsigned":$m, "unsigned":$n, "unsigned":$k, "unsigned":$warpsM,
                                   "unsigned":$warpsN, CArg<"unsigned", "0">:$run, CArg<"unsigned", "1">:$adjacentRows), [{
    return $_get($_ctxt, kind, m, n, k, warpsM, warpsN, run, adjacentRows);
  }]>];
}

def Tile_Precision : I32EnumAttr<"Precision", "how fp32 operands enter a dot", [
    I32EnumAttrCase<"Tf32", 0, "tf32">, I32EnumAttrCase<"Ieee", 1, "ieee">, I32EnumAttrCase<"Tf32x3", 2, "tf32x3">,
    I32EnumAttrCase<"Bf16x3", 3, "bf16x3">, I32EnumAttrCase<"Bf16x6", 4, "bf16x6">]> {
  let cppNamespace = "::pantile";
}
def Tile_Cache : I32EnumAttr<"CacheModifier", "cache operator of a load or store", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Ca", 1, "ca">, I32EnumAttrCase<"Cg", 2, "cg">,
    I32EnumAttrCase<"Cv", 3, "cv">, I32EnumAttrCase<"Wb", 4, "wb">, I32EnumAttrCase<"Cs", 5, "cs">,
    I32EnumAttrCase<"Wt", 6, "wt">]> {
  let cppNamespace = "::pantile";
}
def Tile_Evict : I32EnumAttr<"EvictionPolicy", "priority in the cache", [
    I32EnumAttrCase<"Normal", 0, "normal">, I32EnumAttrCase<"First", 1, "evict_first">, I32EnumAttrCase<"Last", 2, "evict_last">]> {
  let cppNamespace = "::pantile";
}
def Tile_RmwKind : I32EnumAttr<"RmwKind", "what an atomic does to memory", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"FAdd", 1, "fadd">, I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"UMax", 3, "umax">, I32EnumAttrCase<"Min", 4, "min">, I32EnumAttrCase<"UMin", 5, "umin">,
    I32EnumAttrCase<"And", 6, "and">, I32EnumAttrCase<"Or", 7, "or">, I32EnumAttrCase<"Xor", 8, "xor">,
    I32EnumAttrCase<"Xchg", 9, "xchg">, I32EnumAttrCase<"Load", 10, "load">, I32EnumAttrCase<"Store", 11, "store">,
    I32EnumAttrCase<"Poll", 12, "poll">]> {
  let cppNamespace = "::pantile";
}
def Tile_Sem : I32EnumAttr<"MemSemantic", "memory order of an atomic", [
    I32EnumAttrCase<"Relaxed", 0, "relaxed">, I32EnumAttrCase<"Acquire", 1, "acquire">,
    I32EnumAttrCase<"Release", 2, "release">, I32EnumAttrCase<"AcqRel", 3, "acq_rel">]> {
  let cppNamespace = "::pantile";
}
def Tile_Scope : I32EnumAttr<"MemScope", "threads with respect to which an atomic is ordered", [
    I32EnumAttrCase<"Gpu", 0, "gpu">, I32EnumAttrCase<"Cta", 1, "cta">, I32EnumAttrCase<"Sys", 2, "sys">]> {
  let cppNamespace = "::pantile";
}
#endif
