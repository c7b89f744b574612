#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "arrays.hpp"

namespace muffle::data {

// NumPy's array format (numpy.lib.format): magic, version, length, a Python dict literal, then the elements.

/// Version 1.0 header, padded so that the elements begin at a multiple of 64 bytes.
/// @param descr  element type, such as "|u1" or "<f4"
std::string npy_header(const std::string& descr, std::span<const std::size_t> shape);

/// Reads the header; the elements come next. @param name  of the array, in messages  @param size  of it all
/// @throws DataError  no npy array of this size, one of elements that muffle does not read, in Fortran order.
ArrayReader read_npy(const std::string& name, std::unique_ptr<ByteReader> bytes, std::uint64_t size);

}  // namespace muffle::data
