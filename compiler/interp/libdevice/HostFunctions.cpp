//===- HostFunctions.cpp - see HostFunctions.h ------------------------------------------------===//
#include "interp/libdevice/HostFunctions.h"

namespace pantile::interp {

const HostFunction *findHostFunction(std::string_view symbol) {
  static const auto *table = [] {
    auto *functions = new HostFunctions();
    for (auto add : {addIntegerFunctions, addElementaryFunctions, addSpecialFunctions,
                     addRoundedFunctions, addConversions})
      add(*functions);
    return functions;
  }();
  auto found = table->find(symbol);
  return found == table->end() ? nullptr : &found->second;
}

} // namespace pantile::interp
