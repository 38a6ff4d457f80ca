//===- Lower.h - tile and nv IR to LLVM IR ---------------------------------------------------===//
// Needs: a module whose tiles have layouts and whose shared memory is allocated.
// Gives: an LLVM module with one PTX kernel for each function with `tile.kernel`.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <memory>

namespace mlir {
class ModuleOp;
}
namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace pantile {

/// Null after errors, which are emitted on the operations. The kernel's parameters are the
/// function's, then two pointers that are not used; dynamic shared memory is `@shared`.
std::unique_ptr<llvm::Module> lowerToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context);

} // namespace pantile
