#include "cifar.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "byte_stream.hpp"
#include "muffle/core/error.hpp"
#include "scale.hpp"
#include "share.hpp"

namespace muffle::data {
namespace {

struct CifarFile {
  std::string name;
  std::uint64_t bytes = 0, records = 0;
};

/// Sizes are private where the number of records is: they go to the rank's own log.
CifarFile inspect(const std::string& name, std::uint64_t record_bytes) {
  const ByteStream stream(name);
  if (stream.compressed()) {
    throw DataError("'" + name +
                    "' is compressed; records in the CIFAR format are read uncompressed. Unpack it first.");
  }
  if (stream.file_size() % record_bytes != 0) {
    throw DataError(
        "'" + name + "' is not a whole number of records of " + std::to_string(record_bytes) +
            " bytes, a label and data.shape: it is truncated, or data.shape or data.format is wrong.",
        LocalDetail{"'" + name + "' has " + std::to_string(stream.file_size()) + " bytes"});
  }
  return {name, stream.file_size(), stream.file_size() / record_bytes};
}

class CifarSource final : public RecordSource {
 public:
  CifarSource(const DataSpec& spec, std::uint64_t rank, std::uint64_t ranks)
      : schema_(spec.schema), scaler_(spec.schema), stored_(1 + spec.schema.dims()) {
    for (const std::string& name : split_at_commas(spec.features)) {
      files_.push_back(inspect(resolve_path(spec, name, static_cast<int>(rank)), stored_.size()));
      records_ += files_.back().records;
    }
    if (spec.shards != ShardRule::kPerRank && spec.records != 0 && records_ != spec.records) {
      throw DataError(
          "'" + spec.features + "' holds " + std::to_string(records_) + " records, the configuration says " +
          std::to_string(spec.records) +
          ". The number of records is public and part of the guarantee: correct whichever is wrong.");
    }
    share_ = share_of(spec.shards, records_, rank, ranks);
  }

  std::uint64_t shard_size() const override { return share_.count; }
  std::uint64_t file_records() const override { return records_; }

  void next(std::size_t max_records, Batch& batch) override {
    require(max_records > 0, "RecordSource::next() needs room for a record");
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(max_records, share_.count - done_));
    scaler_.make_room(n, schema_.dims(), as_bytes_, batch);
    for (std::size_t i = 0; i < n; ++i, ++done_) {
      go_to(share_.first + done_ * share_.stride);
      read_record(i, batch);
    }
    batch.n = n;
  }

  void hand_out_bytes() override { as_bytes_ = true; }

 private:
  DataError changed() const {
    return DataError("'" + files_[file_].name +
                     "' was changed while it was read: nothing was released. Run again when it is at rest.");
  }

  /// Forward only. Positions count records: of all files together, and in the file that is open.
  void go_to(std::uint64_t record) {
    std::uint64_t place = record - before_;
    while (place >= files_[file_].records) {
      place -= files_[file_].records;
      before_ += files_[file_].records;
      ++file_;
      stream_.reset();
    }
    if (!stream_) {
      stream_.emplace(files_[file_].name);
      position_ = 0;
      if (stream_->file_size() != files_[file_].bytes || stream_->compressed()) throw changed();
    }
    const std::uint64_t bytes = (place - position_) * stored_.size();
    if (stream_->skip(bytes) < bytes) throw changed();
    position_ = place;
  }

  void read_record(std::size_t i, Batch& batch) {
    const std::string& name = files_[file_].name;
    if (stream_->read(stored_) < stored_.size()) throw changed();
    const std::uint64_t record = position_++;
    if (!scaler_.put(std::span<const std::byte>(stored_).subspan(1), IdxType::kUint8, i, batch)) {
      throw misfit(schema_, "'" + name + "'", record,
                   "'" + name + "' has a number outside the bounds [lo, hi].");
    }
    std::int32_t& y = batch.y[i];
    const auto label = std::to_integer<std::uint32_t>(stored_[0]);
    if (schema_.classes == 1) {
      y = 0;  // unlabelled: whatever the byte says
    } else if (label < schema_.classes) {
      y = static_cast<std::int32_t>(label);
    } else if (schema_.on_error == schema::OnError::kClamp) {
      y = schema::kNoClass;
    } else {
      throw misfit(schema_, "'" + name + "'", record,
                   "'" + name + "' has a label that is not one of the classes.");
    }
  }

  schema::Schema schema_;
  Scaler scaler_;
  std::vector<std::byte> stored_;
  std::vector<CifarFile> files_;
  std::uint64_t records_ = 0;
  Share share_;
  std::uint64_t done_ = 0;
  bool as_bytes_ = false;
  std::size_t file_ = 0;
  std::uint64_t before_ = 0;  ///< records in the files before file_
  std::optional<ByteStream> stream_;
  std::uint64_t position_ = 0;
};

}  // namespace

std::vector<std::string> split_at_commas(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::size_t first = list.find_first_not_of(' ', at), last = list.find_last_not_of(' ', comma - 1);
    if (first >= comma || comma == at) {
      throw DataError("data.features = '" + list +
                      "' has an empty name between its commas: name the files, separated by single commas.");
    }
    names.push_back(list.substr(first, last + 1 - first));
    at = comma + 1;
  }
  return names;
}

std::unique_ptr<RecordSource> open_cifar(const DataSpec& spec, std::uint64_t rank, std::uint64_t ranks) {
  return std::make_unique<CifarSource>(spec, rank, ranks);
}

}  // namespace muffle::data
