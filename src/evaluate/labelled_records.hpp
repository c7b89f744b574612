#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/data/format.hpp"
#include "muffle/data/labelled_records.hpp"
#include "muffle/data/settings.hpp"
#include "muffle/schema/scaling.hpp"

namespace muffle::evaluate {

/// As classifiers are trained on them.
using data::LabelledRecords;

/// The first `limit` (0: all) records of synthetic records, scaled to [0, 1]: bytes by 1/255, floats by the
/// schema's bounds and clamped to them. @throws IoError; DataError: another number of values per record than
/// the schema, a value that is not finite, a label >= C, or a class without a record.
/// @param heartbeat  called from time to time; what it throws comes out of here. @param text  of
/// data::written_records()
LabelledRecords read_samples(const std::filesystem::path& path, const schema::Schema& schema,
                             std::uint64_t limit, const Heartbeat& heartbeat,
                             const data::DataSpec& text = {});

/// Records of such a file, without their labels, as a stream. Memory: what next() returns.
class UnlabelledSamples {
 public:
  /// @throws IoError; DataError: another number of values per record than the schema.
  UnlabelledSamples(const std::filesystem::path& path, const schema::Schema& schema);
  /// At most n further records, row-major, scaled to [0, 1]; empty: there are no more.
  /// @throws DataError  truncated, or a value that is not finite.
  std::vector<float> next(std::size_t n);

 private:
  std::string name_;
  std::size_t dims_, read_ = 0;
  std::unique_ptr<data::RecordStream> records_;
  schema::SampleScaling scaling_;
};

/// The first `limit` (0: all) records of real data, without those whose label the schema does not know
/// (on_error clamp).
/// @throws IoError; DataError, also for a class without a record: which one is a local detail.
LabelledRecords read_real_records(const data::DataSpec& spec, std::uint64_t limit,
                                  const Heartbeat& heartbeat);

/// Which real records the classifiers of a metric read, and how many.
struct TrainingChoice {
  bool also_real = false;         ///< classifiers trained on real records beside those trained on samples
  std::uint64_t train_limit = 0;  ///< only the first so many; 0: all
};

/// What is wrong with the configured data for a metric that trains on samples and tests on real records.
void training_problems(const std::string& metric, const TrainingChoice& choice, const data::Settings& data,
                       settings::Problems& problems);

}  // namespace muffle::evaluate
