//===- ViewAsTriton.cpp - from source text to a view of its tile IR as Triton's ----===//
// Needs: see pantile/TritonView.h.
// Gives: viewAsTriton.
// How:   Only emission runs, in a context of its own; no pass runs.
//===-------------------------------------------------------------------------------===//
#include "IrDiagnostics.h"
#include "analysis/TritonOperations.h"
#include "frontend/Emit.h"
#include "mlir/IR/Verifier.h"
#include "pantile/TritonView.h"

namespace pantile {
namespace {

/// Adds the positions of `spec`'s sizes and strides among the launch arguments. `position` is the
/// position of its first argument, and is advanced past its last.
void addExtents(const ArgSpec &spec, unsigned &position, std::set<unsigned> &extents) {
  if (spec.kind == ArgSpec::Kind::Tuple) {
    for (const ArgSpec &element : spec.elements)
      addExtents(element, position, extents);
    return;
  }
  std::vector<ArgSpec> leaves;
  appendLaunchSpecs(spec, leaves);
  if (spec.kind == ArgSpec::Kind::Descriptor)
    for (unsigned i = 1; i < leaves.size(); ++i)
      extents.insert(position + i);
  position += unsigned(leaves.size());
}

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

} // namespace

Result<TritonView> viewAsTriton(const Program &program, const Specialization &specialization,
                                const Options &options) {
  if (program.kernel >= program.functions.size())
    return makeError(ErrorKind::Unsupported, "the program has no kernel");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  IrDiagnostics irDiagnostics(context, sources);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      emitTileIR(context, program, specialization, options, sources, diagnostics);
  if (diagnostics.hasErrors())
    return diagnostics.toError();
  if (!module)
    return irDiagnostics.takeError("parse and emit");
  std::set<unsigned> extents;
  unsigned position = 0;
  for (const ArgSpec &spec : specialization.args)
    addExtents(spec, position, extents);
  TritonView view = tritonOperations(*module, extents);
  view.text = textOf(*module);
  view.isValid = mlir::succeeded(mlir::verify(*module));
  return view;
}

} // namespace pantile
