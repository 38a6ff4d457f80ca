//===- DiagnosticsTest.cpp - places in sources, and how messages show them --------------===//
#include "support/Diagnostics.h"
#include <gtest/gtest.h>

using namespace pantile;

namespace {
/// The span of the first `part` in `buffer`.
SourceSpan find(const SourceManager &sources, BufferId buffer, std::string_view part) {
  const size_t at = sources.text(buffer).find(part);
  EXPECT_NE(at, std::string_view::npos) << part;
  return {buffer, static_cast<uint32_t>(at), static_cast<uint32_t>(at + part.size())};
}

std::string renderOne(const SourceManager &sources, SourceSpan span) {
  DiagnosticEngine diagnostics(sources);
  diagnostics.error(span, ErrorKind::Type, "wrong");
  return diagnostics.render();
}
} // namespace

TEST(Source, CutLinesAndColumnsAreAddedBack) {
  SourceManager sources;
  const BufferId buffer = sources.addBuffer("k.py", "def f():\n    x = 1\n", 10, 4);
  const SourceRange range = sources.range(find(sources, buffer, "x = 1"));
  EXPECT_EQ(range.file, "k.py");
  EXPECT_EQ(range.line, 11);
  EXPECT_EQ(range.column, 9);
  EXPECT_EQ(range.endLine, 11);
  EXPECT_EQ(range.endColumn, 14);
  EXPECT_EQ(sources.lineText("k.py", 11), "        x = 1");
  EXPECT_EQ(sources.lineText("k.py", 9), std::nullopt);
  EXPECT_EQ(sources.lineText("other.py", 11), std::nullopt);
}

TEST(Source, ColumnsCountCharactersAndBadBytes) {
  SourceManager sources;
  const BufferId buffer = sources.addBuffer("k.py", "\u00e9\U0001F600\xFFx");
  EXPECT_EQ(sources.range(find(sources, buffer, "x")).column, 4);
}

TEST(Source, LineEndsOfAllSystems) {
  SourceManager sources;
  const BufferId buffer = sources.addBuffer("k.py", "a\r\nb\rc\nd");
  EXPECT_EQ(sources.range(find(sources, buffer, "d")).line, 4);
  EXPECT_EQ(sources.lineText("k.py", 1), "a");
  EXPECT_EQ(sources.lineText("k.py", 2), "b");
}

TEST(Source, SpansJoin) {
  const SourceSpan a{1, 4, 6}, b{1, 9, 12};
  EXPECT_EQ(a.to(b), (SourceSpan{1, 4, 12}));
  EXPECT_EQ(b.to(a), (SourceSpan{1, 4, 12}));
}

TEST(Diagnostics, UnderlineTheRange) {
  SourceManager sources;
  const BufferId buffer = sources.addBuffer("k.py", "a = dot(x, y)\n", 5);
  EXPECT_EQ(renderOne(sources, find(sources, buffer, "dot(x, y)")), "k.py:5:5: error: wrong\n"
                                                                    "a = dot(x, y)\n"
                                                                    "    ^~~~~~~~~\n");
}

TEST(Diagnostics, TabsAndWideCharactersKeepTheCaretInPlace) {
  SourceManager sources;
  const BufferId tab = sources.addBuffer("t.py", "\tx\n");
  EXPECT_EQ(renderOne(sources, find(sources, tab, "x")), "t.py:1:2: error: wrong\n"
                                                         "        x\n"
                                                         "        ^\n");
  const BufferId wide = sources.addBuffer("w.py", "'\u4E2D' + x\n");
  EXPECT_EQ(renderOne(sources, find(sources, wide, "x")), "w.py:1:7: error: wrong\n"
                                                          "'\u4E2D' + x\n"
                                                          "       ^\n");
}

TEST(Diagnostics, ControlCharactersAreReplaced) {
  SourceManager sources;
  const BufferId buffer = sources.addBuffer("k.py", "\x1b[31m\xFF x");
  EXPECT_EQ(renderOne(sources, find(sources, buffer, "x")), "k.py:1:8: error: wrong\n"
                                                            "\uFFFD[31m\uFFFD x\n"
                                                            "       ^\n");
}

TEST(Diagnostics, ARangeOfSeveralLinesIsMarkedToTheEndOfTheFirst) {
  SourceManager sources;
  const BufferId buffer = sources.addBuffer("k.py", "f(a,\n  b)\n");
  EXPECT_EQ(renderOne(sources, find(sources, buffer, "(a,\n  b)")), "k.py:1:2: error: wrong\n"
                                                                    "f(a,\n"
                                                                    " ^~~\n");
}

TEST(Diagnostics, TheEndOfTheTextHasACaret) {
  SourceManager sources;
  sources.addBuffer("k.py", "ab");
  EXPECT_EQ(renderOne(sources, {1, 2, 2}), "k.py:1:3: error: wrong\nab\n  ^\n");
}

TEST(Diagnostics, NotesFollowTheirError) {
  SourceManager sources;
  const BufferId buffer = sources.addBuffer("k.py", "a = 1\nb = 2\n");
  DiagnosticEngine diagnostics(sources);
  diagnostics.error(find(sources, buffer, "b"), ErrorKind::Type, "first")
      .note(find(sources, buffer, "a"), "see here");
  diagnostics.warning(find(sources, buffer, "2"), "second");
  EXPECT_EQ(diagnostics.render(), "k.py:2:1: error: first\nb = 2\n^\n"
                                  "k.py:1:1: note: see here\na = 1\n^\n"
                                  "k.py:2:5: warning: second\nb = 2\n    ^\n");
  EXPECT_EQ(diagnostics.errorCount(), 1u);
}

TEST(Diagnostics, TheErrorIsTheFirstOneWithAllRendered) {
  SourceManager sources;
  const BufferId buffer = sources.addBuffer("k.py", "a\nb\n");
  DiagnosticEngine diagnostics(sources);
  diagnostics.warning(find(sources, buffer, "a"), "beware");
  diagnostics.error(find(sources, buffer, "b"), ErrorKind::Unsupported, "one");
  diagnostics.error(find(sources, buffer, "a"), ErrorKind::Type, "two");
  const Error error = diagnostics.toError();
  EXPECT_EQ(error.kind, ErrorKind::Unsupported);
  EXPECT_EQ(error.message, "one");
  EXPECT_EQ(error.range.line, 2);
  EXPECT_EQ(error.rendered, diagnostics.render());
}

TEST(Diagnostics, RangesOfUnknownFilesShowNoLine) {
  const SourceManager sources;
  const SourceRange range{"gone.py", 3, 4, 3, 8};
  EXPECT_EQ(renderDiagnostic(sources, Severity::Remark, range, "hm"), "gone.py:3:4: remark: hm\n");
  EXPECT_EQ(renderDiagnostic(sources, Severity::Error, {}, "hm"), "error: hm\n");
}
