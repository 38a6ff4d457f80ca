//===- Parser.cpp - text to syntax tree -------------------------------------------------===//
#include "frontend/Parser.h"
#include "frontend/ParserImpl.h"
#include <algorithm>

namespace pantile {

namespace {
constexpr int maxDepth = 200;
bool isLayout(Tok kind) {
  return kind == Tok::Newline || kind == Tok::Indent || kind == Tok::Dedent;
}
} // namespace

const Token &Parser::peek(size_t ahead) const {
  return stream.tokens[std::min(index + ahead, stream.tokens.size() - 1)];
}

bool Parser::atName(std::string_view text) const { return at(Tok::Name) && textOf(peek()) == text; }

const Token &Parser::take() {
  const Token &token = peek();
  if (index + 1 < stream.tokens.size())
    ++index;
  return token;
}

bool Parser::accept(Tok kind) {
  if (!at(kind))
    return false;
  take();
  return true;
}

SourceSpan Parser::spanFrom(size_t mark) const {
  size_t last = index;
  while (last > mark && isLayout(stream.tokens[last - 1].kind))
    --last;
  const SourceSpan first = stream.tokens[mark].span;
  return last > mark ? first.to(stream.tokens[last - 1].span) : first;
}

/// The lexer may already have reported some of the errors.
bool Parser::maySpeak() const {
  return !at(Tok::Error) && diagnostics.errorCount() < 2 * maxSyntaxErrors;
}

std::nullptr_t Parser::fail(SourceSpan span, std::string message) {
  if (maySpeak())
    diagnostics.error(span, ErrorKind::Syntax, std::move(message));
  return nullptr;
}

std::nullptr_t Parser::failWithNote(SourceSpan span, std::string message, SourceSpan noteSpan,
                                    std::string note) {
  if (maySpeak())
    diagnostics.error(span, ErrorKind::Syntax, std::move(message)).note(noteSpan, std::move(note));
  return nullptr;
}

std::string Parser::found() const {
  const Tok kind = peek().kind;
  const bool named = kind == Tok::Name || kind == Tok::Number;
  if (named || isKeyword(kind) || kind > Tok::KwYield)
    return "`" + std::string(textOf(peek())) + "`";
  const bool inExpression = kind == Tok::Eof && index > 0 &&
                            stream.tokens[index - 1].kind != Tok::Newline &&
                            stream.tokens[index - 1].kind != Tok::Dedent;
  return inExpression ? "the end of the expression" : std::string(describe(kind));
}

bool Parser::expect(Tok kind, std::string_view where) {
  if (accept(kind))
    return true;
  std::string message = "expected `" + std::string(describe(kind)) + "`";
  if (!where.empty())
    message += " " + std::string(where);
  failHere(message + ", found " + found());
  return false;
}

bool Parser::expectCloser(Tok closer, const Token &opener, bool afterItem) {
  if (accept(closer))
    return true;
  const std::string wanted = (afterItem ? "`,` or `" : "`") + std::string(describe(closer)) + "`";
  failWithNote(peek().span, "expected " + wanted + ", found " + found(), opener.span,
               "`" + std::string(textOf(opener)) + "` opened here");
  return false;
}

bool Parser::expectName(std::string_view what, std::string &name, SourceSpan &span) {
  if (!at(Tok::Name)) {
    failHere("expected " + std::string(what) + ", found " + found());
    return false;
  }
  span = peek().span;
  name = textOf(take());
  return true;
}

bool Parser::tooDeep() {
  if (depth <= maxDepth)
    return false;
  failHere("this expression nests too deeply");
  return true;
}

ast::ExprPtr Parser::finish(ast::ExprPtr node) {
  ast::forEachChild(*node, [&](const ast::Expr &child) {
    node->height = std::max(node->height, child.height + 1);
  });
  if (node->height > ast::maxExprHeight)
    return fail(node->span, "this expression nests too deeply");
  return node;
}

namespace {

/// The lexer reports before the parser; messages are sorted into source order.
void reportInOrder(const DiagnosticEngine &found, DiagnosticEngine &diagnostics) {
  std::vector<Diagnostic> sorted = found.diagnostics();
  std::ranges::stable_sort(sorted, {}, [](const Diagnostic &d) { return d.span.begin; });
  if (sorted.size() > maxSyntaxErrors)
    sorted.resize(maxSyntaxErrors);
  for (Diagnostic &diagnostic : sorted)
    diagnostics.report(std::move(diagnostic));
}

ast::Block parseBlockOf(const SourceManager &sources, BufferId buffer,
                        DiagnosticEngine &diagnostics, Parser::Mode mode) {
  DiagnosticEngine found(sources);
  const TokenStream stream = tokenize(sources, buffer, found);
  ast::Block block = Parser(sources, stream, found, mode).parseFile();
  reportInOrder(found, diagnostics);
  return block;
}

SourceSpan wholeOf(const SourceManager &sources, BufferId buffer) {
  return {buffer, 0, static_cast<uint32_t>(sources.text(buffer).size())};
}

} // namespace

std::unique_ptr<ast::FunctionDef> parseFunction(const SourceManager &sources, BufferId buffer,
                                                DiagnosticEngine &diagnostics) {
  const size_t errorsBefore = diagnostics.errorCount();
  ast::Block block = parseBlockOf(sources, buffer, diagnostics, Parser::Mode::Kernel);
  if (diagnostics.errorCount() > errorsBefore)
    return nullptr;
  const bool isFunction = !block.empty() && llvm::isa<ast::FunctionDef>(*block.front());
  if (isFunction && block.size() == 1)
    return std::unique_ptr<ast::FunctionDef>(llvm::cast<ast::FunctionDef>(block.front().release()));
  const SourceSpan seen = block.empty() ? SourceSpan{buffer, 0, 0}
                          : isFunction  ? block[1]->span
                                        : block.front()->span;
  diagnostics.error(seen, ErrorKind::Syntax,
                    isFunction ? "expected nothing after the function"
                               : "expected a function that starts with `def`");
  return nullptr;
}

ast::Module parseModule(const SourceManager &sources, BufferId buffer,
                        DiagnosticEngine &diagnostics) {
  return {wholeOf(sources, buffer),
          parseBlockOf(sources, buffer, diagnostics, Parser::Mode::Module)};
}

ast::ExprPtr parseExpression(const SourceManager &sources, BufferId buffer,
                             DiagnosticEngine &diagnostics) {
  DiagnosticEngine found(sources);
  const TokenStream stream = tokenizeJoined(sources, wholeOf(sources, buffer), found);
  ast::ExprPtr value = Parser(sources, stream, found, Parser::Mode::Kernel).parseWhole();
  reportInOrder(found, diagnostics);
  return found.hasErrors() ? nullptr : std::move(value);
}

} // namespace pantile
