//===- EmitReduce.cpp - reductions and scans with a combining function ------------------===//
// Needs: one tile or a tuple of tiles of one shape, and a jit function of two elements.
// Gives: tile.reduce and tile.scan; the function is inlined on scalars in their region.
// How:   Without an axis, the operands are flattened first. `keep_dims` restores dimensions of size
//        1. A complex operand is two tiles, which the function sees as one element.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/ScalarRegion.h"

using namespace pantile;

namespace {
llvm::SmallVector<Value> inputsOf(const BoundCall &call) {
  const Value &input = call["input"];
  if (!input.isTuple())
    return llvm::SmallVector<Value>{input};
  return llvm::SmallVector<Value>(input.elements().begin(), input.elements().end());
}

/// `parts`, one for each tile, as one for each input: both of a complex one together.
std::vector<Value> grouped(const BoundCall &call, llvm::ArrayRef<Runtime> parts) {
  std::vector<Value> values;
  for (const Value &input : inputsOf(call)) {
    values.push_back(input.isComplex() ? complexValue({parts[0], parts[1]}) : Value(parts[0]));
    parts = parts.drop_front(input.isComplex() ? 2 : 1);
  }
  return values;
}

/// The opposite of `grouped`: what the combining function returned; nothing after an error.
std::optional<llvm::SmallVector<Value>> partsOf(Emitter &e, const BoundCall &call,
                                                llvm::ArrayRef<Value> values) {
  llvm::SmallVector<Value> parts;
  for (auto [input, value] : llvm::zip_equal(inputsOf(call), values)) {
    if (!input.isComplex()) {
      parts.push_back(value);
      continue;
    }
    auto complex = complexParts(e, value, call.at("combine_fn"));
    if (!complex)
      return std::nullopt;
    parts.append({complex->re, complex->im});
  }
  return parts;
}

/// The operands of a call: tiles of one shape.
std::optional<llvm::SmallVector<Runtime>> operandsOf(Emitter &e, const BoundCall &call) {
  llvm::SmallVector<Value> inputs;
  for (const Value &input : inputsOf(call)) {
    if (input.isComplex())
      inputs.append(input.elements().begin(), input.elements().end());
    else
      inputs.push_back(input);
  }
  llvm::SmallVector<Runtime> tiles;
  for (const Value &value : inputs) {
    auto tile = e.needTile(value, call.at("input"), "`input`");
    if (!tile)
      return std::nullopt;
    if (!tiles.empty() && tiles[0].type.shape != tile->type.shape) {
      e.error(call.at("input"), "the operands have different shapes: `" + tiles[0].type.name() +
                                    "` and `" + tile->type.name() + "`");
      return std::nullopt;
    }
    tiles.push_back(*tile);
  }
  if (tiles.empty()) {
    e.error(call.at("input"), "`" + call.row->name + "` needs an operand");
    return std::nullopt;
  }
  return tiles;
}

Runtime flattened(Emitter &e, const Runtime &tile) {
  if (tile.type.rank() == 1)
    return tile;
  Type type{tile.type.element, {tile.type.count()}};
  return {ReshapeOp::create(e.b, e.loc(), e.irType(type), tile.ir, false), type};
}

/// Inlines the combining function in `region`; false after an error.
bool fillRegion(Emitter &e, const BoundCall &call, mlir::Region &region,
                llvm::ArrayRef<Runtime> tiles) {
  mlir::OpBuilder::InsertionGuard guard(e.b);
  mlir::Block *block = e.b.createBlock(&region);
  llvm::SmallVector<CallArg, 8> args;
  for (int side = 0; side < 2; ++side) {
    llvm::SmallVector<Runtime> elements;
    for (const Runtime &tile : tiles) {
      Type type{tile.type.element, {}};
      elements.push_back({block->addArgument(e.irType(type), e.loc()), type});
    }
    for (const Value &value : grouped(call, elements))
      args.push_back({value, call.at("combine_fn"), {}, {}});
  }
  Value result = e.call(call["combine_fn"], args, call.at("combine_fn"));
  if (result.failed())
    return false;
  std::vector<Value> values = result.isTuple() ? result.elements() : std::vector<Value>{result};
  const size_t operands = inputsOf(call).size();
  if (values.size() != operands) {
    e.error(call.at("combine_fn"), "the combining function returns " +
                                       std::to_string(values.size()) + " values for " +
                                       std::to_string(operands) + " operands");
    return false;
  }
  auto parts = partsOf(e, call, values);
  if (!parts)
    return false;
  llvm::SmallVector<mlir::Value> yields;
  for (auto [part, tile] : llvm::zip_equal(*parts, tiles)) {
    auto value = e.runtime(part, call.at("combine_fn"));
    auto cast = value ? e.cast(*value, tile.type.element, call.at("combine_fn")) : std::nullopt;
    if (!cast)
      return false;
    yields.push_back(cast->ir);
  }
  YieldOp::create(e.b, e.loc(), yields);
  return worksOnScalars(e, region, call.at("combine_fn"), call.row->name);
}

Value packed(const BoundCall &call, llvm::ArrayRef<Runtime> results) {
  std::vector<Value> values = grouped(call, results);
  return call["input"].isTuple() ? Value::tuple(std::move(values)) : values[0];
}

bool needFunction(Emitter &e, const BoundCall &call) {
  if (call["combine_fn"].isFunction() || call["combine_fn"].is<BuiltinValue>())
    return true;
  e.error(call.at("combine_fn"),
          "`combine_fn` must be a function, got a " + kindText(call["combine_fn"]));
  return false;
}
} // namespace

Value pantile::emitReduce(Emitter &e, const BoundCall &call) {
  auto tiles = operandsOf(e, call);
  auto keepDims = e.needBool(call["keep_dims"], call.at("keep_dims"), "`keep_dims`");
  if (!tiles || !keepDims || !needFunction(e, call))
    return Failed();
  size_t rank = (*tiles)[0].type.rank();
  bool all = call["axis"].isNone();
  if (all)
    for (Runtime &tile : *tiles)
      tile = flattened(e, tile);
  auto axis = all ? std::optional<int64_t>(0) : e.needAxis(call["axis"], call.at("axis"), rank);
  if (!axis)
    return Failed();
  llvm::SmallVector<mlir::Value> sources;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<Type> resultTypes;
  for (const Runtime &tile : *tiles) {
    Type type = tile.type;
    type.shape.erase(type.shape.begin() + *axis);
    sources.push_back(tile.ir);
    types.push_back(e.irType(type));
    resultTypes.push_back(type);
  }
  auto reduce = ReduceOp::create(e.b, e.loc(), types, sources, uint32_t(*axis));
  if (!fillRegion(e, call, reduce.getCombine(), *tiles))
    return Failed();
  llvm::SmallVector<Runtime> results;
  for (auto [ir, type] : llvm::zip(reduce.getResults(), resultTypes)) {
    Value value = Runtime{ir, type};
    for (size_t i = 0; *keepDims && i < (all ? rank : 1); ++i)
      value = e.expandDims(value.as<Runtime>(), all ? 0 : *axis);
    results.push_back(value.as<Runtime>());
  }
  return packed(call, results);
}

Value pantile::emitScan(Emitter &e, const BoundCall &call) {
  auto tiles = operandsOf(e, call);
  auto reverse = e.needBool(call["reverse"], call.at("reverse"), "`reverse`");
  if (!tiles || !reverse || !needFunction(e, call))
    return Failed();
  auto axis = e.needAxis(call["axis"], call.at("axis"), (*tiles)[0].type.rank());
  if (!axis)
    return Failed();
  llvm::SmallVector<mlir::Value> sources;
  llvm::SmallVector<mlir::Type> types;
  for (const Runtime &tile : *tiles) {
    sources.push_back(tile.ir);
    types.push_back(tile.ir.getType());
  }
  auto scan = ScanOp::create(e.b, e.loc(), types, sources, uint32_t(*axis), *reverse);
  if (!fillRegion(e, call, scan.getCombine(), *tiles))
    return Failed();
  llvm::SmallVector<Runtime> results;
  for (auto [ir, tile] : llvm::zip(scan.getResults(), *tiles))
    results.push_back(Runtime{ir, tile.type});
  return packed(call, results);
}
