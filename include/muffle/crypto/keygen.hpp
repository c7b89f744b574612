#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

namespace muffle::crypto {

struct KeygenRequest {
  std::filesystem::path out;
  std::string name;
};

/// `muffle keygen`: a site's long-term key pair. Writes OUT/NAME.key (secret, mode 0600) and OUT/NAME.pub
/// (one line, "NAME PUBLIC-KEY-IN-HEX": with the rank in front it is the site's line of the roster). Never
/// overwrites. Local: one process, no MPI. @throws ConfigError, IoError.
void make_site_key(const KeygenRequest& request, std::ostream& out);

}  // namespace muffle::crypto
