#pragma once

#include <filesystem>
#include <string_view>

namespace muffle {

/// Writes a file that this user alone may read, whatever the umask and from its first byte on: under another
/// name first, so that it is complete or absent, and takes the place of what was there. @throws IoError.
void write_private_file(const std::filesystem::path& path, std::string_view text);

}  // namespace muffle
