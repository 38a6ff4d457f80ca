//===- Diagnostics.cpp - errors, warnings and notes about a source ----------------------===//
#include "support/Diagnostics.h"
#include "support/Utf8.h"
#include <algorithm>
#include <cassert>
#include <llvm/Support/Unicode.h>

namespace pantile {

namespace {
constexpr int tabStop = 8;

const char *severityName(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Remark:
    return "remark";
  case Severity::Note:
    return "note";
  }
  return "error";
}

/// A source line as a terminal shows it: tabs expanded, bad bytes and control characters replaced.
/// `columns[i]` is the cell in which character i starts; one more entry holds the width.
struct ShownLine {
  std::string text;
  std::vector<int> columns;
};

void showChar(std::string_view bytes, Utf8Char character, int &cell, std::string &text) {
  if (character.codePoint == '\t') {
    const int width = tabStop - cell % tabStop;
    text.append(width, ' ');
    cell += width;
    return;
  }
  const int width =
      character.valid ? llvm::sys::unicode::columnWidthUTF8({bytes.data(), character.length}) : -1;
  if (width < 0)
    text += "\uFFFD";
  else
    text += bytes.substr(0, character.length);
  cell += width < 0 ? 1 : width;
}

ShownLine showLine(std::string_view line) {
  ShownLine shown;
  int cell = 0;
  while (!line.empty()) {
    const Utf8Char character = decodeUtf8(line);
    shown.columns.push_back(cell);
    showChar(line, character, cell, shown.text);
    line.remove_prefix(character.length);
  }
  shown.columns.push_back(cell);
  return shown;
}

/// The line of `^~~~` under `shown`. A range that continues on further lines is marked to the end
/// of this one.
std::string underline(const ShownLine &shown, const SourceRange &range) {
  const int chars = static_cast<int>(shown.columns.size()) - 1;
  const int first = std::clamp(range.column - 1, 0, chars);
  const bool oneLine = range.endLine <= range.line;
  const int last = oneLine ? std::clamp(range.endColumn - 1, first, chars) : chars;
  const int width = shown.columns[last] - shown.columns[first];
  return std::string(shown.columns[first], ' ') + '^' + std::string(std::max(width - 1, 0), '~');
}
} // namespace

std::string renderDiagnostic(const SourceManager &sources, Severity severity,
                             const SourceRange &range, std::string_view message) {
  std::string text;
  if (!range.file.empty()) {
    text += range.file + ':';
    if (range.line > 0)
      text += std::to_string(range.line) + ':' + std::to_string(range.column) + ':';
    text += ' ';
  }
  text += std::string(severityName(severity)) + ": ";
  text += message;
  text += '\n';
  if (const auto line = sources.lineText(range.file, range.line)) {
    const ShownLine shown = showLine(*line);
    text += shown.text + '\n' + underline(shown, range) + '\n';
  }
  return text;
}

DiagnosticBuilder &DiagnosticBuilder::note(SourceSpan span, std::string message) {
  engine.list[index].notes.push_back({span, std::move(message)});
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::within(int calls, bool inBuiltin) {
  engine.list[index].calls = calls;
  engine.list[index].inBuiltin = inBuiltin;
  return *this;
}

DiagnosticBuilder DiagnosticEngine::report(Diagnostic diagnostic) {
  errors += diagnostic.severity == Severity::Error;
  list.push_back(std::move(diagnostic));
  return {*this, list.size() - 1};
}

DiagnosticBuilder DiagnosticEngine::error(SourceSpan span, ErrorKind kind, std::string message) {
  return report({Severity::Error, kind, span, std::move(message), {}});
}

DiagnosticBuilder DiagnosticEngine::warning(SourceSpan span, std::string message) {
  return report({Severity::Warning, ErrorKind::Syntax, span, std::move(message), {}});
}

std::string DiagnosticEngine::render(const Diagnostic &diagnostic) const {
  std::string text = renderDiagnostic(sources, diagnostic.severity, sources.range(diagnostic.span),
                                      diagnostic.message);
  for (const DiagnosticNote &note : diagnostic.notes)
    text += renderDiagnostic(sources, Severity::Note, sources.range(note.span), note.message);
  return text;
}

std::string DiagnosticEngine::render() const {
  std::string text;
  for (const Diagnostic &diagnostic : list)
    text += render(diagnostic);
  return text;
}

Error DiagnosticEngine::toError() const {
  const auto first = std::ranges::find(list, Severity::Error, &Diagnostic::severity);
  assert(first != list.end() && "no error was reported");
  return {first->kind,  first->message,  render(), sources.range(first->span),
          first->calls, first->inBuiltin};
}

} // namespace pantile
