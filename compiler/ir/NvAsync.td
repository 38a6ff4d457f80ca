//===- NvAsync.td - interfaces of buffers, asynchronous copies and MMAs ------------------===//
// Passes use these interfaces instead of operations, so that none depends on one kind of instruction.
// No dialect is included, so that the C++ of the enums is generated from this file alone.
//===-----------------------------------------------------------------------------------===//
#ifndef PANTILE_NV_ASYNC
#define PANTILE_NV_ASYNC
include "mlir/IR/EnumAttr.td"
include "mlir/IR/Interfaces.td"

class Nv_AsyncEnum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::pantile::nv";
  let genSpecializedAttr = 0;
}
def Nv_Engine : Nv_AsyncEnum<"Engine", "the unit of an SM that executes an asynchronous operation", [
    I32EnumAttrCase<"TensorCore", 0, "tensor_core">,
    I32EnumAttrCase<"Tma", 1, "tma">,
    I32EnumAttrCase<"LoadStore", 2, "load_store">]>; // the load/store unit: cp.async
def Nv_Completion : Nv_AsyncEnum<"Completion", "how threads wait for an asynchronous operation", [
    I32EnumAttrCase<"MmaGroup", 0, "mma_group">,      // a wait for all but the latest MMAs
    I32EnumAttrCase<"CopyGroup", 1, "copy_group">,    // nv.wait, for all but the latest groups of nv.commit
    I32EnumAttrCase<"StoreGroup", 2, "store_group">,  // nv.tma_store_wait, for all
    I32EnumAttrCase<"Mbarrier", 3, "mbarrier">]>;     // nv.mbarrier_wait, for a phase of its full barrier

def Nv_AsyncOpInterface : OpInterface<"AsyncOpInterface"> {
  let cppNamespace = "::pantile::nv";
  let description = [{
    An operation that threads issue and that is in flight, executed by an engine, until they wait for it. Only operands that are read or
    written while it is in flight are listed: addresses and masks are read at the issue.
    - async_c1: buffers that it reads or writes until it is over have one stage.
  }];
  let verify = "return ::pantile::nv::verifyAsync($_op);";
  let methods = [
    InterfaceMethod<"The engine that executes it.", "::pantile::nv::Engine", "getEngine">,
    InterfaceMethod<"The mechanism by which threads wait for it.", "::pantile::nv::Completion", "getCompletion">,
    InterfaceMethod<"Operands in shared memory that it reads until it is over.",
      "::llvm::SmallVector<::mlir::Value>", "getBuffersRead", (ins), "", "return {};">,
    InterfaceMethod<"Operands in shared memory that it writes until it is over.",
      "::llvm::SmallVector<::mlir::Value>", "getBuffersWritten", (ins), "", "return {};">,
    InterfaceMethod<"The register tile that it reads until it is over, so that nothing else may be written to these registers; null if there is none.",
      "::mlir::Value", "getHeldRegisters", (ins), "", "return {};">];
}

def Nv_BufferOpInterface : OpInterface<"BufferOpInterface"> {
  let cppNamespace = "::pantile::nv";
  let description = "An operation that reserves shared memory for a buffer, until the nv.dealloc of that.";
  let methods = [
    InterfaceMethod<"The buffer.", "::mlir::TypedValue<::pantile::nv::BufferType>", "getBuffer">,
    InterfaceMethod<"Bytes into the dynamic shared memory; none before nv-allocate-shared.", "::std::optional<uint32_t>", "getOffset">,
    InterfaceMethod<"Sets these.", "void", "setOffset", (ins "::std::optional<uint32_t>":$offset)>];
}

def Nv_MmaWaitOpInterface : OpInterface<"MmaWaitOpInterface"> {
  let cppNamespace = "::pantile::nv";
  let description = [{
    A wait for asynchronous MMAs, which complete in order. Its results are their accumulators: result i is value i.
  }];
  let methods = [
    InterfaceMethod<"The accumulators that it returns.", "::mlir::OperandRange", "getValues">,
    InterfaceMethod<"Accumulators of further MMAs that must be over, but whose registers a later MMA already accumulates into.", "::mlir::OperandRange", "getDone">,
    InterfaceMethod<"The same, to be changed.", "::mlir::MutableOperandRange", "getDoneMutable">,
    InterfaceMethod<"The register tiles that the MMAs read, to be changed.", "::mlir::MutableOperandRange", "getHeldMutable">,
    InterfaceMethod<"How many MMAs may be in flight after it; none before nv-insert-waits counts.", "::std::optional<uint32_t>", "getPending">,
    InterfaceMethod<"Sets how many.", "void", "setPending", (ins "::std::optional<uint32_t>":$pending)>];
}

def Nv_AsyncMmaOpInterface : OpInterface<"AsyncMmaOpInterface", [Nv_AsyncOpInterface]> {
  let cppNamespace = "::pantile::nv";
  let description = [{
    An asynchronous MMA of whole tiles, D = A B + C. D has the registers of the accumulator: from the issue until a wait
    returns D, only another MMA may access them.
  }];
  let methods = [
    InterfaceMethod<"A, in shared memory or in registers.", "::mlir::Value", "getLhs">,
    InterfaceMethod<"The operand that is A.", "::mlir::OpOperand &", "getLhsMutable">,
    InterfaceMethod<"B, in shared memory.", "::mlir::TypedValue<::pantile::nv::BufferType>", "getRhs">,
    InterfaceMethod<"C, the accumulator that it adds to.", "::mlir::TypedValue<::mlir::RankedTensorType>", "getAcc">,
    InterfaceMethod<"D, of C's type.", "::mlir::TypedValue<::mlir::RankedTensorType>", "getResult">,
    InterfaceMethod<"The instruction that it consists of.", "::pantile::MmaAttr", "getMma">,
    InterfaceMethod<"Whether its lowering waits for it at once: its accumulators cannot be in flight until a later wait.",
      "bool", "isWaitedForAtOnce">,
    InterfaceMethod<"Creates a wait for MMAs of this kind, without a count, that returns `values`.",
      "::pantile::nv::MmaWaitOpInterface", "createWait", (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$values)>];
}
#endif
