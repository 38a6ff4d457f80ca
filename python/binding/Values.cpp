//===- Values.cpp - compile-time values between Python and the library ------------------===//
// How: bool before int, since Python's bool is an int. Objects that exist only on the Python side
//      (jit functions, language objects, constexpr) have `_pantile_key` for launch keys and are
//      turned into the bound reference types before they come here.
//===-----------------------------------------------------------------------------------===//
#include "Values.h"
#include "HostCalls.h"
#include <bit>
#include <pybind11/complex.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace pantile::python {

static std::shared_ptr<const ConstTuple> toConstTuple(py::handle object) {
  auto tuple = std::make_shared<ConstTuple>();
  for (py::handle element : py::reinterpret_borrow<py::sequence>(object))
    tuple->elements.push_back(toConstValue(element));
  if (py::hasattr(object, "_fields"))
    tuple->fields = object.attr("_fields").cast<std::vector<std::string>>();
  return tuple;
}

static ConstValue toInteger(py::handle object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (!overflow)
    return static_cast<int64_t>(value);
  const unsigned long long positive = PyLong_AsUnsignedLongLong(object.ptr());
  if (PyErr_Occurred())
    throw py::error_already_set();
  return static_cast<uint64_t>(positive);
}

ConstValue toConstValue(py::handle object) {
  if (object.is_none())
    return std::monostate{};
  if (PyBool_Check(object.ptr()))
    return object.ptr() == Py_True;
  if (PyLong_Check(object.ptr()))
    return toInteger(object);
  if (PyFloat_Check(object.ptr()))
    return PyFloat_AS_DOUBLE(object.ptr());
  if (PyComplex_Check(object.ptr()))
    return object.cast<std::complex<double>>();
  if (PyUnicode_Check(object.ptr()))
    return object.cast<std::string>();
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr()))
    return toConstTuple(object);
  if (py::isinstance<DTypeName>(object))
    return object.cast<DTypeName>();
  if (py::isinstance<FunctionRef>(object))
    return object.cast<FunctionRef>();
  if (py::isinstance<BuiltinRef>(object))
    return object.cast<BuiltinRef>();
  if (py::isinstance<OpaqueRef>(object))
    return object.cast<OpaqueRef>();
  if (py::isinstance<ClassRef>(object))
    return object.cast<ClassRef>();
  throw py::type_error("a value of type `" + std::string(Py_TYPE(object.ptr())->tp_name) +
                       "` is no compile-time constant");
}

static py::object tupleToPython(const ConstTuple &tuple) {
  py::tuple result(tuple.elements.size());
  for (size_t i = 0; i < tuple.elements.size(); ++i)
    result[i] = toPython(tuple.elements[i]);
  if (tuple.fields.empty())
    return result;
  const py::object namedTuple = py::module_::import("collections").attr("namedtuple");
  py::object type = namedTuple("Parts", tuple.fields, py::arg("rename") = true);
  if (tuple.classIndex) {
    type.attr("_pantile_class") = *tuple.classIndex;
    type.attr("_pantile_fields") = tuple.fields;
  }
  return type(*result);
}

py::object toPython(const ConstValue &value) {
  return std::visit(
      [](const auto &held) -> py::object {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>)
          return py::none();
        else if constexpr (std::is_same_v<Held, std::shared_ptr<const ConstTuple>>)
          return tupleToPython(*held);
        else
          return py::cast(held);
      },
      value);
}

static void appendTupleKey(std::string &key, py::handle object) {
  key += '(';
  for (py::handle element : py::reinterpret_borrow<py::sequence>(object)) {
    appendConstantKey(key, element);
    key += ',';
  }
  key += ')';
  if (py::hasattr(object, "_fields"))
    key += py::str(object.attr("_fields")).cast<std::string>();
}

/// A number of NumPy or torch, or an array of one.
static bool isScalar(py::handle object) {
  if (PyType_Check(object.ptr()) || !py::hasattr(object, "item"))
    return false;
  const Py_ssize_t length = py::hasattr(object, "__len__") ? PyObject_Size(object.ptr()) : 1;
  if (length < 0)
    PyErr_Clear(); // an array without dimensions
  return length < 0 || length == 1;
}

void appendConstantKey(std::string &key, py::handle object) {
  if (object.is_none()) {
    key += 'N';
  } else if (PyBool_Check(object.ptr())) {
    key += object.ptr() == Py_True ? 'T' : 'F';
  } else if (PyLong_Check(object.ptr())) {
    key += py::str(object).cast<std::string>();
  } else if (PyFloat_Check(object.ptr())) {
    // The bits, since -0.0 == 0.0 and nan != nan.
    key += 'f' + std::to_string(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(object.ptr())));
  } else if (PyComplex_Check(object.ptr())) {
    key += 'c';
    for (const char *part : {"real", "imag"})
      appendConstantKey(key, object.attr(part));
  } else if (PyUnicode_Check(object.ptr())) {
    const auto text = object.cast<std::string>();
    key += 's' + std::to_string(text.size()) + ':' + text;
  } else if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    appendTupleKey(key, object);
  } else if (py::hasattr(object, "_pantile_key")) {
    key += object.attr("_pantile_key").cast<std::string>();
  } else if (isScalar(object)) {
    appendConstantKey(key, object.attr("item")());
  } else if (py::isinstance(object, py::module_::import("enum").attr("Enum"))) {
    py::object kind = py::type::of(object);
    for (const char *part : {"__module__", "__qualname__"})
      appendConstantKey(key, kind.attr(part));
    appendConstantKey(key, object.attr("name"));
    appendConstantKey(key, py::repr(object.attr("value")));
  } else {
    throw py::type_error("a value of type `" + std::string(Py_TYPE(object.ptr())->tp_name) +
                         "` is no compile-time constant");
  }
}

static FunctionSource toFunctionSource(const py::dict &description) {
  FunctionSource source;
  source.name = description["name"].cast<std::string>();
  source.text = description["text"].cast<std::string>();
  source.file = description["file"].cast<std::string>();
  source.firstLine = description["first_line"].cast<int>();
  source.indent = description["indent"].cast<int>();
  source.noinline_ = description["noinline"].cast<bool>();
  for (auto [name, value] : description["globals"].cast<py::dict>())
    source.globals.emplace(name.cast<std::string>(), toConstValue(value));
  if (description.contains("host"))
    source.host = toHostCall(description["host"], source.name);
  return source;
}

/// `fields` has tuples (name, is constexpr) with the default as a third element if there is one.
static ClassSource toClassSource(const py::dict &description) {
  ClassSource source;
  source.name = description["name"].cast<std::string>();
  source.isAggregate = description["is_aggregate"].cast<bool>();
  for (py::handle item : description["fields"]) {
    const auto parts = py::reinterpret_borrow<py::tuple>(item);
    ClassSource::Field field{parts[0].cast<std::string>(), parts[1].cast<bool>(), std::nullopt};
    if (parts.size() > 2)
      field.value = toConstValue(parts[2]);
    source.fields.push_back(std::move(field));
  }
  for (auto [name, value] : description["members"].cast<py::dict>())
    source.members.emplace(name.cast<std::string>(), toConstValue(value));
  source.staticMembers = description["static_members"].cast<std::vector<std::string>>();
  source.properties = description["properties"].cast<std::vector<std::string>>();
  return source;
}

void bindValues(py::module_ &module) {
  py::class_<DTypeName>(module, "DTypeName")
      .def(py::init<std::string>())
      .def_readonly("name", &DTypeName::name);
  py::class_<FunctionRef>(module, "FunctionRef")
      .def(py::init<size_t>())
      .def_readonly("index", &FunctionRef::index);
  py::class_<BuiltinRef>(module, "BuiltinRef")
      .def(py::init<std::string>())
      .def_readonly("name", &BuiltinRef::name);
  py::class_<OpaqueRef>(module, "OpaqueRef")
      .def(py::init<std::string>())
      .def_readonly("description", &OpaqueRef::description);
  py::class_<ClassRef>(module, "ClassRef")
      .def(py::init<size_t>())
      .def_readonly("index", &ClassRef::index);
  py::class_<Program, std::shared_ptr<Program>>(module, "Program")
      .def(py::init([](const std::vector<py::dict> &functions, size_t kernel,
                       const std::vector<py::dict> &classes) {
             auto program = std::make_shared<Program>();
             for (const py::dict &function : functions)
               program->functions.push_back(toFunctionSource(function));
             for (const py::dict &description : classes)
               program->classes.push_back(toClassSource(description));
             program->kernel = kernel;
             return program;
           }),
           py::arg("functions"), py::arg("kernel") = 0,
           py::arg("classes") = std::vector<py::dict>());
}

} // namespace pantile::python
