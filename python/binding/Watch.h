//===- Watch.h - whether Python objects that a kernel read have changed --------------------===//
// Needs: the GIL.
// Gives: places of Python objects, each with its object at the time, and whether one differs now.
// How:   Objects are compared by identity, and no Python code runs. A place with a name is that
//        entry of a dict, or that attribute of a class, inherited ones included. One without a name
//        is the whole contents of a list, a dict or a set, or of a closure's cell. Any other place
//        counts as changed.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

struct Watch {
  pybind11::object space;
  pybind11::object name; ///< a str, or None
  pybind11::object held; ///< without a name a tuple: elements, or keys and values alternating

  bool changed() const;
  int traverse(visitproc visit, void *arg) const;
};

/// From a tuple of the three.
Watch toWatch(pybind11::handle place);

void bindWatch(pybind11::module_ &module);

} // namespace pantile::python
