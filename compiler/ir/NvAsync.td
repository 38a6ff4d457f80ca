//===- NvAsync.td - operations that go on while threads do something else ----------------===//
// Interfaces by which passes see copies and MMAs, so that none depends on one kind of instruction.
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
def Nv_Engine : Nv_AsyncEnum<"Engine", "the part of an SM that does the work of an asynchronous operation", [
    I32EnumAttrCase<"TensorCore", 0, "tensor_core">,
    I32EnumAttrCase<"Tma", 1, "tma">,
    I32EnumAttrCase<"LoadStore", 2, "load_store">]>; // the unit of ordinary loads: cp.async
def Nv_Completion : Nv_AsyncEnum<"Completion", "how a thread sees that an asynchronous operation is over", [
    I32EnumAttrCase<"MmaGroup", 0, "mma_group">,      // a wait for all but the youngest MMAs
    I32EnumAttrCase<"CopyGroup", 1, "copy_group">,    // nv.wait, for all but the youngest groups of nv.commit
    I32EnumAttrCase<"StoreGroup", 2, "store_group">,  // nv.tma_store_wait, for all
    I32EnumAttrCase<"Mbarrier", 3, "mbarrier">]>;     // nv.mbarrier_wait, for a phase of its full barrier

def Nv_AsyncOpInterface : OpInterface<"AsyncOpInterface"> {
  let cppNamespace = "::pantile::nv";
  let description = [{
    An operation that threads issue, and that an engine goes on with until they wait for it. Only what is read or
    written after the issue is listed: operands such as addresses and masks are read at once.
    - async_c1: buffers that it reads or writes until it is over have one stage.
  }];
  let verify = "return ::pantile::nv::verifyAsync($_op);";
  let methods = [
    InterfaceMethod<"The engine that does the work.", "::pantile::nv::Engine", "getEngine">,
    InterfaceMethod<"What the wait for it waits for.", "::pantile::nv::Completion", "getCompletion">,
    InterfaceMethod<"Operands in shared memory that it reads until it is over.",
      "::llvm::SmallVector<::mlir::Value>", "getBuffersRead", (ins), "", "return {};">,
    InterfaceMethod<"Operands in shared memory that it writes until it is over.",
      "::llvm::SmallVector<::mlir::Value>", "getBuffersWritten", (ins), "", "return {};">,
    InterfaceMethod<"The register tile that it reads until it is over, so that nothing else may be written to these registers; null if there is none.",
      "::mlir::Value", "getHeldRegisters", (ins), "", "return {};">];
}

def Nv_MmaWaitOpInterface : OpInterface<"MmaWaitOpInterface"> {
  let cppNamespace = "::pantile::nv";
  let description = [{
    A wait for asynchronous MMAs, which end in the order of their start. It gives their accumulators back: result i is value i.
  }];
  let methods = [
    InterfaceMethod<"The accumulators that it gives back.", "::mlir::OperandRange", "getValues">,
    InterfaceMethod<"Accumulators of MMAs that have to be over as well, but that a younger MMA has taken over.", "::mlir::OperandRange", "getDone">,
    InterfaceMethod<"The same, to be changed.", "::mlir::MutableOperandRange", "getDoneMutable">,
    InterfaceMethod<"The register tiles that the MMAs read, to be changed.", "::mlir::MutableOperandRange", "getHeldMutable">,
    InterfaceMethod<"How many MMAs may be in flight after it; none before nv-insert-waits counts.", "::std::optional<uint32_t>", "getPending">,
    InterfaceMethod<"Sets how many.", "void", "setPending", (ins "::std::optional<uint32_t>":$pending)>];
}

def Nv_AsyncMmaOpInterface : OpInterface<"AsyncMmaOpInterface", [Nv_AsyncOpInterface]> {
  let cppNamespace = "::pantile::nv";
  let description = [{
    An asynchronous MMA of whole tiles, D = A B + C. D takes the accumulator's registers over: from its start until a wait
    gives D back, only another MMA may add to them.
  }];
  let methods = [
    InterfaceMethod<"A, in shared memory or in registers.", "::mlir::Value", "getLhs">,
    InterfaceMethod<"The operand that is A.", "::mlir::OpOperand &", "getLhsMutable">,
    InterfaceMethod<"B, in shared memory.", "::mlir::TypedValue<::pantile::nv::BufferType>", "getRhs">,
    InterfaceMethod<"C, the accumulator that it adds to.", "::mlir::TypedValue<::mlir::RankedTensorType>", "getAcc">,
    InterfaceMethod<"D, of C's type.", "::mlir::TypedValue<::mlir::RankedTensorType>", "getResult">,
    InterfaceMethod<"The instruction that it is made of.", "::pantile::MmaAttr", "getMma">,
    InterfaceMethod<"Whether it is waited for where it stands: its accumulators do not stay in their registers until a later wait.",
      "bool", "isWaitedForAtOnce">,
    InterfaceMethod<"Creates a wait for MMAs of this kind, without a count, that gives `values` back.",
      "::pantile::nv::MmaWaitOpInterface", "createWait", (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$values)>];
}
#endif
