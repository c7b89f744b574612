#pragma once

#include <string>

#include "arrays.hpp"

namespace muffle::data {

inline bool is_npy(const std::string& file) { return file.ends_with(".npy"); }

/// The array of an .npy file. @param texts  as of read_npy(). @throws IoError, DataError.
ArrayReader open_npy(const std::string& path, bool texts);

/// An array of an .npz file. @throws IoError;  DataError: it is missing, or cannot be read.
ArrayReader open_member(const std::string& path, const std::string& array, bool texts);

}  // namespace muffle::data
