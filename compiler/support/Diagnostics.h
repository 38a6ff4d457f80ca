//===- Diagnostics.h - errors, warnings and notes about a source ------------------------===//
// Needs: spans of a SourceManager, or ranges that came back from MLIR locations.
// Gives: text of the form
//          gemm.py:5:12: error: message
//              tl.store(c, tl.dot(x, y))
//                          ^~~~~~~~~~~~
//        with the notes after it in the same form, and an Error for the public interface.
// How:   Errors are collected, so that one run reports several. Messages are lower case without a
//        full stop, with code in backticks.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include "support/Source.h"
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

enum class Severity { Error, Warning, Remark, Note };

/// The other part of a diagnostic: where the other operand, the definition or the call is.
struct DiagnosticNote {
  SourceSpan span;
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  ErrorKind kind = ErrorKind::Syntax; ///< of an error; no meaning otherwise
  SourceSpan span;
  std::string message;
  std::vector<DiagnosticNote> notes;
  int calls = 0;          ///< see Error
  bool inBuiltin = false; ///< see Error
};

class DiagnosticEngine;

/// Adds notes to the diagnostic just reported.
class DiagnosticBuilder {
public:
  DiagnosticBuilder &note(SourceSpan span, std::string message);
  /// Records the context of the error; see Error.
  DiagnosticBuilder &within(int calls, bool inBuiltin);

private:
  friend class DiagnosticEngine;
  DiagnosticBuilder(DiagnosticEngine &engine, size_t index) : engine(engine), index(index) {}
  DiagnosticEngine &engine;
  size_t index;
};

class DiagnosticEngine {
public:
  explicit DiagnosticEngine(const SourceManager &sources) : sources(sources) {}
  DiagnosticEngine(const DiagnosticEngine &) = delete;
  DiagnosticEngine &operator=(const DiagnosticEngine &) = delete;

  DiagnosticBuilder error(SourceSpan span, ErrorKind kind, std::string message);
  DiagnosticBuilder warning(SourceSpan span, std::string message);
  DiagnosticBuilder report(Diagnostic diagnostic);

  bool hasErrors() const { return errors != 0; }
  size_t errorCount() const { return errors; }
  const std::vector<Diagnostic> &diagnostics() const { return list; }
  const SourceManager &sourceManager() const { return sources; }

  /// Everything reported so far, in order.
  std::string render() const;
  std::string render(const Diagnostic &diagnostic) const;

  /// The first error's kind, message and range, with everything rendered. Needs hasErrors().
  Error toError() const;

private:
  friend class DiagnosticBuilder;
  const SourceManager &sources;
  std::vector<Diagnostic> list;
  size_t errors = 0;
};

/// Renders one diagnostic at a range in the user's file, for locations that come from MLIR. The
/// source line is omitted if the file is not in `sources`.
std::string renderDiagnostic(const SourceManager &sources, Severity severity,
                             const SourceRange &range, std::string_view message);

} // namespace pantile
