//===- ModuleScope.h - the functions of files, and the values of their global names -------===//
// Needs: texts of Python files. Statements that cannot be parsed are skipped.
// Gives: every function, with whether it is a jit function, and its scope, which resolves a name to
//        a builtin, a constant, a jit function, or something opaque.
// How:   Each block's statements run in order, as far as they are understood: imports, `def` and
//        assignments. Names that are assigned under an undecided condition are opaque. Functions
//        are read after the block that contains them, so that their order does not matter.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include "frontend/ModuleConstants.h"
#include "pantile/Program.h"
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

/// The names of a module, or the locals of a function around another one.
struct Scope {
  const Scope *parent = nullptr; ///< where to continue the look-up; null for a module
  size_t file = 0;
  std::map<std::string, ConstValue, std::less<>> names;
  std::map<std::string, size_t, std::less<>> modules; ///< included files that were imported whole
  std::map<std::string, std::string, std::less<>> origins; ///< of names from other modules
};

struct ScannedFunction {
  const ast::FunctionDef *def = nullptr;
  const Scope *scope = nullptr; ///< around it
  size_t file = 0;
  bool isJit = false, noinline_ = false;
  bool runsInPython = false; ///< a constexpr function
  bool atTop = false;        ///< of the module, and not inside another function or a class
  bool isMethod = false;     ///< of a class that kernels can use
};

class ModuleScan {
public:
  /// `defines` give names a value, whatever the text defines.
  ModuleScan(const SourceManager &sources, const std::map<std::string, ConstValue> &defines)
      : sources(sources), defines(defines) {}

  /// Included files come first, the file that uses them last.
  void addFile(BufferId buffer);

  /// Indexed by the FunctionRefs of the scopes' values.
  const std::vector<ScannedFunction> &functions() const { return found; }
  /// Named tuples and aggregates, indexed by the ClassRefs of the scopes' values.
  const std::vector<ClassSource> &classes() const { return foundClasses; }
  size_t fileCount() const { return files.size(); }

  /// The value of `name` in `scope`; nothing for Python's own names and unknown ones.
  std::optional<ConstValue> lookUp(const Scope &scope, std::string_view name) const;
  /// The value of `root.attribute`, where `root` is an included file imported as a module.
  std::optional<ConstValue> lookUpIn(const Scope &scope, std::string_view root,
                                     std::string_view attribute) const;

private:
  struct File {
    std::string stem;
    ast::Module module;
    Scope *scope = nullptr;
  };
  struct Pending {
    const ast::FunctionDef *def;
    Scope *parent;
  };

  Scope &newScope(const Scope *parent, size_t file);
  void scanBlock(const ast::Block &block, Scope &scope);
  void scanStatement(const ast::Stmt &stmt, Scope &scope);
  void scanIf(const ast::If &stmt, Scope &scope);
  void scanUndecided(const ast::Block &block, Scope &scope);
  void scanUnsupported(const ast::UnsupportedStmt &stmt, Scope &scope);
  void scanClass(const ast::UnsupportedStmt &stmt, Scope &scope);
  void describeClass(const ast::Block &block, const Scope &body, ClassSource &source);
  void describeMethod(const ast::FunctionDef &def, const ConstValue &value, ClassSource &source);
  void scanFunction(const ast::FunctionDef &def, Scope &scope);
  void scanDecorators(const ast::FunctionDef &def, const Scope &scope, ScannedFunction &function);
  void scanPending();
  void scanImport(const ast::ImportedName &import, Scope &scope);
  void scanFromImport(const ast::ImportedName &import, Scope &scope);
  void importAll(const ast::ImportedName &import, Scope &scope);

  void assign(const ast::Expr &target, const std::optional<ConstValue> &value, Scope &scope);
  void bind(Scope &scope, std::string_view name, ConstValue value);
  std::optional<ConstValue> evaluate(const ast::Expr &expr, const Scope &scope) const;
  std::optional<ConstValue> decorated(const ast::Expr &expr, const Scope &scope);
  bool isJitDecorator(const ast::Expr &expr, const Scope &scope) const;
  bool isForeign(const Scope &scope, std::string_view name) const;
  bool isForKernels(const ConstValue &value) const;
  bool isHostDecorator(const ast::Expr &expr, const Scope &scope) const;
  ConstValue valueOf(const ast::Expr &expr, const Scope &scope);
  const File *fileOfModule(std::string_view module) const;

  const SourceManager &sources;
  const std::map<std::string, ConstValue> &defines;
  std::deque<File> files;
  std::deque<Scope> scopes;
  std::vector<ScannedFunction> found;
  std::vector<ClassSource> foundClasses;
  std::deque<Pending> pending;
  int undecided = 0; ///< nested conditions around the statement whose truth cannot be determined
  bool inClass = false;
};

} // namespace pantile
