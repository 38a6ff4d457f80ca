//===- CLauncherText.h - the part of a C launcher that is always the same ------------------===//
#pragma once
#include <string_view>

namespace pantile {

/// C text that stands before the kernels of a file: the driver, devices, loading, tensor maps and
/// the launch itself. `@` stands for the file's prefix.
extern const std::string_view launcherText;

} // namespace pantile
