//===- AssemblerSearch.cpp - where to look for NVIDIA's tools and libraries ---------------===//
// Needs: see AssemblerSearch.h.
// Gives: sitePackages, ptxasCandidates, nvJitLinkSonames, nvJitLinkCandidates, fileIdentity.
// How:   The wheels of CUDA 12 have one folder per component under `nvidia/`, those of 13 a single
//        one.
//===------------------------------------------------------------------------------------===//
#include "target/AssemblerSearch.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

namespace fs = llvm::sys::fs;

namespace pantile {
namespace {

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// The `site-packages` folders under `root`/lib/python3.*.
void addSitePackagesOf(const std::string &root, std::vector<std::string> &out) {
  std::error_code error;
  for (fs::directory_iterator it(root + "/lib", error), end; it != end && !error;
       it.increment(error))
    if (llvm::StringRef(it->path()).contains("/lib/python3"))
      out.push_back(it->path() + "/site-packages");
}

} // namespace

std::vector<std::string> sitePackages() {
  std::vector<std::string> folders;
  Dl_info here;
  if (dladdr(reinterpret_cast<void *>(&sitePackages), &here) && here.dli_fname) {
    llvm::StringRef path = here.dli_fname;
    for (llvm::StringRef name : {"/site-packages/", "/dist-packages/"})
      if (size_t at = path.rfind(name); at != path.npos)
        folders.push_back(path.substr(0, at + name.size() - 1).str());
  }
  if (std::string root = variable("VIRTUAL_ENV"); !root.empty())
    addSitePackagesOf(root, folders);
  if (std::string home = variable("HOME"); !home.empty())
    addSitePackagesOf(home + "/.local", folders);
  return folders;
}

std::vector<std::string> ptxasCandidates() {
  std::vector<std::string> out;
  for (const char *name : {"PANTILE_PTXAS_PATH", "TRITON_PTXAS_PATH"})
    if (std::string path = variable(name); !path.empty())
      out.push_back(path);
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string root = variable(name); !root.empty())
      out.push_back(root + "/bin/ptxas");
  llvm::SmallVector<llvm::StringRef> folders;
  std::string path = variable("PATH");
  llvm::StringRef(path).split(folders, ':', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef folder : folders)
    out.push_back((folder + "/ptxas").str());
  out.push_back("/usr/local/cuda/bin/ptxas");
  for (const std::string &folder : sitePackages())
    for (const char *place : {"nvidia/cu13/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas"})
      out.push_back(folder + "/" + place);
  return out;
}

std::vector<std::string> nvJitLinkSonames() { return {"libnvJitLink.so.13", "libnvJitLink.so.12"}; }

std::vector<std::string> nvJitLinkCandidates() {
  std::vector<std::string> out;
  for (const std::string &folder : sitePackages()) {
    out.push_back(folder + "/nvidia/cu13/lib/libnvJitLink.so.13");
    out.push_back(folder + "/nvidia/nvjitlink/lib/libnvJitLink.so.12");
  }
  std::vector<std::string> roots = {variable("CUDA_HOME"), variable("CUDA_PATH"),
                                    "/usr/local/cuda"};
  for (const std::string &root : roots)
    if (!root.empty())
      for (const char *folder : {"lib64", "lib"})
        for (const std::string &soname : nvJitLinkSonames())
          out.push_back(fmt::format("{}/{}/{}", root, folder, soname));
  for (const std::string &soname : nvJitLinkSonames())
    out.push_back(soname);
  return out;
}

std::string fileIdentity(const std::string &path) {
  fs::file_status status;
  if (fs::status(path, status))
    return path;
  return fmt::format("{} {} {}", path, status.getSize(),
                     status.getLastModificationTime().time_since_epoch().count());
}

} // namespace pantile
