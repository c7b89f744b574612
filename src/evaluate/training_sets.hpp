#pragma once

#include <cstdint>
#include <filesystem>

#include "muffle/core/heartbeat.hpp"
#include "muffle/data/source.hpp"
#include "muffle/evaluate/classifiers.hpp"

namespace muffle::evaluate {

/// The first `limit` (0: all) records of synthetic records, scaled to [0, 1]: bytes by 1/255, floats by the
/// schema's bounds and clamped to them. @throws IoError; DataError: another number of values per record than
/// the schema, a value that is not finite, a label >= C, or a class without a record.
/// @param heartbeat  called from time to time; what it throws comes out of here.
TrainingSet read_synthetic(const std::filesystem::path& path, const schema::Schema& schema,
                           std::uint64_t limit, const Heartbeat& heartbeat);

/// The first `limit` (0: all) records of real data, without those whose label the schema does not know
/// (on_error clamp).
/// @throws IoError; DataError, also for a class without a record: which one is a local detail.
TrainingSet read_real(const data::DataSpec& spec, std::uint64_t limit, const Heartbeat& heartbeat);

}  // namespace muffle::evaluate
