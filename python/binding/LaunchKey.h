//===- LaunchKey.h - the specialisation for one argument ----------------------------------===//
// Needs: a classified argument and its parameter.
// Gives: the argument's part of a launch's key, and its ArgSpec for the compiler.
// Invariant: equal keys give equal ArgSpecs.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "Dispatcher.h"

namespace pantile::python {

/// `toConstant` makes compile-time values of Python's objects.
ArgSpec specOf(const Argument &argument, const Parameter &parameter, pybind11::handle value,
               const pybind11::function &toConstant);

void appendKey(std::string &key, const Argument &argument, const Parameter &parameter,
               pybind11::handle value);

/// Runs `work`; a TypeError that it throws is extended by the name of the parameter.
template <typename Work> auto naming(const Parameter &parameter, Work work) {
  try {
    return work();
  } catch (const pybind11::type_error &error) {
    throw pybind11::type_error("argument `" + parameter.name + "`: " + error.what());
  }
}

} // namespace pantile::python
