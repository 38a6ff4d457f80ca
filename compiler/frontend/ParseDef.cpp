//===- ParseDef.cpp - functions and parameters ------------------------------------------===//
#include "frontend/ParserImpl.h"
#include <algorithm>
#include <llvm/Support/SaveAndRestore.h>

namespace pantile {

using namespace ast;

StmtPtr Parser::parseDecorated() {
  const size_t start = mark();
  std::vector<ExprPtr> decorators;
  while (accept(Tok::At)) {
    decorators.push_back(parseNamedExpr());
    if (!decorators.back())
      return nullptr;
    if (!accept(Tok::Newline))
      return failHere("expected the end of the line after a decorator, found " + found());
  }
  if (at(Tok::KwClass))
    return parseClass(std::move(decorators));
  if (at(Tok::KwAsync))
    return parseAsync();
  if (!at(Tok::KwDef))
    return failHere("expected `def` after a decorator, found " + found());
  return parseDef(std::move(decorators), start);
}

StmtPtr Parser::parseDef(std::vector<ExprPtr> decorators, size_t start) {
  const size_t head = mark();
  take();
  auto function = std::make_unique<FunctionDef>(spanFrom(head));
  function->decorators = std::move(decorators);
  if (!expectName("the name of the function", function->name, function->nameSpan))
    return nullptr;
  const size_t afterName = mark();
  if (parseSignature(*function)) {
    function->headSpan = spanFrom(head);
    parseFunctionBody(*function);
  } else {
    function->headSpan = spanFrom(head);
    const llvm::SaveAndRestore inFunction(functions, functions + 1);
    recover(afterName);
  }
  function->span = spanFrom(start);
  return function;
}

bool Parser::parseSignature(FunctionDef &function) {
  if (!skipTypeParams())
    return false;
  const Token &opener = peek();
  if (!expect(Tok::LParen, "after the name of the function") ||
      !parseParams(function.params, Tok::RParen, /*annotated=*/true) ||
      !expectCloser(Tok::RParen, opener))
    return false;
  if (accept(Tok::Arrow)) {
    function.returns = parseExpr();
    if (!function.returns)
      return false;
  }
  return parseColon("after the parameters of the function");
}

void Parser::parseFunctionBody(FunctionDef &function) {
  const llvm::SaveAndRestore noLoop(loops, 0);
  const llvm::SaveAndRestore inFunction(functions, functions + 1);
  const size_t start = mark();
  if (!parseBlock(function.body, "the function's head"))
    recover(start);
  const auto *first =
      function.body.empty() ? nullptr : llvm::dyn_cast<ExprStmt>(function.body.front().get());
  const auto *constant = first ? llvm::dyn_cast<Constant>(first->value.get()) : nullptr;
  if (!constant || !std::holds_alternative<std::string>(constant->value))
    return;
  function.hasDocstring = true;
  function.docstring = std::get<std::string>(constant->value);
  function.body.erase(function.body.begin());
}

bool Parser::skipTypeParams() {
  if (!at(Tok::LBracket))
    return true;
  const Token &opener = take();
  for (int open = 1; open > 0;) {
    if (at(Tok::Newline) || at(Tok::Eof) || at(Tok::Error))
      return expectCloser(Tok::RBracket, opener);
    const Tok kind = take().kind;
    open += (kind == Tok::LBracket) - (kind == Tok::RBracket);
  }
  return true;
}

//===- Parameters -----------------------------------------------------------------------===//

bool Parser::parseParams(std::vector<Param> &params, Tok closer, bool annotated) {
  bool keywordOnly = false;
  while (!at(closer)) {
    if (!params.empty() && params.back().star == StarKind::Kwargs) {
      failHere("nothing can follow `**" + params.back().name + "`");
      return false;
    }
    if (at(Tok::Slash)) {
      const bool twice = !params.empty() && params.front().positionalOnly;
      if (params.empty() || keywordOnly || twice) {
        failHere("`/` stands once, after positional parameters");
        return false;
      }
      take();
      for (Param &param : params)
        param.positionalOnly = true;
    } else if (at(Tok::Star) || at(Tok::StarStar)) {
      if (!parseStarParam(params, closer, annotated, keywordOnly))
        return false;
    } else if (!parseParam(params, annotated, keywordOnly)) {
      return false;
    }
    if (!accept(Tok::Comma))
      break;
  }
  return true;
}

bool Parser::parseParam(std::vector<Param> &params, bool annotated, bool keywordOnly) {
  const size_t start = mark();
  Param param;
  param.keywordOnly = keywordOnly;
  if (!expectName("the name of a parameter", param.name, param.nameSpan))
    return false;
  if (annotated && accept(Tok::Colon) && !(param.annotation = parseExpr()))
    return false;
  if (accept(Tok::Equal) && !(param.defaultValue = parseExpr()))
    return false;
  param.span = spanFrom(start);
  if (!checkParam(params, param))
    return false;
  params.push_back(std::move(param));
  return true;
}

bool Parser::parseStarParam(std::vector<Param> &params, Tok closer, bool annotated,
                            bool &keywordOnly) {
  const size_t start = mark();
  Param param;
  const Token &star = take();
  param.star = star.kind == Tok::Star ? StarKind::Args : StarKind::Kwargs;
  if (param.star == StarKind::Args && std::exchange(keywordOnly, true)) {
    fail(star.span, "`*` stands only once among parameters");
    return false;
  }
  if (param.star == StarKind::Args && at(Tok::Comma)) {
    const Tok next = peek(1).kind;
    if (next == Tok::Name)
      return true;
    fail(star.span, "a bare `*` needs a named parameter after it");
    return false;
  }
  if (at(closer)) {
    fail(star.span, "a bare `*` needs a named parameter after it");
    return false;
  }
  if (!expectName("the name of a parameter", param.name, param.nameSpan))
    return false;
  if (annotated && accept(Tok::Colon) && !(param.annotation = parseStarExpr(Walrus::Refused)))
    return false;
  if (at(Tok::Equal)) {
    failHere("a starred parameter has no default");
    return false;
  }
  param.span = spanFrom(start);
  if (!checkParam(params, param))
    return false;
  params.push_back(std::move(param));
  return true;
}

bool Parser::checkParam(const std::vector<Param> &params, const Param &param) {
  const auto same = std::ranges::find(params, param.name, &Param::name);
  if (same != params.end()) {
    failWithNote(param.nameSpan, "parameter `" + param.name + "` stands twice", same->nameSpan,
                 "the first one");
    return false;
  }
  const auto defaulted =
      std::ranges::find_if(params, [](const Param &p) { return p.defaultValue != nullptr; });
  const bool positional = param.star == StarKind::None && !param.keywordOnly;
  if (positional && !param.defaultValue && defaulted != params.end()) {
    failWithNote(param.span,
                 "parameter `" + param.name + "` without a default follows one with a default",
                 defaulted->span, "the parameter with a default");
    return false;
  }
  return true;
}

} // namespace pantile
