#include "muffle/data/source.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "cifar.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/idx.hpp"
#include "scale.hpp"
#include "share.hpp"

namespace muffle::data {
namespace {

constexpr std::string_view kRankPlaceholder = "{rank}";

std::string shape_text(const std::vector<std::uint64_t>& sizes) {
  std::string text;
  for (const std::uint64_t s : sizes) text += (text.empty() ? "" : " x ") + std::to_string(s);
  return text.empty() ? "1" : text;
}

/// The same numbers in the same order: equal sizes but for ones (a single channel may be left out), or one of
/// the two written flat.
bool shapes_agree(std::vector<std::uint64_t> a, std::vector<std::uint64_t> b) {
  const auto product = [](const std::vector<std::uint64_t>& v) {
    std::uint64_t p = 1;
    for (const std::uint64_t s : v) p *= s;
    return p;
  };
  std::erase(a, 1u);
  std::erase(b, 1u);
  return a == b || ((a.size() <= 1 || b.size() <= 1) && product(a) == product(b));
}

class IdxSource : public RecordSource {
 public:
  IdxSource(const DataSpec& spec, std::uint64_t rank, std::uint64_t ranks)
      : schema_(spec.schema),
        scaler_(spec.schema),
        features_(resolve_path(spec, spec.features, static_cast<int>(rank))) {
    if (!spec.labels.empty()) labels_.emplace(resolve_path(spec, spec.labels, static_cast<int>(rank)));
    check_headers(spec);
    share_ = share_of(spec.shards, file_records(), rank, ranks);
    stored_.resize(static_cast<std::size_t>(features_.header().record_bytes()));
  }

  std::uint64_t shard_size() const override { return share_.count; }
  std::uint64_t file_records() const override { return features_.header().records(); }

  void next(std::size_t max_records, Batch& batch) override {
    require(max_records > 0, "RecordSource::next() needs room for a record");
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(max_records, share_.count - done_));
    scaler_.make_room(n, schema_.dims(), as_bytes_, batch);
    for (std::size_t i = 0; i < n; ++i) {
      go_to(share_.first + done_ * share_.stride);
      read_record(i, batch);
      ++done_;
    }
    batch.n = n;
    if (done_ == share_.count && !end_checked_) check_end();
  }

  void hand_out_bytes() override { as_bytes_ = features_.header().type == IdxType::kUint8; }

 private:
  void check_headers(const DataSpec& spec) const {
    const IdxHeader& header = features_.header();
    const std::vector<std::uint64_t> stored(header.dims.begin() + 1, header.dims.end());
    const std::vector<std::uint64_t> wanted(schema_.shape.begin(), schema_.shape.end());
    if (!shapes_agree(stored, wanted)) {
      throw DataError("'" + features_.name() + "' holds records of shape " + shape_text(stored) +
                      ", the schema says " + shape_text(wanted) +
                      ". Correct the schema's shape or the file's name.");
    }
    if (spec.shards != ShardRule::kPerRank && spec.records != 0 && header.records() != spec.records) {
      throw DataError(
          "'" + features_.name() + "' holds " + std::to_string(header.records()) +
          " records, the configuration says " + std::to_string(spec.records) +
          ". The number of records is public and part of the guarantee: correct whichever is wrong.");
    }
    if (labels_) check_label_header();
  }

  void check_label_header() const {
    const IdxHeader& header = labels_->header();
    if (header.type != IdxType::kUint8 || header.record_elements() != 1) {
      throw DataError(
          "'" + labels_->name() + "' is not a label file: one uint8 per record is needed, it holds " +
          (header.type == IdxType::kUint8 ? "uint8" : "float32") + " records of " +
          std::to_string(header.record_elements()) + " numbers. Are the two files' names exchanged?");
    }
    if (header.records() != features_.header().records()) {
      // The counts themselves may be private (add/remove-one adjacency): the message does not tell them.
      throw DataError(
          "'" + features_.name() + "' and '" + labels_->name() +
          "' hold different numbers of records: the two files do not belong together, or one is cut "
          "short.");
    }
  }

  void go_to(std::uint64_t record) {
    features_.skip(record - features_.position());
    if (labels_) labels_->skip(record - labels_->position());
  }

  void read_record(std::size_t i, Batch& batch) {
    const std::uint64_t record = features_.position();
    features_.read(stored_);
    if (!scaler_.put(stored_, features_.header().type, i, batch)) {
      throw misfit(
          schema_, files(), record,
          "'" + features_.name() + "' has a number that is not finite or lies outside the bounds [lo, hi].");
    }
    std::int32_t& y = batch.y[i];
    y = 0;
    if (!labels_) return;
    std::byte label[1];
    labels_->read(label);
    const auto value = std::to_integer<std::uint32_t>(label[0]);
    if (value < schema_.classes) {
      y = static_cast<std::int32_t>(value);
    } else if (schema_.on_error == schema::OnError::kClamp) {
      y = schema::kNoClass;
    } else {
      throw misfit(schema_, files(), record,
                   "'" + labels_->name() + "' has a label that is not one of the classes.");
    }
  }

  std::string files() const {
    return "'" + features_.name() + (labels_ ? "' and '" + labels_->name() : "") + "'";
  }

  /// Whoever reads up to the end of the files checks that they end there. Round-robin: every rank;
  /// contiguous: the last.
  void check_end() {
    end_checked_ = true;
    if (share_.stride == 1 && share_.first + share_.count != file_records()) return;
    go_to(file_records());
    features_.expect_end();
    if (labels_) labels_->expect_end();
  }

  schema::Schema schema_;
  Scaler scaler_;
  IdxReader features_;
  std::optional<IdxReader> labels_;
  Share share_;
  std::uint64_t done_ = 0;
  bool end_checked_ = false;
  bool as_bytes_ = false;
  std::vector<std::byte> stored_;
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

std::vector<std::string> paths_of(const DataSpec& spec, int rank) {
  std::vector<std::string> paths;
  const bool cifar = spec.format == Format::kCifar;
  for (const std::string& file : cifar ? split_at_commas(spec.features) : std::vector{spec.features})
    paths.push_back(resolve_path(spec, file, rank));
  if (!spec.labels.empty()) paths.push_back(resolve_path(spec, spec.labels, rank));
  return paths;
}

bool names_rank(const DataSpec& spec, const std::string& file) {
  return (std::filesystem::path(spec.dir) / file).string().find(kRankPlaceholder) != std::string::npos;
}

std::unique_ptr<RecordSource> open_shard(const DataSpec& spec, int rank, int ranks) {
  require(ranks >= 1 && rank >= 0 && rank < ranks,
          "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + " does not exist");
  spec.schema.validate();
  if (spec.features.empty()) throw DataError("no record file is named: set data.features.");
  const bool cifar = spec.format == Format::kCifar;
  if (cifar && !spec.labels.empty()) {
    throw DataError(
        "records in the CIFAR format bring their labels in the same file, but a label file is named: leave "
        "data.labels out.");
  }
  if (!cifar && spec.labels.empty() && spec.schema.classes > 1) {
    throw DataError("the schema has " + std::to_string(spec.schema.classes) +
                    " classes but no label file is named: name it, or set classes to 1.");
  }
  if ((names_rank(spec, spec.features) || names_rank(spec, spec.labels)) &&
      spec.shards != ShardRule::kPerRank) {
    throw DataError(
        "the data's path has " + std::string(kRankPlaceholder) +
        " in it, but the shard rule shares one file between the ranks: set the rule to per-rank.");
  }
  if (cifar) return open_cifar(spec, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(ranks));
  return std::make_unique<IdxSource>(spec, static_cast<std::uint64_t>(rank),
                                     static_cast<std::uint64_t>(ranks));
}

}  // namespace muffle::data
