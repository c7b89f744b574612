#pragma once

#include <filesystem>
#include <memory>

#include "muffle/schema/records.hpp"

namespace muffle::data {

/// An HDF5 file of the arrays x (records, in their shape) and y (labels, uint8), each in one piece, as all
/// versions of libhdf5 since 1.6 read it.
std::unique_ptr<schema::RecordWriter> hdf5_writer(const std::filesystem::path& file,
                                                  const schema::RecordKind& kind);

/// Bytes before the numbers, at most.
std::uint64_t hdf5_header_bytes(const schema::RecordKind& kind);

}  // namespace muffle::data
