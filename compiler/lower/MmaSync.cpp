//===- MmaSync.cpp - one mma.sync instruction -------------------------------------------------===//
#include "lower/MmaSync.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

llvm::StringRef lower::mmaTypeName(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF32())
    return "tf32";
  if (type.isInteger(8))
    return "s8";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  return isa<Float8E5M2Type>(type) ? "e5m2" : "";
}

MmaSync::MmaSync(Lowering &l, Type lhs, Type rhs, Type acc, int m, int n, int k) : l(l) {
  accType = l.type(acc);
  packed = accType->isHalfTy();
  const std::string accName = packed ? "f16" : accType->isIntegerTy() ? "s32" : "f32";
  const char constraint = packed || accType->isIntegerTy() ? 'r' : 'f';
  const int accWords = packed ? 2 : 4, aWords = 4, bWords = 2;
  text = "mma.sync.aligned.m" + std::to_string(m) + "n" + std::to_string(n) + "k" +
         std::to_string(k) + ".row.col" + "." + accName + "." + mmaTypeName(lhs).str() + "." +
         mmaTypeName(rhs).str() + "." + accName + " ";
  int next = 0;
  auto list = [&](int count) {
    text += "{";
    for (int i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(next++);
    text += "}";
  };
  for (int count : {accWords, aWords, bWords, accWords}) {
    text += next ? ", " : "";
    list(count);
  }
  text += ";";
  for (int i = 0; i < accWords; ++i)
    constraints += std::string("=") + constraint + ",";
  for (int i = 0; i < aWords + bWords; ++i)
    constraints += "r,";
  for (int i = 0; i < accWords; ++i)
    constraints += std::string(i ? "," : "") + constraint;
  words = accWords;
}

Values MmaSync::operator()(ValueList a, ValueList b, ValueList acc) {
  Values operands(a);
  operands.append(b.begin(), b.end());
  Values sums = packed ? l.pack(acc, 16) : Values(acc);
  operands.append(sums);
  llvm::Type *word = packed ? l.b.getInt32Ty() : accType;
  auto *type =
      llvm::StructType::get(l.module.getContext(), llvm::SmallVector<llvm::Type *>(words, word));
  Values result = l.results(l.assembly(type, text, constraints, operands, true), words);
  return packed ? l.unpack(result, accType, 16, 4) : result;
}
