//===- TranslateGather.cpp - gathers, histograms, special registers --------------------------===//
// Needs: see Translator.h.
// Gives: instructions of tile.gather, exchange, histogram, special and assume; the reason why
//        inline PTX is not supported.
//===------------------------------------------------------------------------------------===//
#include "interp/Control.h"
#include "interp/Gather.h"
#include "interp/Translator.h"

using namespace mlir;

namespace pantile::interp {
namespace {

/// Elements before, along and after one dimension.
struct Extents {
  uint32_t outer = 1, length = 1, inner = 1;
  Extents(RankedTensorType type, unsigned axis) {
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      (dim < axis ? outer : dim == axis ? length : inner) *= static_cast<uint32_t>(size);
  }
};

} // namespace

LogicalResult Translator::visitGather(GatherOp op) {
  if (elemOf(op.getIndex().getType()) != Elem::I32)
    return unsupported(op, "with such an index");
  const Extents from(op.getSrc().getType(), op.getAxis()), to(op.getType(), op.getAxis());
  auto &tables = builder.code().tables;
  tables.push_back({from.outer, from.length, to.length, from.inner});
  Operands operands{{}, reg(op.getSrc()), reg(op.getIndex()), {}};
  operands.dst = define(op);
  builder.emit(gather(sizeOf(*elemOf(op.getType()))), operands, 1,
               static_cast<uint32_t>(tables.size() - 1), 0);
  return success();
}

LogicalResult Translator::visitExchange(ExchangeOp op) {
  auto type = op.getSrc().getType();
  const Extents extents(type, op.getAxis());
  std::vector<uint32_t> table;
  table.reserve(type.getNumElements());
  for (uint32_t o = 0; o < extents.outer; ++o)
    for (uint32_t i = 0; i < extents.length; ++i) {
      const uint32_t other = i ^ op.getDistance(), from = other < extents.length ? other : i;
      for (uint32_t n = 0; n < extents.inner; ++n)
        table.push_back((o * extents.length + from) * extents.inner + n);
    }
  auto &tables = builder.code().tables;
  tables.push_back(std::move(table));
  bind(op, emitPermute(reg(op.getSrc()), *elemOf(type), static_cast<uint32_t>(tables.size() - 1),
                       static_cast<uint32_t>(type.getNumElements())));
  return success();
}

LogicalResult Translator::visitHistogram(HistogramOp op) {
  if (elemOf(op.getSrc().getType()) != Elem::I32)
    return unsupported(op, "of such elements");
  Operands operands{{}, reg(op.getSrc()), {}, {}};
  if (op.getMask())
    operands.b = reg(op.getMask());
  operands.dst = define(op);
  builder.emit(runHistogram, operands, countOf(op.getSrc().getType()),
               countOf(op.getType()) << 1 | (op.getMask() ? 1 : 0), 0);
  return success();
}

LogicalResult Translator::visitSpecial(SpecialOp op) {
  if (op.getName() == "globaltimer")
    builder.emit(runClock, {define(op.getResult())}, 1, 0, 0);
  else if (op.getName() == "smid")
    emitCopy(define(op.getResult()), scalarConstant(0), sizeof(uint32_t));
  // Launches run one after another here, so there is nothing to wait for.
  return success();
}

std::optional<LogicalResult> Translator::visitSelection(Operation *op) {
  if (auto gather = dyn_cast<GatherOp>(op))
    return visitGather(gather);
  if (auto exchange = dyn_cast<ExchangeOp>(op))
    return visitExchange(exchange);
  if (auto histogram = dyn_cast<HistogramOp>(op))
    return visitHistogram(histogram);
  if (auto special = dyn_cast<SpecialOp>(op))
    return visitSpecial(special);
  if (auto map = dyn_cast<MapOp>(op))
    return visitMap(map);
  if (auto assume = dyn_cast<AssumeOp>(op)) {
    builder.emit(runAssume, {{}, reg(assume.getCondition())}, 1, 0, placeOf(op->getLoc()));
    return success();
  }
  if (isa<InlineAsmOp>(op))
    return unsupported(op, "(`inline_asm_elementwise`) runs PTX, which");
  return std::nullopt;
}

} // namespace pantile::interp
