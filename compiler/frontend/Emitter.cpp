//===- Emitter.cpp - messages, locations, and the kernel's function ---------------------===//
// Gives: the module with its attributes, the kernel's signature from the specialisation, and
//        the chain of calls in every message and location.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include "frontend/Emit.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace pantile;

namespace {
constexpr size_t maxErrors = 20;
constexpr size_t callNotesAtEnds = 3;
constexpr ptrdiff_t maxStack = 3 << 20;
constexpr int maxNesting = 400;
constexpr size_t maxWork = 2000000;
} // namespace

Emitter::Emitter(mlir::MLIRContext &context, const Program &program, const Options &options,
                 SourceManager &sources, DiagnosticEngine &diagnostics)
    : b(&context), options(options), context(context), program(program), sources(sources),
      diagnostics(diagnostics) {}

llvm::SmallVector<const Frame *> Emitter::userCalls() const {
  llvm::SmallVector<const Frame *> calls;
  for (const Frame *f = frame; f && f->caller; f = f->caller)
    if (!f->caller->function->inLibrary)
      calls.push_back(f);
  return calls;
}

/// Inside the library, the error is at the user's call of it.
Value Emitter::error(SourceSpan span, std::string message, ErrorKind kind,
                     llvm::ArrayRef<std::pair<SourceSpan, std::string>> notes) {
  llvm::SmallVector<const Frame *> calls = userCalls();
  const bool isInLibrary = frame && frame->function->inLibrary && !calls.empty();
  if (isInLibrary) {
    span = calls.front()->callSpan;
    calls.erase(calls.begin());
    notes = {};
  }
  uint64_t key = uint64_t(span.buffer) << 32 | span.begin;
  bool isNew = reported.insert({key, message}).second;
  if (!isNew || diagnostics.errorCount() >= maxErrors)
    return Failed();
  DiagnosticBuilder builder = diagnostics.error(span, kind, std::move(message));
  builder.within(int(calls.size()), isInLibrary || (frame && frame->bindsCall));
  for (const auto &[at, text] : notes)
    builder.note(at, text);
  if (calls.size() > 2 * callNotesAtEnds)
    calls.erase(calls.begin() + callNotesAtEnds, calls.end() - callNotesAtEnds);
  for (const Frame *call : calls)
    builder.note(call->callSpan, "in the call of `" + call->function->def->name + "`");
  return Failed();
}

bool Emitter::isTooMuch(SourceSpan span) {
  if (++work > maxWork) {
    error(span, "the kernel unrolls to more than " + std::to_string(maxWork) + " operations here");
    return true;
  }
  auto here = static_cast<const char *>(__builtin_frame_address(0));
  if (std::abs(stackTop - here) < maxStack && nesting < maxNesting)
    return false;
  error(span, nesting < maxNesting ? "calls and expressions nest too deeply here"
                                   : "branches and loops nest deeper than " +
                                         std::to_string(maxNesting) + " levels here");
  return true;
}

void Emitter::warning(SourceSpan span, std::string message) {
  if (reported.insert({uint64_t(span.buffer) << 32 | span.begin, message}).second)
    diagnostics.warning(span, std::move(message));
}

mlir::Location Emitter::loc() {
  if (cachedLoc && cachedSpan == place && cachedFrame == frame)
    return cachedLoc;
  SourceRange range = sources.range(place);
  mlir::LocationAttr result = mlir::FileLineColRange::get(
      b.getStringAttr(range.file), range.line, range.column, range.endLine, range.endColumn);
  if (frame && frame->callerLoc)
    result = mlir::CallSiteLoc::get(result, frame->callerLoc);
  cachedSpan = place;
  cachedFrame = frame;
  cachedLoc = result;
  return result;
}

size_t BoundCall::index(llvm::StringRef name) const {
  for (size_t i = 0; i < row->params.size(); ++i)
    if (row->params[i].name == name)
      return i;
  llvm_unreachable("a handler asks only for parameters of its row");
}

Value Emitter::argument(const ast::Param &param, const ArgSpec &spec,
                        llvm::SmallVectorImpl<int> &divisibilities) {
  if (spec.kind == ArgSpec::Kind::Constant)
    return resolveSnapshot(fromProgram(spec.value), param.nameSpan);
  if (spec.kind == ArgSpec::Kind::Tuple) {
    std::vector<Value> elements;
    bool failed = false;
    for (const ArgSpec &element : spec.elements)
      failed |= elements.emplace_back(argument(param, element, divisibilities)).failed();
    const ClassSource *cls = spec.classIndex ? &program.classes[*spec.classIndex] : nullptr;
    StructKind kind = cls && cls->isAggregate ? StructKind::Aggregate : StructKind::Tuple;
    return failed ? Value(Failed())
                  : Value::structure({std::move(elements), spec.fields, kind, cls});
  }
  if (spec.kind == ArgSpec::Kind::Descriptor) {
    std::vector<ArgSpec> leaves;
    appendLaunchSpecs(spec, leaves);
    std::vector<Value> parts;
    for (const ArgSpec &leaf : leaves)
      if (parts.emplace_back(argument(param, leaf, divisibilities)).failed())
        return Failed();
    return hostDescriptor(parts, spec.blockShape, spec.padsWithNan);
  }
  std::optional<DType> dtype = parseDType(spec.dtype);
  if (!dtype || dtype->isVoid())
    return error(param.nameSpan, "`" + spec.dtype + "` is no type of an argument");
  if (dtype->isComplex() && spec.kind != ArgSpec::Kind::Pointer)
    return error(param.nameSpan,
                 "a number of type `complex64` cannot be passed; pass its parts, an "
                 "array of one element, or a constexpr");
  if (spec.kind == ArgSpec::Kind::Pointer)
    dtype = dtype->pointerTo(spec.constPointer);
  divisibilities.push_back(spec.divisibility);
  return Runtime{entry->addArgument(irType(*dtype), loc()), Type{*dtype, {}}};
}

bool Emitter::bindKernelParameter(const ast::Param &param, const ArgSpec &spec,
                                  llvm::SmallVectorImpl<int> &divisibilities) {
  bool isTyped = spec.kind == ArgSpec::Kind::Pointer || spec.kind == ArgSpec::Kind::Scalar;
  if (isTyped && isConstexprAnnotation(param.annotation.get())) {
    error(param.span, "`" + param.name + "` is a constexpr and needs a value, not a type");
    return false;
  }
  Value value = argument(param, spec, divisibilities);
  frame->variables[param.name] = {value, param.nameSpan, nextVersion++};
  return !value.failed();
}

bool Emitter::declareKernel(const Specialization &specialization) {
  const ast::FunctionDef &def = *frame->function->def;
  size_t given = specialization.args.size();
  if (given != def.params.size()) {
    error(def.nameSpan, "`" + def.name + "` has " + std::to_string(def.params.size()) +
                            " parameters, the specialisation " + std::to_string(given));
    return false;
  }
  llvm::SmallVector<int> divisibilities;
  for (size_t i = 0; i < given; ++i) {
    const ast::Param &param = def.params[i];
    Place at(*this, param.nameSpan);
    if (param.star != ast::StarKind::None) {
      error(param.span, "a kernel cannot have a starred parameter", ErrorKind::Unsupported);
      return false;
    }
    if (!bindKernelParameter(param, specialization.args[i], divisibilities))
      return false;
  }
  auto func = mlir::cast<mlir::func::FuncOp>(entry->getParentOp());
  func.setType(b.getFunctionType(entry->getArgumentTypes(), {}));
  for (auto [i, divisibility] : llvm::enumerate(divisibilities))
    if (divisibility > 1)
      func.setArgAttr(i, names::divisibility, b.getI32IntegerAttr(divisibility));
  return true;
}

mlir::OwningOpRef<mlir::ModuleOp> Emitter::emitKernel(const Specialization &specialization) {
  ParsedFunction *kernel = parsed(FunctionValue{program.kernel});
  if (!kernel)
    return {};
  stackTop = static_cast<const char *>(__builtin_frame_address(0));
  Frame top;
  top.function = kernel;
  frame = &top;
  Place at(*this, kernel->def->nameSpan);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc());
  (*module)->setAttr(names::target, b.getStringAttr(options.target));
  (*module)->setAttr(names::numWarps, b.getI32IntegerAttr(options.numWarps));
  (*module)->setAttr(names::numStages, b.getI32IntegerAttr(options.numStages));
  b.setInsertionPointToEnd(module->getBody());
  // Hosts may give a kernel another name than its text does.
  const std::string &name = program.functions[program.kernel].name;
  auto func = mlir::func::FuncOp::create(b, loc(), name, b.getFunctionType({}, {}));
  func->setAttr(names::kernel, b.getUnitAttr());
  entry = new mlir::Block;
  func.getBody().push_back(entry);
  if (!declareKernel(specialization))
    return {};
  b.setInsertionPointToEnd(entry);
  block(kernel->def->body);
  mlir::func::ReturnOp::create(b, loc());
  if (top.flow.flow != Flow::Falls && !top.flow.value.isNone() && !top.flow.value.failed())
    error(top.flow.returned, "a kernel returns no value; `tl.store` writes results");
  frame = nullptr;
  if (diagnostics.hasErrors())
    return {};
  return module;
}

mlir::OwningOpRef<mlir::ModuleOp>
pantile::emitTileIR(mlir::MLIRContext &context, const Program &program,
                    const Specialization &specialization, const Options &options,
                    SourceManager &sources, DiagnosticEngine &diagnostics) {
  context.loadDialect<TileDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                      mlir::math::MathDialect, mlir::scf::SCFDialect>();
  Emitter emitter(context, program, options, sources, diagnostics);
  return emitter.emitKernel(specialization);
}
