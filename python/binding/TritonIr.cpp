//===- TritonIr.cpp - a kernel's operations in the form of Triton's bindings -----------------===//
// Needs: pantile/TritonView.h.
// Gives: `_pantile.ir`: `module`, `operation`, `region`, `block`, `value` with the methods that
//        programs call on Triton's, and `emit`, which makes a module.
// How:   each object is the view and a number; `id()` is that number.
//===-----------------------------------------------------------------------------------===//
#include "TritonIr.h"
#include "Errors.h"
#include "pantile/TritonView.h"
#include <pybind11/stl.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

using View = std::shared_ptr<const TritonView>;

struct Value {
  int number;
};
struct Region {
  int number;
};
struct Block {
  View view;
  int number;
  const TritonView::Block &operator*() const { return view->blocks[size_t(number)]; }
};
struct Operation {
  View view;
  size_t index;
  const TritonView::Operation &operator*() const { return view->operations[index]; }
  const TritonView::Operation *operator->() const { return &**this; }
};
struct Module {
  View view;
};

int at(const std::vector<int> &numbers, py::ssize_t index) {
  if (index < 0 || size_t(index) >= numbers.size())
    throw py::index_error(std::to_string(index) + " of " + std::to_string(numbers.size()));
  return numbers[size_t(index)];
}

template <typename T>
std::optional<T> find(const std::map<std::string, T> &attributes, const std::string &name) {
  auto found = attributes.find(name);
  return found == attributes.end() ? std::nullopt : std::optional<T>(found->second);
}

Module emit(const std::shared_ptr<Program> &program, const Specialization &specialization,
            const Options &options) {
  Result<TritonView> view = [&] {
    py::gil_scoped_release release;
    return viewAsTriton(*program, specialization, options);
  }();
  return {std::make_shared<const TritonView>(unwrap(std::move(view)))};
}

void walk(const Module &module, const py::function &visit) {
  for (size_t i = 0; i < module.view->operations.size(); ++i)
    visit(Operation{module.view, i});
}

void bindOperation(py::module_ &module) {
  py::class_<Operation>(module, "operation")
      .def("get_name", [](const Operation &op) { return op->name; })
      .def("get_num_operands", [](const Operation &op) { return op->operands.size(); })
      .def("get_operand",
           [](const Operation &op, py::ssize_t i) { return Value{at(op->operands, i)}; })
      .def("get_num_results", [](const Operation &op) { return op->results.size(); })
      .def("get_result",
           [](const Operation &op, py::ssize_t i) { return Value{at(op->results, i)}; })
      .def("get_num_regions", [](const Operation &op) { return op->regions.size(); })
      .def("get_region",
           [](const Operation &op, py::ssize_t i) { return Region{at(op->regions, i)}; })
      .def("get_block",
           [](const Operation &op) {
             return op->block < 0 ? std::nullopt : std::optional(Block{op.view, op->block});
           })
      .def("get_str_attr",
           [](const Operation &op, const std::string &name) { return find(op->texts, name); })
      .def("get_bool_attr",
           [](const Operation &op, const std::string &name) { return find(op->flags, name); })
      // Calls are inlined: no operation refers to a function.
      .def("get_flat_symbol_ref_attr",
           [](const Operation &, const std::string &) { return py::none(); })
      .def("__repr__", [](const Operation &op) { return "<operation " + op->name + ">"; });
}

} // namespace

void bindTritonIr(py::module_ &parent) {
  py::module_ module = parent.def_submodule("ir");
  py::class_<Value>(module, "value").def("id", [](const Value &value) { return value.number; });
  py::class_<Region>(module, "region").def("id", [](const Region &region) {
    return region.number;
  });
  py::class_<Block>(module, "block")
      .def("id", [](const Block &block) { return block.number; })
      .def("get_num_arguments", [](const Block &block) { return (*block).arguments.size(); })
      .def("get_argument",
           [](const Block &block, py::ssize_t i) { return Value{at((*block).arguments, i)}; })
      .def("get_parent", [](const Block &block) { return Region{(*block).region}; });
  bindOperation(module);
  py::class_<Module>(module, "module")
      .def("verify", [](const Module &module) { return module.view->isValid; })
      .def("walk", &walk, py::arg("fn"))
      .def("__str__", [](const Module &module) { return module.view->text; });
  module.def("emit", &emit, py::arg("program"), py::arg("specialization"), py::arg("options"));
}

} // namespace pantile::python
