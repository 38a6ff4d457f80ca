//===- ParseBlock.cpp - statements that have blocks -------------------------------------===//
#include "frontend/ParserImpl.h"
#include <llvm/Support/SaveAndRestore.h>

namespace pantile {

using namespace ast;

StmtPtr Parser::parseCompound() {
  switch (peek().kind) {
  case Tok::KwIf:
    return parseIf();
  case Tok::KwFor:
    return parseFor();
  case Tok::KwWhile:
    return parseWhile();
  case Tok::KwWith:
    return parseWith();
  case Tok::KwTry:
    return parseTry();
  case Tok::KwClass:
    return parseClass();
  case Tok::KwAsync:
    return parseAsync();
  case Tok::KwDef:
    return parseDef({}, mark());
  case Tok::At:
    return parseDecorated();
  default:
    return parseMatch();
  }
}

bool Parser::parseColon(std::string_view after) {
  if (at(Tok::Equal)) {
    failHere("`=` assigns and stands only in a statement of its own; a comparison is `==`");
    return false;
  }
  return expect(Tok::Colon, after);
}

/// After the colon: the rest of the line, or an indented block.
bool Parser::parseBlock(Block &block, std::string_view after) {
  if (!accept(Tok::Newline))
    return parseSimpleLine(block);
  if (!accept(Tok::Indent)) {
    failHere("expected an indented block after " + std::string(after) + ", found " + found());
    return false;
  }
  while (!at(Tok::Eof) && !accept(Tok::Dedent))
    parseStatement(block);
  return true;
}

//===- Branches and loops ---------------------------------------------------------------===//

StmtPtr Parser::parseIf() {
  const size_t start = mark();
  const std::string word = "`" + std::string(textOf(take())) + "`";
  auto statement = std::make_unique<If>(spanFrom(start));
  statement->isElif = stream.tokens[start].kind == Tok::KwElif;
  statement->test = parseNamedExpr();
  if (!statement->test || !parseColon("after the condition of " + word) ||
      !parseBlock(statement->body, word))
    return nullptr;
  if (at(Tok::KwElif)) {
    const llvm::SaveAndRestore count(elifs, elifs + 1);
    if (elifs > maxBlockDepth)
      return failHere("more than " + std::to_string(maxBlockDepth) + " `elif` in a row");
    StmtPtr next = parseIf();
    if (!next)
      return nullptr;
    statement->orelse.push_back(std::move(next));
  } else if (accept(Tok::KwElse)) {
    if (!parseColon("after `else`") || !parseBlock(statement->orelse, "`else`"))
      return nullptr;
  }
  statement->span = spanFrom(start);
  return statement;
}

bool Parser::parseLoopBody(Block &body, Block &orelse, std::string_view keyword) {
  {
    const llvm::SaveAndRestore count(loops, loops + 1);
    if (!parseBlock(body, keyword))
      return false;
  }
  return !accept(Tok::KwElse) || (parseColon("after `else`") && parseBlock(orelse, "`else`"));
}

StmtPtr Parser::parseFor() {
  const size_t start = mark();
  take();
  auto loop = std::make_unique<For>(spanFrom(start));
  loop->target = parseTargets();
  if (!loop->target || !expect(Tok::KwIn, "after the target of `for`"))
    return nullptr;
  loop->iter = parseStarExprs();
  if (!loop->iter || !parseColon("after the range of `for`") ||
      !parseLoopBody(loop->body, loop->orelse, "`for`"))
    return nullptr;
  loop->span = spanFrom(start);
  return loop;
}

StmtPtr Parser::parseWhile() {
  const size_t start = mark();
  take();
  auto loop = std::make_unique<While>(spanFrom(start));
  loop->test = parseNamedExpr();
  if (!loop->test || !parseColon("after the condition of `while`") ||
      !parseLoopBody(loop->body, loop->orelse, "`while`"))
    return nullptr;
  loop->span = spanFrom(start);
  return loop;
}

//===- with -----------------------------------------------------------------------------===//

/// `with (a as b, c as d):` and `with (a, b).c:` start alike: the token after the closing
/// parenthesis differs.
bool Parser::withIsParenthesized() const {
  if (!at(Tok::LParen))
    return false;
  int open = 0;
  for (size_t ahead = 0; index + ahead < stream.tokens.size(); ++ahead) {
    const Tok kind = peek(ahead).kind;
    open += kind == Tok::LParen || kind == Tok::LBracket || kind == Tok::LBrace;
    open -= kind == Tok::RParen || kind == Tok::RBracket || kind == Tok::RBrace;
    if (open == 0)
      return peek(ahead + 1).kind == Tok::Colon;
    if (kind == Tok::Newline || kind == Tok::Eof)
      return false;
  }
  return false;
}

bool Parser::parseWithItems(With &with, bool parenthesized) {
  do {
    if (parenthesized && !with.items.empty() && at(Tok::RParen))
      break;
    WithItem item;
    item.context = parenthesized && at(Tok::KwYield) ? parseYield() : parseNamedExpr();
    if (!item.context)
      return false;
    if (accept(Tok::KwAs)) {
      item.target = parseStarExpr(Walrus::Refused);
      if (!item.target || !checkTarget(*item.target))
        return false;
    }
    with.items.push_back(std::move(item));
  } while (accept(Tok::Comma));
  return true;
}

StmtPtr Parser::parseWith() {
  const size_t start = mark();
  take();
  auto with = std::make_unique<With>(spanFrom(start));
  const bool parenthesized = withIsParenthesized();
  const Token &opener = peek();
  if (parenthesized)
    take();
  if (!parseWithItems(*with, parenthesized) ||
      (parenthesized && !expectCloser(Tok::RParen, opener)) ||
      !parseColon("after the items of `with`") || !parseBlock(with->body, "`with`"))
    return nullptr;
  with->span = spanFrom(start);
  return with;
}

//===- Blocks that kernels have not -----------------------------------------------------===//

StmtPtr Parser::parseTry() {
  auto statement = std::make_unique<UnsupportedStmt>(take().span);
  statement->construct = "`try`";
  if (!parseColon("after `try`") || !parseBlock(statement->body, "`try`"))
    return nullptr;
  if (!at(Tok::KwExcept) && !at(Tok::KwFinally))
    return failWithNote(peek().span, "expected `except` or `finally`, found " + found(),
                        statement->span, "for this `try`");
  while (at(Tok::KwExcept)) {
    take();
    accept(Tok::Star);
    if (!at(Tok::Colon) && !parseStarExprs())
      return nullptr;
    std::string name;
    SourceSpan span;
    if (accept(Tok::KwAs) && !expectName("a name after `as`", name, span))
      return nullptr;
    if (!parseColon("after `except`") || !parseBlock(statement->body, "`except`"))
      return nullptr;
  }
  if (accept(Tok::KwElse) &&
      (!parseColon("after `else`") || !parseBlock(statement->body, "`else`")))
    return nullptr;
  if (accept(Tok::KwFinally) &&
      (!parseColon("after `finally`") || !parseBlock(statement->body, "`finally`")))
    return nullptr;
  return statement;
}

/// `match` and `case` are words only in this place: a line that ends with `:`, then an indented
/// `case`.
bool Parser::atMatch() const {
  if (!atName("match"))
    return false;
  size_t end = 1;
  while (peek(end).kind != Tok::Newline && peek(end).kind != Tok::Eof)
    ++end;
  return end > 2 && peek(end - 1).kind == Tok::Colon && peek(end + 1).kind == Tok::Indent &&
         peek(end + 2).kind == Tok::Name && textOf(peek(end + 2)) == "case";
}

StmtPtr Parser::parseMatch() {
  auto statement = std::make_unique<UnsupportedStmt>(take().span);
  statement->construct = "`match`";
  if (!parseStarExprs(Walrus::Allowed) || !parseColon("after the subject of `match`"))
    return nullptr;
  accept(Tok::Newline);
  accept(Tok::Indent);
  while (!at(Tok::Eof) && !accept(Tok::Dedent)) {
    const size_t start = mark();
    if (!parseCase(statement->body))
      recover(start);
  }
  return statement;
}

/// The pattern is skipped: its grammar is its own, and no kernel has one.
bool Parser::parseCase(Block &block) {
  if (!atName("case")) {
    failHere("expected `case`, found " + found());
    return false;
  }
  int open = 0;
  while (!at(Tok::Newline) && !at(Tok::Eof) && !(open == 0 && at(Tok::Colon))) {
    const Tok kind = take().kind;
    open += kind == Tok::LParen || kind == Tok::LBracket || kind == Tok::LBrace;
    open -= kind == Tok::RParen || kind == Tok::RBracket || kind == Tok::RBrace;
  }
  return parseColon("after the pattern of `case`") && parseBlock(block, "`case`");
}

StmtPtr Parser::parseClass(std::vector<ExprPtr> decorators) {
  auto statement = std::make_unique<UnsupportedStmt>(take().span);
  statement->decorators = std::move(decorators);
  statement->construct = "`class`";
  SourceSpan span;
  if (!expectName("the name of the class", statement->name, span) || !skipTypeParams())
    return nullptr;
  if (at(Tok::LParen)) {
    auto name = std::make_unique<Name>(span);
    statement->bases = parseCall(std::move(name), mark());
    if (!statement->bases)
      return nullptr;
  }
  const llvm::SaveAndRestore noLoop(loops, 0);
  const llvm::SaveAndRestore noFunction(functions, 0);
  if (!parseColon("after the name of the class") || !parseBlock(statement->body, "`class`"))
    return nullptr;
  return statement;
}

StmtPtr Parser::parseAsync() {
  const SourceSpan span = take().span;
  if (!at(Tok::KwDef) && !at(Tok::KwFor) && !at(Tok::KwWith))
    return failHere("expected `def`, `for` or `with` after `async`, found " + found());
  StmtPtr inner = parseCompound();
  if (!inner)
    return nullptr;
  auto statement = std::make_unique<UnsupportedStmt>(span);
  statement->construct = "`async`";
  statement->body.push_back(std::move(inner));
  return statement;
}

} // namespace pantile
