//===- ReadTileIR.cpp - read tile IR from a file instead of a kernel's source ------===//
// Needs: see ReadTileIR.h.
// Gives: isTileIR, readTileIR.
// How:   MLIR's parser verifies. The attributes that emission derives from the options replace
//        those in the file.
//===-------------------------------------------------------------------------------===//
#include "ReadTileIR.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace pantile {
namespace {

Error refused(const FunctionSource &source, const std::string &why) {
  return makeError(ErrorKind::Unsupported,
                   fmt::format("cannot compile the tile IR of `{}`: {}", source.file, why));
}

/// Whether an argument of type `type` takes what a launch passes for `leaf`.
bool takes(Type type, const ArgSpec &leaf) {
  return isa<PtrType>(type) == (leaf.kind == ArgSpec::Kind::Pointer);
}

/// What is wrong with the module; empty if nothing is.
std::string defectOf(ModuleOp module, const Specialization &specialization) {
  auto functions = module.getOps<func::FuncOp>();
  if (llvm::range_size(functions) != 1 || !(*functions.begin())->hasAttr(names::kernel))
    return "it needs one function, which has the attribute `tile.kernel`";
  if (module->hasAttr(names::launch))
    return "passes for a GPU have already run on it";
  std::vector<ArgSpec> leaves;
  for (const ArgSpec &spec : specialization.args)
    appendLaunchSpecs(spec, leaves);
  const ArrayRef<Type> types = (*functions.begin()).getArgumentTypes();
  const bool fits =
      types.size() == leaves.size() && llvm::all_of(llvm::zip(types, leaves), [](const auto &pair) {
        return takes(std::get<0>(pair), std::get<1>(pair));
      });
  return fits ? "" : "its kernel does not take the arguments of the signature";
}

} // namespace

bool isTileIR(const FunctionSource &source) {
  const llvm::StringRef file = source.file;
  return file.ends_with(".ttir") || file.ends_with(".mlir");
}

Result<OwningOpRef<ModuleOp>> readTileIR(MLIRContext &context, const FunctionSource &source,
                                         const Specialization &specialization,
                                         const Options &options) {
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (said.empty())
      said = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source.text, &context, source.file);
  if (!module)
    return refused(source, said);
  if (const std::string defect = defectOf(*module, specialization); !defect.empty())
    return refused(source, defect);
  Builder b(&context);
  (*module)->setAttr(names::target, b.getStringAttr(options.target));
  (*module)->setAttr(names::numWarps, b.getI32IntegerAttr(options.numWarps));
  (*module)->setAttr(names::numStages, b.getI32IntegerAttr(options.numStages));
  return module;
}

} // namespace pantile
