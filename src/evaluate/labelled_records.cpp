#include "labelled_records.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "muffle/schema/scaling.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kRecordsABeat = 10'000;  ///< records

std::vector<std::size_t> empty_classes(const std::vector<std::int64_t>& y, std::size_t classes) {
  std::vector<std::uint64_t> counts(classes, 0);
  for (const std::int64_t label : y) ++counts[static_cast<std::size_t>(label)];
  std::vector<std::size_t> empty;
  for (std::size_t c = 0; c < classes; ++c) {
    if (counts[c] == 0) empty.push_back(c);
  }
  return empty;
}

void require_all_classes(const std::vector<std::int64_t>& y, std::size_t classes, const std::string& name) {
  const std::vector<std::size_t> empty = empty_classes(y, classes);
  if (empty.empty()) return;
  if (empty.size() == classes) {
    throw DataError(fmt::format("{} has no record to train a classifier on.", name));
  }
  const std::string what =
      empty.size() + 1 == classes ? "records of a single class only" : "no record of every class";
  throw DataError(fmt::format(
      "{} has {}: class{} {} of 0..{} {} missing, so that a classifier trained on it could never be right "
      "there. Make more records (sample.count), draw the labels uniformly, or raise evaluate.train_limit.",
      name, what, empty.size() == 1 ? "" : "es", fmt::join(empty, ", "), classes - 1,
      empty.size() == 1 ? "is" : "are"));
}

/// @param name  for messages  @param record  its number: it is synthetic, so that anything may be said of it
void scale_record(const data::Row& row, const schema::SampleScaling& scaling, const std::string& name,
                  std::size_t record, float* out) {
  if (scaling.as_bytes()) {
    std::transform(row.bytes.begin(), row.bytes.end(), out, schema::SampleScaling::from_byte);
    return;
  }
  for (std::size_t j = 0; j < row.floats.size(); ++j) {
    if (!std::isfinite(row.floats[j])) {
      throw DataError(
          fmt::format("record {} (counting from 0) of {} holds {}: synthetic records must be finite.", record,
                      name, row.floats[j]));
    }
    out[j] = scaling.from_number(row.floats[j]);
  }
}

std::size_t limited(std::uint64_t count, std::uint64_t limit) {
  return static_cast<std::size_t>(limit == 0 ? count : std::min(count, limit));
}

std::unique_ptr<data::RecordStream> open_samples(const std::filesystem::path& path,
                                                 const schema::Schema& schema, const data::DataSpec& text) {
  data::DataSpec spec = data::written_records(path, text);
  spec.schema = schema;
  return data::open_records(spec);
}

}  // namespace

UnlabelledSamples::UnlabelledSamples(const std::filesystem::path& path, const schema::Schema& schema)
    : name_(fmt::format("'{}'", path.string())),
      dims_(schema.dims()),
      records_(open_samples(path, schema, {})),
      scaling_(schema, records_->holds_bytes()) {}

std::vector<float> UnlabelledSamples::next(std::size_t n) {
  const std::size_t left = static_cast<std::size_t>(records_->records()) - read_;
  std::vector<float> x(std::min(n, left) * dims_);
  data::Row row;
  for (std::size_t i = 0; i < x.size(); i += dims_) {
    records_->read(row);
    scale_record(row, scaling_, name_, read_++, x.data() + i);
  }
  if (x.empty()) records_->expect_end();
  return x;
}

LabelledRecords read_samples(const std::filesystem::path& path, const schema::Schema& schema,
                             std::uint64_t limit, const Heartbeat& heartbeat, const data::DataSpec& text) {
  const std::string name = fmt::format("'{}'", path.string());
  const auto records = open_samples(path, schema, text);
  const schema::SampleScaling scaling(schema, records->holds_bytes());
  const std::size_t n = limited(records->records(), limit), dims = schema.dims();
  LabelledRecords set{std::vector<float>(n * dims), std::vector<std::int64_t>(n)};
  data::Row row;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % kRecordsABeat == 0) beat(heartbeat);
    records->read(row);
    if (row.label < 0 || static_cast<std::uint64_t>(row.label) >= schema.classes) {
      throw DataError(
          fmt::format("record {} (counting from 0) of {} has the label {}, but the schema has {} classes: "
                      "correct the schema, or give the samples that were made for it.",
                      i, name, row.label, schema.classes));
    }
    set.y[i] = row.label;
    scale_record(row, scaling, name, i, set.x.data() + i * dims);
  }
  if (n == records->records()) records->expect_end();
  require_all_classes(set.y, schema.classes, name);
  return set;
}

LabelledRecords read_real_records(const data::DataSpec& spec, std::uint64_t limit,
                                  const Heartbeat& heartbeat) {
  LabelledRecords set = data::read_labelled(spec, limit, heartbeat);
  // Their classes are private: the public text is one for all data.
  if (const auto empty = empty_classes(set.y, spec.schema.classes); !empty.empty()) {
    const std::string& file = spec.labels.empty() ? spec.features : spec.labels;
    const std::string name = fmt::format("'{}'", data::resolve_path(spec, file, 0));
    throw DataError(
        fmt::format(
            "classifiers cannot be trained on the real records of {}: not every class of the schema has "
            "one among them. Raise evaluate.train_limit, leave out what trains on them (evaluate.also_real, "
            "feature-distance), or look at the log of the rank that read them.",
            name),
        LocalDetail{fmt::format("{} has no record of the classes {}", name, fmt::join(empty, ", "))});
  }
  return set;
}

void training_problems(const std::string& metric, const TrainingChoice& choice, const data::Settings& data,
                       settings::Problems& p) {
  const std::string named = fmt::format("evaluate.metrics has \"{}\"", metric);
  p.unless(!data.test_features.empty() && data::find_format(data.format).labels_problem(data.test()).empty(),
           named + (data.schema.table ? ", which needs data.test_features"
                                      : ", which needs data.test_features and data.test_labels"));
  p.unless(data.schema.classes >= 2,
           named + (data.schema.table ? ", which needs a column of role \"label\" with two values or more"
                                      : ", which needs data.classes of at least 2"));
  p.unless(!choice.also_real || !data.features.empty(),
           "evaluate.also_real trains on real records, but data.features names no file");
  p.unless(!choice.also_real || data.shards != data::ShardRule::kPerRank,
           "evaluate.also_real trains on all real records in one process, and with one file a rank "
           "(data.shards = \"per-rank\") no process may read them all: leave it out");
  p.unless(choice.train_limit == 0 || choice.train_limit >= data.schema.classes,
           "evaluate.train_limit is below data.classes: some class would have no record");
}

}  // namespace muffle::evaluate
