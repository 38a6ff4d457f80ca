//===- AssemblerSearch.h - where to look for NVIDIA's tools and libraries -----------------===//
// Needs: the environment of the process.
// Gives: candidates in the order of preference; they need not exist.
// How:   Environment variables first, then PATH, the usual folder, NVIDIA's wheels in the Python
//        environments that contain this library, are active, or belong to the user.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <string>
#include <vector>

namespace pantile {

/// Files that may be `ptxas`.
std::vector<std::string> ptxasCandidates();

/// Names for dlopen of `libnvJitLink`: bare sonames, then files.
std::vector<std::string> nvJitLinkSonames();
std::vector<std::string> nvJitLinkCandidates();

/// The `site-packages` folders of the Python environments that contain this library, are active, or
/// belong to the user.
std::vector<std::string> sitePackages();

/// Path, size and modification time of a file, as a string that changes if the file is replaced.
std::string fileIdentity(const std::string &path);

} // namespace pantile
