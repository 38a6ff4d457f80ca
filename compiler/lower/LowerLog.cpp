//===- LowerLog.cpp - logarithms of fp32 ------------------------------------------------------===//
// Needs: a fp32 value.
// Gives: its natural or binary logarithm; at most 1 and 2 units in the last place off.
// How:   x = m * 2^i with m in [2/3, 4/3), and a polynomial in f = m - 1, fitted to
//        (log(1 + f) - f) / f^2 and to log2(1 + f) / f by weighted least squares. The hardware's
//        lg2.approx has only an absolute error bound, which leaves few digits near 1; libdevice's
//        functions are as accurate as these, and linking them costs milliseconds per kernel.
//===-----------------------------------------------------------------------------------===//
#include "lower/Elementwise.h"
#include <cmath>
#include <limits>

using namespace pantile;
using namespace pantile::lower;

namespace {
constexpr double naturalTerms[] = {-0.5,
                                   0.33333271741867065,
                                   -0.24999728798866272,
                                   0.2000732272863388,
                                   -0.16683031618595123,
                                   0.14054206013679504,
                                   -0.12148517370223999,
                                   0.1375660002231598,
                                   -0.13054107129573822};
constexpr double binaryTerms[] = {1.4426950216293335,  -0.7213475704193115, 0.4808958172798157,
                                  -0.360665500164032,  0.2887183129787445,  -0.24080638587474823,
                                  0.20169880986213684, -0.1739836037158966, 0.2032380849123001,
                                  -0.1929478943347931};

struct LogBuilder {
  llvm::IRBuilder<> &b;

  llvm::Value *real(double value) { return llvm::ConstantFP::get(b.getFloatTy(), value); }
  llvm::Value *fma(llvm::Value *x, llvm::Value *y, llvm::Value *z) {
    return b.CreateIntrinsic(b.getFloatTy(), llvm::Intrinsic::fma, {x, y, z});
  }
  llvm::Value *polynomial(llvm::ArrayRef<double> terms, llvm::Value *x) {
    llvm::Value *sum = real(terms.back());
    for (double term : llvm::reverse(terms.drop_back()))
      sum = fma(sum, x, real(term));
    return sum;
  }

  /// m - 1 and i; a denormal is scaled up first.
  std::pair<llvm::Value *, llvm::Value *> split(llvm::Value *x) {
    llvm::Value *isDenormal = b.CreateFCmpOLT(x, real(0x1p-126));
    llvm::Value *scaled = b.CreateSelect(isDenormal, b.CreateFMul(x, real(0x1p23)), x);
    llvm::Value *bits = b.CreateBitCast(scaled, b.getInt32Ty());
    llvm::Value *exponent = b.CreateAnd(b.CreateSub(bits, b.getInt32(0x3f2aaaab)), 0xff800000);
    llvm::Value *m = b.CreateBitCast(b.CreateSub(bits, exponent), b.getFloatTy());
    llvm::Value *power = fma(b.CreateSIToFP(exponent, b.getFloatTy()), real(0x1p-23),
                             b.CreateSelect(isDenormal, real(-23), real(0)));
    return {b.CreateFSub(m, real(1)), power};
  }

  llvm::Value *natural(llvm::Value *f, llvm::Value *power) {
    llvm::Value *rest = polynomial(naturalTerms, f);
    return fma(power, real(0.6931471805599453), fma(rest, b.CreateFMul(f, f), f));
  }
  llvm::Value *binary(llvm::Value *f, llvm::Value *power) {
    return fma(polynomial(binaryTerms, f), f, power);
  }

  /// Infinity and NaN stay, 0 gives -infinity, and negative numbers NaN: as unsigned bits, all but
  /// 0 are above the largest finite number.
  llvm::Value *finish(llvm::Value *x, llvm::Value *result) {
    llvm::Value *infinity = real(std::numeric_limits<double>::infinity());
    llvm::Value *isSpecial =
        b.CreateICmpUGE(b.CreateBitCast(x, b.getInt32Ty()), b.getInt32(0x7f800000));
    result = b.CreateSelect(isSpecial, fma(x, infinity, infinity), result);
    return b.CreateSelect(b.CreateFCmpOEQ(x, real(0)),
                          real(-std::numeric_limits<double>::infinity()), result);
  }
};
} // namespace

llvm::Value *lower::logarithm(Lowering &l, llvm::Value *x, bool isBinary) {
  LogBuilder log{l.b};
  auto [f, power] = log.split(x);
  return log.finish(x, isBinary ? log.binary(f, power) : log.natural(f, power));
}
