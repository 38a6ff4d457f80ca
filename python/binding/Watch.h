//===- Watch.h - whether what a kernel read from Python is still there --------------------===//
// Needs: the GIL.
// Gives: places of Python objects, each with what it held, and whether one holds anything else now.
// How:   objects are compared by identity, and no Python code runs. A place with a name is that
//        entry of a dict, or that attribute of a class, inherited ones included. One without is all
//        that a list, a dict or a set holds, or what a closure's cell does. Any other place counts
//        as changed.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

struct Watch {
  pybind11::object space;
  pybind11::object name; ///< a str, or None
  pybind11::object held; ///< without a name a tuple: elements, or keys and values in turns

  bool changed() const;
  int traverse(visitproc visit, void *arg) const;
};

/// From a tuple of the three.
Watch toWatch(pybind11::handle place);

void bindWatch(pybind11::module_ &module);

} // namespace pantile::python
