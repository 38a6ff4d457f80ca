//===- TranslateExtern.cpp - calls of bitcode functions ---------------------------------------===//
// Needs: see Translator.h.
// Gives: instructions of tile.extern_call for the symbols of libdevice.
// How:   An instruction has three operands; a fourth is copied to follow the third.
//===------------------------------------------------------------------------------------===//
#include "interp/Translator.h"
#include "interp/libdevice/HostFunctions.h"

using namespace mlir;

namespace pantile::interp {
namespace {

bool takes(const HostFunction &function, ExternCallOp op) {
  return elemOf(op.getType()) == function.result &&
         llvm::equal(op.getArgs().getTypes(), function.operands,
                     [](Type type, Elem elem) { return elemOf(type) == elem; });
}

} // namespace

LogicalResult Translator::visitExternCall(ExternCallOp op) {
  StringRef symbol = op.getSymbol();
  const HostFunction *function = findHostFunction({symbol.data(), symbol.size()});
  if (!op.getLibrary().empty() || !function)
    return unsupported(op, ("of `" + symbol + "`, which libdevice does not have,").str());
  if (!takes(*function, op))
    return unsupported(op, ("of `" + symbol + "` with such operands").str());
  SmallVector<Reg, 4> regs;
  for (Value arg : op.getArgs())
    regs.push_back(reg(arg));
  if (regs.size() == 4) {
    const uint64_t bytes = bytesOf(op.getArgs().back().getType());
    Reg both = builder.newReg(2 * bytes), fourth = both;
    fourth.addend += static_cast<uint32_t>(bytes);
    emitCopy(both, regs[2], bytes);
    emitCopy(fourth, regs[3], bytes);
    regs[2] = both;
  }
  regs.resize(3);
  builder.emit(function->run, {define(op.getResult()), regs[0], regs[1], regs[2]},
               countOf(op.getType()), 0, 0);
  return success();
}

} // namespace pantile::interp
