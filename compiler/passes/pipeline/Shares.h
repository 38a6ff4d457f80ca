//===- Shares.h - which iterations of which programs a block runs, on the device ----------===//
// Needs: a Cut from the launch (ir/SplitPrograms.h); iterations of a program, the same for all.
// Gives: a block's rounds: first its parts of programs that are cut, from the last one, then
//        programs that run whole.
// How:   the programs of a cycle are one row of iterations, of which each of its blocks gets an
//        even share. Where that saves less than handing parts over costs, programs run whole.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace pantile {

/// 32-bit numbers, written as they are meant.
class Numbers {
public:
  Numbers(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}
  mlir::Value of(int64_t value) { return mlir::arith::ConstantIntOp::create(b, loc, value, 32); }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddIOp::create(b, loc, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubIOp::create(b, loc, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulIOp::create(b, loc, x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return mlir::arith::DivUIOp::create(b, loc, x, y);
  }
  mlir::Value min(mlir::Value x, mlir::Value y) {
    return mlir::arith::MinSIOp::create(b, loc, x, y);
  }
  mlir::Value max(mlir::Value x, mlir::Value y) {
    return mlir::arith::MaxSIOp::create(b, loc, x, y);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) {
    return mlir::arith::AndIOp::create(b, loc, x, y);
  }
  mlir::Value pick(mlir::Value which, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(b, loc, which, x, y);
  }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return compare(mlir::arith::CmpIPredicate::slt, x, y);
  }
  mlir::Value equal(mlir::Value x, mlir::Value y) {
    return compare(mlir::arith::CmpIPredicate::eq, x, y);
  }
  mlir::Value count(mlir::Value condition) {
    return mlir::arith::ExtUIOp::create(b, loc, b.getI32Type(), condition);
  }

private:
  mlir::Value compare(mlir::arith::CmpIPredicate how, mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, loc, how, x, y);
  }
  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// What a block does, found once.
struct Share {
  mlir::Value trips;        ///< iterations of a program
  mlir::Value block;        ///< this one
  mlir::Value cycles;       ///< cuts of the same form, of blocks side by side
  mlir::Value place, cycle; ///< of this block: in its cycle, and which one that is
  mlir::Value each,
      larger; ///< iterations of a block's share; how many blocks of a cycle have one more
  mlir::Value begin, end; ///< of this block's share, counted through the programs of its cycle
  mlir::Value last,
      parts; ///< this block's last program in its cycle, and how many it has a part of
  mlir::Value whole,
      stride; ///< the first of the programs that it runs whole, and the way to the next
  mlir::Value rounds;
};

/// One round: a program, and its iterations from `first` to `last`.
struct Round {
  mlir::Value program, start, first,
      last; ///< `start`: the number of its first iteration in the cycle
};

/// `gain`: the fewest iterations to be saved for each part that is handed over. `programs` is the
/// loop as MakePersistent has it.
Share findShare(mlir::OpBuilder &b, mlir::scf::ForOp programs, mlir::Value trips, int64_t gain);

Round findRound(Numbers &n, const Share &s, mlir::Value number);

/// The first block that has a part of the round's program.
mlir::Value firstBlock(Numbers &n, const Share &s, const Round &r);

} // namespace pantile
