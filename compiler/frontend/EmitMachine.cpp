//===- EmitMachine.cpp - counters and signals of the machine ----------------------------===//
// Gives: tl.extra.cuda's globaltimer, smid, num_threads, num_warps, gdc_wait and
//        gdc_launch_dependents.
// How:   The numbers of threads and warps are compile-time values; the others are tile.special.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"

using namespace pantile;

Value pantile::emitNumThreads(Emitter &e, const BoundCall &) {
  return BigInt(32 * e.options.numWarps);
}

Value pantile::emitNumWarps(Emitter &e, const BoundCall &) { return BigInt(e.options.numWarps); }

Value pantile::emitSpecial(Emitter &e, const BoundCall &call) {
  const std::string &name = call.row->name;
  if (name != "globaltimer" && name != "smid") {
    SpecialOp::create(e.b, e.loc(), mlir::Type(), name);
    return None();
  }
  Type type{name == "smid" ? Scalar::I32 : Scalar::I64, {}};
  return Runtime{SpecialOp::create(e.b, e.loc(), e.irType(type), name).getResult(), type};
}
