#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muffle/core/hash.hpp"

namespace muffle::test {

/// A container with the right lengths and checksum around any header, whatever the text is.
inline std::string container_around(std::string_view header, std::string_view payload) {
  std::string out = "MUFFLE\r\n";
  const auto put = [&](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  };
  put(1, 4);
  put(header.size(), 4);
  out += header;
  put(payload.size(), 8);
  out += payload;
  const Sha256Digest digest = sha256(PublicBytes(out));
  return out.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

}  // namespace muffle::test
