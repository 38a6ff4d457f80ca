//===- Arguments.h - what a launch argument is ------------------------------------------===//
// Needs: the GIL. Imports nothing: a library that made an argument is loaded already.
// Gives: the class of each argument (pointer with element type, place and storage bounds;
//        integer, float, bool; constant) and the stream that the caller's library uses.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Runtime.h"
#include <pybind11/pybind11.h>
#include <string>

namespace pantile::python {

/// One classified argument.
struct Argument {
  enum class Kind { None, Bool, Int, Float, Pointer, Constant };
  /// Where the memory of a pointer is. Unknown: the object does not tell.
  enum class Place { Unknown, Host, Device };
  Kind kind = Kind::None;
  Place place = Place::Unknown;
  int device = 0;
  const char *dtype =
      ""; ///< element type of a pointer, or the narrowest type of an integer; lives for ever
  LaunchArg launch;
};

Argument classify(pybind11::handle object);

/// The short name ("fp16") of a dtype's name in torch, NumPy or the language; nullptr if there is
/// none.
const char *shortDtypeName(std::string_view name);

/// Whether the driver can read the host memory of `object` from the device (pinned memory).
bool isPinned(pybind11::handle object);

/// The stream and the device that torch or CuPy use now, if one of them is loaded; 0 and 0
/// otherwise.
uint64_t currentStream(int device);
int currentDevice();

} // namespace pantile::python
