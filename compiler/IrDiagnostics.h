//===- IrDiagnostics.h - what passes say, in terms of the user's source -------------------===//
// Needs: operations whose locations are ranges of the sources.
// Gives: while it lives, collects the context's diagnostics: the first error as an Error with the
//        source rendered, warnings as text, remarks if they are wanted.
// How:   a message that opens with the name of an operation ("'tile.dot' op ...") is about our IR:
//        ErrorKind::Internal. Any other error speaks to the author of the kernel, unless it comes
//        from a pass over the tile IR or the verifier after it: no kernel makes these fail.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Diagnostics.h"
#include "pantile/Error.h"
#include "pantile/Remark.h"
#include "support/Diagnostics.h"
#include "support/Source.h"
#include <optional>
#include <string>
#include <vector>

namespace pantile {

class IrDiagnostics {
public:
  IrDiagnostics(mlir::MLIRContext &context, const SourceManager &sources,
                bool wantsRemarks = false);
  IrDiagnostics(const IrDiagnostics &) = delete;

  /// The first error with everything rendered that followed it. Of a failure without a message,
  /// an internal error that names `stage`.
  Error takeError(std::string_view stage);

  /// The same of `pass`, which failed or left IR that the verifier refuses: an internal error.
  Error takePassError(std::string_view pass);

  /// Warnings so far, rendered.
  const std::string &warnings() const { return warned; }
  /// Remarks so far, by their place in the source; each once, however often a loop was unrolled.
  std::vector<Remark> takeRemarks();
  void addRemark(Remark remark);

private:
  void handle(mlir::Diagnostic &diagnostic);
  std::string render(mlir::Diagnostic &diagnostic) const;

  const SourceManager &sources;
  std::optional<Error> first;
  const bool wantsRemarks;
  std::string warned;
  std::vector<Remark> remarks;
  mlir::ScopedDiagnosticHandler handler;
};

/// The narrowest range that `location` holds; without a file where it holds none.
SourceRange rangeOf(mlir::Location location);

} // namespace pantile
