//===- ParseAtom.cpp - names, literals, displays, and what can be assigned to -----------===//
#include "frontend/ParserImpl.h"

namespace pantile {

using namespace ast;

ExprPtr Parser::constant(Literal value) {
  auto node = std::make_unique<Constant>(take().span);
  node->value = std::move(value);
  return node;
}

ExprPtr Parser::unsupported(size_t start, std::string construct) {
  auto node = std::make_unique<UnsupportedExpr>(spanFrom(start));
  node->construct = std::move(construct);
  return node;
}

ExprPtr Parser::parseAtom() {
  switch (peek().kind) {
  case Tok::Name: {
    auto name = std::make_unique<Name>(peek().span);
    name->id = textOf(take());
    return name;
  }
  case Tok::Number:
    return constant(stream.literals[peek().payload]);
  case Tok::String:
  case Tok::Bytes:
  case Tok::FString:
    return parseStrings();
  case Tok::KwTrue:
    return constant(true);
  case Tok::KwFalse:
    return constant(false);
  case Tok::KwNone:
    return constant(NoneValue{});
  case Tok::Ellipsis:
    return constant(EllipsisValue{});
  case Tok::LParen:
    return parseParens();
  case Tok::LBracket:
    return parseBrackets();
  case Tok::LBrace:
    return parseBraces();
  default:
    return failHere("expected an expression, found " + found());
  }
}

//===- Displays -------------------------------------------------------------------------===//

ExprPtr Parser::parseParens() {
  const size_t start = mark();
  const Token &opener = take();
  if (accept(Tok::RParen))
    return std::make_unique<Tuple>(spanFrom(start));
  if (at(Tok::KwYield)) {
    ExprPtr value = parseYield();
    return value && expectCloser(Tok::RParen, opener, /*afterItem=*/false) ? std::move(value)
                                                                           : nullptr;
  }
  const size_t first = mark();
  ExprPtr value = parseStarExpr(Walrus::Allowed);
  if (!value)
    return nullptr;
  if (at(Tok::Comma)) {
    value = parseTupleRest(std::move(value), first, Walrus::Allowed);
    if (!value || !expectCloser(Tok::RParen, opener))
      return nullptr;
    value->span = spanFrom(start);
    return value;
  }
  if (llvm::isa<Starred>(*value))
    return fail(value->span, "a starred expression in parentheses needs a `,` after it");
  if (atCompFor()) {
    auto generator = std::make_unique<Comprehension>(value->span);
    generator->isGenerator = true;
    generator->element = std::move(value);
    if (!parseCompFors(generator->clauses) || !expectCloser(Tok::RParen, opener, false))
      return nullptr;
    generator->span = spanFrom(start);
    return finish(std::move(generator));
  }
  if (!expectCloser(Tok::RParen, opener))
    return nullptr;
  return value;
}

ExprPtr Parser::parseBrackets() {
  const size_t start = mark();
  const Token &opener = take();
  auto list = std::make_unique<List>(opener.span);
  while (!at(Tok::RBracket)) {
    ExprPtr element = parseStarExpr(Walrus::Allowed);
    if (!element)
      return nullptr;
    if (list->elements.empty() && atCompFor() && !llvm::isa<Starred>(*element)) {
      auto comprehension = std::make_unique<Comprehension>(element->span);
      comprehension->element = std::move(element);
      if (!parseCompFors(comprehension->clauses) || !expectCloser(Tok::RBracket, opener, false))
        return nullptr;
      comprehension->span = spanFrom(start);
      return finish(std::move(comprehension));
    }
    list->elements.push_back(std::move(element));
    if (!accept(Tok::Comma))
      break;
  }
  if (!expectCloser(Tok::RBracket, opener))
    return nullptr;
  list->span = spanFrom(start);
  return finish(std::move(list));
}

/// `key: value`, `**mapping`, or an element of a set.
bool Parser::parseDictItem(bool &isDict, UnsupportedExpr &braces) {
  if (accept(Tok::StarStar)) {
    isDict = true;
    return parseBinary(1) != nullptr;
  }
  ExprPtr key = parseStarExpr(Walrus::Allowed);
  if (!key)
    return false;
  if (!isDict && !at(Tok::Colon))
    return true;
  isDict = true;
  ExprPtr value = expect(Tok::Colon, "after the key of a dictionary") ? parseExpr() : nullptr;
  const bool isParsed = value != nullptr;
  braces.items.emplace_back(std::move(key), std::move(value));
  return isParsed;
}

ExprPtr Parser::parseBraces() {
  const size_t start = mark();
  const Token &opener = take();
  bool isDict = at(Tok::RBrace);
  auto braces = std::make_unique<UnsupportedExpr>(opener.span);
  for (bool first = true; !at(Tok::RBrace); first = false) {
    bool itemIsDict = !first && isDict && !at(Tok::StarStar);
    if (!parseDictItem(itemIsDict, *braces))
      return nullptr;
    isDict |= itemIsDict;
    std::vector<CompFor> clauses;
    if (first && atCompFor()) {
      if (!parseCompFors(clauses) || !expectCloser(Tok::RBrace, opener, false))
        return nullptr;
      return unsupported(start, isDict ? "a dictionary comprehension" : "a set comprehension");
    }
    if (!accept(Tok::Comma))
      break;
  }
  if (!expectCloser(Tok::RBrace, opener))
    return nullptr;
  braces->span = spanFrom(start);
  braces->construct = isDict ? "a dictionary" : "a set";
  return braces;
}

bool Parser::atCompFor() const {
  return at(Tok::KwFor) || (at(Tok::KwAsync) && peek(1).kind == Tok::KwFor);
}

bool Parser::parseCompFors(std::vector<CompFor> &clauses) {
  while (atCompFor()) {
    accept(Tok::KwAsync);
    take();
    CompFor clause;
    clause.target = parseTargets();
    if (!clause.target || !expect(Tok::KwIn, "after the target of `for`"))
      return false;
    clause.iter = parseOr();
    if (!clause.iter)
      return false;
    while (accept(Tok::KwIf)) {
      clause.conditions.push_back(parseOr());
      if (!clause.conditions.back())
        return false;
    }
    clauses.push_back(std::move(clause));
  }
  return true;
}

//===- Targets --------------------------------------------------------------------------===//

/// What stands between `for` and `in`: no comparison, so that `in` is left.
ExprPtr Parser::parseTargets() {
  const size_t start = mark();
  std::unique_ptr<Tuple> tuple;
  ExprPtr target;
  do {
    if (tuple && at(Tok::KwIn))
      break;
    const size_t elementStart = mark();
    const bool starred = accept(Tok::Star);
    target = parseBinary(1);
    if (target && starred) {
      auto star = std::make_unique<Starred>(spanFrom(elementStart));
      star->value = std::move(target);
      target = finish(std::move(star));
    }
    if (!target)
      return nullptr;
    if (!tuple && at(Tok::Comma))
      tuple = std::make_unique<Tuple>(target->span);
    if (tuple)
      tuple->elements.push_back(std::move(target));
  } while (accept(Tok::Comma));
  if (tuple) {
    tuple->span = spanFrom(start);
    target = finish(std::move(tuple));
  }
  return target && checkTarget(*target) ? std::move(target) : nullptr;
}

namespace {
std::string describeExpr(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::Constant:
    if (std::holds_alternative<NoneValue>(llvm::cast<Constant>(expr).value))
      return "`None`";
    if (const bool *value = std::get_if<bool>(&llvm::cast<Constant>(expr).value))
      return *value ? "`True`" : "`False`";
    return "a literal";
  case Expr::Kind::FString:
    return "a string";
  case Expr::Kind::Unary:
  case Expr::Kind::Binary:
  case Expr::Kind::BoolOp:
    return "an operation";
  case Expr::Kind::Compare:
    return "a comparison";
  case Expr::Kind::Call:
    return "a call";
  case Expr::Kind::IfExp:
    return "a conditional expression";
  case Expr::Kind::Lambda:
    return "a `lambda`";
  case Expr::Kind::Comprehension:
    return llvm::cast<Comprehension>(expr).isGenerator ? "a generator" : "a comprehension";
  case Expr::Kind::Unsupported:
    return llvm::cast<UnsupportedExpr>(expr).construct;
  default:
    return "this expression";
  }
}
} // namespace

bool Parser::checkTarget(const Expr &target, bool inSequence) {
  switch (target.kind) {
  case Expr::Kind::Name:
  case Expr::Kind::Attribute:
  case Expr::Kind::Subscript:
    return true;
  case Expr::Kind::Tuple:
    return checkTargets(llvm::cast<Tuple>(target).elements);
  case Expr::Kind::List:
    return checkTargets(llvm::cast<List>(target).elements);
  case Expr::Kind::Starred:
    if (inSequence)
      return checkTarget(*llvm::cast<Starred>(target).value);
    fail(target.span, "a starred target stands only in a tuple or list");
    return false;
  default:
    fail(target.span, "cannot assign to " + describeExpr(target));
    return false;
  }
}

bool Parser::checkTargets(const std::vector<ExprPtr> &targets) {
  const Expr *starred = nullptr;
  for (const ExprPtr &target : targets) {
    if (!checkTarget(*target, /*inSequence=*/true))
      return false;
    if (!llvm::isa<Starred>(*target))
      continue;
    if (starred) {
      failWithNote(target->span, "a tuple of targets has at most one starred target", starred->span,
                   "the first one");
      return false;
    }
    starred = target.get();
  }
  return true;
}

bool Parser::checkSingleTarget(const Expr &target, std::string_view what) {
  switch (target.kind) {
  case Expr::Kind::Name:
  case Expr::Kind::Attribute:
  case Expr::Kind::Subscript:
    return true;
  case Expr::Kind::Tuple:
  case Expr::Kind::List:
    fail(target.span, std::string(what) + " has a single target, not a tuple or list");
    return false;
  default:
    return checkTarget(target);
  }
}

//===- Strings --------------------------------------------------------------------------===//

ExprPtr Parser::parseStrings() {
  const size_t start = mark();
  bool bytes = false, text = false, formatted = false;
  std::string joined;
  std::vector<FStringPart> parts;
  for (; at(Tok::String) || at(Tok::Bytes) || at(Tok::FString); take()) {
    bytes |= at(Tok::Bytes);
    text |= !at(Tok::Bytes);
    if (at(Tok::String)) {
      const auto &piece = std::get<std::string>(stream.literals[peek().payload]);
      joined += piece;
      addLiteral(piece, parts);
    } else if (at(Tok::FString)) {
      formatted = true;
      if (!addFString(stream.fstrings[peek().payload], parts))
        return nullptr;
    }
  }
  if (bytes && text)
    return fail(spanFrom(start), "bytes and text cannot be joined");
  if (bytes)
    return unsupported(start, "a bytes string");
  if (!formatted) {
    auto node = std::make_unique<Constant>(spanFrom(start));
    node->value = std::move(joined);
    return node;
  }
  auto node = std::make_unique<FString>(spanFrom(start));
  node->parts = std::move(parts);
  return finish(std::move(node));
}

void Parser::addLiteral(std::string_view text, std::vector<FStringPart> &parts) {
  if (text.empty())
    return;
  if (parts.empty() || parts.back().value)
    parts.emplace_back();
  parts.back().literal += text;
}

bool Parser::addFString(const std::vector<FStringChunk> &chunks, std::vector<FStringPart> &parts) {
  for (const FStringChunk &chunk : chunks) {
    if (!chunk.isField())
      addLiteral(chunk.literal, parts);
    else if (!addField(chunk, parts))
      return false;
  }
  return true;
}

bool Parser::addField(const FStringChunk &chunk, std::vector<FStringPart> &parts) {
  const DepthGuard guard(*this);
  if (tooDeep())
    return false;
  if (chunk.echo.isValid())
    addLiteral(sources.text(chunk.echo), parts);
  const TokenStream inner = tokenizeJoined(sources, chunk.expr, diagnostics);
  FStringPart part;
  part.value = Parser(sources, inner, diagnostics, mode, depth).parseWhole();
  if (!part.value)
    return false;
  part.conversion = chunk.conversion;
  if (chunk.echo.isValid() && !chunk.conversion && !chunk.hasSpec)
    part.conversion = 'r';
  if (chunk.hasSpec && !(part.formatSpec = formatSpec(chunk)))
    return false;
  parts.push_back(std::move(part));
  return true;
}

ExprPtr Parser::formatSpec(const FStringChunk &chunk) {
  std::vector<FStringPart> parts;
  if (!addFString(chunk.spec, parts))
    return nullptr;
  if (parts.empty() || (parts.size() == 1 && !parts.front().value)) {
    auto text = std::make_unique<Constant>(chunk.expr);
    text->value = parts.empty() ? std::string() : std::move(parts.front().literal);
    return text;
  }
  auto node = std::make_unique<FString>(chunk.expr);
  node->parts = std::move(parts);
  return finish(std::move(node));
}

} // namespace pantile
