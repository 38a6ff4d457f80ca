//===- HostCalls.cpp - constexpr functions, called while a kernel compiles ------------------===//
// Invariant: the callable is released with the GIL held, or not at all once Python has shut down:
//            the last owner of a Program may be a thread without the GIL.
//===-----------------------------------------------------------------------------------===//
#include "HostCalls.h"
#include "Values.h"

namespace py = pybind11;

namespace pantile::python {
namespace {

std::shared_ptr<py::object> sharedObject(py::object object) {
  return {new py::object(std::move(object)), [](py::object *held) {
            if (!Py_IsInitialized())
              return;
            py::gil_scoped_acquire acquire;
            delete held;
          }};
}

Error failureOf(const std::string &name, const py::error_already_set &raised) {
  const auto type = py::str(raised.type().attr("__name__")).cast<std::string>();
  const auto text = py::str(raised.value()).cast<std::string>();
  return makeError(ErrorKind::Type,
                   "`" + name + "` raised " + type + (text.empty() ? "" : ": " + text));
}

Result<ConstValue> callPython(const py::object &callable, const std::string &name,
                              const std::vector<ConstValue> &args,
                              const std::vector<std::string> &names) {
  const py::gil_scoped_acquire acquire;
  try {
    const size_t positionalCount = args.size() - names.size();
    py::list positional;
    py::dict named;
    for (size_t i = 0; i < args.size(); ++i)
      if (i < positionalCount)
        positional.append(toPython(args[i]));
      else
        named[py::str(names[i - positionalCount])] = toPython(args[i]);
    return toConstValue(callable(positional, named));
  } catch (const py::error_already_set &raised) {
    return failureOf(name, raised);
  } catch (const py::builtin_exception &raised) {
    return makeError(ErrorKind::Type, "`" + name + "`: " + raised.what());
  }
}

} // namespace

HostCall toHostCall(py::object callable, std::string name) {
  return [held = sharedObject(std::move(callable)), name = std::move(name)](
             const std::vector<ConstValue> &args, const std::vector<std::string> &names) {
    return callPython(*held, name, args, names);
  };
}

} // namespace pantile::python
