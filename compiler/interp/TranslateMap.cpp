//===- TranslateMap.cpp - a function of scalars on every element ----------------------------===//
// Needs: see Translator.h.
// Gives: instructions of tile.map.
// How:   a body without control flow or effects runs on whole tiles, as a combiner does; any
//        other body is a loop over the elements, on scalars.
//===------------------------------------------------------------------------------------===//
#include "interp/Control.h"
#include "interp/Gather.h"
#include "interp/Translator.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace pantile::interp {

Reg Translator::scalarConstant(uint32_t value) {
  const auto *bytes = reinterpret_cast<const std::byte *>(&value);
  auto &constants = builder.code().constants;
  constants.emplace_back(bytes, bytes + sizeof value);
  Reg reg = builder.newReg(sizeof value, true);
  builder.emit(runConstant, {reg}, 1, static_cast<uint32_t>(constants.size() - 1), 0);
  return reg;
}

LogicalResult Translator::visitMap(MapOp op) {
  const bool isStraight = llvm::all_of(op.getBody().front(), [](Operation &inner) {
    return inner.getNumRegions() == 0 && isMemoryEffectFree(&inner);
  });
  return isStraight ? mapWhole(op) : mapElements(op);
}

LogicalResult Translator::mapWhole(MapOp op) {
  Block &block = op.getBody().front();
  const uint32_t pack = op.getPack(), count = countOf(op.getSrcs().front().getType()) / pack;
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
    Elem elem = *elemOf(argument.getType());
    Reg whole = reg(op.getSrcs()[i / pack]);
    if (pack == 1) {
      bind(argument, whole);
      continue;
    }
    whole.addend += static_cast<uint32_t>(i % pack * sizeOf(elem));
    Reg part = builder.newReg(uint64_t(count) * sizeOf(elem));
    emitStrided(part, whole, elem, {{count}, {pack}, {1}});
    bind(argument, part);
  }
  lanes = count;
  combiner = &op.getBody();
  llvm::scope_exit leave([&] { lanes = 0, combiner = nullptr; });
  for (Operation &inner : block.without_terminator())
    if (failed(visit(&inner)))
      return failure();
  SmallVector<Reg> yields;
  for (Value value : block.getTerminator()->getOperands())
    yields.push_back(reg(value));
  leave.release();
  lanes = 0, combiner = nullptr;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    if (pack == 1) {
      bind(result, yields[i]);
      continue;
    }
    Elem elem = *elemOf(result.getType());
    Reg whole = define(result);
    for (uint32_t item = 0; item < pack; ++item) {
      Reg place = whole;
      place.addend += item * sizeOf(elem);
      emitStrided(place, yields[i * pack + item], elem, {{count}, {1}, {pack}});
    }
  }
  return success();
}

LogicalResult Translator::mapElements(MapOp op) {
  SmallVector<Reg> sources, results;
  for (Value src : op.getSrcs())
    sources.push_back(reg(src));
  for (Value result : op.getResults())
    results.push_back(define(result));
  return loopOverElements(op.getBody().front(), sources, results, op.getPack(),
                          countOf(op.getSrcs().front().getType()) / op.getPack());
}

LogicalResult Translator::loopOverElements(Block &block, ArrayRef<Reg> sources,
                                           ArrayRef<Reg> results, uint32_t pack,
                                           uint32_t iterations) {
  // The loop writes them piece by piece, so they are live from here on.
  for (Reg result : results)
    builder.emit(runCopy, {result, result}, 0, 0, 0);
  Reg zero = scalarConstant(0), one = scalarConstant(1), bound = scalarConstant(iterations);
  Reg counter = builder.newReg(sizeof(uint32_t));
  emitCopy(counter, zero, sizeof(uint32_t));
  const size_t start = builder.position();
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
    const unsigned bytes = sizeOf(*elemOf(argument.getType()));
    Reg element = builder.newReg(bytes);
    builder.emit(runTakeElement, {element, sources[i / pack], counter}, bytes,
                 pack << 16 | uint32_t(i % pack), 0);
    bind(argument, element);
  }
  for (Operation &inner : block.without_terminator())
    if (failed(visit(&inner)))
      return failure();
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
    builder.emit(runPutElement, {results[i / pack], reg(value), counter},
                 sizeOf(*elemOf(value.getType())), pack << 16 | uint32_t(i % pack), 0);
  const size_t tail = builder.emit(forStep(Elem::I32, true), {counter, {}, bound, one}, 1,
                                   static_cast<uint32_t>(start), 0);
  builder.addLoop(start, tail);
  return success();
}

} // namespace pantile::interp
