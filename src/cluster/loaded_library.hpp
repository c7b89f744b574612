#pragma once

#include <string>

namespace muffle::cluster {

/// Which file of a shared library this process has loaded, such as "libtorch_cpu.so.1.13 e20b0b9d69c3": its
/// name, links followed, and the first digits of the linker's build ID, which two builds never share; its
/// size in bytes if it has none. Empty: nothing of that name is loaded.
/// @param name  how the file's name begins, such as "libtorch_cpu.so"
std::string loaded_library(const std::string& name);

}  // namespace muffle::cluster
