//===- EmitExtern.h - functions of bitcode libraries, chosen by operand types -----------===//
// Needs: evaluated arguments.
// Gives: one tile.extern_call for the overload whose operand types are the arguments'.
// How:   If no overload takes the arguments as they are, they are promoted to one type, like the
//        operands of `+`, and looked up again.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

/// One form of a function. A result of int1 is the symbol's int32, compared with 0.
struct ExternOverload {
  llvm::SmallVector<DType, 4> operands;
  DType result;
  std::string symbol;
};

struct ExternFunction {
  std::string name;    ///< as messages call it
  std::string library; ///< path of a bitcode file; empty: libdevice
  bool pure = true;
  std::vector<ExternOverload> overloads;
};

Value callExtern(Emitter &e, const ExternFunction &function, llvm::ArrayRef<Value> args,
                 SourceSpan span);

} // namespace pantile
