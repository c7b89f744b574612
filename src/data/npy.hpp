#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "array_reader.hpp"

namespace muffle::data {

/// NumPy's array format (numpy.lib.format): magic, version, length, a Python dict literal, then the elements.
struct NpyHeader {
  ArrayHeader array;
  std::uint64_t length = 0;  ///< bytes that it takes in the file
};

/// Version 1.0 header, padded so that the elements begin at a multiple of 64 bytes.
/// @param descr  element type, such as "|u1" or "<f4"
std::string npy_header(const std::string& descr, std::span<const std::size_t> shape);

/// Reads the header; the elements come next. @param name  what messages call the array.
/// @throws DataError  not an npy array, one of elements that muffle does not read, or in Fortran order.
NpyHeader read_npy_header(ByteReader& bytes, const std::string& name);

}  // namespace muffle::data
