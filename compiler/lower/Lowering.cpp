//===- Lowering.cpp - kernels, values and the walk over operations --------------------------===//
#include "lower/Lowering.h"
#include "ir/Launch.h"
#include "ir/Registers.h"
#include "layout/AbsentWarps.h"
#include "lower/DebugLocations.h"
#include "lower/Lower.h"
#include "lower/Occupancy.h"
#include "lower/SpillToShared.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

const Handlers &Handlers::all() {
  static const Handlers handlers = [] {
    Handlers h;
    for (auto add : {addElementwise, addCasts,    addMath,     addExtern,       addShape,
                     addSlice,       addPrograms, addCluster,  addPartialTiles, addMemory,
                     addAtomics,     addControl,  addConvert,  addReduce,       addScan,
                     addGather,      addMap,      addDot,      addFma,          addShared,
                     addProducer,    addTma,      addTmaStore, addWgmma,        addDebug})
      add(h);
    return h;
  }();
  return handlers;
}

Lowering::Lowering(ModuleOp source, llvm::Module &module, const Target &target,
                   DebugLocations &locations)
    : b(module.getContext()), module(module), target(target), source(source), locations(locations),
      facts(std::make_unique<AxisInfoAnalysis>(source)),
      warps(moduleInt(source, names::numWarps, 4)),
      producers(static_cast<int>(Launch::of(source).producerWarps)) {
  // The size is set at launch; an alignment of 1024 is what swizzled operands need.
  if ((shared = module.getNamedGlobal("shared")))
    return;
  shared = new llvm::GlobalVariable(module, llvm::ArrayType::get(b.getInt8Ty(), 0), false,
                                    llvm::GlobalValue::ExternalLinkage, nullptr, "shared", nullptr,
                                    llvm::GlobalValue::NotThreadLocal, 3);
  shared->setAlignment(llvm::Align(1024));
}

//===- types and values ----------------------------------------------------------------===//

llvm::Type *Lowering::type(Type element) const {
  llvm::LLVMContext &c = module.getContext();
  if (isa<PtrType>(element))
    return llvm::PointerType::get(c, 1);
  if (isa<nv::BufferType>(element))
    return llvm::Type::getInt32Ty(c);
  if (isa<nv::TensorMapType>(element))
    return llvm::PointerType::get(c, 0);
  if (isa<IndexType>(element))
    return llvm::Type::getInt64Ty(c);
  if (element.isF16())
    return llvm::Type::getHalfTy(c);
  if (element.isBF16())
    return llvm::Type::getBFloatTy(c);
  if (element.isF32())
    return llvm::Type::getFloatTy(c);
  if (element.isF64())
    return llvm::Type::getDoubleTy(c);
  return llvm::Type::getIntNTy(c, element.getIntOrFloatBitWidth());
}

const LinearLayout &Lowering::layout(Type tile) {
  auto &slot = layouts[cast<RankedTensorType>(tile).getEncoding()];
  if (!slot)
    slot = std::make_unique<LinearLayout>(layoutOf(tile));
  return *slot;
}

int Lowering::count(Type type) { return isa<RankedTensorType>(type) ? layout(type).numRegs() : 1; }

ValueList Lowering::get(mlir::Value value) const {
  auto it = values.find(value);
  assert(it != values.end() && "operands are lowered before their users");
  return it->second;
}

bool Lowering::isPresent(Type type, int reg) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile || llvm::all_of(tile.getShape(), llvm::isPowerOf2_64))
    return true;
  llvm::BitVector &present = presentRegs[tile.getEncoding()];
  if (present.empty()) {
    const LinearLayout &own = layout(type);
    present.resize(own.numRegs());
    for (int r = 0; r < own.numRegs(); ++r)
      present[r] = own.isPresent(r);
  }
  return present[reg];
}

void Lowering::set(mlir::Value value, ValueList list) {
  llvm::MutableArrayRef<llvm::Value *> own = list.copy(arena);
  values[value] = own;
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  if (!tile || llvm::all_of(tile.getShape(), llvm::isPowerOf2_64))
    return;
  for (auto [reg, one] : llvm::enumerate(own))
    if (!isPresent(tile, reg))
      one = llvm::PoisonValue::get(one->getType());
}

Values lower::pick(ValueList values, ArrayRef<int> registers) {
  Values result;
  for (int r : registers)
    result.push_back(values[r]);
  return result;
}

FailureOr<SmallVector<int, 16>> lower::registersOf(Operation *op, const LinearLayout &have,
                                                   const LinearLayout &want) {
  if (auto moves = have.registerMoves(want))
    return *moves;
  op->emitError("layouts of operand and result hold elements in different threads").attachNote()
      << "have " << have.str() << ", want " << want.str();
  return failure();
}

//===- operations ----------------------------------------------------------------------===//

LogicalResult Lowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    const Handlers::Handler *handler = Handlers::all().find(&op);
    if (!handler) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        continue; // the parent reads its operands
      return op.emitError("`") << op.getName().getStringRef() << "` cannot be lowered to LLVM IR";
    }
    for (Type type : op.getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type); tile && !tile.getEncoding())
        return op.emitError("a tile without a layout cannot be lowered to LLVM IR");
    b.SetCurrentDebugLocation(locations.of(op.getLoc()));
    if (failed((*handler)(*this, &op)))
      return failure();
  }
  return success();
}

FailureOr<Values> Lowering::inlineRegion(Region &region, ValueList arguments) {
  for (auto [argument, value] : llvm::zip_equal(region.getArguments(), arguments))
    set(argument, value);
  if (failed(lowerBlock(region.front())))
    return failure();
  Values yields;
  for (Value operand : region.front().getTerminator()->getOperands())
    yields.push_back(scalar(operand));
  return yields;
}

//===- kernels -------------------------------------------------------------------------===//

/// Tensor maps are passed by value and read from the parameter space.
void Lowering::passTensorMaps(llvm::ArrayRef<nv::TensorMapOp> maps, unsigned first) {
  llvm::LLVMContext &c = module.getContext();
  for (size_t i = 0; i < maps.size(); ++i) {
    const unsigned index = first + i;
    function->addParamAttr(
        index, llvm::Attribute::getWithByValType(c, llvm::ArrayType::get(b.getInt8Ty(), 128)));
    function->addParamAttr(index, llvm::Attribute::getWithAlignment(c, llvm::Align(64)));
    function->addParamAttr(index, llvm::Attribute::get(c, "nvvm.grid_constant"));
    set(nv::TensorMapOp(maps[i]).getResult(), {function->getArg(index)});
  }
}

void Lowering::startKernel(Operation *op) {
  auto fn = cast<func::FuncOp>(op);
  llvm::SmallVector<llvm::Type *> types;
  for (Type type : fn.getArgumentTypes())
    types.push_back(type.isInteger(1) ? b.getInt8Ty() : this->type(type));
  types.append(2, b.getPtrTy(1));
  llvm::SmallVector<nv::TensorMapOp> maps(fn.getOps<nv::TensorMapOp>());
  const unsigned firstExtent = types.size();
  const Launch launch = Launch::of(source);
  if (launch.persistent) // next to the arguments: another cache line is another miss
    types.append(3, b.getInt32Ty());
  const unsigned firstMap = types.size();
  types.append(maps.size(), b.getPtrTy());
  function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                    llvm::GlobalValue::ExternalLinkage, fn.getName(), module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  const auto programs = static_cast<int>(launch.programsPerCta);
  const int threads = 32 * programs * (numWarps() + producerWarps());
  function->addFnAttr(programs > 1 ? "nvvm.maxntid" : "nvvm.reqntid",
                      std::to_string(threads) + ",1,1");
  if (launch.ctasPerProgram > 1)
    function->addFnAttr("nvvm.cluster_dim", std::to_string(launch.ctasPerProgram) + ",1,1");
  if (launch.registers)
    function->addFnAttr("nvvm.maxnreg", std::to_string(launch.registers->atLaunch));
  else if (auto ctas = minCtasPerSm(fn, threads, target))
    function->addFnAttr("nvvm.minctasm", std::to_string(*ctas));
  function->addFnAttr(llvm::Attribute::NoUnwind);
  for (unsigned i = 0; i < fn.getNumArguments(); ++i)
    if (auto divisor = fn.getArgAttrOfType<IntegerAttr>(i, names::divisibility);
        divisor && types[i]->isPointerTy()) {
      const uint64_t alignment = llvm::bit_floor(std::max<uint64_t>(divisor.getInt(), 1));
      function->addParamAttr(
          i, llvm::Attribute::getWithAlignment(module.getContext(), llvm::Align(alignment)));
    }

  passTensorMaps(maps, firstMap);
  for (unsigned i = firstExtent; i < firstMap; ++i)
    grid.push_back(function->getArg(i));
  auto *entry = llvm::BasicBlock::Create(module.getContext(), "entry", function);
  auto *body = llvm::BasicBlock::Create(module.getContext(), "body", function);
  b.SetInsertPoint(entry);
  b.SetCurrentDebugLocation(locations.startFunction(function, op->getLoc()));
  threadId = b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
  laneId = b.CreateAnd(threadId, b.getInt32(31));
  if (programs > 1)
    threadId = laneId;
  warpId = numWarps() > 1 ? b.CreateLShr(threadId, b.getInt32(5)) : b.getInt32(0);
  for (auto [argument, value] : llvm::zip(fn.getArguments(), function->args()))
    set(argument, argument.getType().isInteger(1) ? b.CreateTrunc(&value, b.getInt1Ty()) : &value);
  entryEnd = b.CreateBr(body);
  b.SetInsertPoint(body);
}

namespace {
/// Checks that each layout of consumers has as many warps as the kernel, and that no element belongs
/// to an absent warp.
LogicalResult checkWarps(func::FuncOp fn, int warps) {
  if (llvm::isPowerOf2_32(static_cast<uint32_t>(warps)))
    return success();
  auto isRight = [&](Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile || tile.getRank() == 0 || !tile.getEncoding())
      return true;
    const LinearLayout layout = layoutOf(tile);
    return layout.numWarps() == warps && ownersExist(layout);
  };
  const WalkResult result = fn.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<nv::ProducerOp>(op) || op->hasTrait<OpTrait::ConstantLike>()) // may be of a producer
      return WalkResult::skip();
    for (Type type : op->getResultTypes())
      if (!isRight(type)) {
        op->emitError() << "an element belongs to a warp beyond the " << warps
                        << " in a tile of type " << type;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
} // namespace

LogicalResult Lowering::lowerFunction(Operation *op) {
  auto fn = cast<func::FuncOp>(op);
  if (!fn.getBody().hasOneBlock())
    return fn.emitError(
        "a kernel with branches cannot be lowered to LLVM IR: control flow is `scf`");
  if (failed(checkWarps(fn, numWarps())))
    return failure();
  startKernel(op);
  if (failed(lowerBlock(fn.getBody().front())))
    return failure();
  if (const auto spills = Launch::of(source).spills)
    spillToShared(*function, numThreads(), spills->offset, spills->registers);
  return success();
}

llvm::Value *Lowering::inEntry(llvm::function_ref<llvm::Value *()> make) {
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(entryEnd);
  return make();
}

std::unique_ptr<llvm::Module> pantile::lowerToLLVM(ModuleOp source, llvm::LLVMContext &context) {
  auto target = Target::parse(std::string_view(moduleTarget(source)));
  if (!target) {
    source.emitError("no GPU target to lower to: `")
        << names::target << "` is `" << moduleTarget(source) << "`";
    return nullptr;
  }
  auto module = std::make_unique<llvm::Module>("pantile", context);
  module->setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  DebugLocations locations(*module);
  for (auto fn : source.getOps<func::FuncOp>()) {
    if (!fn->hasAttr(names::kernel))
      continue;
    Lowering lowering(source, *module, *target, locations);
    if (failed(lowering.lowerFunction(fn)))
      return nullptr;
  }
  locations.finish();
  // CTAs of a kernel that declares shared memory are given some, even if they never read it.
  if (llvm::GlobalVariable *shared = module->getNamedGlobal("shared");
      shared && shared->use_empty())
    shared->eraseFromParent();
  return module;
}
