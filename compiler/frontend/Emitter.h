//===- Emitter.h - the state of emission, and its primitives ----------------------------===//
// Needs: the syntax trees, parsed on first use; the builder's insertion point.
// Gives: evaluation of expressions and statements, and the primitives from which the operations of
//        Builtins.def are built: constants, casts, broadcasts, arithmetic, calls, errors.
// How:   An expression gives a Value. An error is reported once and gives a failed Value, which
//        further operations pass on silently, so that emission continues with the next statement.
//        Members are defined by family in Emit*.cpp.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/AssignedNames.h"
#include "frontend/BuiltinTable.h"
#include "frontend/Constexpr.h"
#include "ir/Tile.h"
#include "pantile/Options.h"
#include "pantile/Program.h"
#include "support/Diagnostics.h"
#include <array>
#include <llvm/ADT/MapVector.h>
#include <map>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinOps.h>
#include <set>

namespace pantile {

/// A function of the program or the library, parsed; or one that is defined inside such a function,
/// which owns its tree then.
struct ParsedFunction {
  const FunctionSource *source = nullptr;
  std::unique_ptr<ast::FunctionDef> owned;
  const ast::FunctionDef *def = nullptr;
  AssignedNames assigned;
  bool inLibrary = false;
};

/// A local variable. `version` is new with each assignment.
struct Variable {
  Value value;
  SourceSpan assigned;
  unsigned version = 0;
};
using Variables = llvm::MapVector<llvm::StringRef, Variable>;

/// A lambda or a function inside a function, with the variables that it captured.
struct ClosureValue {
  const ParsedFunction *function = nullptr;
  Variables captured;
};

/// How control leaves a piece of a function: it falls through on all paths, on some, on none.
enum class Flow { Falls, Maybe, Leaves };
enum class Exit { Return, Break, Continue };
constexpr Exit allExits[] = {Exit::Return, Exit::Break, Exit::Continue};
struct FlowState {
  Flow flow = Flow::Falls;
  std::array<Value, 3> left{false, false, false}; ///< by Exit: whether it was taken; bool or int1
  Value value = None();                           ///< what was returned
  SourceSpan returned;

  Value &by(Exit exit) { return left[size_t(exit)]; }
  const Value &by(Exit exit) const { return left[size_t(exit)]; }
  bool may(Exit exit) const { return !by(exit).is<bool>() || by(exit).as<bool>(); }
  bool mayLeave() const {
    return llvm::any_of(allExits, [&](Exit exit) { return may(exit); });
  }
  /// Some path continues with the variables: to the next statement, or to the point where a loop
  /// continues.
  bool keepsVariables() const {
    return flow != Flow::Leaves || may(Exit::Break) || may(Exit::Continue);
  }
  /// Control that left by `exit` continues from here.
  void rejoin(Exit exit);
};

/// The body of a loop while it is emitted.
struct LoopBody {
  /// Variables that have no value, or none of their type, on a path that left the body.
  Variables defects;
};

/// One activation of an inlined function.
struct Frame {
  const ParsedFunction *function = nullptr;
  Frame *caller = nullptr;
  const ClassSource *constructs = nullptr; ///< its `__init__` is this function
  SourceSpan callSpan;
  mlir::LocationAttr callerLoc; ///< null for the kernel
  Variables variables;
  const Variables *captured = nullptr; ///< of a closure
  FlowState flow;
  LoopBody *loop = nullptr; ///< the innermost one
  int depth = 0;
  bool bindsCall = false; ///< an operation or a call checks its arguments; see Error::inBuiltin
};

/// Whether `self`, a compile-time string or a tuple, has the method.
bool isSequenceMethod(const Value &self, llvm::StringRef name);

/// What to write instead of a construct that kernels do not have, as the end of a message.
std::string insteadOf(llvm::StringRef construct);

/// A call of an operation, its arguments bound to the parameters of its row.
struct BoundCall {
  const BuiltinRow *row = nullptr;
  SourceSpan span;
  llvm::SmallVector<Value, 8> values; ///< one per parameter; a tuple for a star
  llvm::SmallVector<SourceSpan, 8> spans;

  size_t index(llvm::StringRef name) const;
  const Value &operator[](llvm::StringRef name) const { return values[index(name)]; }
  SourceSpan at(llvm::StringRef name) const { return spans[index(name)]; }
};

/// An argument of a call before binding.
struct CallArg {
  Value value;
  SourceSpan span;
  llvm::StringRef keyword; ///< empty: positional
  SourceSpan keywordSpan;
};

/// One of the comma-separated values between brackets.
struct IndexPart {
  Value value;
  SourceSpan span;
};

class Emitter {
public:
  Emitter(mlir::MLIRContext &context, const Program &program, const Options &options,
          SourceManager &sources, DiagnosticEngine &diagnostics);
  mlir::OwningOpRef<mlir::ModuleOp> emitKernel(const Specialization &specialization);

  mlir::OpBuilder b;
  const Options &options;
  bool keepsInvariants = false; ///< `tl.condition` of the `while` that is being emitted requests it

  //===- Messages and locations (Emitter.cpp) -------------------------------------------===//
  /// Reports an error once, with a note for each call it is inlined through.
  Value error(SourceSpan span, std::string message, ErrorKind kind = ErrorKind::Type,
              llvm::ArrayRef<std::pair<SourceSpan, std::string>> notes = {});
  void warning(SourceSpan span, std::string message);
  /// The calls around this place, innermost first, without those inside the library.
  llvm::SmallVector<const Frame *> userCalls() const;
  /// The range of the expression or statement being emitted, within its chain of calls.
  mlir::Location loc();
  /// Sets that range for its scope.
  struct Place {
    Place(Emitter &emitter, SourceSpan span) : emitter(emitter), saved(emitter.place) {
      emitter.place = span;
    }
    ~Place() { emitter.place = saved; }
    Emitter &emitter;
    SourceSpan saved;
  };
  SourceSpan here() const { return place; }
  /// Reports an error if emission nests deeper than the stack allows, or regions deeper than passes
  /// allow, or if emission takes too long.
  bool isTooMuch(SourceSpan span);

  //===- Types, constants, casts (EmitCast.cpp) -----------------------------------------===//
  mlir::Type irType(DType dtype);
  mlir::Type irType(const Type &type);
  /// A constant; kept at the entry of the kernel, one of each.
  Runtime constant(DType dtype, BigInt value);
  Runtime constant(DType dtype, double value);
  /// A constant tile, or scalar for an empty shape.
  Runtime filled(const Type &type, double value);
  /// A value for lanes and paths whose result is unused.
  Runtime zero(const Type &type);
  Runtime splat(const Runtime &scalar, llvm::ArrayRef<int64_t> shape);
  /// `value` in a shape that it broadcasts to.
  Runtime broadcastTo(const Runtime &value, llvm::ArrayRef<int64_t> shape);
  /// Conversion of values; fails where there is none between the types.
  std::optional<Runtime> cast(const Runtime &value, DType to, SourceSpan span,
                              bool roundToZero = false);
  std::optional<Runtime> bitcast(const Runtime &value, DType to, SourceSpan span);
  /// A number becomes a scalar: of type `wanted`, or of its literal type.
  std::optional<Runtime> runtime(const Value &value, SourceSpan span,
                                 std::optional<DType> wanted = std::nullopt);
  std::optional<Runtime> number(const Value &value, DType dtype, SourceSpan span);
  /// `value` as a cast or a store converts it to `dtype`: a number has its literal type first, and
  /// an integer that is out of range wraps around.
  std::optional<Runtime> converted(const Value &value, DType dtype, SourceSpan span);
  /// `value != 0`.
  std::optional<Runtime> toBool(const Value &value, SourceSpan span);

  //===- Compile-time views (EmitConst.cpp) ---------------------------------------------===//
  /// The integer that `value` is known to be; also for a run-time scalar that is a constant.
  std::optional<BigInt> knownInt(const Value &value);
  /// `value` as a compile-time value if it is one, also if it is a constant scalar.
  std::optional<Value> knownValue(const Value &value);
  std::optional<bool> knownTruth(const Value &value);
  /// Each reports an error that names what was expected.
  std::optional<BigInt> needInt(const Value &value, SourceSpan span, llvm::StringRef what);
  std::optional<bool> needBool(const Value &value, SourceSpan span, llvm::StringRef what);
  std::optional<std::string> needString(const Value &value, SourceSpan span, llvm::StringRef what);
  /// A compile-time string; `None` is the empty one.
  std::optional<std::string> stringOrNone(const Value &value, SourceSpan span,
                                          llvm::StringRef what);
  std::optional<DType> needDType(const Value &value, SourceSpan span, llvm::StringRef what);
  std::optional<Shape> needShape(const Value &value, SourceSpan span, llvm::StringRef what);
  std::optional<llvm::SmallVector<int64_t, 4>> needInts(const Value &value, SourceSpan span,
                                                        llvm::StringRef what);
  std::optional<int64_t> needAxis(const Value &value, SourceSpan span, size_t rank);
  std::optional<Runtime> needTile(const Value &value, SourceSpan span, llvm::StringRef what);
  /// The elements of a tuple, a range of constants or a string (EmitSequence.cpp).
  std::optional<std::vector<Value>> itemsOf(const Value &value, SourceSpan span,
                                            const std::string &what);

  //===- Arithmetic (EmitArith.cpp, EmitCompare.cpp) ------------------------------------===//
  Value binary(ast::BinaryOp op, const Value &lhs, const Value &rhs, SourceSpan span,
               bool checksOverflow = true);
  /// The same for two expressions of the source: errors about one of them are reported at its
  /// position.
  Value binaryOf(ast::BinaryOp op, const Value &lhs, const ast::Expr &left, const Value &rhs,
                 const ast::Expr &right, SourceSpan span);
  Value unary(ast::UnaryOp op, const Value &operand, SourceSpan span);
  /// fp8 is converted to fp32 for arithmetic; other types are unchanged.
  Runtime fromFp8(const Runtime &x);
  Value compare(ast::CompareOp op, const Value &lhs, const Value &rhs, SourceSpan span);
  Value compareStructs(ast::CompareOp op, const Value &lhs, const Value &rhs, SourceSpan span);
  Value contains(const Value &sequence, const Value &wanted, SourceSpan span);
  Value logical(bool isAnd, const Value &lhs, const Value &rhs, SourceSpan span);
  using Pair = std::pair<Runtime, Runtime>;
  /// Both operands in their common type and shape.
  std::optional<Pair> promoted(const Value &lhs, const Value &rhs, SourceSpan span,
                               bool division = false, llvm::StringRef what = "");
  /// Both in their common shape; element types stay.
  std::optional<Pair> broadcastPair(const Runtime &lhs, const Runtime &rhs, SourceSpan span);
  /// Pointer arithmetic.
  Value addPointer(const Value &pointer, const Value &offset, SourceSpan span, bool negate = false);
  Value select(const Value &condition, const Value &x, const Value &y, SourceSpan span);
  Value minMax(bool isMax, const Value &x, const Value &y, SourceSpan span, bool propagateNan);

  //===- Expressions (EmitExpr.cpp) -----------------------------------------------------===//
  Value expr(const ast::Expr &expr);
  Value lookUp(llvm::StringRef name, SourceSpan span);
  Value attribute(const Value &value, llvm::StringRef name, SourceSpan span, bool quiet = false);
  /// `value[parts]`; `isTuple` if there is a comma between the brackets.
  Value subscript(const Value &value, llvm::ArrayRef<IndexPart> parts, bool isTuple,
                  SourceSpan span);
  Value languageName(llvm::StringRef name, SourceSpan span, bool quiet = false);
  Value expandDims(const Runtime &value, int64_t axis);
  Value transpose(const Runtime &value, llvm::ArrayRef<int32_t> order);
  /// The same elements in row-major order; a scalar gives one element.
  Runtime reshaped(const Runtime &value, llvm::ArrayRef<int64_t> shape, bool canReorder = false);
  /// `other`, or its bits as the type of `first` if both are integers that differ only in
  /// signedness: operations that combine two tiles use the type of the first, as in Triton.
  Value withSignOf(const Value &first, const Value &other, SourceSpan span);

  //===- Calls (EmitCall.cpp) -----------------------------------------------------------===//
  Value call(const Value &callee, llvm::SmallVector<CallArg, 8> args, SourceSpan span);
  /// `constructs`: the function is the `__init__` of that class, and the result is the object.
  Value callFunction(const FunctionValue &function, llvm::ArrayRef<CallArg> args, SourceSpan span,
                     const ClassSource *constructs = nullptr);
  Value callBuiltin(const BuiltinRow &row, llvm::ArrayRef<CallArg> args, SourceSpan span);
  Value callLibrary(llvm::StringRef name, llvm::ArrayRef<Value> args, SourceSpan span);
  Value callHost(const FunctionValue &function, llvm::ArrayRef<CallArg> args, SourceSpan span);
  Value callClass(const ClassValue &type, llvm::ArrayRef<CallArg> args, SourceSpan span);
  Value callParsed(const ParsedFunction &target, llvm::ArrayRef<CallArg> args, SourceSpan span,
                   const Variables *captured = nullptr, const ClassSource *constructs = nullptr);
  ParsedFunction *parsed(const FunctionValue &function);
  /// The value of a lambda or an inner function.
  Value closure(const ast::FunctionDef &def);

  //===- Statements (EmitStmt.cpp, EmitControl.cpp, EmitLoop.cpp) -----------------------===//
  void block(const ast::Block &stmts);
  /// Runs `body` into `block` with the current variables; returns its flow and restores the
  /// variables.
  struct Branch {
    mlir::Block *block = nullptr;
    Variables variables;
    FlowState flow;
  };
  struct Merge;
  struct MergeSide;
  /// A flag of a FlowState as a scalar.
  Runtime isSet(const Value &flag);
  Runtime hasLeft(const FlowState &flow);
  Value ternary(const ast::IfExp &ifExp);
  /// The value of a variable after `value` was assigned to it: numbers become run-time scalars.
  Value stored(const Value &value, SourceSpan span);
  /// The same for an assignment to `target`; a slice of a tile takes a number unchanged.
  Value storedIn(const ast::Expr &target, const Value &value, SourceSpan span);
  /// The scalar int1 of the test of an `if` or a `while`.
  std::optional<Runtime> condition(const Value &value, SourceSpan span);

private:
  friend struct Place;
  using Stmts = llvm::ArrayRef<const ast::Stmt *>;
  void sequence(Stmts stmts);
  void stmt(const ast::Stmt &stmt);
  void assign(const ast::Expr &target, const Value &value);
  void assignName(llvm::StringRef name, Value value, SourceSpan span);
  struct IndexedPlace;
  /// `target = value` and `target op= value`; indices between brackets are evaluated once.
  void assignIndexed(const ast::Subscript &target, const Value &value, SourceSpan span);
  void augAssignIndexed(const ast::AugAssign &stmt, const ast::Subscript &target);
  void exprStmt(const ast::ExprStmt &stmt);
  void augAssign(const ast::AugAssign &stmt);
  void annAssign(const ast::AnnAssign &stmt);
  bool checkNewConstexpr(const ast::Expr &target);
  void returnStmt(const ast::Return &stmt);
  void innerFunction(const ast::FunctionDef &def);
  void failNames(const ast::UnsupportedStmt &stmt);
  void assertStmt(const ast::Assert &stmt);

  /// True if `rest`, the statements after the `if`, were emitted into one of its branches.
  bool ifStmt(const ast::If &stmt, Stmts rest);
  bool runtimeIf(const ast::If &stmt, const Runtime &condition, Stmts rest);
  void guardedRest(Stmts rest);
  /// Emits `body` for the paths that have not left.
  void guarded(llvm::function_ref<void()> body);
  void emitIf(const Runtime &condition, llvm::function_ref<void()> body);
  Branch branch(mlir::Block *block, llvm::function_ref<void()> body);
  void continueBranch(Branch &branch, llvm::function_ref<void()> body);
  Value planVariable(Merge &merge, llvm::StringRef name, const MergeSide &a, const MergeSide &c);
  FlowState planFlow(Merge &merge, const FlowState &a, const FlowState &c);
  void mergeBranches(mlir::Operation *provisional, Branch &a, Branch &c);

  void forStmt(const ast::For &stmt);
  void whileStmt(const ast::While &stmt);
  void runtimeLoop(const ast::For &stmt, const RangeValue &range);
  void unrolled(const ast::For &stmt, llvm::ArrayRef<Value> items);
  FlowState loopBody(const ast::Block &body);
  void loopElse(const ast::Block &orelse, const Value &broke);
  std::optional<std::array<Runtime, 3>> loopBounds(const RangeValue &range, SourceSpan span);
  struct Carried;
  struct KeptIndex;
  template <typename Loop>
  void endLoop(Loop loop, FlowState flow, Carried &carried, const Variables &before,
               const ast::Block &orelse, bool isEndless);

  Value evalCall(const ast::Call &call);
  Value evalName(const ast::Name &name);
  Value evalConstant(const ast::Constant &constant);
  Value evalFString(const ast::FString &fstring);
  Value evalBoolOp(const ast::BoolOp &boolOp);
  Value evalCompare(const ast::Compare &compare);
  Value evalBinary(const ast::Binary &binary);
  /// A position among the operations, to find those that are created after it.
  struct Mark {
    mlir::Block *block = nullptr;
    mlir::Operation *last = nullptr;
    bool isBefore(mlir::Operation *op) const;
  };
  Mark mark();
  /// `lhs + rhs`, whose operands were evaluated after their marks. A dot onto zeros that was
  /// created there, so that nothing else uses it, accumulates onto the other operand instead.
  std::optional<Value> accumulateComplex(const Value &sum, const Value &added, Mark before);
  Value addOrAccumulate(const Value &lhs, Mark beforeLhs, const Value &rhs, Mark beforeRhs,
                        SourceSpan span);
  void checkOverflow(ast::BinaryOp op, const Pair &operands);
  Value evalSlice(const ast::Slice &slice);
  /// The values between the brackets, and whether they are a tuple; nothing after an error.
  struct Brackets {
    llvm::SmallVector<IndexPart, 4> parts;
    bool isTuple = false;
  };
  std::optional<Brackets> brackets(const ast::Expr &index);
  Value evalSubscript(const ast::Subscript &node);
  Value evalComprehension(const ast::Comprehension &comprehension);
  bool comprehend(const ast::Comprehension &comprehension, size_t clause,
                  std::vector<Value> &results);
  void unpack(const ast::Expr &target, llvm::ArrayRef<ast::ExprPtr> targets, const Value &value);
  Value callSequenceMethod(const MethodValue &method, llvm::ArrayRef<CallArg> args,
                           SourceSpan span);
  Value evalElements(llvm::ArrayRef<ast::ExprPtr> elements);
  Value fromProgram(const ConstValue &value);
  Value resolveSnapshot(const Value &value, SourceSpan span);
  Value runtimeAttribute(const Runtime &value, llvm::StringRef name);
  Value dtypeAttribute(DType dtype, llvm::StringRef name);
  bool bindParameters(const ast::FunctionDef &def, llvm::ArrayRef<CallArg> args, SourceSpan span,
                      Frame &frame);
  bool fillDefaults(const ast::FunctionDef &def, SourceSpan span, Frame &frame);
  Value finishCall(Frame &frame, SourceSpan span);
  Value finishConstructor(Frame &frame);
  Value callMethod(const MethodValue &method, llvm::SmallVector<CallArg, 8> args, SourceSpan span);

  //===- Structured values (EmitStruct.cpp) ---------------------------------------------===//
  Value structAttribute(const Value &value, llvm::StringRef name, SourceSpan span, bool quiet);
  Value memberOf(const ClassSource &cls, llvm::StringRef name, SourceSpan span);
  Value construct(const ClassSource &cls, llvm::ArrayRef<CallArg> args, SourceSpan span);
  Value constructAggregate(const ClassSource &cls, llvm::ArrayRef<CallArg> args, SourceSpan span);
  Value hostDescriptor(llvm::ArrayRef<Value> parts, llvm::ArrayRef<int64_t> blockShape,
                       bool padsWithNan);
  Value callStructMethod(const MethodValue &method, llvm::ArrayRef<CallArg> args, SourceSpan span);
  /// True if `target` is a field of an aggregate that its constructor makes here.
  bool assignField(const ast::Attribute &target, const Value &value);

  bool declareKernel(const Specialization &specialization);
  bool bindKernelParameter(const ast::Param &param, const ArgSpec &spec,
                           llvm::SmallVectorImpl<int> &divisibilities);
  /// The value of an argument; its run-time parts become arguments of the kernel.
  Value argument(const ast::Param &param, const ArgSpec &spec,
                 llvm::SmallVectorImpl<int> &divisibilities);

  mlir::MLIRContext &context;
  const Program &program;
  SourceManager &sources;
  DiagnosticEngine &diagnostics;
  SourceSpan place;
  SourceSpan cachedSpan;
  Frame *cachedFrame = nullptr;
  mlir::LocationAttr cachedLoc;
  Frame *frame = nullptr;
  unsigned nextVersion = 1;
  int nesting = 0; ///< of regions
  size_t work = 0; ///< expressions and statements so far
  const char *stackTop = nullptr;
  mlir::Block *entry = nullptr;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  std::vector<std::unique_ptr<ParsedFunction>> parsedProgram, parsedLibrary;
  std::map<const ast::FunctionDef *, std::unique_ptr<ParsedFunction>> innerFunctions;
  std::set<std::pair<uint64_t, std::string>> reported;
};

} // namespace pantile
