//===- LexerTest.cpp - tokens, literals, layout -----------------------------------------===//
#include "frontend/Lexer.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

using namespace pantile;

namespace {

struct Lexed {
  SourceManager sources;
  TokenStream stream;
  std::vector<std::string> errors;
};

Lexed lex(std::string text) {
  Lexed result;
  const BufferId buffer = result.sources.addBuffer("k.py", std::move(text));
  DiagnosticEngine diagnostics(result.sources);
  result.stream = tokenize(result.sources, buffer, diagnostics);
  for (const Diagnostic &diagnostic : diagnostics.diagnostics())
    result.errors.push_back(diagnostic.message);
  return result;
}

/// Tokens by their text, layout by the words NL, IN and OUT.
std::string words(const std::string &text) {
  const Lexed lexed = lex(text);
  std::string out;
  for (const Token &token : lexed.stream.tokens) {
    if (token.kind == Tok::Eof)
      break;
    out += out.empty() ? "" : " ";
    if (token.kind == Tok::Newline)
      out += "NL";
    else if (token.kind == Tok::Indent)
      out += "IN";
    else if (token.kind == Tok::Dedent)
      out += "OUT";
    else
      out += token.kind == Tok::Error ? "ERROR" : lexed.sources.text(token.span);
  }
  return out;
}

ast::Literal literal(const std::string &text) {
  const Lexed lexed = lex(text);
  EXPECT_THAT(lexed.errors, testing::IsEmpty()) << text;
  EXPECT_EQ(lexed.stream.literals.size(), 1u) << text;
  return lexed.stream.literals.empty() ? ast::Literal() : lexed.stream.literals.front();
}

std::string textOf(const std::string &text) {
  const ast::Literal value = literal(text);
  const auto *string = std::get_if<std::string>(&value);
  return string ? *string : "(no string)";
}

std::string firstError(const std::string &text) {
  const Lexed lexed = lex(text);
  return lexed.errors.empty() ? "" : lexed.errors.front();
}

} // namespace

TEST(Lexer, OperatorsMatchTheLongestSpelling) {
  EXPECT_EQ(words("a**=b//=c<<=d>>=e->f:=g...h!=i@=j"),
            "a **= b //= c <<= d >>= e -> f := g ... h != i @= j NL");
  EXPECT_EQ(words("x<=y<z"), "x <= y < z NL");
}

TEST(Lexer, BlocksBecomeIndentAndDedent) {
  EXPECT_EQ(words("if a:\n  b\n\n  # c\n  d\ne\n"), "if a : NL IN b NL d NL OUT e NL");
  EXPECT_EQ(words("if a:\n  if b:\n    c"), "if a : NL IN if b : NL IN c NL OUT OUT");
}

TEST(Lexer, CommentsAndBlankLinesLeaveTheBlockOpen) {
  EXPECT_EQ(words("if a:\n    b\n# at the margin\n   \n    c\n"), "if a : NL IN b NL c NL OUT");
}

TEST(Lexer, BracketsAndBackslashJoinLines) {
  EXPECT_EQ(words("f(a,\n  b\n)\nc"), "f ( a , b ) NL c NL");
  EXPECT_EQ(words("a + \\\n   b"), "a + b NL");
}

TEST(Lexer, TabsCountToTheNextMultipleOfEight) {
  EXPECT_EQ(words("if a:\n\tb\n\tc\n"), "if a : NL IN b NL c NL OUT");
  EXPECT_EQ(firstError("if a:\n\tb\n        c\n"),
            "tabs and spaces are mixed so that the indentation is not clear");
}

TEST(Lexer, LineEndsOfAllSystems) {
  EXPECT_EQ(words("a\r\nb\rc\n"), "a NL b NL c NL");
  EXPECT_EQ(words("\xEF\xBB\xBF"
                  "a"),
            "a NL");
}

TEST(Lexer, DedentToNoOuterLevel) {
  EXPECT_EQ(firstError("if a:\n    b\n  c\n"), "this line is indented like no line before it");
}

TEST(Lexer, Integers) {
  EXPECT_EQ(std::get<int64_t>(literal("0xFF")), 255);
  EXPECT_EQ(std::get<int64_t>(literal("0o17")), 15);
  EXPECT_EQ(std::get<int64_t>(literal("0b1_01")), 5);
  EXPECT_EQ(std::get<int64_t>(literal("1_000_000")), 1000000);
  EXPECT_EQ(std::get<int64_t>(literal("00")), 0);
  EXPECT_EQ(std::get<int64_t>(literal("9223372036854775807")), INT64_MAX);
  EXPECT_EQ(std::get<uint64_t>(literal("9223372036854775808")), 9223372036854775808u);
  EXPECT_EQ(std::get<uint64_t>(literal("0xFFFFFFFFFFFFFFFF")), UINT64_MAX);
}

TEST(Lexer, Floats) {
  EXPECT_EQ(std::get<double>(literal("1.5")), 1.5);
  EXPECT_EQ(std::get<double>(literal(".25")), 0.25);
  EXPECT_EQ(std::get<double>(literal("1.")), 1.0);
  EXPECT_EQ(std::get<double>(literal("1e3")), 1000.0);
  EXPECT_EQ(std::get<double>(literal("1_0.0_1E-0_1")), 1.001);
  EXPECT_EQ(std::get<double>(literal("1e400")), std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<double>(literal("0.1")), 0.1);
  EXPECT_EQ(std::get<std::complex<double>>(literal("3j")), std::complex(0.0, 3.0));
  EXPECT_EQ(std::get<std::complex<double>>(literal("1_0.5e-1J")), std::complex(0.0, 1.05));
}

TEST(Lexer, BadNumbers) {
  EXPECT_EQ(firstError("012"),
            "a decimal integer cannot start with `0`; octal numbers start with `0o`");
  EXPECT_EQ(firstError("18446744073709551616"), "this integer does not fit in 64 bits");
  EXPECT_EQ(firstError("3jx"), "`3jx` is neither a number nor a name");
  EXPECT_EQ(firstError("1abc"), "`1abc` is neither a number nor a name");
  EXPECT_EQ(firstError("1__0"), "`1__0` is neither a number nor a name");
  EXPECT_EQ(firstError("0b2"), "`0b` is not followed by a digit");
  EXPECT_EQ(words("1if x else 2"), "1 if x else 2 NL");
}

TEST(Lexer, StringEscapes) {
  EXPECT_EQ(textOf(R"('a\n\t\\\'\"')"), "a\n\t\\'\"");
  EXPECT_EQ(textOf(R"('\x41\101\u00e9\U0001F600\N{BULLET}')"), "AA\u00e9\U0001F600\u2022");
  EXPECT_EQ(textOf(R"('\q')"), "\\q");
  EXPECT_EQ(textOf("'a\\\nb'"), "ab");
  EXPECT_EQ(textOf(R"(r'\n\'')"), R"(\n\')");
  EXPECT_EQ(textOf("'''a\r\n\"b'''"), "a\n\"b");
  EXPECT_EQ(textOf("u'x'"), "x");
}

TEST(Lexer, BadStrings) {
  EXPECT_EQ(firstError("x = 'abc\ny = 1"), "this string is not closed on its line");
  EXPECT_EQ(words("x = 'abc\ny = 1"), "x = ERROR NL y = 1 NL");
  EXPECT_EQ(firstError("'''abc\n"), "this string is never closed");
  EXPECT_EQ(firstError(R"('\x4')"), "this escape needs 2 hexadecimal digits");
  EXPECT_EQ(firstError(R"('\ud800')"), "this escape is not a Unicode character");
  EXPECT_EQ(firstError(R"('\N{NO SUCH}')"), "there is no Unicode character of this name");
}

TEST(Lexer, FStringsAreOneToken) {
  EXPECT_EQ(words(R"(f'{a!r:>{w}}{{}}' f"{x["k"]}")"), R"(f'{a!r:>{w}}{{}}' f"{x["k"]}" NL)");
  EXPECT_EQ(firstError("f'{a'"), "`{` is never closed in this f-string");
  EXPECT_EQ(firstError("f'}'"), "a single `}` in an f-string is written `}}`");
  EXPECT_EQ(firstError("f'{}'"), "expected an expression in `{}` of an f-string");
  EXPECT_EQ(firstError("f'{a!x}'"), "a conversion in an f-string is `!r`, `!s` or `!a`");
}

TEST(Lexer, FStringChunks) {
  const Lexed lexed = lex("f'a{b=!s:{c}d}e'");
  ASSERT_EQ(lexed.stream.fstrings.size(), 1u);
  const auto &chunks = lexed.stream.fstrings.front();
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].literal, "a");
  EXPECT_EQ(lexed.sources.text(chunks[1].expr), "b");
  EXPECT_EQ(lexed.sources.text(chunks[1].echo), "b=");
  EXPECT_EQ(chunks[1].conversion, 's');
  ASSERT_EQ(chunks[1].spec.size(), 2u);
  EXPECT_EQ(chunks[1].spec[1].literal, "d");
  EXPECT_EQ(chunks[2].literal, "e");
}

TEST(Lexer, ABracketThatIsNeverClosedCostsOneLine) {
  EXPECT_EQ(firstError("x = f(1,\ny = 2\nz = 3\n"), "`(` is never closed");
  EXPECT_EQ(words("x = f(1,\ny = 2\nz = 3\n"), "x = f ERROR NL y = 2 NL z = 3 NL");
}

TEST(Lexer, AStatementWordInBracketsEndsThem) {
  EXPECT_EQ(words("x = f(1,\nreturn x\n"), "x = f ERROR NL return x NL");
  EXPECT_EQ(words("def g(a,\n  b\ndef h(): pass\n"), "def g ERROR NL def h ( ) : pass NL");
}

TEST(Lexer, ClosersThatDoNotFit) {
  EXPECT_EQ(firstError("a)"), "`)` closes nothing");
  EXPECT_EQ(firstError("(a]"), "`]` does not close `(`");
}

TEST(Lexer, CharactersOutsideTheLanguage) {
  EXPECT_EQ(firstError("a ? b"), "`?` has no meaning in the language");
  EXPECT_EQ(firstError("x = \u201Ca\u201D"), "`\u201C` has no meaning in the language");
  EXPECT_EQ(firstError("a \xFF"), "this byte is not valid UTF-8");
  EXPECT_EQ(firstError("a \\ b"), "`\\` joins lines only as the last of its line");
  EXPECT_EQ(words("\u03B1_1 = 2"), "\u03B1_1 = 2 NL");
}
