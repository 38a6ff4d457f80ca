//===- NvJitLink.cpp - PTX to machine code by libnvJitLink --------------------------------===//
// Needs: see Ptx.h.
// Gives: findNvJitLink.
// How:   A copy that the process has loaded comes first: loading a second one would break libraries
//        that load the first one later. Functions are looked up unversioned, then with the
//        library's version in their names, which is all that some builds export.
//===------------------------------------------------------------------------------------===//
#include "target/AssemblerSearch.h"
#include "target/Ptx.h"
#include <dlfcn.h>
#include <fmt/format.h>
#include <vector>

namespace pantile {
namespace {

using Handle = void *;

struct Api {
  int (*create)(Handle *, unsigned count, const char **options);
  int (*addData)(Handle, int kind, const void *data, size_t bytes, const char *name);
  int (*complete)(Handle);
  int (*cubinSize)(Handle, size_t *);
  int (*cubin)(Handle, void *);
  int (*errorLogSize)(Handle, size_t *);
  int (*errorLog)(Handle, char *);
  int (*infoLogSize)(Handle, size_t *);
  int (*infoLog)(Handle, char *);
  int (*destroy)(Handle *);
};

/// NVJITLINK_INPUT_PTX.
constexpr int linkInputPtx = 2;

void *loadLibrary() {
  for (const std::string &soname : nvJitLinkSonames())
    if (void *library = dlopen(soname.c_str(), RTLD_NOW | RTLD_NOLOAD))
      return library;
  for (const std::string &candidate : nvJitLinkCandidates())
    if (void *library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  return nullptr;
}

template <typename Function>
bool look(void *library, const std::string &name, int version, Function *&function) {
  void *found = dlsym(library, name.c_str());
  if (!found && version)
    found = dlsym(library,
                  fmt::format("__{}_{}_{}", name, version / 1000, version % 1000 / 10).c_str());
  function = reinterpret_cast<Function *>(found);
  return found;
}

/// The version that is the suffix of the library's functions, as 1000 * major + 10 * minor; 0 if
/// none fits.
int versionBySuffix(void *library) {
  for (int major = 13; major >= 12; --major)
    for (int minor = 9; minor >= 0; --minor)
      if (dlsym(library, fmt::format("__nvJitLinkCreate_{}_{}", major, minor).c_str()))
        return 1000 * major + 10 * minor;
  return 0;
}

int versionOf(void *library) {
  auto *ask = reinterpret_cast<int (*)(unsigned *, unsigned *)>(dlsym(library, "nvJitLinkVersion"));
  unsigned major = 0, minor = 0;
  if (ask && ask(&major, &minor) == 0)
    return static_cast<int>(1000 * major + 10 * minor);
  return versionBySuffix(library);
}

bool lookAll(void *library, Api &api) {
  int version = versionBySuffix(library);
  return look(library, "nvJitLinkCreate", version, api.create) &&
         look(library, "nvJitLinkAddData", version, api.addData) &&
         look(library, "nvJitLinkComplete", version, api.complete) &&
         look(library, "nvJitLinkGetLinkedCubinSize", version, api.cubinSize) &&
         look(library, "nvJitLinkGetLinkedCubin", version, api.cubin) &&
         look(library, "nvJitLinkGetErrorLogSize", version, api.errorLogSize) &&
         look(library, "nvJitLinkGetErrorLog", version, api.errorLog) &&
         look(library, "nvJitLinkGetInfoLogSize", version, api.infoLogSize) &&
         look(library, "nvJitLinkGetInfoLog", version, api.infoLog) &&
         look(library, "nvJitLinkDestroy", version, api.destroy);
}

std::string readLog(Handle handle, int (*size)(Handle, size_t *), int (*read)(Handle, char *)) {
  size_t bytes = 0;
  if (size(handle, &bytes) != 0 || bytes == 0)
    return "";
  std::string log(bytes, '\0');
  if (read(handle, log.data()) != 0)
    return "";
  return log.c_str();
}

class NvJitLink : public Assembler {
public:
  NvJitLink(const Api &api, int version, const std::string &path)
      : Assembler(fmt::format("libnvJitLink {}.{} ({})", version / 1000, version % 1000 / 10, path),
                  "nvJitLink " + fileIdentity(path)),
        api(api) {}

  Result<Cubin> assemble(std::string_view ptx, const std::string &kernelName,
                         const Options &options) const override {
    std::vector<std::string> texts = {"-arch=" + options.target, "-verbose"};
    if (options.lineInfo)
      texts.push_back("-lineinfo");
    if (!options.enableFpFusion)
      texts.push_back("-Xptxas=--fmad=false");
    if (options.maxRegisters > 0)
      texts.push_back(fmt::format("-maxrregcount={}", options.maxRegisters));
    for (const std::string &option : splitOptions(options))
      texts.push_back("-Xptxas=" + option);
    std::vector<const char *> pointers;
    for (const std::string &text : texts)
      pointers.push_back(text.c_str());
    Handle handle = nullptr;
    if (api.create(&handle, static_cast<unsigned>(pointers.size()), pointers.data()) != 0)
      return assemblerError("libnvJitLink", kernelName,
                            "error: it refuses the target " + options.target);
    Result<Cubin> cubin = link(handle, std::string(ptx), kernelName);
    api.destroy(&handle);
    return cubin;
  }

private:
  Result<Cubin> link(Handle handle, const std::string &ptx, const std::string &kernelName) const {
    size_t bytes = 0;
    // The terminating zero counts.
    if (api.addData(handle, linkInputPtx, ptx.c_str(), ptx.size() + 1, kernelName.c_str()) != 0 ||
        api.complete(handle) != 0 || api.cubinSize(handle, &bytes) != 0)
      return assemblerError("libnvJitLink", kernelName,
                            readLog(handle, api.errorLogSize, api.errorLog));
    Cubin cubin;
    cubin.bytes.resize(bytes);
    if (api.cubin(handle, cubin.bytes.data()) != 0)
      return assemblerError("libnvJitLink", kernelName,
                            readLog(handle, api.errorLogSize, api.errorLog));
    cubin.log = readLog(handle, api.infoLogSize, api.infoLog);
    readResourceUsage(cubin.log, cubin);
    return cubin;
  }

  const Api api;
};

} // namespace

Result<std::unique_ptr<Assembler>> findNvJitLink(int maxVersion) {
  void *library = loadLibrary();
  if (!library)
    return makeError(ErrorKind::Assembler, "no libnvJitLink");
  Api api;
  Dl_info place;
  if (!lookAll(library, api) || !dladdr(reinterpret_cast<void *>(api.create), &place))
    return makeError(ErrorKind::Assembler, "libnvJitLink lacks functions that are needed");
  int version = versionOf(library);
  if (maxVersion && version / 1000 > maxVersion / 1000)
    return makeError(ErrorKind::Assembler,
                     fmt::format("`{}` is of CUDA {}, the driver of {}", place.dli_fname,
                                 version / 1000, maxVersion / 1000));
  return std::unique_ptr<Assembler>(new NvJitLink(api, version, place.dli_fname));
}

} // namespace pantile
