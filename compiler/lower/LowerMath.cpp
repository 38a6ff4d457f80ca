//===- LowerMath.cpp - elementary functions ---------------------------------------------------===//
// How:   fp32 exponentials and roots use the hardware's approximations, scaled if the base differs.
//        Errors in units in the last place: exp2 2 (denormals are 0), exp 2 + 1.16 |x|, sqrt 1,
//        rsqrt 2. Other functions, and fp64, call libdevice's `__nv_*`, whose bodies are linked
//        before optimisation. 16-bit operands are computed in fp32.
//===-----------------------------------------------------------------------------------===//
#include "lower/Elementwise.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

llvm::Value *lower::viaFloat(Lowering &l, llvm::Value *value,
                             llvm::function_ref<llvm::Value *(llvm::Value *)> fn) {
  llvm::Type *type = value->getType();
  if (type->isFloatTy() || type->isDoubleTy())
    return fn(value);
  return l.b.CreateFPTrunc(fn(l.b.CreateFPExt(value, l.b.getFloatTy())), type);
}

namespace {
/// `__nv_<name>f` for fp32, `__nv_<name>` for fp64.
llvm::Value *callLibdevice(Lowering &l, StringRef name, ValueList operands) {
  llvm::Type *type = operands[0]->getType();
  const std::string symbol = ("__nv_" + name + (type->isFloatTy() ? "f" : "")).str();
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  auto callee = l.module.getOrInsertFunction(symbol, llvm::FunctionType::get(type, types, false));
  llvm::CallInst *call = l.b.CreateCall(callee, operands);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

template <typename Op> void addLibdevice(Handlers &h, const char *name) {
  h.add<Op>([name](Lowering &l, Operation *op) {
    return mapElements(l, op, [&](ValueList v) {
      llvm::Type *type = v[0]->getType();
      if (type->isFloatTy() || type->isDoubleTy())
        return callLibdevice(l, name, v);
      Values wide;
      for (llvm::Value *value : v)
        wide.push_back(l.b.CreateFPExt(value, l.b.getFloatTy()));
      return static_cast<llvm::Value *>(l.b.CreateFPTrunc(callLibdevice(l, name, wide), type));
    });
  });
}

template <llvm::Intrinsic::ID id> llvm::Value *unaryIntrinsic(Lowering &l, llvm::Value *x) {
  return l.b.CreateUnaryIntrinsic(id, x);
}

llvm::Value *scaled(Lowering &l, llvm::Value *x, double factor) {
  return l.b.CreateFMul(x, llvm::ConstantFP::get(x->getType(), factor));
}

llvm::Value *exp2Approx(Lowering &l, llvm::Value *x) {
  return l.b.CreateIntrinsic(x->getType(), llvm::Intrinsic::nvvm_ex2_approx, {x});
}

/// The hardware's approximation for fp32, libdevice for fp64.
llvm::Value *approximate(Lowering &l, llvm::Value *x, const char *libdevice,
                         llvm::function_ref<llvm::Value *(llvm::Value *)> fast) {
  return viaFloat(l, x, [&](llvm::Value *v) {
    return v->getType()->isDoubleTy() ? callLibdevice(l, libdevice, v) : fast(v);
  });
}

constexpr double log2OfE = 1.4426950408889634;

llvm::Value *lowerExp(Lowering &l, llvm::Value *x) {
  return approximate(l, x, "exp",
                     [&](llvm::Value *v) { return exp2Approx(l, scaled(l, v, log2OfE)); });
}
llvm::Value *lowerExp2(Lowering &l, llvm::Value *x) {
  return approximate(l, x, "exp2", [&](llvm::Value *v) {
    return l.b.CreateIntrinsic(v->getType(), llvm::Intrinsic::nvvm_ex2_approx_ftz, {v});
  });
}
llvm::Value *lowerLog(Lowering &l, llvm::Value *x) {
  return approximate(l, x, "log", [&](llvm::Value *v) { return logarithm(l, v, false); });
}
llvm::Value *lowerLog2(Lowering &l, llvm::Value *x) {
  return approximate(l, x, "log2", [&](llvm::Value *v) { return logarithm(l, v, true); });
}
llvm::Value *lowerSqrt(Lowering &l, llvm::Value *x) {
  return viaFloat(l, x, [&](llvm::Value *v) -> llvm::Value * {
    if (v->getType()->isDoubleTy())
      return l.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v);
    return l.b.CreateIntrinsic(v->getType(), llvm::Intrinsic::nvvm_sqrt_approx_f, {v});
  });
}
llvm::Value *lowerRsqrt(Lowering &l, llvm::Value *x) {
  return approximate(l, x, "rsqrt", [&](llvm::Value *v) {
    return l.b.CreateIntrinsic(v->getType(), llvm::Intrinsic::nvvm_rsqrt_approx_f, {v});
  });
}
llvm::Value *preciseSqrt(Lowering &l, llvm::Value *x) {
  return viaFloat(l, x, [&](llvm::Value *v) {
    const auto id = v->getType()->isDoubleTy() ? llvm::Intrinsic::nvvm_sqrt_rn_d
                                               : llvm::Intrinsic::nvvm_sqrt_rn_f;
    return l.b.CreateIntrinsic(v->getType(), id, {v});
  });
}

/// 8-bit floats are bytes, whose sign is the highest bit.
llvm::Value *absF(Lowering &l, llvm::Value *x) {
  return x->getType()->isIntegerTy() ? l.b.CreateAnd(x, 0x7f)
                                     : unaryIntrinsic<llvm::Intrinsic::fabs>(l, x);
}
llvm::Value *absI(Lowering &l, llvm::Value *x) {
  return l.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, l.b.getFalse());
}
llvm::Value *fma(Lowering &l, llvm::Value *x, llvm::Value *y, llvm::Value *z) {
  return l.b.CreateIntrinsic(x->getType(), llvm::Intrinsic::fma, {x, y, z});
}

void addLibdeviceFunctions(Handlers &h) {
  addLibdevice<math::SinOp>(h, "sin");
  addLibdevice<math::CosOp>(h, "cos");
  addLibdevice<math::TanOp>(h, "tan");
  addLibdevice<math::AsinOp>(h, "asin");
  addLibdevice<math::AcosOp>(h, "acos");
  addLibdevice<math::AtanOp>(h, "atan");
  addLibdevice<math::Atan2Op>(h, "atan2");
  addLibdevice<math::SinhOp>(h, "sinh");
  addLibdevice<math::CoshOp>(h, "cosh");
  addLibdevice<math::TanhOp>(h, "tanh");
  addLibdevice<math::AsinhOp>(h, "asinh");
  addLibdevice<math::AcoshOp>(h, "acosh");
  addLibdevice<math::AtanhOp>(h, "atanh");
  addLibdevice<math::ErfOp>(h, "erf");
  addLibdevice<math::ErfcOp>(h, "erfc");
  addLibdevice<math::ExpM1Op>(h, "expm1");
  addLibdevice<math::Log1pOp>(h, "log1p");
  addLibdevice<math::Log10Op>(h, "log10");
  addLibdevice<math::CbrtOp>(h, "cbrt");
  addLibdevice<math::PowFOp>(h, "pow");
}
} // namespace

void lower::addMath(Handlers &h) {
  addUnary<math::ExpOp>(h, lowerExp);
  addUnary<math::Exp2Op>(h, lowerExp2);
  addUnary<math::LogOp>(h, lowerLog);
  addUnary<math::Log2Op>(h, lowerLog2);
  addUnary<math::SqrtOp>(h, lowerSqrt);
  addUnary<math::RsqrtOp>(h, lowerRsqrt);
  addUnary<PreciseSqrtOp>(h, preciseSqrt);
  addUnary<math::AbsFOp>(h, absF);
  addUnary<math::FloorOp>(h, unaryIntrinsic<llvm::Intrinsic::floor>);
  addUnary<math::CeilOp>(h, unaryIntrinsic<llvm::Intrinsic::ceil>);
  addUnary<math::TruncOp>(h, unaryIntrinsic<llvm::Intrinsic::trunc>);
  addUnary<math::RoundOp>(h, unaryIntrinsic<llvm::Intrinsic::round>);
  addUnary<math::RoundEvenOp>(h, unaryIntrinsic<llvm::Intrinsic::roundeven>);
  addUnary<math::CtPopOp>(h, unaryIntrinsic<llvm::Intrinsic::ctpop>);
  addUnary<math::AbsIOp>(h, absI);
  addTernary<math::FmaOp>(h, fma);
  addLibdeviceFunctions(h);
}
