//===- ParseStmt.cpp - simple statements, and going on after an error -------------------===//
#include "frontend/ParserImpl.h"
#include <algorithm>
#include <optional>

namespace pantile {

using namespace ast;

namespace {

std::optional<BinaryOp> augmentedOp(Tok kind) {
  switch (kind) {
  case Tok::PlusEqual:
    return BinaryOp::Add;
  case Tok::MinusEqual:
    return BinaryOp::Sub;
  case Tok::StarEqual:
    return BinaryOp::Mul;
  case Tok::SlashEqual:
    return BinaryOp::Div;
  case Tok::SlashSlashEqual:
    return BinaryOp::FloorDiv;
  case Tok::PercentEqual:
    return BinaryOp::Mod;
  case Tok::StarStarEqual:
    return BinaryOp::Pow;
  case Tok::AtEqual:
    return BinaryOp::MatMul;
  case Tok::ShlEqual:
    return BinaryOp::Shl;
  case Tok::ShrEqual:
    return BinaryOp::Shr;
  case Tok::AmpEqual:
    return BinaryOp::And;
  case Tok::PipeEqual:
    return BinaryOp::Or;
  case Tok::CaretEqual:
    return BinaryOp::Xor;
  default:
    return std::nullopt;
  }
}

bool continuesStatement(Tok kind) {
  return kind == Tok::KwElif || kind == Tok::KwElse || kind == Tok::KwExcept ||
         kind == Tok::KwFinally;
}

bool isCompound(Tok kind) {
  return kind == Tok::KwIf || kind == Tok::KwFor || kind == Tok::KwWhile || kind == Tok::KwTry ||
         kind == Tok::KwWith || kind == Tok::KwDef || kind == Tok::KwClass ||
         kind == Tok::KwAsync || kind == Tok::At;
}

} // namespace

Block Parser::parseFile() {
  Block block;
  while (!at(Tok::Eof)) {
    if (!accept(Tok::Dedent) && !accept(Tok::Newline))
      parseStatement(block);
  }
  return block;
}

//===- Recovery -------------------------------------------------------------------------===//

void Parser::parseStatement(Block &block) {
  const size_t start = mark();
  if (!parseStatementInner(block))
    recover(start);
}

bool Parser::parseStatementInner(Block &block) {
  if (at(Tok::Indent)) {
    failHere("this line is indented more than the block it is in");
    take();
    while (!at(Tok::Eof) && !accept(Tok::Dedent))
      parseStatement(block);
    return true;
  }
  if (continuesStatement(peek().kind)) {
    failHere("`" + std::string(textOf(peek())) + "` has no statement before it that it belongs to");
    return false;
  }
  if (!isCompound(peek().kind) && !atMatch())
    return parseSimpleLine(block);
  StmtPtr statement = parseCompound();
  if (!statement)
    return false;
  block.push_back(std::move(statement));
  return true;
}

/// Skips the rest of the line, then reads the block below it for further errors, and clauses such
/// as `else`.
void Parser::recover(size_t start) {
  const auto atLineStart = [&] {
    const Tok before = index == 0 ? Tok::Newline : stream.tokens[index - 1].kind;
    return index != start && (before == Tok::Newline || before == Tok::Dedent);
  };
  const bool compound = isCompound(stream.tokens[start].kind);
  const bool stopped = atLineStart();
  while (!stopped && !at(Tok::Newline) && !at(Tok::Eof) && !at(Tok::Indent) && !at(Tok::Dedent))
    take();
  if (!stopped)
    accept(Tok::Newline);
  skipBlockIfAny();
  while (compound && continuesStatement(peek().kind)) {
    while (!at(Tok::Newline) && !at(Tok::Eof))
      take();
    accept(Tok::Newline);
    skipBlockIfAny();
  }
}

void Parser::skipBlockIfAny() {
  if (!accept(Tok::Indent))
    return;
  Block dropped;
  while (!at(Tok::Eof) && !accept(Tok::Dedent))
    parseStatement(dropped);
}

//===- Simple statements ----------------------------------------------------------------===//

bool Parser::parseSimpleLine(Block &block) {
  do {
    StmtPtr statement = parseSimple();
    if (!statement)
      return false;
    block.push_back(std::move(statement));
  } while (accept(Tok::Semicolon) && !at(Tok::Newline));
  if (accept(Tok::Newline))
    return true;
  failHere("expected the end of the line, found " + found());
  return false;
}

StmtPtr Parser::parseSimple() {
  switch (peek().kind) {
  case Tok::KwReturn:
    return parseReturn();
  case Tok::KwPass:
    return std::make_unique<Pass>(take().span);
  case Tok::KwBreak:
  case Tok::KwContinue:
    return parseLoopExit();
  case Tok::KwAssert:
    return parseAssert();
  case Tok::KwRaise:
    return parseRaise();
  case Tok::KwImport:
    return parseImport();
  case Tok::KwFrom:
    return parseFromImport();
  case Tok::KwGlobal:
  case Tok::KwNonlocal:
    return parseNameList();
  case Tok::KwDel:
    return parseDel();
  default:
    if (atName("type") && peek(1).kind == Tok::Name)
      return parseTypeAlias();
    return parseExprStatement();
  }
}

StmtPtr Parser::parseExprStatement() {
  const size_t start = mark();
  ExprPtr value = at(Tok::KwYield) ? parseYield() : parseStarExprs();
  if (!value)
    return nullptr;
  if (at(Tok::Equal))
    return parseAssign(std::move(value), start);
  if (at(Tok::Colon))
    return parseAnnAssign(std::move(value), start);
  if (const auto op = augmentedOp(peek().kind))
    return parseAugAssign(std::move(value), *op, start);
  if (at(Tok::ColonEqual))
    return fail(peek().span, "`:=` needs parentheses around it here; an assignment is `=`");
  if (llvm::isa<Starred>(*value))
    return fail(value->span, "a starred expression cannot stand alone");
  auto statement = std::make_unique<ExprStmt>(spanFrom(start));
  statement->value = std::move(value);
  return statement;
}

StmtPtr Parser::parseAssign(ExprPtr first, size_t start) {
  auto assign = std::make_unique<Assign>(first->span);
  assign->value = std::move(first);
  while (accept(Tok::Equal)) {
    if (!checkTarget(*assign->value))
      return nullptr;
    assign->targets.push_back(std::move(assign->value));
    assign->value = at(Tok::KwYield) ? parseYield() : parseStarExprs();
    if (!assign->value)
      return nullptr;
  }
  if (llvm::isa<Starred>(*assign->value))
    return fail(assign->value->span, "a starred expression stands only in a tuple, list or call");
  assign->span = spanFrom(start);
  return assign;
}

StmtPtr Parser::parseAugAssign(ExprPtr target, BinaryOp op, size_t start) {
  auto assign = std::make_unique<AugAssign>(target->span);
  if (!checkSingleTarget(*target, "an augmented assignment"))
    return nullptr;
  assign->target = std::move(target);
  assign->op = op;
  assign->opSpan = take().span;
  assign->value = at(Tok::KwYield) ? parseYield() : parseStarExprs();
  if (!assign->value)
    return nullptr;
  assign->span = spanFrom(start);
  return assign;
}

StmtPtr Parser::parseAnnAssign(ExprPtr target, size_t start) {
  auto assign = std::make_unique<AnnAssign>(target->span);
  if (!checkSingleTarget(*target, "an annotated assignment"))
    return nullptr;
  assign->target = std::move(target);
  take();
  assign->annotation = parseExpr();
  if (!assign->annotation)
    return nullptr;
  if (accept(Tok::Equal)) {
    assign->value = at(Tok::KwYield) ? parseYield() : parseStarExprs();
    if (!assign->value)
      return nullptr;
  }
  assign->span = spanFrom(start);
  return assign;
}

StmtPtr Parser::parseReturn() {
  const size_t start = mark();
  take();
  if (functions == 0)
    return fail(stream.tokens[start].span, "`return` stands outside a function");
  ExprPtr value;
  if (!at(Tok::Newline) && !at(Tok::Semicolon) && !(value = parseStarExprs()))
    return nullptr;
  auto statement = std::make_unique<Return>(spanFrom(start));
  statement->value = std::move(value);
  return statement;
}

StmtPtr Parser::parseLoopExit() {
  const Token &word = take();
  if (loops == 0)
    return fail(word.span, "`" + std::string(textOf(word)) + "` stands outside a loop");
  if (word.kind == Tok::KwBreak)
    return std::make_unique<Break>(word.span);
  return std::make_unique<Continue>(word.span);
}

StmtPtr Parser::parseAssert() {
  const size_t start = mark();
  take();
  auto statement = std::make_unique<Assert>(spanFrom(start));
  statement->test = parseExpr();
  if (!statement->test)
    return nullptr;
  if (accept(Tok::Comma) && !(statement->message = parseExpr()))
    return nullptr;
  statement->span = spanFrom(start);
  return statement;
}

//===- Statements that kernels have not -------------------------------------------------===//

namespace {
std::unique_ptr<UnsupportedStmt> unsupportedStmt(SourceSpan span, std::string construct) {
  auto statement = std::make_unique<UnsupportedStmt>(span);
  statement->construct = std::move(construct);
  return statement;
}
} // namespace

bool Parser::parseDottedName(std::string &name) {
  std::string part;
  SourceSpan span;
  do {
    if (!expectName("the name of a module", part, span))
      return false;
    name += (name.empty() || name.back() == '.' ? "" : ".") + part;
  } while (accept(Tok::Dot));
  return true;
}

StmtPtr Parser::parseImport() {
  const size_t start = mark();
  take();
  auto statement = unsupportedStmt(spanFrom(start), "`import`");
  SourceSpan span;
  do {
    ImportedName &import = statement->imports.emplace_back();
    if (!parseDottedName(import.module) ||
        (accept(Tok::KwAs) && !expectName("a name after `as`", import.alias, span)))
      return nullptr;
  } while (accept(Tok::Comma));
  statement->span = spanFrom(start);
  return statement;
}

StmtPtr Parser::parseFromImport() {
  const size_t start = mark();
  take();
  auto statement = unsupportedStmt(spanFrom(start), "`import`");
  std::string module;
  for (; at(Tok::Dot) || at(Tok::Ellipsis); take())
    module += textOf(peek());
  const bool relative = !module.empty() && at(Tok::KwImport);
  if ((!relative && !parseDottedName(module)) ||
      !expect(Tok::KwImport, "after the name of the module"))
    return nullptr;
  SourceSpan span;
  if (accept(Tok::Star)) {
    statement->imports.push_back({module, "*", ""});
  } else {
    const Token &opener = peek();
    const bool parenthesized = accept(Tok::LParen);
    do {
      if (parenthesized && !statement->imports.empty() && at(Tok::RParen))
        break;
      ImportedName &import = statement->imports.emplace_back();
      import.module = module;
      if (!expectName("a name to import", import.name, span) ||
          (accept(Tok::KwAs) && !expectName("a name after `as`", import.alias, span)))
        return nullptr;
    } while (accept(Tok::Comma));
    if (parenthesized && !expectCloser(Tok::RParen, opener))
      return nullptr;
  }
  statement->span = spanFrom(start);
  return statement;
}

StmtPtr Parser::parseRaise() {
  const size_t start = mark();
  take();
  if (!at(Tok::Newline) && !at(Tok::Semicolon) &&
      (!parseExpr() || (accept(Tok::KwFrom) && !parseExpr())))
    return nullptr;
  return unsupportedStmt(spanFrom(start), "`raise`");
}

StmtPtr Parser::parseNameList() {
  const size_t start = mark();
  const Token &word = take();
  std::string name;
  SourceSpan span;
  do {
    if (!expectName("a name after `" + std::string(textOf(word)) + "`", name, span))
      return nullptr;
  } while (accept(Tok::Comma));
  return unsupportedStmt(spanFrom(start), "`" + std::string(textOf(word)) + "`");
}

StmtPtr Parser::parseDel() {
  const size_t start = mark();
  take();
  const ExprPtr targets = parseStarExprs();
  if (!targets)
    return nullptr;
  return unsupportedStmt(spanFrom(start), "`del`");
}

StmtPtr Parser::parseTypeAlias() {
  const size_t start = mark();
  take();
  take();
  if (!skipTypeParams() || !expect(Tok::Equal, "after the name of a `type`") || !parseExpr())
    return nullptr;
  return unsupportedStmt(spanFrom(start), "`type`");
}

} // namespace pantile
