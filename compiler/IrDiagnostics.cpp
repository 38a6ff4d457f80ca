//===- IrDiagnostics.cpp - diagnostics of passes, in terms of the user's source ----===//
// Needs: see IrDiagnostics.h.
// Gives: IrDiagnostics, rangeOf.
// How:   The location of an inlined operation is a chain of call sites: its own range is shown, the
//        callers follow as notes.
//===-------------------------------------------------------------------------------===//
#include "IrDiagnostics.h"
#include "ir/Remarks.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>
#include <tuple>

namespace pantile {
namespace {

using mlir::CallSiteLoc;
using mlir::FileLineColRange;
using mlir::FusedLoc;
using mlir::NameLoc;

/// `location` without the names and fusions around it: a range, a call site, or unknown.
mlir::Location strip(mlir::Location location) {
  return llvm::TypeSwitch<mlir::Location, mlir::Location>(location)
      .Case([](NameLoc name) { return strip(name.getChildLoc()); })
      .Case([&](FusedLoc fused) {
        for (mlir::Location part : fused.getLocations())
          if (!rangeOf(part).file.empty())
            return strip(part);
        return location;
      })
      .Default([](mlir::Location other) { return other; });
}

Severity severityOf(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Error:
    return Severity::Error;
  case mlir::DiagnosticSeverity::Warning:
    return Severity::Warning;
  case mlir::DiagnosticSeverity::Remark:
    return Severity::Remark;
  case mlir::DiagnosticSeverity::Note:
    return Severity::Note;
  }
  return Severity::Note;
}

/// "'tile.dot' op ..." and "'tile.dot' expected ...": how MLIR begins a message about an operation.
bool isAboutOperation(llvm::StringRef message) {
  if (!message.consume_front("'"))
    return false;
  llvm::StringRef name = message.take_until([](char c) { return c == '\'' || c == ' '; });
  return name.contains('.') && message.drop_front(name.size()).starts_with("'");
}

} // namespace

SourceRange rangeOf(mlir::Location location) {
  mlir::Location stripped = strip(location);
  if (auto call = llvm::dyn_cast<CallSiteLoc>(stripped))
    return rangeOf(call.getCallee());
  auto range = llvm::dyn_cast<FileLineColRange>(stripped);
  if (!range)
    return {};
  return {range.getFilename().str(), static_cast<int>(range.getStartLine()),
          static_cast<int>(range.getStartColumn()), static_cast<int>(range.getEndLine()),
          static_cast<int>(range.getEndColumn())};
}

IrDiagnostics::IrDiagnostics(mlir::MLIRContext &context, const SourceManager &sources,
                             bool wantsRemarks)
    : sources(sources), wantsRemarks(wantsRemarks),
      handler(&context, [this](mlir::Diagnostic &diagnostic) { handle(diagnostic); }) {
  context.printOpOnDiagnostic(false);
}

std::string IrDiagnostics::render(mlir::Diagnostic &diagnostic) const {
  std::string text = renderDiagnostic(sources, severityOf(diagnostic.getSeverity()),
                                      rangeOf(diagnostic.getLocation()), diagnostic.str());
  mlir::Location at = strip(diagnostic.getLocation());
  while (auto call = llvm::dyn_cast<CallSiteLoc>(at)) {
    text += renderDiagnostic(sources, Severity::Note, rangeOf(call.getCaller()), "called here");
    at = strip(call.getCaller());
  }
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    text += renderDiagnostic(sources, Severity::Note, rangeOf(note.getLocation()), note.str());
  return text;
}

void IrDiagnostics::addRemark(Remark remark) {
  auto isSame = [&](const Remark &other) { return other.rendered == remark.rendered; };
  if (wantsRemarks && llvm::none_of(remarks, isSame))
    remarks.push_back(std::move(remark));
}

std::vector<Remark> IrDiagnostics::takeRemarks() {
  auto place = [](const Remark &remark) {
    return std::tie(remark.range.file, remark.range.line, remark.range.column);
  };
  llvm::stable_sort(remarks, [&](const Remark &a, const Remark &b) { return place(a) < place(b); });
  return std::exchange(remarks, {});
}

void IrDiagnostics::handle(mlir::Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Remark) {
    if (wantsRemarks)
      addRemark({kindOf(diagnostic), techniqueOf(diagnostic), diagnostic.str(), render(diagnostic),
                 rangeOf(diagnostic.getLocation())});
    return;
  }
  std::string rendered = render(diagnostic);
  if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) {
    warned += rendered;
    return;
  }
  if (first) {
    first->rendered += rendered;
    return;
  }
  std::string message = diagnostic.str();
  ErrorKind kind = isAboutOperation(message) ? ErrorKind::Internal : ErrorKind::Unsupported;
  first = Error{kind, std::move(message), std::move(rendered), rangeOf(diagnostic.getLocation())};
}

Error IrDiagnostics::takeError(std::string_view stage) {
  if (first)
    return *std::exchange(first, std::nullopt);
  return makeError(ErrorKind::Internal,
                   "stage `" + std::string(stage) + "` failed without a message");
}

Error IrDiagnostics::takePassError(std::string_view pass) {
  if (!first)
    return makeError(ErrorKind::Internal, fmt::format("pass `{}` failed without a message", pass));
  Error error = takeError(pass);
  error.kind = ErrorKind::Internal;
  error.message = fmt::format("pass `{}` failed: {}", pass, error.message);
  error.rendered += fmt::format("note: said of the IR after pass `{}`\n", pass);
  return error;
}

} // namespace pantile
