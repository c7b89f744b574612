#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/log.hpp"
#include "muffle/data/format.hpp"
#include "muffle/schema/scaling.hpp"
#include "person_bound.hpp"

namespace muffle::data {
namespace {

constexpr std::string_view kRankPlaceholder = "{rank}";

/// Which records of a file are a rank's own: first, first + stride, ... (count of them).
struct Share {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t stride = 1;
};

Share share_of(ShardRule rule, std::uint64_t records, std::uint64_t rank, std::uint64_t ranks) {
  switch (rule) {
    case ShardRule::kPerRank:
      return {0, records, 1};
    case ShardRule::kRoundRobin:
      return {rank, records / ranks + (rank < records % ranks ? 1 : 0), ranks};
    case ShardRule::kContiguous:
      break;
  }
  const auto cut = [&](std::uint64_t r) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(r) * records / ranks);
  };
  return {cut(rank), cut(rank + 1) - cut(rank), 1};
}

/// A rank's records out of the stream of its files: shard rule, bounds and classes, for all formats.
class Shard final : public RecordSource {
 public:
  Shard(const DataSpec& spec, int rank, int ranks)
      : schema_(spec.schema),
        pictures_(find_format(spec.format).holds_pictures()),
        per_rank_(spec.shards == ShardRule::kPerRank),
        scaling_(spec.schema),
        stream_(open_records(spec, rank)) {
    if (spec.shards != ShardRule::kPerRank && spec.records != 0 && stream_->records() != spec.records) {
      throw DataError(
          stream_->name() + " holds " + std::to_string(stream_->records()) +
          " records, the configuration says " + std::to_string(spec.records) +
          ". The number of records is public and part of the guarantee: correct whichever is wrong.");
    }
    require(!schema_.table || !schema_.table->counted_person() || spec.records_per_person > 0,
            "which of a person's records one is, nobody tells but the bound of records a person");
    if (spec.records_per_person > 0 && schema_.table && schema_.table->person()) {
      require(ranks == 1 || spec.shards == ShardRule::kPerRank || !spec.person_key.empty(),
              "ranks that share files need one key for the bound of records a person");
      counts_ = records_that_count(spec, rank);
      require(counts_.size() == stream_->records(), "the files were changed while they were read");
      if (const auto counted = schema_.table->counted_person()) {
        const std::vector<std::size_t> features = schema_.table->features();
        row_number_ = static_cast<std::size_t>(std::ranges::find(features, *counted) - features.begin());
        rows_ = schema_.table->columns[*counted].rows;
      }
    }
    share_ = share_of(spec.shards, stream_->records(), static_cast<std::uint64_t>(rank),
                      static_cast<std::uint64_t>(ranks));
  }

  std::uint64_t shard_size() const override { return share_.count; }
  std::optional<Places> places() const override {
    if (pictures_ || per_rank_) return std::nullopt;
    return Places{share_.first, share_.stride};
  }
  void hand_out_bytes() override { as_bytes_ = stream_->holds_bytes(); }

  void next(std::size_t max_records, Batch& batch) override {
    require(max_records > 0, "RecordSource::next() needs room for a record");
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(max_records, share_.count - done_));
    make_room(n, batch);
    std::size_t i = 0;
    for (bool paused = false; i < n && !paused; ++i, ++done_) {
      stream_->go_to(share_.first + done_ * share_.stride);
      stream_->read(row_);
      paused = stream_->pauses();
      if (!row_.misfit.empty() && !clamp_) throw misfit(row_.misfit);
      if (!put_numbers(i, batch)) {
        const std::string file = stream_->last().numbers;
        if (!clamp_)
          throw misfit(file + " has a number that is not finite or lies outside the bounds [lo, hi].");
        ++clamped_;
      }
      batch.y[i] = checked_label();
      if (!counts_.empty()) bound_by_person(share_.first + done_ * share_.stride, i, batch);
    }
    if (i < n) make_room(i, batch);  // keeps what is there
    batch.n = i;
    if (done_ == share_.count) tell_misfits();
    // Whoever reads up to the end of the files checks that they end there. Round-robin: every rank;
    // contiguous: the last.
    const bool to_the_end = share_.stride != 1 || share_.first + share_.count == stream_->records();
    if (to_the_end && done_ == share_.count && !std::exchange(end_checked_, true)) stream_->expect_end();
  }

 private:
  /// @param i  the record's place in the batch
  void bound_by_person(std::uint64_t record, std::size_t i, Batch& batch) {
    if (!counts_.counts(record)) {
      if (batch.y[i] != schema::kNoClass) ++beyond_bound_;
      batch.y[i] = schema::kNoClass;
    } else if (row_number_) {
      const auto code = static_cast<std::uint32_t>(std::min<std::size_t>(counts_.numbers[record], rows_) - 1);
      batch.x[i * schema_.dims() + *row_number_] = schema::position({code, 0.5f}, rows_);
    }
  }

  /// Once, to the rank's own log.
  void tell_misfits() {
    if (std::exchange(told_, true)) return;
    if (clamped_ + unusable_ > 0) {
      note_local(fmt::format(
          "data: of this rank's records {} had a number that was clamped to the bounds, and {} "
          "count as nothing: a label that is no class, a field that nothing can take the place of, or a "
          "picture of another size or other channels",
          clamped_, unusable_));
    }
    if (beyond_bound_ > 0)
      note_local(
          fmt::format("data: {} of this rank's records are beyond the bound of records a person and "
                      "count as nothing",
                      beyond_bound_));
    if (const std::string misfits = stream_->misfits(); !misfits.empty())
      note_local("data: fields of this rank's records that did not fit: " + misfits);
  }

  void make_room(std::size_t n, Batch& batch) const {
    const std::size_t numbers = n * schema_.dims();
    batch.n = 0;
    batch.x.resize(as_bytes_ ? 0 : numbers);
    batch.bytes.resize(as_bytes_ ? numbers : 0);
    batch.scale = as_bytes_ ? &scaling_.bytes() : nullptr;
    batch.y.resize(n);
  }

  /// @returns whether all numbers were within the bounds; they are now.
  bool put_numbers(std::size_t i, Batch& batch) const {
    const std::size_t dims = schema_.dims();
    const auto fits = [&](auto v) { return scaling_.fits(static_cast<float>(v)); };
    const bool bytes_fit = fits(0) && fits(255);
    if (stream_->holds_bytes()) {
      if (as_bytes_) {
        std::memcpy(batch.bytes.data() + i * dims, row_.bytes.data(), dims);
      } else {
        for (std::size_t j = 0; j < dims; ++j) batch.x[i * dims + j] = scaling_.bytes()[row_.bytes[j]];
      }
      return bytes_fit || std::all_of(row_.bytes.begin(), row_.bytes.end(), fits);
    }
    for (std::size_t j = 0; j < dims; ++j) batch.x[i * dims + j] = scaling_.to_unit(row_.floats[j]);
    return std::all_of(row_.floats.begin(), row_.floats.end(), fits);
  }

  std::int32_t checked_label() {
    if (row_.label >= 0 && static_cast<std::uint64_t>(row_.label) < schema_.classes)
      return static_cast<std::int32_t>(row_.label);
    if (clamp_) return ++unusable_, schema::kNoClass;
    throw misfit(stream_->last().label + " has a label that is not one of the classes.");
  }

  /// A record that its schema does not allow. One text whatever is wrong: which record it is, and whether a
  /// number or the label is bad, is private. @param what  goes to the rank's own log
  DataError misfit(const std::string& what) const {
    const RecordStream::Place place = stream_->last();
    return DataError(
        "a record of " + place.files + " does not fit the public schema: it has a number that is not " +
            "finite or lies outside [data.lo, data.hi], or a label outside 0.." +
            std::to_string(schema_.classes - 1) + " (data.classes)" +
            (pictures_ ? ", or is a picture of another size or channels than data.shape says" : "") +
            ", and data.on_error = \"reject-file\" refuses the job for it. Mend the record, " +
            "correct the schema, or set data.on_error = \"clamp\".",
        LocalDetail{"record " + std::to_string(place.record) + " (counting from 0) of " + what});
  }

  schema::Schema schema_;
  const bool pictures_, per_rank_;
  const bool clamp_ = schema_.on_error == schema::OnError::kClamp;
  std::uint64_t clamped_ = 0, unusable_ = 0;  ///< private
  CountedRecords counts_;                     ///< of the files; empty: all do. Private
  std::optional<std::size_t> row_number_;  ///< the number of a record that says which of its person's it is
  std::size_t rows_ = 0;                   ///< its codes
  std::uint64_t beyond_bound_ = 0;
  bool told_ = false;
  schema::Scaling scaling_;
  std::unique_ptr<RecordStream> stream_;
  Share share_;
  std::uint64_t done_ = 0;
  bool end_checked_ = false;
  bool as_bytes_ = false;
  Row row_;
};

}  // namespace

std::string resolve_path(const DataSpec& spec, const std::string& file, int rank) {
  std::string path = (std::filesystem::path(spec.dir) / file).string();
  const std::string number = std::to_string(rank);
  for (std::size_t at = path.find(kRankPlaceholder); at != std::string::npos;
       at = path.find(kRankPlaceholder, at + number.size())) {
    path.replace(at, kRankPlaceholder.size(), number);
  }
  return path;
}

bool names_rank(const DataSpec& spec, const std::string& file) {
  return (std::filesystem::path(spec.dir) / file).string().find(kRankPlaceholder) != std::string::npos;
}

std::unique_ptr<RecordStream> open_records(const DataSpec& spec, int rank) {
  spec.schema.validate();
  if (spec.features.empty()) throw DataError("no record file is named: set data.features.");
  const Format& format = find_format(spec.format);
  for (const std::string& problem : {format.schema_problem(spec.schema), format.labels_problem(spec)})
    if (!problem.empty()) throw DataError(problem + ".");
  return format.open(spec, rank);
}

std::unique_ptr<RecordSource> open_shard(const DataSpec& spec, int rank, int ranks) {
  require(ranks >= 1 && rank >= 0 && rank < ranks,
          "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + " does not exist");
  if ((names_rank(spec, spec.features) || names_rank(spec, spec.labels)) &&
      spec.shards != ShardRule::kPerRank) {
    throw DataError(
        "the data's path has " + std::string(kRankPlaceholder) +
        " in it, but the shard rule shares one file between the ranks: set the rule to per-rank.");
  }
  return std::make_unique<Shard>(spec, rank, ranks);
}

}  // namespace muffle::data
