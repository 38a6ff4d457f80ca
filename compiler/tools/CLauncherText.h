//===- CLauncherText.h - the fixed part of a C launcher --------------------------------------===//
#pragma once
#include <string_view>

namespace pantile {

/// C code before the kernels of a file: the driver, devices, loading, tensor maps and the launch
/// itself. `@` stands for the file's prefix.
extern const std::string_view launcherText;

} // namespace pantile
