//===- Numbers.h - arithmetic of 32-bit integers ------------------------------------------===//
// Needs: a builder, and a location for all that it creates.
// Gives: one call per operation of `arith`.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace pantile {

class Numbers {
  using Value = mlir::Value;

public:
  Numbers(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  Value of(int64_t value) { return mlir::arith::ConstantIntOp::create(b, loc, value, 32); }
  Value add(Value x, Value y) { return make<mlir::arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) { return make<mlir::arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) { return make<mlir::arith::MulIOp>(x, y); }
  Value div(Value x, Value y) { return make<mlir::arith::DivUIOp>(x, y); }
  Value rem(Value x, Value y) { return make<mlir::arith::RemUIOp>(x, y); }
  Value min(Value x, Value y) { return make<mlir::arith::MinSIOp>(x, y); }
  Value max(Value x, Value y) { return make<mlir::arith::MaxSIOp>(x, y); }
  Value both(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return make<mlir::arith::XOrIOp>(x, y); }
  Value pick(Value which, Value x, Value y) { return make<mlir::arith::SelectOp>(which, x, y); }
  Value compare(mlir::arith::CmpIPredicate how, Value x, Value y) {
    return make<mlir::arith::CmpIOp>(how, x, y);
  }
  Value less(Value x, Value y) { return compare(mlir::arith::CmpIPredicate::slt, x, y); }
  Value equal(Value x, Value y) { return compare(mlir::arith::CmpIPredicate::eq, x, y); }
  Value differ(Value x, Value y) { return compare(mlir::arith::CmpIPredicate::ne, x, y); }
  Value count(Value condition) {
    return mlir::arith::ExtUIOp::create(b, loc, b.getI32Type(), condition);
  }

private:
  template <typename Op, typename... Operands> Value make(Operands... operands) {
    return Op::create(b, loc, operands...);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace pantile
