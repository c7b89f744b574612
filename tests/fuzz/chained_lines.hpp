#pragma once

#include <string>
#include <string_view>

#include "muffle/core/hash.hpp"

namespace muffle::fuzz {

/// A book's text with every line's "prev" and "sha256" replaced by the right ones, so that what the lines say
/// is reached.
inline std::string mend(std::string_view text) {
  constexpr std::string_view kPrevious = R"("prev":")", kHash = R"(,"sha256":")";
  constexpr std::size_t kTail = kHash.size() + 64 + 2;
  std::string out, previous(64, '0');
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (const auto at = line.find(kPrevious);
        at != std::string::npos && line.size() >= at + kPrevious.size() + 64) {
      line.replace(at + kPrevious.size(), 64, previous);
    }
    if (line.size() > kTail && line.compare(line.size() - kTail, kHash.size(), kHash) == 0) {
      const std::string hash =
          to_hex(sha256(PublicBytes(std::string_view(line).substr(0, line.size() - kTail))));
      line.replace(line.size() - 66, 64, hash);
    }
    previous = to_hex(sha256(PublicBytes(line)));
    out += line;
    if (end != std::string_view::npos) out += '\n';
  }
  return out;
}

}  // namespace muffle::fuzz
