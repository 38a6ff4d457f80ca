//===- RegisterPool.cpp - setmaxnreg -------------------------------------------------===//
// Needs: Machine.h, the kernel's `.maxnreg`.
// Gives: decodeRegisterPool.
// How:   A CTA has `.maxnreg` registers per thread. Registers that one warp releases are available
//        to others; a warp that requests more than are free waits (PTX ISA, "setmaxnreg"). ptxas
//        decides how many registers a thread uses, so a count that is too small is not detected.
//===------------------------------------------------------------------------------------------===//
#include "Machine.h"

namespace pantile::ptx {
namespace {

void setRegisters(Warp &w, const Instruction &i) {
  constexpr int least = 24, most = 256, step = 8;
  const int wanted = w.reg(i[0])[0];
  const bool takes = i.op.has("inc");
  if (!w.kernel.mostRegisters)
    w.fault(i, "a kernel without `.maxnreg`");
  if (wanted < least || wanted > most || wanted % step)
    w.fault(i, std::to_string(wanted) + " registers");
  if (takes ? wanted < w.registersPerThread : wanted > w.registersPerThread)
    w.fault(i, std::to_string(wanted) + " registers, but the warp has " +
                   std::to_string(w.registersPerThread));
  const int more = (wanted - w.registersPerThread) * warpSize;
  if (more > w.cta.freeRegisters) {
    w.repeats = w.stops = true;
    w.waitsForEvent = w.cta.events;
    return;
  }
  w.cta.freeRegisters -= more;
  w.registersPerThread = wanted;
  if (!takes)
    w.cta.signal();
}

} // namespace

Handler decodeRegisterPool(Instruction &i) {
  return i.op.base == "setmaxnreg" ? setRegisters : nullptr;
}

} // namespace pantile::ptx
