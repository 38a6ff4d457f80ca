//===- EmitMap.cpp - functions and PTX that work element by element ---------------------===//
// Needs: tiles and scalars that broadcast to one shape.
// Gives: tile.map with a function inlined in its region, tile.inline_asm.
// How:   The results of a function are known only after its body is emitted, so a map is first
//        created without results, and created again with them around the finished region.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include "frontend/ScalarRegion.h"

using namespace pantile;

namespace {
/// All values in their common shape; element types stay.
std::optional<llvm::SmallVector<Runtime>> inOneShape(Emitter &e, const Value &values,
                                                     SourceSpan span, const std::string &what) {
  llvm::SmallVector<Runtime> result;
  Shape shape;
  for (const Value &value : values.elements()) {
    auto operand = e.runtime(value, span);
    if (!operand)
      return std::nullopt;
    auto common = broadcastShapes(shape, operand->type.shape);
    if (!common) {
      e.error(span, "the arguments of `" + what + "` do not broadcast: `" + operand->type.name() +
                        "` and shape " + shapeText(shape));
      return std::nullopt;
    }
    shape = *common;
    result.push_back(*operand);
  }
  for (Runtime &operand : result)
    operand = e.broadcastTo(operand, shape);
  return result;
}

std::optional<int64_t> packOf(Emitter &e, const BoundCall &call) {
  auto pack = e.needInt(call["pack"], call.at("pack"), "`pack`");
  if (pack && (*pack < 1 || *pack > 64 || (*pack & (*pack - 1)) != 0)) {
    e.error(call.at("pack"), "`pack` must be a power of two up to 64, got " + bigIntText(*pack));
    return std::nullopt;
  }
  return pack ? std::optional(int64_t(*pack)) : std::nullopt;
}

/// `pack` consecutive elements must not cross from row to row of a tile whose rows threads hold in
/// part.
bool runsEndWithRows(Emitter &e, const BoundCall &call, const Shape &shape, int64_t pack) {
  if (llvm::all_of(shape, llvm::isPowerOf2_64) || shape.back() % pack == 0)
    return true;
  e.error(call.at("pack"), "`pack` must divide the last dimension of a tile of shape " +
                               shapeText(shape) + ", got " + std::to_string(pack));
  return false;
}

Value oneOrTuple(std::vector<Value> results) {
  return results.size() == 1 ? results[0] : Value::tuple(std::move(results));
}

/// What the function returns for `pack` elements, in the region of `map`; none after an error.
std::optional<llvm::SmallVector<Runtime>> fillBody(Emitter &e, const BoundCall &call, MapOp map,
                                                   llvm::ArrayRef<Runtime> tiles) {
  mlir::OpBuilder::InsertionGuard guard(e.b);
  mlir::Block *block = e.b.createBlock(&map.getBody());
  SourceSpan span = call.at("scalar_fn");
  llvm::SmallVector<CallArg, 8> args;
  for (const Runtime &tile : tiles)
    for (uint32_t i = 0; i < map.getPack(); ++i) {
      Type type{tile.type.element, {}};
      args.push_back({Runtime{block->addArgument(e.irType(type), e.loc()), type}, span, {}, {}});
    }
  Value result = e.call(call["scalar_fn"], args, span);
  if (result.failed())
    return std::nullopt;
  llvm::SmallVector<Runtime> parts;
  for (const Value &part : result.isTuple() ? result.elements() : std::vector<Value>{result}) {
    auto value = part.isNone() ? std::nullopt : e.runtime(part, span);
    if (!value || value->type.isTile()) {
      e.error(span, "the function of `map_elementwise` must return scalars");
      return std::nullopt;
    }
    parts.push_back(*value);
  }
  if (parts.empty() || parts.size() % map.getPack() != 0) {
    e.error(span, "the function of `map_elementwise` returns " + std::to_string(parts.size()) +
                      " values, which is no multiple of `pack`, " + std::to_string(map.getPack()));
    return std::nullopt;
  }
  llvm::SmallVector<mlir::Value> yields;
  for (auto [i, part] : llvm::enumerate(parts)) {
    auto cast = e.cast(part, parts[i / map.getPack() * map.getPack()].type.element, span);
    if (!cast)
      return std::nullopt;
    yields.push_back(cast->ir);
  }
  YieldOp::create(e.b, e.loc(), yields);
  if (!worksOnScalars(e, map.getBody(), span, "map_elementwise"))
    return std::nullopt;
  return parts;
}
} // namespace

Value pantile::emitMapElementwise(Emitter &e, const BoundCall &call) {
  auto tiles = inOneShape(e, call["args"], call.at("args"), "map_elementwise");
  auto pack = packOf(e, call);
  if (!tiles || !pack)
    return Failed();
  if (!call["scalar_fn"].isFunction())
    return e.error(call.at("scalar_fn"),
                   "`scalar_fn` must be a function, got a " + kindText(call["scalar_fn"]));
  if (tiles->empty() || !(*tiles)[0].type.isTile())
    return e.error(call.span, "`map_elementwise` needs a tile");
  const Shape &shape = (*tiles)[0].type.shape;
  if ((*tiles)[0].type.count() < *pack)
    return e.error(call.at("pack"), "`pack` is larger than the tile");
  if (!runsEndWithRows(e, call, shape, *pack))
    return Failed();
  llvm::SmallVector<mlir::Value> sources;
  for (const Runtime &tile : *tiles)
    sources.push_back(tile.ir);
  auto first = MapOp::create(e.b, e.loc(), mlir::TypeRange(), sources, uint32_t(*pack));
  auto parts = fillBody(e, call, first, *tiles);
  if (!parts)
    return Failed();
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<Type> resultTypes;
  for (size_t i = 0; i < parts->size(); i += *pack) {
    resultTypes.push_back({(*parts)[i].type.element, shape});
    types.push_back(e.irType(resultTypes.back()));
  }
  auto map = MapOp::create(e.b, e.loc(), types, sources, uint32_t(*pack));
  map.getBody().takeBody(first.getBody());
  first.erase();
  std::vector<Value> results;
  for (auto [ir, type] : llvm::zip(map.getResults(), resultTypes))
    results.push_back(Runtime{ir, type});
  return oneOrTuple(std::move(results));
}

namespace {
/// Outputs of an asm statement, by its constraints.
size_t countOutputs(llvm::StringRef constraints) {
  llvm::SmallVector<llvm::StringRef> parts;
  constraints.split(parts, ',');
  return llvm::count_if(parts, [](llvm::StringRef part) { return part.trim().starts_with("="); });
}

/// Registers of 32 bits or more into which `pack` elements are packed.
size_t registersOf(DType dtype, int64_t pack) {
  int64_t each = std::clamp<int64_t>(32 / std::max(8u, dtype.bits()), 1, pack);
  return size_t(pack / each);
}
} // namespace

Value pantile::emitInlineAsm(Emitter &e, const BoundCall &call) {
  auto text = e.needString(call["asm"], call.at("asm"), "`asm`");
  auto constraints = e.needString(call["constraints"], call.at("constraints"), "`constraints`");
  auto isPure = e.needBool(call["is_pure"], call.at("is_pure"), "`is_pure`");
  auto pack = packOf(e, call);
  Value given = call["args"].isTuple() ? call["args"] : Value::tuple({call["args"]});
  auto operands = inOneShape(e, given, call.at("args"), "inline_asm_elementwise");
  if (!text || !constraints || !isPure || !pack || !operands)
    return Failed();
  bool isSingle = !call["dtype"].isTuple();
  std::vector<Value> dtypes =
      isSingle ? std::vector<Value>{call["dtype"]} : call["dtype"].elements();
  Shape shape = operands->empty() ? Shape() : (*operands)[0].type.shape;
  if (!shape.empty() && !runsEndWithRows(e, call, shape, *pack))
    return Failed();
  llvm::SmallVector<Type> resultTypes;
  llvm::SmallVector<mlir::Type> types;
  size_t outputs = 0;
  for (const Value &value : dtypes) {
    auto dtype = e.needDType(value, call.at("dtype"), "`dtype`");
    if (dtype && dtype->isComplex())
      return e.error(call.at("dtype"), "no register holds a `complex64`; its parts are two fp32");
    if (!dtype)
      return Failed();
    outputs += registersOf(*dtype, *pack);
    resultTypes.push_back({*dtype, shape});
    types.push_back(e.irType(resultTypes.back()));
  }
  if (countOutputs(*constraints) != outputs)
    return e.error(call.at("constraints"),
                   "the constraints have " + std::to_string(countOutputs(*constraints)) +
                       " outputs, and `dtype` with `pack` needs " + std::to_string(outputs));
  llvm::SmallVector<mlir::Value> sources;
  for (const Runtime &operand : *operands)
    sources.push_back(operand.ir);
  auto statement = InlineAsmOp::create(e.b, e.loc(), types, *text, *constraints, sources,
                                       uint32_t(*pack), *isPure);
  std::vector<Value> results;
  for (auto [ir, type] : llvm::zip(statement.getResults(), resultTypes))
    results.push_back(Runtime{ir, type});
  return isSingle ? results[0] : Value::tuple(std::move(results));
}
