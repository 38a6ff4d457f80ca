//===- ModuleScope.cpp - the functions of files, and what their global names mean -------===//
#include "frontend/ModuleScope.h"
#include "frontend/LanguageModules.h"
#include "frontend/Parser.h"
#include <algorithm>
#include <array>
#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/SaveAndRestore.h>

namespace pantile {

using namespace ast;

namespace {

const OpaqueRef notConstant{"a value that is not a compile-time constant"};
const OpaqueRef conditional{"a value that depends on a condition outside the kernel"};

/// Modules whose decorators named `jit` are not ours.
constexpr std::array<std::string_view, 6> foreignJits = {"numba", "jax",    "torch",
                                                         "cupy",  "taichi", "warp"};

std::string_view rootOf(std::string_view module) { return module.substr(0, module.find('.')); }

/// What a file of the language may use without an import.
std::optional<ConstValue> defaultName(std::string_view name) {
  if (name == "triton" || name == "pantile")
    return BuiltinRef{"triton."};
  if (name == "tl")
    return BuiltinRef{"tl."};
  return std::nullopt;
}

const Call *asCall(const Expr &expr) { return llvm::dyn_cast<Call>(&expr); }

} // namespace

Scope &ModuleScan::newScope(const Scope *parent, size_t file) {
  Scope &scope = scopes.emplace_back();
  scope.parent = parent;
  scope.file = file;
  return scope;
}

void ModuleScan::addFile(BufferId buffer) {
  DiagnosticEngine skipped(sources);
  File &file = files.emplace_back();
  const std::string &path = sources.file(buffer);
  file.stem = llvm::sys::path::stem(path).str();
  file.module = parseModule(sources, buffer, skipped);
  file.scope = &newScope(nullptr, files.size() - 1);
  for (const auto &[name, value] : defines)
    file.scope->names.insert_or_assign(name, value);
  bind(*file.scope, "__name__", file.stem);
  scanBlock(file.module.body, *file.scope);
  scanPending();
}

/// A queue and not a recursion: a function may nest in a function as deep as blocks do.
void ModuleScan::scanPending() {
  while (!pending.empty()) {
    const Pending next = pending.front();
    pending.pop_front();
    Scope &scope = newScope(next.parent, next.parent->file);
    const std::string owner = "a parameter of `" + next.def->name + "`";
    for (const Param &param : next.def->params)
      bind(scope, param.name, OpaqueRef{owner});
    scanBlock(next.def->body, scope);
  }
}

//===- Statements -----------------------------------------------------------------------===//

void ModuleScan::scanBlock(const Block &block, Scope &scope) {
  for (const StmtPtr &stmt : block)
    scanStatement(*stmt, scope);
}

void ModuleScan::scanUndecided(const Block &block, Scope &scope) {
  const llvm::SaveAndRestore count(undecided, undecided + 1);
  scanBlock(block, scope);
}

void ModuleScan::scanStatement(const Stmt &stmt, Scope &scope) {
  llvm::TypeSwitch<const Stmt *>(&stmt)
      .Case([&](const Assign *s) {
        const ConstValue value = valueOf(*s->value, scope);
        for (const ExprPtr &target : s->targets)
          assign(*target, value, scope);
      })
      .Case([&](const AnnAssign *s) {
        if (s->value)
          assign(*s->target, valueOf(*s->value, scope), scope);
      })
      .Case([&](const AugAssign *s) {
        const auto lhs = evaluate(*s->target, scope), rhs = evaluate(*s->value, scope);
        assign(*s->target, lhs && rhs ? evaluateBinary(s->op, *lhs, *rhs) : std::nullopt, scope);
      })
      .Case([&](const If *s) { scanIf(*s, scope); })
      .Case([&](const With *s) {
        for (const WithItem &item : s->items)
          if (item.target)
            assign(*item.target, std::nullopt, scope);
        scanBlock(s->body, scope);
      })
      .Case([&](const For *s) {
        assign(*s->target, std::nullopt, scope);
        scanUndecided(s->body, scope);
        scanUndecided(s->orelse, scope);
      })
      .Case([&](const While *s) {
        scanUndecided(s->body, scope);
        scanUndecided(s->orelse, scope);
      })
      .Case([&](const FunctionDef *s) { scanFunction(*s, scope); })
      .Case([&](const UnsupportedStmt *s) { scanUnsupported(*s, scope); })
      .Default([](const Stmt *) {});
}

void ModuleScan::scanIf(const If &stmt, Scope &scope) {
  const auto test = evaluate(*stmt.test, scope);
  const auto truth = test ? truthOf(*test) : std::nullopt;
  if (truth)
    return scanBlock(*truth ? stmt.body : stmt.orelse, scope);
  scanUndecided(stmt.body, scope);
  scanUndecided(stmt.orelse, scope);
}

/// "aggregate" of `triton.aggregate`.
static std::string_view lastName(const Expr &expr) {
  if (const auto *attribute = llvm::dyn_cast<Attribute>(&expr))
    return attribute->attr;
  const auto *name = llvm::dyn_cast<Name>(&expr);
  return name ? std::string_view(name->id) : std::string_view();
}

void ModuleScan::scanUnsupported(const UnsupportedStmt &stmt, Scope &scope) {
  for (const ImportedName &import : stmt.imports) {
    if (import.name.empty())
      scanImport(import, scope);
    else
      scanFromImport(import, scope);
  }
  if (stmt.construct == "`class`")
    scanClass(stmt, scope);
  else
    scanUndecided(stmt.body, scope);
}

/// The names of a class body are no names for the functions in it.
void ModuleScan::scanClass(const UnsupportedStmt &stmt, Scope &scope) {
  const bool isAggregate = std::ranges::any_of(stmt.decorators, [](const ExprPtr &decorator) {
    return lastName(*decorator) == "aggregate" || lastName(*decorator) == "_aggregate";
  });
  const Call *bases = stmt.bases ? asCall(*stmt.bases) : nullptr;
  const bool isNamedTuple = bases && std::ranges::any_of(bases->args, [](const ExprPtr &base) {
                              return lastName(*base) == "NamedTuple";
                            });
  const size_t index = foundClasses.size();
  if (isAggregate || isNamedTuple) {
    bind(scope, stmt.name, ClassRef{index});
    foundClasses.emplace_back().isAggregate = isAggregate;
    foundClasses.back().name = stmt.name;
  } else {
    bind(scope, stmt.name, OpaqueRef{"the class `" + stmt.name + "`"});
  }
  const llvm::SaveAndRestore nested(inClass, true);
  Scope &body = newScope(&scope, scope.file);
  scanBlock(stmt.body, body);
  if (isAggregate || isNamedTuple) {
    ClassSource described = foundClasses[index];
    describeClass(stmt.body, body, described);
    foundClasses[index] = std::move(described);
  }
}

void ModuleScan::describeClass(const Block &block, const Scope &body, ClassSource &source) {
  for (const StmtPtr &stmt : block) {
    if (const auto *annotated = llvm::dyn_cast<AnnAssign>(stmt.get())) {
      const auto *name = llvm::dyn_cast<Name>(annotated->target.get());
      if (!name)
        continue;
      ClassSource::Field &field = source.fields.emplace_back();
      field.name = name->id;
      field.isConstexpr = lastName(*annotated->annotation) == "constexpr";
      if (annotated->value)
        field.value = evaluate(*annotated->value, body);
    } else if (const auto *def = llvm::dyn_cast<FunctionDef>(stmt.get())) {
      if (const auto member = body.names.find(def->name); member != body.names.end())
        describeMethod(*def, member->second, source);
    }
  }
}

void ModuleScan::describeMethod(const FunctionDef &def, const ConstValue &value,
                                ClassSource &source) {
  const auto *reference = std::get_if<FunctionRef>(&value);
  if (!reference)
    return;
  ScannedFunction &function = found[reference->index];
  function.isMethod = true;
  function.isJit |= source.isAggregate && def.name == "__init__";
  if (!function.isJit && !function.runsInPython)
    return;
  source.members[def.name] = *reference;
  for (const ExprPtr &decorator : def.decorators) {
    if (lastName(*decorator) == "staticmethod")
      source.staticMembers.push_back(def.name);
    if (lastName(*decorator) == "property")
      source.properties.push_back(def.name);
  }
}

//===- Functions ------------------------------------------------------------------------===//

void ModuleScan::scanFunction(const FunctionDef &def, Scope &scope) {
  ScannedFunction function;
  function.def = &def;
  function.scope = inClass ? scope.parent : &scope;
  function.file = scope.file;
  function.atTop = !scope.parent && !inClass;
  scanDecorators(def, scope, function);
  const FunctionRef reference{found.size()};
  found.push_back(function);
  if (!function.isJit)
    pending.push_back({&def, const_cast<Scope *>(function.scope)});
  bind(scope, def.name, reference);
}

void ModuleScan::scanDecorators(const FunctionDef &def, const Scope &scope,
                                ScannedFunction &function) {
  for (const ExprPtr &decorator : def.decorators) {
    if (!isJitDecorator(*decorator, scope)) {
      const auto value = evaluate(*decorator, scope);
      function.runsInPython |= value && isBuiltin(*value, "triton.constexpr_function");
      continue;
    }
    function.isJit = true;
    if (const Call *call = asCall(*decorator)) {
      for (const Keyword &keyword : call->keywords) {
        const auto value = evaluate(*keyword.value, scope);
        if (keyword.name == "noinline" && value)
          function.noinline_ = truthOf(*value).value_or(false);
      }
    }
  }
}

/// `@triton.jit`, `@jit` of an unknown origin, and calls of them.
bool ModuleScan::isJitDecorator(const Expr &expr, const Scope &scope) const {
  const Expr &callee = asCall(expr) ? *asCall(expr)->callee : expr;
  const auto value = evaluate(callee, scope);
  if (value && isBuiltin(*value, "triton.jit"))
    return true;
  const auto *name = llvm::dyn_cast<Name>(&callee);
  if (!name || name->id != "jit")
    return false;
  const bool isOpaque = !value || std::holds_alternative<OpaqueRef>(*value);
  return isOpaque && !isForeign(scope, name->id);
}

bool ModuleScan::isForeign(const Scope &scope, std::string_view name) const {
  for (const Scope *at = &scope; at; at = at->parent) {
    const auto origin = at->origins.find(name);
    if (origin != at->origins.end())
      return std::ranges::find(foreignJits, rootOf(origin->second)) != foreignJits.end();
  }
  return false;
}

/// `triton.autotune(...)` and `triton.heuristics(...)` give back the function that they are called
/// with.
bool ModuleScan::isHostDecorator(const Expr &expr, const Scope &scope) const {
  const Call *call = asCall(expr);
  const auto value = call ? evaluate(*call->callee, scope) : std::nullopt;
  return value && (isBuiltin(*value, "triton.autotune") || isBuiltin(*value, "triton.heuristics"));
}

/// `kernel = triton.autotune(...)(triton.jit(function))`
std::optional<ConstValue> ModuleScan::decorated(const Expr &expr, const Scope &scope) {
  const Call *call = asCall(expr);
  if (!call || call->args.size() != 1)
    return std::nullopt;
  const bool isJit = isJitDecorator(*call->callee, scope);
  if (!isJit && !isHostDecorator(*call->callee, scope))
    return std::nullopt;
  auto inner = decorated(*call->args[0], scope);
  if (!inner)
    inner = evaluate(*call->args[0], scope);
  if (!inner || !std::holds_alternative<FunctionRef>(*inner))
    return std::nullopt;
  if (isJit)
    found[std::get<FunctionRef>(*inner).index].isJit = true;
  return inner;
}

//===- Imports --------------------------------------------------------------------------===//

const ModuleScan::File *ModuleScan::fileOfModule(std::string_view module) const {
  const std::string_view leaf = module.substr(module.rfind('.') + 1);
  const auto file = std::ranges::find(files, leaf, &File::stem);
  return file == files.end() || file->scope == files.back().scope ? nullptr : &*file;
}

void ModuleScan::scanImport(const ImportedName &import, Scope &scope) {
  const bool whole = !import.alias.empty();
  const std::string bound = whole ? import.alias : std::string(rootOf(import.module));
  if (whole || import.module.find('.') == std::string::npos) {
    if (const File *file = fileOfModule(import.module)) {
      scope.modules[bound] = file->scope->file;
      return;
    }
  }
  bind(scope, bound, moduleValue(whole ? std::string_view(import.module) : rootOf(import.module)));
}

void ModuleScan::scanFromImport(const ImportedName &import, Scope &scope) {
  if (import.name == "*")
    return importAll(import, scope);
  const std::string &bound = import.alias.empty() ? import.name : import.alias;
  const ConstValue module = moduleValue(import.module);
  if (const std::string *reference = asModule(module))
    return bind(scope, bound, moduleAttribute(*reference, import.name));
  const ConstValue asSubmodule = moduleValue(import.module + "." + import.name);
  if (asModule(asSubmodule))
    return bind(scope, bound, asSubmodule);
  if (const File *file = fileOfModule(import.name)) {
    scope.modules[bound] = file->scope->file;
    return;
  }
  for (const File &file : files) {
    const auto name = file.scope->names.find(import.name);
    const bool isOther = file.scope != files.back().scope;
    if (isOther && name != file.scope->names.end() && !defines.contains(import.name))
      return bind(scope, bound, name->second);
  }
  scope.origins[bound] = import.module;
  bind(scope, bound,
       OpaqueRef{"a name imported from `" + import.module + "`, whose text was not given"});
}

void ModuleScan::importAll(const ImportedName &import, Scope &scope) {
  const ConstValue module = moduleValue(import.module);
  if (isBuiltin(module, "tl."))
    for (const std::string &name : languageNames())
      bind(scope, name, moduleAttribute("tl.", name));
  if (const File *file = fileOfModule(import.module))
    for (const auto &[name, value] : file->scope->names)
      bind(scope, name, value);
}

//===- Names ----------------------------------------------------------------------------===//

bool ModuleScan::isForKernels(const ConstValue &value) const {
  if (const auto *function = std::get_if<FunctionRef>(&value))
    return found[function->index].isJit;
  return std::holds_alternative<BuiltinRef>(value) || std::holds_alternative<DTypeName>(value) ||
         std::holds_alternative<ClassRef>(value);
}

/// Under an undecided condition, jit functions and the like stay, and constants become opaque.
void ModuleScan::bind(Scope &scope, std::string_view name, ConstValue value) {
  if (defines.contains(std::string(name)))
    return;
  if (undecided && !isForKernels(value)) {
    const auto old = scope.names.find(name);
    if (old != scope.names.end() && isForKernels(old->second))
      return;
    const bool isConstant =
        !std::holds_alternative<OpaqueRef>(value) && !std::holds_alternative<FunctionRef>(value);
    if (isConstant)
      value = conditional;
  }
  scope.names.insert_or_assign(std::string(name), std::move(value));
}

void ModuleScan::assign(const Expr &target, const std::optional<ConstValue> &value, Scope &scope) {
  if (const auto *name = llvm::dyn_cast<Name>(&target))
    return bind(scope, name->id, value.value_or(ConstValue(notConstant)));
  const auto *tuple = llvm::dyn_cast<Tuple>(&target);
  const auto *list = llvm::dyn_cast<List>(&target);
  if (!tuple && !list)
    return;
  const std::vector<ExprPtr> &targets = tuple ? tuple->elements : list->elements;
  const auto *values = value ? std::get_if<std::shared_ptr<const ConstTuple>>(&*value) : nullptr;
  const bool fits = values && (*values)->elements.size() == targets.size() &&
                    std::ranges::none_of(targets, [](auto &t) { return llvm::isa<Starred>(*t); });
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto *starred = llvm::dyn_cast<Starred>(targets[i].get());
    assign(starred ? *starred->value : *targets[i],
           fits ? std::optional((*values)->elements[i]) : std::nullopt, scope);
  }
}

ConstValue ModuleScan::valueOf(const Expr &expr, const Scope &scope) {
  if (auto function = decorated(expr, scope))
    return *function;
  if (auto value = evaluate(expr, scope))
    return *value;
  if (llvm::isa<Lambda>(expr))
    return OpaqueRef{"a Python function"};
  return notConstant;
}

std::optional<ConstValue> ModuleScan::evaluate(const Expr &expr, const Scope &scope) const {
  return evaluateConstant(expr, [&](std::string_view name) { return lookUp(scope, name); });
}

std::optional<ConstValue> ModuleScan::lookUp(const Scope &scope, std::string_view name) const {
  for (const Scope *at = &scope; at; at = at->parent)
    if (const auto entry = at->names.find(name); entry != at->names.end())
      return entry->second;
  if (const auto value = defaultName(name))
    return value;
  for (const File &file : files) {
    const auto entry = file.scope->names.find(name);
    const bool isFunction =
        entry != file.scope->names.end() && std::holds_alternative<FunctionRef>(entry->second);
    if (isFunction && file.scope->file != scope.file)
      return entry->second;
  }
  return std::nullopt;
}

std::optional<ConstValue> ModuleScan::lookUpIn(const Scope &scope, std::string_view root,
                                               std::string_view attribute) const {
  for (const Scope *at = &scope; at; at = at->parent) {
    if (const auto module = at->modules.find(root); module != at->modules.end()) {
      const auto &names = files[module->second].scope->names;
      const auto entry = names.find(attribute);
      return entry == names.end() ? std::nullopt : std::optional(entry->second);
    }
  }
  return std::nullopt;
}

} // namespace pantile
