#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace muffle::data::test {

inline void append_u32(std::string& out, std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(v >> shift & 0xFF);
}

/// Magic and sizes, written by hand so that a header may lie.
inline std::string idx_header(unsigned char type, const std::vector<std::uint32_t>& dims) {
  std::string out{0, 0, static_cast<char>(type), static_cast<char>(dims.size())};
  for (const std::uint32_t d : dims) append_u32(out, d);
  return out;
}

inline std::string idx_bytes(const std::vector<std::uint32_t>& dims,
                             const std::vector<unsigned char>& elements) {
  return idx_header(0x08, dims) + std::string(elements.begin(), elements.end());
}

inline std::string idx_floats(const std::vector<std::uint32_t>& dims, const std::vector<float>& elements) {
  std::string out = idx_header(0x0D, dims);
  for (const float v : elements) append_u32(out, std::bit_cast<std::uint32_t>(v));
  return out;
}

/// One gzip member.
inline std::string gzipped(const std::string& bytes) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, bytes.size()) + 64, '\0');
  std::string in = bytes;
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

}  // namespace muffle::data::test
