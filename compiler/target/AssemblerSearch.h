//===- AssemblerSearch.h - where NVIDIA's tools and libraries may lie ---------------------===//
// Needs: the environment of the process.
// Gives: candidates in the order of preference; they need not exist.
// How:   variables first, then PATH, the usual place, NVIDIA's wheels in the Python environments
//        that hold this library, are active, or are the user's.
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

/// The `site-packages` folders of the Python environments that hold this library, are active, or
/// are the user's.
std::vector<std::string> sitePackages();

/// Path, size and time of change of a file, in one text: another one if it was replaced.
std::string fileIdentity(const std::string &path);

} // namespace pantile
