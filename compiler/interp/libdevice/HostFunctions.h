//===- HostFunctions.h - libdevice's functions on the host ------------------------------------===//
// Needs: Machine.h.
// Gives: for each symbol of libdevice that the language reaches, a handler that runs it over a
// tile,
//        with the element types that it takes and gives.
// How:   from libm, then Boost.Math, and own code where neither has the function. Functions of fp32
//        that are not exact in libm run in fp64 and are rounded once. A fourth operand lies behind
//        the third, in one register.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Machine.h"
#include <map>
#include <string_view>
#include <vector>

namespace pantile::interp {

struct HostFunction {
  Handler run = nullptr;
  Elem result = Elem::F32;
  std::vector<Elem> operands;
};
using HostFunctions = std::map<std::string_view, HostFunction>;

/// Null for a symbol that is not known.
const HostFunction *findHostFunction(std::string_view symbol);

// One function a file of this folder.
void addIntegerFunctions(HostFunctions &);
void addElementaryFunctions(HostFunctions &);
void addSpecialFunctions(HostFunctions &);
void addRoundedFunctions(HostFunctions &);
void addConversions(HostFunctions &);

} // namespace pantile::interp
