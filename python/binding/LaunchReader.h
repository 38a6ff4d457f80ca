//===- LaunchReader.h - a warm launch's arguments as key words and values ---------------===//
// Needs: the GIL, or on a build without it nothing.
// Gives: words that are equal for two launches only if one kernel serves both, and the values of
//        the run-time arguments. Allocates nothing, unless reading an object does.
// How:   Each class of argument has a tag that determines how many words follow, so no sequence of
//        words is a prefix of another. Rare or wrong arguments are refused: the launch then takes
//        Dispatcher::prepare, which handles every case and explains errors.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "Arguments.h"
#include <array>
#include <cstddef>
#include <new>
#include <span>

namespace pantile::python {

/// How a parameter restricts its argument: Dispatcher.h's Parameter, preprocessed.
struct ParameterRules {
  bool isConstexpr = false;
  bool specializeValue = true, specializeAlignment = true;
  bool isFixed = false, isFixedFloat = false, isFixedPointer = false; ///< by an annotation
};

class LaunchReader {
public:
  static constexpr size_t maxWords = 320, maxArgs = 128, maxKept = 8;

  LaunchReader() {} // not defaulted: that would zero the stores

  /// False: refused. Leaves no Python error.
  bool argument(PyObject *object, const ParameterRules &rules);
  bool option(PyObject *name, PyObject *value) { return text(name) && constant(value); }
  /// A value of the tuning key; which parameter it is of is the same for all launches.
  bool tuningKey(PyObject *value) { return constant(value); }
  bool word(uint64_t value) {
    if (wordCount == maxWords)
      return false;
    wordStore[wordCount++] = value;
    return true;
  }

  /// The GPU of the arrays, -1 for the CPU; `currentIfNone`: the current device if there is no
  /// array. False: refused.
  template <typename Current> bool place(bool alwaysCpu, int &device, const Current &current) {
    if (host && gpu >= 0)
      return false;
    device = gpu >= 0 ? gpu : host || alwaysCpu ? -1 : current();
    return true;
  }

  std::span<const uint64_t> words() const { return {wordStore.data(), wordCount}; }
  std::span<const LaunchArg> args() const {
    return {reinterpret_cast<const LaunchArg *>(argStore.data()), argCount};
  }
  /// Objects whose addresses are among the words: a table that keeps the words keeps them, too.
  std::span<PyObject *const> kept() const { return {keptStore.data(), keptCount}; }

private:
  bool constant(PyObject *value);
  bool text(PyObject *value);
  bool integer(PyObject *object, const ParameterRules &rules);
  bool array(const Argument &argument, const ParameterRules &rules);
  bool pointer(const char *dtype, uint64_t address, const ParameterRules &rules);
  bool other(PyObject *object, const ParameterRules &rules);
  bool sequence(PyObject *object, const ParameterRules &rules);
  bool aggregate(PyObject *object, PyObject *fields, const ParameterRules &rules);
  bool descriptor(PyObject *object, const ParameterRules &rules);
  bool extents(PyObject *object, PyObject *name, int64_t &last);
  bool onDevice(int device);
  bool keep(PyObject *object);

  // Values are written to their final place: copying what was just written in pieces stalls.
  LaunchArg *next() {
    if (argCount == maxArgs)
      return nullptr;
    return new (argStore.data() + argCount++ * sizeof(LaunchArg)) LaunchArg;
  }
  bool address(uint64_t value) {
    LaunchArg *arg = next();
    return arg && (arg->kind = LaunchArg::Kind::Pointer, arg->pointer = value, true);
  }
  bool whole(int64_t value) {
    LaunchArg *arg = next();
    return arg && (arg->integer = value, true);
  }
  bool real(double value) {
    LaunchArg *arg = next();
    return arg && (arg->kind = LaunchArg::Kind::Float, arg->real = value, true);
  }
  bool copied(const LaunchArg &value) {
    LaunchArg *arg = next();
    return arg && (*arg = value, true);
  }

  // Not initialised: only the counted entries are read.
  std::array<uint64_t, maxWords> wordStore;
  alignas(LaunchArg) std::array<std::byte, maxArgs * sizeof(LaunchArg)> argStore;
  std::array<PyObject *, maxKept> keptStore;
  size_t wordCount = 0, argCount = 0, keptCount = 0;
  int gpu = -1;
  bool host = false;
};

} // namespace pantile::python
