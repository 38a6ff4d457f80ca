//===- ModuleScan.cpp - a program from the text of a Python file, without Python --------===//
// Needs: the text; files to include; values for names that the text does not define.
// Gives: the kernel and all jit functions that it can reach, each with the values of its global
//        names: the snapshot that the Python package would take of the running module.
//===------------------------------------------------------------------------------------===//
#include "frontend/ModuleScope.h"
#include "pantile/Compiler.h"
#include "support/Diagnostics.h"
#include <algorithm>
#include <llvm/Support/MemoryBuffer.h>
#include <set>

namespace pantile {

using namespace ast;

namespace {

Error errorWithoutRange(ErrorKind kind, const std::string &message) {
  return {kind, message, "error: " + message + "\n", {}};
}

/// The names that a function reads, and its `root.attribute` pairs.
struct UsedNames {
  std::set<std::string> names;
  std::set<std::pair<std::string, std::string>> attributes;

  void add(const Expr &expr) {
    if (const auto *name = llvm::dyn_cast<Name>(&expr))
      names.insert(name->id);
    const auto *attribute = llvm::dyn_cast<Attribute>(&expr);
    if (const auto *root = attribute ? llvm::dyn_cast<Name>(attribute->value.get()) : nullptr)
      attributes.emplace(root->id, attribute->attr);
    forEachChild(expr, [&](const Expr &child) { add(child); });
  }
  void add(const Block &block) {
    for (const StmtPtr &stmt : block) {
      forEachExpr(*stmt, [&](const Expr &expr) { add(expr); });
      forEachBlock(*stmt, [&](const Block &inner) { add(inner); });
    }
  }
};

UsedNames namesOf(const FunctionDef &def) {
  UsedNames used;
  for (const Param &param : def.params) {
    if (param.annotation)
      used.add(*param.annotation);
    if (param.defaultValue)
      used.add(*param.defaultValue);
  }
  if (def.returns)
    used.add(*def.returns);
  used.add(def.body);
  return used;
}

/// The function's lines from `def` on, with its indentation cut off where a line has it.
FunctionSource sourceOf(const SourceManager &sources, const FunctionDef &def) {
  const std::string_view text = sources.text(def.span.buffer);
  const size_t lineStart = text.find_last_of("\r\n", def.headSpan.begin) + 1;
  const size_t end = std::min(text.find_first_of("\r\n", def.span.end), text.size());
  FunctionSource source;
  source.name = def.name;
  source.file = sources.file(def.span.buffer);
  source.firstLine = sources.range(def.headSpan).line;
  source.indent = static_cast<int>(def.headSpan.begin - lineStart);
  const std::string_view indentation = text.substr(lineStart, source.indent);
  for (size_t at = lineStart; at < end;) {
    const size_t next = std::min(text.find('\n', at), end - 1) + 1;
    std::string_view line = text.substr(at, next - at);
    size_t cut = 0;
    while (cut < indentation.size() && cut < line.size() && line[cut] == indentation[cut])
      ++cut;
    source.text += line.substr(cut);
    at = next;
  }
  source.text += '\n';
  return source;
}

/// Everything that scanFile reads, with the sources that its trees point into.
class Scanner {
public:
  Scanner(std::string_view text, const std::string &fileName, const ScanOptions &options)
      : options(options), scan(sources, options.defines) {
    mainBuffer = text, mainName = fileName;
  }

  Result<void> read() {
    for (const std::string &path : options.includeFiles) {
      auto buffer = llvm::MemoryBuffer::getFile(path);
      if (!buffer)
        return errorWithoutRange(ErrorKind::Resources,
                                 "cannot read `" + path + "`: " + buffer.getError().message());
      scan.addFile(sources.addBuffer(path, (*buffer)->getBuffer().str()));
    }
    scan.addFile(sources.addBuffer(mainName, std::string(mainBuffer)));
    return {};
  }

  Result<Program> program() {
    const Result<size_t> kernel = findKernel();
    if (!kernel)
      return kernel.error();
    Program program;
    indexOf(*kernel);
    // Each may name more of the other.
    for (size_t f = 0, c = 0; f < order.size() || c < classOrder.size();)
      if (f < order.size())
        program.functions.push_back(describe(scan.functions()[order[f++]]));
      else
        program.classes.push_back(describeClass(scan.classes()[classOrder[c++]]));
    return program;
  }

  std::vector<KernelListing> list() const {
    std::vector<KernelListing> listings;
    for (const ScannedFunction *function : jitFunctions()) {
      KernelListing &listing = listings.emplace_back();
      listing.name = function->def->name;
      listing.line = sources.range(function->def->headSpan).line;
      for (const Param &param : function->def->params)
        listing.parameters.emplace_back(sources.text(param.span));
    }
    return listings;
  }

private:
  /// Those of the file itself, in the order of the text.
  std::vector<const ScannedFunction *> jitFunctions() const {
    std::vector<const ScannedFunction *> jits;
    for (const ScannedFunction &function : scan.functions())
      if (function.isJit && !function.isMethod && function.file + 1 == scan.fileCount())
        jits.push_back(&function);
    std::ranges::sort(jits, {}, [](const auto *f) { return f->def->headSpan.begin; });
    return jits;
  }

  size_t numberOf(const ScannedFunction *function) const {
    return function - scan.functions().data();
  }

  Result<size_t> findKernel() const {
    const std::vector<const ScannedFunction *> jits = jitFunctions();
    return options.kernel.empty() ? onlyKernel(jits) : namedKernel(jits);
  }

  static std::string listNames(const std::vector<const ScannedFunction *> &functions) {
    std::string names;
    for (const ScannedFunction *function : functions)
      names += (names.empty() ? "`" : ", `") + function->def->name + "`";
    return names;
  }

  /// Of several functions with one name the module's last wins, as in Python.
  Result<size_t> namedKernel(const std::vector<const ScannedFunction *> &jits) const {
    const ScannedFunction *best = nullptr;
    for (const ScannedFunction *function : jits)
      if (function->def->name == options.kernel && (!best || function->atTop))
        best = function;
    if (best)
      return numberOf(best);
    for (const ScannedFunction &function : scan.functions())
      if (function.def->name == options.kernel)
        return rendered(function.def->nameSpan,
                        "`" + options.kernel + "` is a Python function without the jit decorator");
    std::string message = "there is no jit function `" + options.kernel + "` in " + mainName;
    if (!jits.empty())
      message += "; it has " + listNames(jits);
    return errorWithoutRange(ErrorKind::Launch, message);
  }

  /// The only jit function, or the only one that no other uses.
  Result<size_t> onlyKernel(const std::vector<const ScannedFunction *> &jits) const {
    if (jits.empty())
      return errorWithoutRange(ErrorKind::Launch, "there is no jit function in " + mainName);
    std::set<size_t> used;
    for (const ScannedFunction *function : jits)
      for (const auto &[name, value] : meanings(*function))
        if (const auto *reference = std::get_if<FunctionRef>(&value))
          if (reference->index != numberOf(function))
            used.insert(reference->index);
    std::vector<const ScannedFunction *> candidates;
    for (const ScannedFunction *function : jits)
      if (!used.contains(numberOf(function)))
        candidates.push_back(function);
    if (candidates.size() == 1)
      return numberOf(candidates.front());
    return errorWithoutRange(ErrorKind::Launch,
                             "which kernel is meant? " + mainName + " has " +
                                 listNames(candidates.empty() ? jits : candidates));
  }

  Error rendered(SourceSpan span, std::string message) const {
    DiagnosticEngine diagnostics(sources);
    diagnostics.error(span, ErrorKind::Launch, std::move(message));
    return diagnostics.toError();
  }

  /// The values of the names that a function uses, with FunctionRefs into the scan.
  std::map<std::string, ConstValue> meanings(const ScannedFunction &function) const {
    std::map<std::string, ConstValue> result;
    const UsedNames used = namesOf(*function.def);
    for (const std::string &name : used.names)
      if (auto value = scan.lookUp(*function.scope, name))
        result.emplace(name, std::move(*value));
    for (const auto &[root, attribute] : used.attributes)
      if (auto value = scan.lookUpIn(*function.scope, root, attribute))
        result.emplace(root + "." + attribute, std::move(*value));
    return result;
  }

  FunctionSource describe(const ScannedFunction &function) {
    FunctionSource source = sourceOf(sources, *function.def);
    source.noinline_ = function.noinline_;
    for (auto &[name, value] : meanings(function))
      source.globals.emplace(name, publish(value));
    return source;
  }

  ClassSource describeClass(ClassSource source) {
    for (ClassSource::Field &field : source.fields)
      if (field.value)
        field.value = publish(*field.value);
    for (auto &[name, value] : source.members)
      value = publish(value);
    return source;
  }

  static size_t positionIn(std::vector<size_t> &order, size_t number) {
    const auto known = std::ranges::find(order, number);
    if (known != order.end())
      return known - order.begin();
    order.push_back(number);
    return order.size() - 1;
  }
  size_t indexOf(size_t function) { return positionIn(order, function); }

  /// `value` with references into the program; a function that is no jit function becomes opaque.
  ConstValue publish(const ConstValue &value) {
    if (const auto *reference = std::get_if<FunctionRef>(&value)) {
      if (scan.functions()[reference->index].runsInPython)
        return OpaqueRef{"a constexpr function of a file that is compiled without Python"};
      if (!scan.functions()[reference->index].isJit)
        return OpaqueRef{"a Python function without the jit decorator"};
      return FunctionRef{indexOf(reference->index)};
    }
    if (const auto *cls = std::get_if<ClassRef>(&value))
      return ClassRef{positionIn(classOrder, cls->index)};
    const auto *tuple = std::get_if<std::shared_ptr<const ConstTuple>>(&value);
    if (!tuple)
      return value;
    auto published = std::make_shared<ConstTuple>(**tuple);
    for (ConstValue &element : published->elements)
      element = publish(element);
    return std::shared_ptr<const ConstTuple>(std::move(published));
  }

  SourceManager sources;
  const ScanOptions &options;
  ModuleScan scan;
  std::string_view mainBuffer;
  std::string mainName;
  std::vector<size_t> order;      ///< functions of the program, by their number in the scan
  std::vector<size_t> classOrder; ///< classes likewise
};

} // namespace

Result<Program> scanFile(std::string_view text, const std::string &fileName,
                         const ScanOptions &options) {
  Scanner scanner(text, fileName, options);
  if (Result<void> read = scanner.read(); !read)
    return read.error();
  return scanner.program();
}

Result<std::vector<KernelListing>> listKernels(std::string_view text, const std::string &fileName) {
  const ScanOptions options;
  Scanner scanner(text, fileName, options);
  if (Result<void> read = scanner.read(); !read)
    return read.error();
  return scanner.list();
}

} // namespace pantile
