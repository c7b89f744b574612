#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/data/source.hpp"

namespace muffle::data {

/// Labelled records in memory. Private, where they are real.
struct LabelledRecords {
  std::vector<float> x;         ///< n x dims, row-major, scaled to [0, 1]; of tables: positions
  std::vector<std::int64_t> y;  ///< n labels in 0..C-1

  std::size_t size() const { return y.size(); }
};

/// The first `limit` (0: all) records of all files, without those that count as nothing: a label that the
/// schema does not know (on_error clamp), one that is beyond the bound of records a person.
/// @param heartbeat  called from time to time; what it throws comes out of here
/// @throws as open_shard() and RecordSource::next().
LabelledRecords read_labelled(const DataSpec& spec, std::uint64_t limit, const Heartbeat& heartbeat);

}  // namespace muffle::data
