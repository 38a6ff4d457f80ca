//===- Arguments.h - classification of launch arguments ----------------------------------===//
// Needs: the GIL. Imports nothing: a library that made an argument is loaded already.
// Gives: the class of each argument: pointer with element type, device and storage bounds; integer,
//        float, bool; constant.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Runtime.h"
#include <memory>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

namespace pantile::python {

struct Structure;

/// One classified argument.
struct Argument {
  enum class Kind { None, Bool, Int, Float, Pointer, Constant, Tuple, Descriptor };
  /// Where the memory of a pointer is. Unknown: the object does not say.
  enum class Place { Unknown, Host, Device };
  Kind kind = Kind::None;
  Place place = Place::Unknown;
  int device = 0;
  const char *dtype =
      ""; ///< element type of a pointer, or the narrowest type of an integer; static
  LaunchArg launch;
  std::shared_ptr<const Structure> structure; ///< of a tuple or a descriptor
};

/// The parts of a structured argument.
struct Structure {
  std::vector<Argument> elements;       ///< of a tuple; the base of a descriptor
  std::vector<pybind11::object> values; ///< the elements as given
  std::vector<std::string> fields;      ///< names, of a named tuple or an aggregate
  pybind11::object cls;                 ///< its class; null of a plain tuple
  std::vector<int64_t> blockShape;      ///< of a descriptor
  bool padsWithNan = false;
  std::vector<LaunchArg> extents; ///< of a descriptor: the sizes, then the strides
};

/// How an argument is read; determined by its type.
enum class Protocol {
  None,
  Bool,
  Int,
  Float,
  NumpyScalar,
  Numpy,
  TorchLike,
  CudaArray,
  DLPack,
  HostArray,
  Tuple,
  Aggregate,
  Descriptor,
  Constant
};
Protocol protocolOf(pybind11::handle object);

Argument classify(pybind11::handle object);

/// Calls `visit(argument, object)` for `argument`, or for all its parts if it has some.
template <typename Visit>
void forEachLeaf(const Argument &argument, pybind11::handle object, const Visit &visit) {
  if (!argument.structure)
    return visit(argument, object);
  for (size_t i = 0; i < argument.structure->elements.size(); ++i)
    forEachLeaf(argument.structure->elements[i], argument.structure->values[i], visit);
}

/// The short name ("fp16") of a dtype's name in torch, NumPy or the language; nullptr if there is
/// none.
const char *shortDtypeName(std::string_view name);

/// The same, or TypeError.
const char *requireDtypeName(const std::string &dtype);

/// Whether the driver can read the host memory of `object` from the device (pinned memory).
bool isPinned(pybind11::handle object);

} // namespace pantile::python
