//===- Launcher.cpp - the object `kernel[grid]` ------------------------------------------===//
// Needs: `function._launch(grid, args, kwargs)`, which handles every case and returns the kernel;
//        for a tuned one (kernel, TunedChoice's parts), the latter None if calls must not be
//        shortened.
// How:   A call of the same form as the one before takes its shortcut. Any other call: 1. bind
//        arguments to parameters; 2. read them into words and values; 3. look the words up; 4.
//        launch. On a miss the words are kept once the dispatcher has found the kernel. Unusual
//        calls take `_launch`, which also explains errors.
// Invariant: no Python code runs between binding and the launch of a hit, except that of arguments
//        and a callable grid.
//===-----------------------------------------------------------------------------------===//
#include "Launcher.h"
#include "CompileSettings.h"
#include "CurrentStream.h"
#include "DictWatch.h"
#include "Dispatcher.h"
#include "Errors.h"
#include "LaunchGrid.h"
#include "LaunchHooks.h"
#include "LaunchReader.h"
#include "LaunchStats.h"
#include "Shortcut.h"
#include "TensorAccess.h"
#include <cstddef>
#include <structmember.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

struct Launcher {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *function, *dispatcher, *tuner; ///< as in LauncherParts
  PyObject *grid;                          ///< as given
  Dispatcher *target;
  TunedTable *tuned;
  LaunchTable *table;
  Grid extents;
  bool hasExtents; ///< false: `grid` is callable, or wrong, which `_launch` explains
};

/// The state of one call.
struct Attempt {
  Attempt(Launcher &launcher, PyObject *const *args, Py_ssize_t count, PyObject *names)
      : launcher(launcher), args(args), count(count), names(names),
        extents(launcher.hasExtents ? &launcher.extents : nullptr) {}
  Launcher &launcher;
  PyObject *const *args;
  Py_ssize_t count;
  PyObject *names;     ///< of the keywords after `args`; may be null
  const Grid *extents; ///< null until the grid was called
  Grid called;         ///< what it returned
  std::array<PyObject *, LaunchReader::maxArgs> bound; ///< by parameter, once `bind` succeeded
  std::array<Py_ssize_t, 16> options;                  ///< keywords that set options, by position
  size_t optionCount = 0;
  uint64_t settings = CompileSettings::number();
  LaunchReader reader;

  bool bind();
  bool read();
  CallForm form() const { return {args, count, names}; }
  const Grid &grid(const LaunchEntry &entry);
  py::object meta(const LaunchEntry &entry) const;
  py::tuple positional() const;
  py::dict keywords() const;
};

bool Attempt::bind() {
  const auto &parameters = launcher.target->parameters;
  optionCount = 0;
  if (static_cast<size_t>(count) > parameters.size() || parameters.size() > bound.size())
    return false;
  std::fill(std::copy(args, args + count, bound.begin()), bound.begin() + parameters.size(),
            nullptr);
  const Py_ssize_t keywordCount = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < keywordCount; ++i) {
    const int index = launcher.target->find(PyTuple_GET_ITEM(names, i));
    const bool isOption = index < 0 || launcher.target->isOptionToo(index);
    if (isOption && optionCount == options.size())
      return false;
    if (isOption)
      options[optionCount++] = i;
    if (index < 0)
      continue;
    if (bound[index])
      return false;
    else
      bound[index] = args[count + i];
  }
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!bound[i] && !(bound[i] = parameters[i].defaultValue.ptr()) && !launcher.tuned)
      return false;
  return true;
}

bool Attempt::read() {
  const std::vector<ParameterRules> &rules = launcher.target->rules;
  constexpr uint64_t absent = 0;
  if (!reader.word(settings))
    return false;
  for (size_t i = 0; i < rules.size(); ++i)
    if (!(bound[i] ? reader.argument(bound[i], rules[i]) : reader.word(absent)))
      return false;
  if (launcher.tuned)
    for (int i : launcher.tuned->parameters)
      if (!bound[i] || !reader.tuningKey(bound[i]))
        return false;
  int device = -1;
  const auto current = [] { return knownDeviceCount() == 0 ? -1 : currentDevice(); };
  if (!reader.place(launcher.target->alwaysCpu, device, current) ||
      !reader.word(static_cast<uint64_t>(device + 1)))
    return false;
  for (size_t i = 0; i < optionCount; ++i)
    if (!reader.option(PyTuple_GET_ITEM(names, options[i]), args[count + options[i]]))
      return false;
  return true;
}

/// The argument of a callable grid.
py::object Attempt::meta(const LaunchEntry &entry) const {
  py::dict result;
  for (size_t i = 0; i < optionCount; ++i)
    result[py::handle(PyTuple_GET_ITEM(names, options[i]))] = py::handle(args[count + options[i]]);
  for (size_t i = 0; i < launcher.target->parameters.size(); ++i)
    if (bound[i] && PyDict_SetItem(result.ptr(), launcher.target->nameOf(i), bound[i]) != 0)
      throw py::error_already_set();
  if (entry.tuned.keywords && PyDict_Update(result.ptr(), entry.tuned.keywords.ptr()) != 0)
    throw py::error_already_set();
  return result;
}

/// Calls a callable grid, once per launch.
const Grid &Attempt::grid(const LaunchEntry &entry) {
  if (!extents) {
    const auto callable = py::reinterpret_borrow<py::object>(launcher.grid);
    called = toGrid(callable(meta(entry)));
    extents = &called;
  }
  return *extents;
}

py::tuple Attempt::positional() const {
  py::tuple result(count);
  for (Py_ssize_t i = 0; i < count; ++i)
    result[i] = py::handle(args[i]);
  return result;
}

py::dict Attempt::keywords() const {
  py::dict result;
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
    result[py::handle(PyTuple_GET_ITEM(names, i))] = py::handle(args[count + i]);
  return result;
}

/// Whether the tuner would still choose what `entry` holds.
bool stillChosen(const LaunchEntry &entry) {
  const TunedChoice &choice = entry.tuned;
  const uint64_t changes = DictWatch::changes();
  if (entry.chosenAt.load(std::memory_order_relaxed) == changes)
    return true;
  PyObject *now = PyDict_GetItemWithError(choice.cache.ptr(), choice.key.ptr());
  if (!now)
    PyErr_Clear();
  const bool isChosen = now == choice.config.ptr();
  if (isChosen && choice.isWatched)
    entry.chosenAt.store(changes, std::memory_order_relaxed);
  return isChosen;
}

void launchEntry(const LaunchEntry &entry, const Grid &grid, std::span<const LaunchArg> args) {
  LaunchOptions options = entry.options;
  if (!entry.onCpu)
    options.stream = currentStream(options.device);
  PyThreadState *released = PyEval_SaveThread();
  const Result<void> done = launch(entry.kernel, grid, args, options);
  PyEval_RestoreThread(released);
  if (entry.onCpu)
    showWarnings(takeWarnings());
  if (!done) [[unlikely]]
    unwrap(done, "launch");
}

/// Makes the tuner show the configuration that this launch uses.
void showChoice(Launcher &launcher, const TunedChoice &choice) {
  if (launcher.tuned->lastConfig == choice.config.ptr())
    return;
  static PyObject *const name = PyUnicode_InternFromString("best_config");
  if (PyObject_SetAttr(launcher.function, name, choice.config.ptr()) != 0)
    throw py::error_already_set();
  launcher.tuned->lastConfig = choice.config.ptr();
}

/// Makes a shortcut for calls of this form, if there is one.
void learnShortcut(const Attempt &attempt, const LaunchEntry &entry) {
  if (entry.onCpu || entry.triedShortcut.exchange(true, std::memory_order_relaxed))
    return;
  const Launcher &launcher = attempt.launcher;
  entry.shortcut.store(
      Shortcut::of({*launcher.target, launcher.tuned, entry.kernel, entry.options, attempt.form()})
          .release(),
      std::memory_order_release);
}

/// The return value of a launch that ran no Python except a callable grid.
PyObject *hit(const LaunchEntry &entry) {
  LaunchStats::countHeld(LaunchStats::ofProcess().hits);
  return Py_NewRef(entry.compiled.ptr());
}

PyObject *launchKnown(Attempt &attempt, const LaunchEntry &entry) {
  launchEntry(entry, attempt.grid(entry), attempt.reader.args());
  learnShortcut(attempt, entry);
  return hit(entry);
}

/// The launch of a call of the same form as the one before; null, without an error, if it differs.
PyObject *launchAgain(Attempt &attempt) {
  Launcher &launcher = attempt.launcher;
  const LaunchTable::Entry entry = launcher.table->recent();
  const Shortcut *shortcut = entry ? entry->shortcut.load(std::memory_order_acquire) : nullptr;
  std::array<uint64_t, ReadyLaunch::mostSlots> slots;
  if (!shortcut || entry->settings != attempt.settings ||
      !shortcut->read(attempt.form(), slots.data()))
    return nullptr;
  if (launcher.tuner) {
    if (!stillChosen(*entry))
      return nullptr;
    showChoice(launcher, entry->tuned);
  }
  if (!attempt.extents && !attempt.bind())
    return nullptr;
  const Grid &grid = attempt.grid(*entry);
  const uint64_t stream = currentStream(entry->options.device);
  PyThreadState *released = PyEval_SaveThread();
  const bool done = (*shortcut->launch)(grid, slots.data(), stream);
  PyEval_RestoreThread(released);
  if (!done)
    return nullptr;
  LaunchStats::countHeld(LaunchStats::ofProcess().shortcuts);
  return hit(*entry);
}

/// An entry for a call whose kernel the dispatcher has; null if it has none.
LaunchTable::Entry learn(Attempt &attempt, TunedChoice choice) {
  py::dict keywords = attempt.keywords();
  if (choice.keywords)
    for (auto [name, value] : py::reinterpret_borrow<py::dict>(choice.keywords))
      keywords[name] = value;
  const Call call =
      attempt.launcher.target->prepare(py::args(attempt.positional()), py::kwargs(keywords));
  if (!call.kernel || call.launchArguments().size() != attempt.reader.args().size() ||
      attempt.settings != CompileSettings::number())
    return nullptr;
  auto entry = std::make_shared<LaunchEntry>();
  entry->words.assign(attempt.reader.words().begin(), attempt.reader.words().end());
  for (PyObject *object : attempt.reader.kept())
    entry->kept.push_back(py::reinterpret_borrow<py::object>(object));
  entry->kernel = call.kernel, entry->compiled = call.compiled;
  entry->settings = attempt.settings;
  entry->onCpu = call.target == "cpu";
  entry->options = call.launchOptions();
  entry->tuned = std::move(choice);
  attempt.launcher.table->insert(entry);
  return entry;
}

/// The general path; for a tuned kernel, it returns what was chosen, too.
PyObject *launchLong(Attempt &attempt, bool wasRead) {
  if (attempt.launcher.tuner)
    attempt.launcher.tuned->lastConfig =
        nullptr; // a tuned kernel's launch counts as its function's
  else
    LaunchStats::count(LaunchStats::ofProcess().misses);
  static PyObject *const name = PyUnicode_InternFromString("_launch");
  const auto function = py::reinterpret_borrow<py::object>(attempt.launcher.function);
  py::object result = function.attr(py::handle(name))(py::handle(attempt.launcher.grid),
                                                      attempt.positional(), attempt.keywords());
  if (!attempt.launcher.tuner)
    return result.release().ptr();
  const auto parts = py::reinterpret_borrow<py::tuple>(result);
  if (wasRead && !parts[1].is_none()) {
    const auto described = parts[1].cast<py::tuple>();
    learn(attempt, {described[0], described[1], described[2], described[3],
                    DictWatch::watch(py::object(described[0]).ptr())});
  }
  return py::object(parts[0]).release().ptr();
}

/// Whether a launch may run without Python.
bool isPlain(const Launcher &launcher) {
  return (launcher.hasExtents || PyCallable_Check(launcher.grid)) && !launcher.target->hasHooks() &&
         !LaunchTable::isLeftOut.load(std::memory_order_relaxed) && !mayHaveLaunchHooks() &&
         !launcher.target->watchesChanged();
}

PyObject *launchCall(Attempt &attempt) {
  Launcher &launcher = attempt.launcher;
  if (!isPlain(launcher))
    return launchLong(attempt, false);
  if (PyObject *done = launchAgain(attempt))
    return done;
  if (!attempt.bind() || !attempt.read())
    return launchLong(attempt, false);
  LaunchTable::Entry entry = launcher.table->find(attempt.reader.words());
  if (launcher.tuner) {
    if (!entry || !stillChosen(*entry))
      return launchLong(attempt, true);
    showChoice(launcher, entry->tuned);
  } else if (!entry) {
    entry = learn(attempt, {});
    if (!entry)
      return launchLong(attempt, true);
  }
  return launchKnown(attempt, *entry);
}

/// Runs `work` and turns C++ exceptions into Python's.
template <typename Work> PyObject *guarded(const Work &work) {
  try {
    return work();
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (const py::builtin_exception &error) {
    error.set_error();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject *vectorcall(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
  Attempt attempt(*reinterpret_cast<Launcher *>(self), args, PyVectorcall_NARGS(flags), names);
  return guarded([&] { return launchCall(attempt); });
}

void setGrid(Launcher &launcher, PyObject *grid) {
  launcher.grid = Py_NewRef(grid);
  launcher.hasExtents = false;
  if (PyCallable_Check(grid) || grid == Py_None)
    return;
  try {
    launcher.extents = toGrid(grid);
    launcher.hasExtents = true;
  } catch (const py::error_already_set &) {
  } catch (const py::builtin_exception &) {
  }
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  auto *launcher = reinterpret_cast<Launcher *>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(launcher->function);
  Py_VISIT(launcher->dispatcher);
  Py_VISIT(launcher->tuner);
  Py_VISIT(launcher->grid);
  return 0;
}

/// Visits the function only: it breaks every cycle, and a launch reads it last.
int clear(PyObject *self) {
  auto *launcher = reinterpret_cast<Launcher *>(self);
  launcher->vectorcall = [](PyObject *, PyObject *const *, size_t, PyObject *) -> PyObject * {
    PyErr_SetString(PyExc_ReferenceError, "the kernel of this launcher was collected");
    return nullptr;
  };
  Py_CLEAR(launcher->function);
  Py_CLEAR(launcher->tuner);
  Py_CLEAR(launcher->grid);
  return 0;
}

void destroy(PyObject *self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  Py_CLEAR(reinterpret_cast<Launcher *>(self)->dispatcher);
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Launcher, vectorcall), READONLY, nullptr},
    {"grid", T_OBJECT, offsetof(Launcher, grid), READONLY, "the grid as given"},
    {"function", T_OBJECT, offsetof(Launcher, function), READONLY, "the kernel"},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                       {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
                       {Py_tp_members, members},
                       {0, nullptr}};

PyType_Spec spec = {"pantile._pantile.Launcher", sizeof(Launcher), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

/// The type of launchers, kept for ever.
PyTypeObject *launcherType() {
  static auto *const type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return type;
}

Launcher &launcherOf(PyObject *object) { return *reinterpret_cast<Launcher *>(object); }

} // namespace

PyObject *makeLauncher(const LauncherParts &parts, PyObject *grid) {
  return guarded([&]() -> PyObject * {
    PyObject *made = launcherType()->tp_alloc(launcherType(), 0);
    if (!made)
      return nullptr;
    Launcher &launcher = launcherOf(made);
    launcher.vectorcall = vectorcall;
    launcher.function = Py_NewRef(parts.function);
    launcher.dispatcher = Py_NewRef(parts.dispatcher);
    launcher.tuner = Py_XNewRef(parts.tuner);
    launcher.target = parts.target, launcher.tuned = parts.tuned;
    launcher.table = parts.tuned ? &parts.tuned->table : &parts.target->warm;
    setGrid(launcher, grid);
    return made;
  });
}

const Grid *extentsOf(PyObject *launcher) {
  return launcherOf(launcher).hasExtents ? &launcherOf(launcher).extents : nullptr;
}

PyObject *gridOf(PyObject *launcher) { return launcherOf(launcher).grid; }

void bindLauncher(py::module_ &module) {
  if (!launcherType())
    throw py::error_already_set();
  module.attr("Launcher") = py::handle(reinterpret_cast<PyObject *>(launcherType()));
}

} // namespace pantile::python
