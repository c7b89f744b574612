#pragma once

#include <filesystem>
#include <memory>

#include "muffle/schema/records.hpp"

namespace muffle::data {

/// An HDF5 file of the arrays x (records, in their shape) and y (labels, uint8), each in one piece. The same
/// records are the same bytes, by one version of libhdf5.
std::unique_ptr<schema::RecordWriter> hdf5_writer(const std::filesystem::path& file,
                                                  const schema::RecordKind& kind);

/// Bytes of headers, at most.
inline constexpr std::uint64_t kMostHdf5HeaderBytes = 8192;

}  // namespace muffle::data
