//===- HostFunctions.h - libdevice's functions on the host ------------------------------------===//
// Needs: Machine.h.
// Gives: for each symbol of libdevice that the language can call, a handler that runs it over a
//        tile, with its element types.
// How:   From libm, then Boost.Math, else our own code. Functions of fp32 that are not exact in
//        libm are computed in fp64 and rounded once. A fourth operand follows the third, in one
//        register.
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

/// Null for an unknown symbol.
const HostFunction *findHostFunction(std::string_view symbol);

// One function per file of this folder.
void addIntegerFunctions(HostFunctions &);
void addElementaryFunctions(HostFunctions &);
void addSpecialFunctions(HostFunctions &);
void addRoundedFunctions(HostFunctions &);
void addConversions(HostFunctions &);

} // namespace pantile::interp
