//===- Shortcut.h - the calls of one form whose kernel is known -------------------------===//
// Needs: the GIL, or on a build without it nothing.
// Gives: a check, argument by argument, that a call would find the same kernel as the call it was
//        made from, which writes the values of the launch as it goes: no words, no look-up.
// How:   a step an argument given says what it was. Whatever is another class of value is refused,
//        and so are calls without a tensor of torch's kind: they are read in full.
// Invariant: a call that a shortcut takes has the words of the entry that holds it.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "Dispatcher.h"
#include "Dlpack.h"
#include "pantile/ReadyLaunch.h"

namespace pantile::python {

/// What a call is made of.
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

  /// Whether the launch would be that of the entry; writes its values. No Python error is left.
  bool read(const CallForm &form, uint64_t *slots) const;

  std::unique_ptr<const ReadyLaunch> launch;

private:
  struct Step {
    /// Narrow, Wide: an integer that fits 32 bits, or does not. Whole: any. Same: this object.
    /// Constant: an integer of this value.
    enum class Kind : uint8_t { Narrow, Wide, Whole, Same, Constant, Bool, Fp32, Fp64, Tensor };
    Kind kind = Kind::Same;
    uint8_t mask = 0;    ///< 0: what an integer or an address is a multiple of does not matter
    bool aligned = true; ///< whether it is a multiple of mask + 1
    uint8_t slot = 0;
    uint32_t element = 0; ///< of a Tensor with an exchange
    union {
      int64_t number = 0;         ///< of a Constant; of another integer, what it must not be
      PyObject *object;           ///< of a Same, kept
      const DLExchange *exchange; ///< of a Tensor; null: its properties tell
    };
    PyTypeObject *type = nullptr; ///< of a Tensor with an exchange
    const char *dtype = nullptr;  ///< of a Tensor
  };
  struct Maker;

  bool hasForm(const CallForm &form) const;
  bool readNumber(const Step &step, PyObject *object, uint64_t *slots) const;
  bool readOther(const Step &step, PyObject *object, uint64_t *slots) const;
  bool readTensor(const Step &step, PyObject *object, uint64_t *slots) const;

  std::vector<Step> steps; ///< one an argument given, in the order of the call
  Py_ssize_t positional = 0;
  pybind11::object names; ///< a tuple, or null
  int device = 0;
  std::vector<std::pair<uint8_t, uint64_t>> presets; ///< values of arguments that were left out
  std::vector<pybind11::object> kept;
};

} // namespace pantile::python
