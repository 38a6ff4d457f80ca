//===- IrDiagnostics.h - diagnostics of passes, in terms of the user's source ------===//
// Needs: operations whose locations are ranges of the sources.
// Gives: while it exists, it collects the context's diagnostics: the first error as an Error with
//        the source rendered, warnings as text, remarks if they are wanted.
// How:   A message that begins with the name of an operation ("'tile.dot' op ...") is about our IR:
//        ErrorKind::Internal. Any other error is for the author of the kernel, unless it comes from
//        a pass over the tile IR or the verifier after it: no kernel may make these fail.
//===-------------------------------------------------------------------------------===//
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

  /// The first error, with the messages after it rendered. For a failure without a message, an
  /// internal error that names `stage`.
  Error takeError(std::string_view stage);

  /// The same for `pass`, which failed or left IR that does not verify: an internal error.
  Error takePassError(std::string_view pass);

  /// Warnings so far, rendered.
  const std::string &warnings() const { return warned; }
  /// Remarks so far, in source order; each once, also where a loop was unrolled.
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

/// The narrowest range in `location`; without a file if there is none.
SourceRange rangeOf(mlir::Location location);

} // namespace pantile
