//===- ParseExpr.cpp - operators, calls and subscripts ----------------------------------===//
// How:   from the loosest binding to the tightest: tuple, `:=`, lambda and ternary, or, and,
//        not, comparison, binary operators by level, sign, power, call and subscript.
//===------------------------------------------------------------------------------------===//
#include "frontend/ParserImpl.h"
#include <algorithm>
#include <optional>

namespace pantile {

using namespace ast;

namespace {

struct BinaryRow {
  Tok token;
  BinaryOp op;
  int level;
};
constexpr int tightestLevel = 6;
constexpr BinaryRow binaryRows[] = {
    {Tok::Pipe, BinaryOp::Or, 1},     {Tok::Caret, BinaryOp::Xor, 2},
    {Tok::Amp, BinaryOp::And, 3},     {Tok::Shl, BinaryOp::Shl, 4},
    {Tok::Shr, BinaryOp::Shr, 4},     {Tok::Plus, BinaryOp::Add, 5},
    {Tok::Minus, BinaryOp::Sub, 5},   {Tok::Star, BinaryOp::Mul, 6},
    {Tok::Slash, BinaryOp::Div, 6},   {Tok::SlashSlash, BinaryOp::FloorDiv, 6},
    {Tok::Percent, BinaryOp::Mod, 6}, {Tok::At, BinaryOp::MatMul, 6},
};

const BinaryRow *binaryRow(Tok token) {
  const auto row = std::ranges::find(binaryRows, token, &BinaryRow::token);
  return row == std::end(binaryRows) ? nullptr : row;
}

bool startsExpr(Tok kind) {
  switch (kind) {
  case Tok::Name:
  case Tok::Number:
  case Tok::String:
  case Tok::Bytes:
  case Tok::FString:
  case Tok::Error:
  case Tok::KwTrue:
  case Tok::KwFalse:
  case Tok::KwNone:
  case Tok::KwNot:
  case Tok::KwLambda:
  case Tok::KwAwait:
  case Tok::KwYield:
  case Tok::Ellipsis:
  case Tok::Plus:
  case Tok::Minus:
  case Tok::Tilde:
  case Tok::Star:
  case Tok::LParen:
  case Tok::LBracket:
  case Tok::LBrace:
    return true;
  default:
    return false;
  }
}

} // namespace

ExprPtr Parser::parseWhole() {
  ExprPtr value = at(Tok::KwYield) ? parseYield() : parseStarExprs();
  if (value && !at(Tok::Eof))
    return failHere("expected the end of the expression, found " + found());
  return value;
}

ExprPtr Parser::parseStarExprs(Walrus walrus) {
  const size_t start = mark();
  ExprPtr first = parseStarExpr(walrus);
  return first && at(Tok::Comma) ? parseTupleRest(std::move(first), start, walrus)
                                 : std::move(first);
}

ExprPtr Parser::parseTupleRest(ExprPtr first, size_t start, Walrus walrus) {
  auto tuple = std::make_unique<Tuple>(first->span);
  tuple->elements.push_back(std::move(first));
  while (accept(Tok::Comma) && startsExpr(peek().kind)) {
    ExprPtr element = parseStarExpr(walrus);
    if (!element)
      return nullptr;
    tuple->elements.push_back(std::move(element));
  }
  tuple->span = spanFrom(start);
  return finish(std::move(tuple));
}

/// After `*`, a display takes less than an argument or an index does: `f(*a or b)`, but `[*a, b]`.
ExprPtr Parser::parseStarExpr(Walrus walrus, bool isArgument) {
  const size_t start = mark();
  if (!accept(Tok::Star))
    return walrus == Walrus::Allowed ? parseNamedExpr() : parseExpr();
  ExprPtr value = isArgument ? parseExpr() : parseBinary(1);
  if (!value)
    return nullptr;
  auto starred = std::make_unique<Starred>(spanFrom(start));
  starred->value = std::move(value);
  return finish(std::move(starred));
}

ExprPtr Parser::parseNamedExpr() {
  const size_t start = mark();
  if (!at(Tok::Name) || peek(1).kind != Tok::ColonEqual)
    return parseExpr();
  take();
  take();
  return parseExpr() ? unsupported(start, "`:=`") : nullptr;
}

ExprPtr Parser::parseExpr() {
  const DepthGuard guard(*this);
  if (tooDeep())
    return nullptr;
  if (at(Tok::KwLambda))
    return parseLambda();
  const size_t start = mark();
  ExprPtr body = parseOr();
  if (!body || !accept(Tok::KwIf))
    return body;
  auto ternary = std::make_unique<IfExp>(body->span);
  ternary->body = std::move(body);
  ternary->test = parseOr();
  if (!ternary->test || !expect(Tok::KwElse, "after the condition of a conditional expression"))
    return nullptr;
  ternary->orelse = parseExpr();
  if (!ternary->orelse)
    return nullptr;
  ternary->span = spanFrom(start);
  return finish(std::move(ternary));
}

ExprPtr Parser::parseLambda() {
  const size_t start = mark();
  take();
  auto lambda = std::make_unique<Lambda>(spanFrom(start));
  FunctionDef &function = *lambda->function;
  if (!parseParams(function.params, Tok::Colon, /*annotated=*/false) ||
      !expect(Tok::Colon, "after the parameters of `lambda`"))
    return nullptr;
  const size_t bodyStart = mark();
  ExprPtr body = parseExpr();
  if (!body)
    return nullptr;
  auto result = std::make_unique<Return>(spanFrom(bodyStart));
  result->value = std::move(body);
  function.body.push_back(std::move(result));
  lambda->span = function.span = spanFrom(start);
  return finish(std::move(lambda));
}

ExprPtr Parser::parseYield() {
  const size_t start = mark();
  take();
  const bool isFrom = accept(Tok::KwFrom);
  if (isFrom && !parseExpr())
    return nullptr;
  if (!isFrom && startsExpr(peek().kind) && !parseStarExprs())
    return nullptr;
  return unsupported(start, "`yield`");
}

ExprPtr Parser::parseOr() {
  const size_t start = mark();
  ExprPtr first = parseAnd();
  if (!first || !at(Tok::KwOr))
    return first;
  auto op = std::make_unique<BoolOp>(first->span);
  op->isAnd = false;
  op->operands.push_back(std::move(first));
  while (accept(Tok::KwOr)) {
    op->operands.push_back(parseAnd());
    if (!op->operands.back())
      return nullptr;
  }
  op->span = spanFrom(start);
  return finish(std::move(op));
}

ExprPtr Parser::parseAnd() {
  const size_t start = mark();
  ExprPtr first = parseNot();
  if (!first || !at(Tok::KwAnd))
    return first;
  auto op = std::make_unique<BoolOp>(first->span);
  op->operands.push_back(std::move(first));
  while (accept(Tok::KwAnd)) {
    op->operands.push_back(parseNot());
    if (!op->operands.back())
      return nullptr;
  }
  op->span = spanFrom(start);
  return finish(std::move(op));
}

ExprPtr Parser::parseNot() {
  const size_t start = mark();
  if (!accept(Tok::KwNot))
    return parseComparison();
  const DepthGuard guard(*this);
  if (tooDeep())
    return nullptr;
  ExprPtr operand = parseNot();
  if (!operand)
    return nullptr;
  auto unary = std::make_unique<Unary>(spanFrom(start));
  unary->op = UnaryOp::Not;
  unary->operand = std::move(operand);
  return finish(std::move(unary));
}

bool Parser::parseCompareOp(CompareOp &op) {
  static constexpr std::pair<Tok, CompareOp> simple[] = {
      {Tok::EqualEqual, CompareOp::Eq}, {Tok::NotEqual, CompareOp::Ne},
      {Tok::Less, CompareOp::Lt},       {Tok::LessEqual, CompareOp::Le},
      {Tok::Greater, CompareOp::Gt},    {Tok::GreaterEqual, CompareOp::Ge},
      {Tok::KwIn, CompareOp::In}};
  for (const auto &[token, compare] : simple) {
    if (accept(token)) {
      op = compare;
      return true;
    }
  }
  if (accept(Tok::KwIs)) {
    op = accept(Tok::KwNot) ? CompareOp::IsNot : CompareOp::Is;
    return true;
  }
  if (at(Tok::KwNot) && peek(1).kind == Tok::KwIn) {
    take();
    take();
    op = CompareOp::NotIn;
    return true;
  }
  return false;
}

ExprPtr Parser::parseComparison() {
  const size_t start = mark();
  ExprPtr first = parseBinary(1);
  if (!first)
    return nullptr;
  std::unique_ptr<Compare> compare;
  size_t opStart = mark();
  for (CompareOp op; parseCompareOp(op); opStart = mark()) {
    if (!compare)
      compare = std::make_unique<Compare>(first->span);
    compare->ops.push_back(op);
    compare->opSpans.push_back(spanFrom(opStart));
    compare->rest.push_back(parseBinary(1));
    if (!compare->rest.back())
      return nullptr;
  }
  if (!compare)
    return first;
  compare->first = std::move(first);
  compare->span = spanFrom(start);
  return finish(std::move(compare));
}

ExprPtr Parser::parseBinary(int minLevel) {
  const size_t start = mark();
  ExprPtr lhs = parseUnary();
  while (lhs) {
    const BinaryRow *row = binaryRow(peek().kind);
    if (!row || row->level < minLevel)
      break;
    auto binary = std::make_unique<Binary>(lhs->span);
    binary->op = row->op;
    binary->opSpan = take().span;
    binary->lhs = std::move(lhs);
    binary->rhs = row->level == tightestLevel ? parseUnary() : parseBinary(row->level + 1);
    if (!binary->rhs)
      return nullptr;
    binary->span = spanFrom(start);
    lhs = finish(std::move(binary));
  }
  return lhs;
}

ExprPtr Parser::parseUnary() {
  const size_t start = mark();
  std::optional<UnaryOp> op;
  if (accept(Tok::Minus))
    op = UnaryOp::Neg;
  else if (accept(Tok::Plus))
    op = UnaryOp::Pos;
  else if (accept(Tok::Tilde))
    op = UnaryOp::Invert;
  if (!op)
    return parsePower();
  const DepthGuard guard(*this);
  if (tooDeep())
    return nullptr;
  ExprPtr operand = parseUnary();
  if (!operand)
    return nullptr;
  auto unary = std::make_unique<Unary>(spanFrom(start));
  unary->op = *op;
  unary->operand = std::move(operand);
  return finish(std::move(unary));
}

ExprPtr Parser::parsePower() {
  const size_t start = mark();
  const bool awaited = accept(Tok::KwAwait);
  ExprPtr base = parsePrimary();
  if (base && awaited)
    base = unsupported(start, "`await`");
  if (!base || !at(Tok::StarStar))
    return base;
  const DepthGuard guard(*this);
  if (tooDeep())
    return nullptr;
  auto power = std::make_unique<Binary>(base->span);
  power->op = BinaryOp::Pow;
  power->opSpan = take().span;
  power->lhs = std::move(base);
  power->rhs = parseUnary();
  if (!power->rhs)
    return nullptr;
  power->span = spanFrom(start);
  return finish(std::move(power));
}

ExprPtr Parser::parsePrimary() {
  const size_t start = mark();
  ExprPtr value = parseAtom();
  while (value) {
    if (at(Tok::Dot))
      value = parseAttribute(std::move(value), start);
    else if (at(Tok::LParen))
      value = parseCall(std::move(value), start);
    else if (at(Tok::LBracket))
      value = parseSubscript(std::move(value), start);
    else
      break;
  }
  return value;
}

ExprPtr Parser::parseAttribute(ExprPtr value, size_t start) {
  take();
  auto attribute = std::make_unique<Attribute>(value->span);
  attribute->value = std::move(value);
  if (!expectName("a name after `.`", attribute->attr, attribute->attrSpan))
    return nullptr;
  attribute->span = spanFrom(start);
  return finish(std::move(attribute));
}

ExprPtr Parser::parseCall(ExprPtr callee, size_t start) {
  const Token &opener = take();
  auto call = std::make_unique<Call>(callee->span);
  call->callee = std::move(callee);
  while (!at(Tok::RParen)) {
    if (!parseArgument(*call))
      return nullptr;
    if (atCompFor() && !parseGeneratorArgument(*call, opener))
      return nullptr;
    if (!accept(Tok::Comma))
      break;
  }
  if (!expectCloser(Tok::RParen, opener))
    return nullptr;
  call->span = spanFrom(start);
  return finish(std::move(call));
}

bool Parser::parseArgument(Call &call) {
  if (at(Tok::StarStar) || (at(Tok::Name) && peek(1).kind == Tok::Equal))
    return parseKeyword(call);
  const size_t start = mark();
  ExprPtr value = parseStarExpr(Walrus::Allowed, /*isArgument=*/true);
  if (!value)
    return false;
  if (at(Tok::Equal)) {
    fail(spanFrom(start), "only a plain name can stand before `=` in a call; a comparison is `==`");
    return false;
  }
  if (!call.keywords.empty() && !llvm::isa<Starred>(*value)) {
    const Keyword &keyword = call.keywords.back();
    const SourceSpan where = keyword.name.empty() ? keyword.value->span : keyword.nameSpan;
    failWithNote(value->span, "a positional argument cannot follow a keyword argument", where,
                 "the keyword argument");
    return false;
  }
  call.args.push_back(std::move(value));
  return true;
}

bool Parser::parseKeyword(Call &call) {
  Keyword keyword;
  const Token &first = take();
  if (first.kind == Tok::Name) {
    keyword.name = textOf(first);
    keyword.nameSpan = first.span;
    take();
    for (const Keyword &other : call.keywords) {
      if (other.name != keyword.name)
        continue;
      failWithNote(first.span, "keyword argument `" + keyword.name + "` is given twice",
                   other.nameSpan, "first given here");
      return false;
    }
  }
  keyword.value = parseExpr();
  if (!keyword.value)
    return false;
  call.keywords.push_back(std::move(keyword));
  return true;
}

bool Parser::parseGeneratorArgument(Call &call, const Token &opener) {
  if (call.args.empty() || !call.keywords.empty() || llvm::isa<Starred>(*call.args.back())) {
    failHere("expected `,` or `)`, found " + found());
    return false;
  }
  auto generator = std::make_unique<Comprehension>(call.args.back()->span);
  generator->isGenerator = true;
  generator->element = std::move(call.args.back());
  call.args.pop_back();
  if (!parseCompFors(generator->clauses))
    return false;
  generator->span = generator->element->span.to(stream.tokens[index - 1].span);
  if (!call.args.empty() || (at(Tok::Comma) && peek(1).kind != Tok::RParen)) {
    failWithNote(generator->span, "a generator that is not the only argument needs parentheses",
                 opener.span, "in this call");
    return false;
  }
  ExprPtr value = finish(std::move(generator));
  if (!value)
    return false;
  call.args.push_back(std::move(value));
  return true;
}

ExprPtr Parser::parseSubscript(ExprPtr value, size_t start) {
  const Token &opener = take();
  if (at(Tok::RBracket))
    return fail(opener.span.to(peek().span), "expected an index in `[]`");
  auto subscript = std::make_unique<Subscript>(value->span);
  subscript->value = std::move(value);
  subscript->index = parseIndex();
  if (!subscript->index || !expectCloser(Tok::RBracket, opener))
    return nullptr;
  subscript->span = spanFrom(start);
  return finish(std::move(subscript));
}

ExprPtr Parser::parseIndex() {
  const size_t start = mark();
  ExprPtr first = parseSlice();
  if (!first || (!at(Tok::Comma) && !llvm::isa<Starred>(*first)))
    return first;
  auto tuple = std::make_unique<Tuple>(first->span);
  tuple->elements.push_back(std::move(first));
  while (accept(Tok::Comma) && !at(Tok::RBracket)) {
    tuple->elements.push_back(parseSlice());
    if (!tuple->elements.back())
      return nullptr;
  }
  tuple->span = spanFrom(start);
  return finish(std::move(tuple));
}

ExprPtr Parser::parseSlice() {
  const size_t start = mark();
  const auto atEnd = [&] { return at(Tok::Colon) || at(Tok::Comma) || at(Tok::RBracket); };
  ExprPtr lower;
  if (!at(Tok::Colon)) {
    lower = parseStarExpr(Walrus::Allowed, /*isArgument=*/true);
    if (!lower || !at(Tok::Colon))
      return lower;
  }
  take();
  auto slice = std::make_unique<Slice>(spanFrom(start));
  slice->lower = std::move(lower);
  if (!atEnd() && !(slice->upper = parseExpr()))
    return nullptr;
  if (accept(Tok::Colon) && !atEnd() && !(slice->step = parseExpr()))
    return nullptr;
  slice->span = spanFrom(start);
  return finish(std::move(slice));
}

} // namespace pantile
