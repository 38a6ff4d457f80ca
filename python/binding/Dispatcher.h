//===- Dispatcher.h - from a call's arguments to a kernel -------------------------------===//
// Needs: the GIL, but for the launch itself, which releases it.
// Gives: one Dispatcher per jit function: it binds arguments to parameters as Python does,
//        classifies them, chooses the target, forms the specialisation key and finds the kernel
//        compiled for it. A Call is the state of one such launch.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "Arguments.h"
#include "LaunchTable.h"
#include "Watch.h"
#include <atomic>
#include <memory>
#include <pybind11/pybind11.h>
#include <unordered_map>
#include <vector>

namespace pantile::python {

/// One parameter of a jit function.
struct Parameter {
  std::string name;
  bool isConstexpr = false;
  bool specializeValue = true;     ///< ints equal to 1 become constants
  bool specializeAlignment = true; ///< multiples of 16 are specialised
  bool constPointer = false;
  std::string fixedType;         ///< from an annotation; empty: by value
  pybind11::object defaultValue; ///< null: required
};

class Dispatcher;

/// One call: arguments bound and classified, kernel found or not.
struct Call {
  std::shared_ptr<Dispatcher> dispatcher;
  std::vector<pybind11::object> values; ///< one per parameter
  pybind11::dict options;               ///< keywords that are no parameters
  std::vector<Argument> arguments;      ///< one per parameter; those of constexprs are unused
  std::string target;
  int device = 0;
  std::string key;
  pybind11::object compiled; ///< the Python object of the kernel; None on a miss
  Kernel kernel;

  pybind11::dict named() const;
  Specialization specialization(const pybind11::function &toConstant) const;
  void adopt(pybind11::object compiledKernel, Kernel found);
  /// Launches `other`, compiled elsewhere, without keeping it for later calls.
  void use(pybind11::object compiledKernel, Kernel other);
  /// Throws if a kernel compiled for a GPU could not access an array: it is in host memory.
  void requireOnDevice() const;
  /// On `stream` (an int or something with `cuda_stream`), or for None on the current one.
  void launch(pybind11::handle grid, pybind11::handle stream) const;
  /// The launch arguments for a kernel with parameters `specs`.
  std::vector<LaunchArg> launchArguments(const std::vector<ArgSpec> &specs) const;
  /// From the kernel's own list of parameters: a kernel that was compiled elsewhere may take as an
  /// argument what this call would have compiled in.
  std::vector<LaunchArg> launchArguments() const { return launchArguments(kernel->args); }
  /// Tuples (name, object, whether the kernel writes through it) of the arrays among the arguments,
  /// parts of arguments included.
  pybind11::list arrays() const;
  /// All launch options but the stream.
  LaunchOptions launchOptions() const;
};

class Dispatcher : public std::enable_shared_from_this<Dispatcher> {
public:
  Dispatcher(std::string name, std::vector<Parameter> parameters);
  Call prepare(const pybind11::args &args, const pybind11::kwargs &kwargs);
  /// Forgets all kernels.
  void clear();
  /// Keeps a kernel for calls with `key`.
  void install(const std::string &key, pybind11::object compiled, Kernel kernel);
  pybind11::dict entries() const;

  /// The parameter that a keyword names; -1 if it is an option.
  int find(PyObject *keyword) const;
  /// A parameter named like an option of the launch: given by keyword it is both.
  bool isOptionToo(int parameter) const { return optionsToo[parameter]; }
  PyObject *nameOf(int parameter) const { return names[parameter].ptr(); }
  /// Whether there are functions to call before launches.
  bool hasHooks() const { return preRunHooks && PyList_GET_SIZE(preRunHooks.ptr()) > 0; }
  /// Whether something that a kernel read is another object now; its value may be the same.
  bool watchesChanged() const {
    const TableLock lock(watchMutex);
    for (const Watch &watch : watches)
      if (watch.changed())
        return true;
    return false;
  }
  /// `now` receives the old ones, which the caller destroys: that may run Python.
  void setWatches(std::vector<Watch> &now) {
    const TableLock lock(watchMutex);
    watches.swap(now);
  }
  int traverse(visitproc visit, void *arg) const;

  const std::string name;
  const std::vector<Parameter> parameters;
  std::vector<ParameterRules> rules; ///< one per parameter
  bool alwaysCpu = false;            ///< also for calls without arrays, where there is a GPU
  LaunchTable warm;

  pybind11::object preRunHooks;

private:
  friend struct Call;
  struct Entry {
    Kernel kernel;
    pybind11::object compiled;
  };
  void bind(Call &call, const pybind11::args &args, const pybind11::kwargs &kwargs) const;
  void classifyAll(Call &call) const;
  void chooseTarget(Call &call) const;
  void formKey(Call &call) const;
  std::vector<pybind11::object> names;
  std::vector<bool> optionsToo;
  mutable TableLock::Mutex mutex; ///< of `kernels`
  mutable TableLock::Mutex watchMutex;
  std::vector<Watch> watches; ///< for what kernels read from Python
  std::unordered_map<std::string, size_t> indexOf;
  std::unordered_map<std::string, Entry> kernels;
};

/// The launches of a tuned kernel; `parameters` are those that are part of the tuning key.
struct TunedTable {
  std::vector<int> parameters;
  LaunchTable table;
  /// The configuration that the tuner shows, if one of our launches set it.
  std::atomic<const void *> lastConfig = nullptr;
  int traverse(visitproc visit, void *arg) const { return table.traverse(visit, arg); }
  void clear() { table.clear(); }
};

/// Forwards the warnings of the CPU's checks.
void showWarnings(const std::string &text);

void bindDispatcher(pybind11::module_ &module);

} // namespace pantile::python
