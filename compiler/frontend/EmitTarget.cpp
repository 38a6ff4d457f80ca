//===- EmitTarget.cpp - queries of the target -------------------------------------------===//
// Gives: `tl.target_info`: compile-time values, so that a kernel can choose what to compile.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include "support/Target.h"

using namespace pantile;

Value pantile::emitCurrentTarget(Emitter &e, const BoundCall &) {
  std::optional<Target> target = Target::parse(e.options.target);
  std::vector<Value> parts = {target ? std::string("cuda") : e.options.target,
                              target ? Value(BigInt(target->sm())) : Value(e.options.target),
                              BigInt(target ? 32 : 1)};
  return Value::tuple(std::move(parts), {"backend", "arch", "warp_size"});
}

Value pantile::emitIsCuda(Emitter &e, const BoundCall &) {
  return Target::parse(e.options.target).has_value();
}

/// There is no back end for these.
Value pantile::emitIsOtherTarget(Emitter &, const BoundCall &) { return false; }

Value pantile::emitCapabilityGeq(Emitter &e, const BoundCall &call) {
  std::optional<BigInt> major = e.needInt(call["major"], call.at("major"), "`major`");
  std::optional<BigInt> minor = e.needInt(call["minor"], call.at("minor"), "`minor`");
  if (!major || !minor)
    return Failed();
  std::optional<Target> target = Target::parse(e.options.target);
  return target && BigInt(target->sm()) >= *major * 10 + *minor;
}
