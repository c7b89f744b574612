#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muffle::synth {

/// NumPy's array format (numpy.lib.format): magic, version, length, a Python dict literal, then the elements.
struct NpyHeader {
  std::string descr;               ///< element type, such as "|u1" or "<f4"
  std::vector<std::size_t> shape;  ///< row-major
};

/// Version 1.0 header, padded so that the elements begin at a multiple of 64 bytes.
std::string npy_header(const NpyHeader& header);

/// Parses the header and leaves in `bytes` the elements alone. `name` is what messages call the array.
/// @throws DataError  not an npy array, or one in Fortran order.
NpyHeader take_npy_header(std::string_view& bytes, const std::string& name);

}  // namespace muffle::synth
