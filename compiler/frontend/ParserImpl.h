//===- ParserImpl.h - the recursive descent ---------------------------------------------===//
// Needs: the tokens of a text, which end with Eof.
// Gives: one member function per rule of the grammar, in ParseExpr.cpp, ParseAtom.cpp,
//        ParseStmt.cpp and ParseDef.cpp.
// How:   A rule returns null (or false) after it has reported why, and leaves the cursor there.
//        Only statements recover. The lexer has reported Error tokens, so they stay silent.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include "frontend/Lexer.h"
#include "support/Diagnostics.h"
#include <string>

namespace pantile {

class Parser {
public:
  enum class Mode { Kernel, Module };

  Parser(const SourceManager &sources, const TokenStream &stream, DiagnosticEngine &diagnostics,
         Mode mode, int depth = 0)
      : sources(sources), stream(stream), diagnostics(diagnostics), mode(mode), depth(depth) {}

  ast::Block parseFile();
  /// An expression up to the end of the text.
  ast::ExprPtr parseWhole();

private:
  //===- Cursor -----------------------------------------------------------------------------===//
  const Token &peek(size_t ahead = 0) const;
  bool at(Tok kind) const { return peek().kind == kind; }
  bool atName(std::string_view text) const;
  const Token &take();
  bool accept(Tok kind);
  std::string_view textOf(const Token &token) const { return sources.text(token.span); }
  /// From token number `mark` to the last one consumed.
  SourceSpan spanFrom(size_t mark) const;
  size_t mark() const { return index; }

  //===- Errors -----------------------------------------------------------------------------===//
  /// Reports at `span`, unless the lexer has reported an error for the token at the cursor.
  std::nullptr_t fail(SourceSpan span, std::string message);
  bool maySpeak() const;
  std::nullptr_t failHere(std::string message) { return fail(peek().span, std::move(message)); }
  std::nullptr_t failWithNote(SourceSpan span, std::string message, SourceSpan noteSpan,
                              std::string note);
  /// The token at the cursor in a message: "`)`", "the end of the line".
  std::string found() const;
  bool expect(Tok kind, std::string_view where);
  bool expectCloser(Tok closer, const Token &opener, bool afterItem = true);
  bool expectName(std::string_view what, std::string &name, SourceSpan &span);

  /// Counts the nesting of rules.
  struct DepthGuard {
    explicit DepthGuard(Parser &parser) : parser(parser) { ++parser.depth; }
    ~DepthGuard() { --parser.depth; }
    Parser &parser;
  };
  bool tooDeep();
  /// Sets the node's height; null if it is too high.
  ast::ExprPtr finish(ast::ExprPtr node);

  //===- Expressions ------------------------------------------------------------------------===//
  enum class Walrus { Refused, Allowed };
  ast::ExprPtr parseStarExprs(Walrus walrus = Walrus::Refused);
  ast::ExprPtr parseTupleRest(ast::ExprPtr first, size_t start, Walrus walrus);
  ast::ExprPtr parseStarExpr(Walrus walrus, bool isArgument = false);
  ast::ExprPtr parseNamedExpr();
  ast::ExprPtr parseExpr();
  ast::ExprPtr parseLambda();
  ast::ExprPtr parseOr();
  ast::ExprPtr parseAnd();
  ast::ExprPtr parseNot();
  ast::ExprPtr parseComparison();
  bool parseCompareOp(ast::CompareOp &op);
  ast::ExprPtr parseBinary(int minLevel);
  ast::ExprPtr parseUnary();
  ast::ExprPtr parsePower();
  ast::ExprPtr parsePrimary();
  ast::ExprPtr parseYield();

  ast::ExprPtr parseAttribute(ast::ExprPtr value, size_t start);
  ast::ExprPtr parseCall(ast::ExprPtr callee, size_t start);
  bool parseArgument(ast::Call &call);
  bool parseKeyword(ast::Call &call);
  bool parseGeneratorArgument(ast::Call &call, const Token &opener);
  ast::ExprPtr parseSubscript(ast::ExprPtr value, size_t start);
  ast::ExprPtr parseIndex();
  ast::ExprPtr parseSlice();

  ast::ExprPtr parseAtom();
  ast::ExprPtr constant(ast::Literal value);
  ast::ExprPtr parseParens();
  ast::ExprPtr parseBrackets();
  ast::ExprPtr parseBraces();
  bool parseDictItem(bool &isDict, ast::UnsupportedExpr &braces);
  ast::ExprPtr unsupported(size_t start, std::string construct);
  bool atCompFor() const;
  bool parseCompFors(std::vector<ast::CompFor> &clauses);
  ast::ExprPtr parseTargets();

  ast::ExprPtr parseStrings();
  bool addFString(const std::vector<FStringChunk> &chunks, std::vector<ast::FStringPart> &parts);
  bool addField(const FStringChunk &chunk, std::vector<ast::FStringPart> &parts);
  static void addLiteral(std::string_view text, std::vector<ast::FStringPart> &parts);
  ast::ExprPtr formatSpec(const FStringChunk &chunk);

  /// Reports targets that cannot be assigned to.
  bool checkTarget(const ast::Expr &target, bool inSequence = false);
  bool checkTargets(const std::vector<ast::ExprPtr> &targets);
  bool checkSingleTarget(const ast::Expr &target, std::string_view what);

  //===- Statements -------------------------------------------------------------------------===//
  void parseStatement(ast::Block &block);
  bool parseStatementInner(ast::Block &block);
  void recover(size_t start);
  void skipBlockIfAny();
  bool parseSimpleLine(ast::Block &block);
  ast::StmtPtr parseSimple();
  ast::StmtPtr parseExprStatement();
  ast::StmtPtr parseAssign(ast::ExprPtr first, size_t start);
  ast::StmtPtr parseAugAssign(ast::ExprPtr target, ast::BinaryOp op, size_t start);
  ast::StmtPtr parseAnnAssign(ast::ExprPtr target, size_t start);
  ast::StmtPtr parseReturn();
  ast::StmtPtr parseAssert();
  ast::StmtPtr parseLoopExit();
  ast::StmtPtr parseImport();
  ast::StmtPtr parseFromImport();
  bool parseDottedName(std::string &name);
  ast::StmtPtr parseRaise();
  ast::StmtPtr parseNameList();
  ast::StmtPtr parseDel();
  ast::StmtPtr parseTypeAlias();

  ast::StmtPtr parseCompound();
  bool parseBlock(ast::Block &block, std::string_view after);
  bool parseColon(std::string_view after);
  ast::StmtPtr parseIf();
  ast::StmtPtr parseFor();
  ast::StmtPtr parseWhile();
  bool parseLoopBody(ast::Block &body, ast::Block &orelse, std::string_view keyword);
  ast::StmtPtr parseWith();
  bool parseWithItems(ast::With &with, bool parenthesized);
  bool withIsParenthesized() const;
  ast::StmtPtr parseTry();
  ast::StmtPtr parseMatch();
  bool atMatch() const;
  bool parseCase(ast::Block &block);
  ast::StmtPtr parseClass(std::vector<ast::ExprPtr> decorators = {});
  ast::StmtPtr parseAsync();

  ast::StmtPtr parseDecorated();
  ast::StmtPtr parseDef(std::vector<ast::ExprPtr> decorators, size_t start);
  bool parseSignature(ast::FunctionDef &function);
  void parseFunctionBody(ast::FunctionDef &function);
  bool parseParams(std::vector<ast::Param> &params, Tok closer, bool annotated);
  bool parseParam(std::vector<ast::Param> &params, bool annotated, bool keywordOnly);
  bool checkParam(const std::vector<ast::Param> &params, const ast::Param &param);
  bool parseStarParam(std::vector<ast::Param> &params, Tok closer, bool annotated,
                      bool &keywordOnly);
  bool skipTypeParams();

  const SourceManager &sources;
  const TokenStream &stream;
  DiagnosticEngine &diagnostics;
  const Mode mode;
  size_t index = 0;
  int depth = 0, elifs = 0, loops = 0, functions = 0;
};

} // namespace pantile
