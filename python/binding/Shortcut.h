//===- Shortcut.h - repeated calls of one form whose kernel is known ---------------------===//
// Needs: the GIL, or on a build without it nothing.
// Gives: a check, argument by argument, that a call would find the same kernel as the call from
//        which the shortcut was made. It writes the launch values as it goes: no words, no look-up.
// How:   One step per given argument records what the argument was. Arguments of another class are
//        refused, and so are calls without a tensor of torch's kind: they are read in full.
// Invariant: a call that a shortcut accepts has the words of the entry that owns it.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "Dispatcher.h"
#include "Dlpack.h"
#include "pantile/ReadyLaunch.h"

namespace pantile::python {

/// The arguments of a call.
struct CallForm {
  PyObject *const *args; ///< positional, then those of the keywords
  Py_ssize_t count;      ///< of the positional ones
  PyObject *names;       ///< of the keywords; may be null
};

/// A call whose kernel was found, from which a Shortcut is made.
struct KnownCall {
  const Dispatcher &dispatcher;
  const TunedTable *tuned; ///< or null
  const Kernel &kernel;
  const LaunchOptions &options;
  CallForm form;
};

class Shortcut {
public:
  /// Null: calls of this form have none.
  static std::unique_ptr<const Shortcut> of(const KnownCall &call);

  /// Whether the launch would be that of the entry; writes its values. Leaves no Python error.
  bool read(const CallForm &form, uint64_t *slots) const;

  std::unique_ptr<const ReadyLaunch> launch;

private:
  struct Step {
    /// Narrow, Wide: an integer that fits 32 bits, or does not. Whole: any. Same: this object.
    /// Constant: an integer of this value.
    enum class Kind : uint8_t { Narrow, Wide, Whole, Same, Constant, Bool, Fp32, Fp64, Tensor };
    Kind kind = Kind::Same;
    uint8_t mask = 0;    ///< 0: divisibility of the integer or address is irrelevant
    bool aligned = true; ///< whether it is a multiple of mask + 1
    uint8_t slot = 0;
    uint32_t element = 0; ///< of a Tensor with an exchange
    union {
      int64_t number = 0; ///< of a Constant; for another integer, the value that it must not have
      PyObject *object;   ///< of a Same, kept
      const DLExchange *exchange; ///< of a Tensor; null: read its properties
    };
    PyTypeObject *type = nullptr; ///< of a Tensor with an exchange
    const char *dtype = nullptr;  ///< of a Tensor
  };
  struct Maker;

  bool hasForm(const CallForm &form) const;
  bool readNumber(const Step &step, PyObject *object, uint64_t *slots) const;
  bool readOther(const Step &step, PyObject *object, uint64_t *slots) const;
  bool readTensor(const Step &step, PyObject *object, uint64_t *slots) const;

  std::vector<Step> steps; ///< one per given argument, in the order of the call
  Py_ssize_t positional = 0;
  pybind11::object names; ///< a tuple, or null
  int device = 0;
  std::vector<std::pair<uint8_t, uint64_t>> presets; ///< values of arguments that were left out
  std::vector<pybind11::object> kept;
};

} // namespace pantile::python
