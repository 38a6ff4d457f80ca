//===- Store.cpp - the kernel cache, for Python --------------------------------------------===//
// Needs: see pantile/Cache.h.
// Gives: bindStore.
// How:   Files are read and written without the GIL. Problems of the cache become Python warnings,
//        so that tests see them and programs may turn them into errors.
//===-----------------------------------------------------------------------------------===//
#include "Store.h"
#include "pantile/Cache.h"

namespace py = pybind11;

namespace pantile::python {
namespace {

void warn(const std::string &problem) {
  if (!problem.empty() && PyErr_WarnEx(PyExc_RuntimeWarning, problem.c_str(), 1) != 0)
    throw py::error_already_set();
}

EntryKind kindOf(const std::string &name) {
  for (EntryKind kind : {EntryKind::Note, EntryKind::Kernel, EntryKind::Tuning})
    if (nameOf(kind) == name)
      return kind;
  throw py::value_error("there is no kind of entry `" + name + "`");
}

/// The stored bytes, or None.
py::object load(const std::string &key) {
  std::string problem;
  std::optional<std::string> payload = [&] {
    py::gil_scoped_release release;
    return loadCacheEntry(key, &problem);
  }();
  warn(problem);
  return payload ? py::object(py::bytes(*payload)) : py::none();
}

void store(const std::string &key, const std::string &payload, const std::string &kind) {
  std::string problem;
  const EntryKind wanted = kindOf(kind);
  {
    py::gil_scoped_release release;
    storeCacheEntry(key, payload, wanted, &problem);
  }
  warn(problem);
}

/// Rows (key, time of last use, payload) of all intact entries of a kind.
py::list entries(const std::string &kind) {
  const EntryKind wanted = kindOf(kind);
  std::vector<CacheEntry> found = [&] {
    py::gil_scoped_release release;
    return cacheEntries(/*withPayload=*/true);
  }();
  py::list rows;
  for (const CacheEntry &entry : found)
    if (entry.kind == wanted && entry.damage.empty())
      rows.append(py::make_tuple(entry.key, entry.used, py::bytes(entry.payload)));
  return rows;
}

EntryLock tryLock(const std::string &key) {
  py::gil_scoped_release release;
  return tryLockCacheEntry(key);
}

} // namespace

void bindStore(py::module_ &module) {
  module.def("cache_load", &load, py::arg("key"));
  module.def("cache_store", &store, py::arg("key"), py::arg("payload"), py::arg("kind"));
  module.def("cache_entries", &entries, py::arg("kind"));
  py::class_<EntryLock>(module, "EntryLock")
      .def_property_readonly("is_held", [](const EntryLock &lock) { return lock.held != nullptr; })
      .def_readonly("is_possible", &EntryLock::possible)
      .def("release", [](EntryLock &lock) { lock.held.reset(); });
  module.def("cache_try_lock", &tryLock, py::arg("key"));
}

} // namespace pantile::python
