//===- PeeledLoop.cpp - see PeeledLoop.h --------------------------------------------------===//
// How:   the lower bound of the remaining iterations is computed without overflow near the largest
//        integer: a step beyond the upper bound stops there.
//===------------------------------------------------------------------------------------===//
#include "passes/pipeline/PeeledLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace pantile {

scf::IfOp branchOfIterations(OpBuilder &b, scf::ForOp loop) {
  const Location loc = loop.getLoc();
  const auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  Value any = arith::CmpIOp::create(b, loc, less, loop.getLowerBound(), loop.getUpperBound());
  auto branch = scf::IfOp::create(b, loc, loop.getResultTypes(), any, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, loop.getInitArgs());
  b.setInsertionPointToStart(branch.thenBlock());
  return branch;
}

scf::ForOp loopOverRest(OpBuilder &b, scf::ForOp loop, ValueRange carried) {
  const Location loc = loop.getLoc();
  Value distance = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getLowerBound());
  Value step = arith::MinUIOp::create(b, loc, distance, loop.getStep());
  Value second = arith::AddIOp::create(b, loc, loop.getLowerBound(), step);
  auto rest = scf::ForOp::create(b, loc, second, loop.getUpperBound(), loop.getStep(), carried,
                                 nullptr, loop.getUnsignedCmp());
  rest->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (!rest.getBody()->empty())
    rest.getBody()->getTerminator()->erase();
  return rest;
}

} // namespace pantile
