//===- Dlpack.cpp - tensors in DLPack's ABI ----------------------------------------------===//
// How: Used for the type that defines the functions, and for derived types that declare that they
//      change nothing, such as torch.nn.Parameter (`__torch_function__` is torch's function that
//      does nothing, and there is no `__torch_dispatch__`).
//===-----------------------------------------------------------------------------------===//
#include "Dlpack.h"
#include "Arguments.h"
#include <array>

namespace py = pybind11;

namespace pantile::python {
namespace {

/// The attribute that the class itself defines, not its bases; borrowed.
PyObject *ownAttribute(PyTypeObject *type, const char *name) {
  const auto dict = py::reinterpret_steal<py::object>(
      PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__dict__"));
  // A class keeps its attributes alive without this proxy of its dict.
  PyObject *found = dict ? PyMapping_GetItemString(dict.ptr(), name) : nullptr;
  Py_XDECREF(found);
  PyErr_Clear();
  return found;
}

/// Whether a class derived from a tensor type overrides nothing.
bool changesNothing(PyTypeObject *type) {
  PyObject *function = ownAttribute(type, "__torch_function__");
  PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
  if (!function || !module || ownAttribute(type, "__torch_dispatch__") ||
      ownAttribute(type, "data_ptr") || ownAttribute(type, "dtype"))
    return false;
  const auto nothing = py::reinterpret_steal<py::object>(
      PyObject_GetAttrString(module, "_disabled_torch_function_impl"));
  PyErr_Clear();
  return nothing.ptr() == function;
}

const DLExchange *ownExchange(PyTypeObject *type) {
  constexpr const char *capsuleName = "dlpack_exchange_api";
  PyObject *capsule = ownAttribute(type, "__dlpack_c_exchange_api__");
  if (!capsule || !PyCapsule_IsValid(capsule, capsuleName))
    return nullptr;
  const auto *exchange =
      static_cast<const DLExchange *>(PyCapsule_GetPointer(capsule, capsuleName));
  return exchange->major == 1 && exchange->describe ? exchange : nullptr;
}

/// The names of the types of one code, by the logarithm of the bits.
using NamesBySize = std::array<const char *, 7>;

} // namespace

const DLExchange *exchangeOf(PyTypeObject *type) {
  if (const DLExchange *own = ownExchange(type))
    return own;
  return type->tp_base && changesNothing(type) ? ownExchange(type->tp_base) : nullptr;
}

const char *nameOfDLType(const DLTensor &tensor) {
  enum Code {
    Int = 0,
    Unsigned = 1,
    Float = 2,
    Bfloat = 4,
    Complex = 5,
    Bool = 6,
    E4M3 = 10,
    E4M3Fnuz = 11,
    E5M2 = 12,
    E5M2Fnuz = 13,
    Codes
  };
  // Filled from the one list of names, whose strings launches compare by address.
  static const auto names = [] {
    std::array<NamesBySize, Codes> made{};
    made[Int] = {0,
                 0,
                 0,
                 shortDtypeName("i8"),
                 shortDtypeName("i16"),
                 shortDtypeName("i32"),
                 shortDtypeName("i64")};
    made[Unsigned] = {0,
                      0,
                      0,
                      shortDtypeName("u8"),
                      shortDtypeName("u16"),
                      shortDtypeName("u32"),
                      shortDtypeName("u64")};
    made[Float] = {
        0, 0, 0, 0, shortDtypeName("fp16"), shortDtypeName("fp32"), shortDtypeName("fp64")};
    made[Bfloat][4] = shortDtypeName("bf16");
    made[Complex][6] = shortDtypeName("c64");
    made[Bool][3] = shortDtypeName("i1");
    made[E4M3][3] = shortDtypeName("fp8e4nv");
    made[E5M2][3] = shortDtypeName("fp8e5");
    made[E4M3Fnuz][3] = shortDtypeName("fp8e4b8");
    made[E5M2Fnuz][3] = shortDtypeName("fp8e5b16");
    return made;
  }();
  const unsigned bits = tensor.bits;
  if (tensor.code >= Codes || tensor.lanes != 1 || bits < 8 || bits > 64 || (bits & (bits - 1)))
    return nullptr;
  return names[tensor.code][__builtin_ctz(bits)];
}

} // namespace pantile::python
