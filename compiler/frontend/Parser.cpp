//===- Parser.cpp - text to syntax tree -------------------------------------------------===//
#include "frontend/Parser.h"
#include "frontend/ParserImpl.h"
#include <algorithm>

namespace pantile {

namespace {
constexpr int maxDepth = 200;
/// More than a reader will look at; a text that is not of this language has thousands.
constexpr size_t maxErrors = 20;

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

std::nullptr_t Parser::fail(SourceSpan span, std::string message) {
  if (!at(Tok::Error) && diagnostics.errorCount() < maxErrors)
    diagnostics.error(span, ErrorKind::Syntax, std::move(message));
  return nullptr;
}

std::nullptr_t Parser::failWithNote(SourceSpan span, std::string message, SourceSpan noteSpan,
                                    std::string note) {
  if (!at(Tok::Error) && diagnostics.errorCount() < maxErrors)
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

std::unique_ptr<ast::FunctionDef> parseFunction(const SourceManager &sources, BufferId buffer,
                                                DiagnosticEngine &diagnostics) {
  const size_t errorsBefore = diagnostics.errorCount();
  const TokenStream stream = tokenize(sources, buffer, diagnostics);
  ast::Block block = Parser(sources, stream, diagnostics, Parser::Mode::Kernel).parseFile();
  if (diagnostics.errorCount() > errorsBefore)
    return nullptr;
  const SourceSpan all{buffer, 0, static_cast<uint32_t>(sources.text(buffer).size())};
  const bool isFunction = !block.empty() && llvm::isa<ast::FunctionDef>(*block.front());
  if (!isFunction || block.size() > 1) {
    const SourceSpan seen = block.empty() ? SourceSpan{buffer, 0, 0}
                            : isFunction  ? block[1]->span
                                          : block.front()->span;
    diagnostics.error(seen.isValid() ? seen : all, ErrorKind::Syntax,
                      isFunction ? "expected nothing after the function"
                                 : "expected a function that starts with `def`");
    return nullptr;
  }
  return std::unique_ptr<ast::FunctionDef>(llvm::cast<ast::FunctionDef>(block.front().release()));
}

ast::Module parseModule(const SourceManager &sources, BufferId buffer,
                        DiagnosticEngine &diagnostics) {
  const TokenStream stream = tokenize(sources, buffer, diagnostics);
  ast::Module module;
  module.span = {buffer, 0, static_cast<uint32_t>(sources.text(buffer).size())};
  module.body = Parser(sources, stream, diagnostics, Parser::Mode::Module).parseFile();
  return module;
}

ast::ExprPtr parseExpression(const SourceManager &sources, BufferId buffer,
                             DiagnosticEngine &diagnostics) {
  const size_t errorsBefore = diagnostics.errorCount();
  const SourceSpan all{buffer, 0, static_cast<uint32_t>(sources.text(buffer).size())};
  const TokenStream stream = tokenizeJoined(sources, all, diagnostics);
  ast::ExprPtr value = Parser(sources, stream, diagnostics, Parser::Mode::Kernel).parseWhole();
  return diagnostics.errorCount() > errorsBefore ? nullptr : std::move(value);
}

} // namespace pantile
