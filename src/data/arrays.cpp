#include "arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace muffle::data {
namespace {

std::string shape_text(std::span<const std::uint64_t> sizes) {
  return sizes.empty() ? "1" : fmt::format("{}", fmt::join(sizes, " x "));
}

/// The same numbers in the same order: equal sizes but for ones (a single channel may be left out), or one of
/// the two written flat.
bool shapes_agree(std::vector<std::uint64_t> a, std::vector<std::uint64_t> b) {
  std::erase(a, 1u);
  std::erase(b, 1u);
  return a == b || ((a.size() <= 1 || b.size() <= 1) && schema::numbers_of(a) == schema::numbers_of(b));
}

class ArrayRecords final : public RecordStream {
 public:
  ArrayRecords(const DataSpec& spec, ArrayReader numbers, std::optional<ArrayReader> labels)
      : numbers_(std::move(numbers)), labels_(std::move(labels)) {
    check_shape(spec);
    if (spec.channels_last && spec.schema.is_image()) place_channels(spec.schema.shape);
    if (labels_) check_labels();
    stored_.resize(numbers_.header().record_bytes());
  }

  std::uint64_t records() const override { return numbers_.header().records(); }
  bool holds_bytes() const override { return numbers_.header().type.is_byte(); }

  void go_to(std::uint64_t record) override {
    numbers_.go_to(record);
    if (labels_) labels_->go_to(record);
  }

  void read(Row& row) override {
    const ElementType& type = numbers_.header().type;
    if (type.is_byte() && !places_.empty()) {
      numbers_.read(stored_);
      row.bytes.resize(stored_.size());
      for (std::size_t i = 0; i < stored_.size(); ++i)
        row.bytes[places_[i]] = std::to_integer<std::uint8_t>(stored_[i]);
    } else if (type.is_byte()) {
      row.bytes.resize(stored_.size());
      numbers_.read(std::as_writable_bytes(std::span(row.bytes)));
    } else {
      numbers_.read(stored_);
      row.floats.resize(stored_.size() / type.size);
      for (std::size_t i = 0; i < row.floats.size(); ++i)
        row.floats[places_.empty() ? i : places_[i]] = type.to_float(stored_.data() + i * type.size);
    }
    row.label = 0;
    if (!labels_) return;
    std::byte label[sizeof(std::int64_t)];
    labels_->read(std::span(label).first(labels_->header().type.size));
    row.label = labels_->header().type.to_label(label);
  }

  void expect_end() override {
    numbers_.expect_end();
    if (labels_) labels_->expect_end();
  }

  std::string name() const override { return numbers_.name(); }
  Place last() const override {
    const std::string& labels = labels_ ? labels_->name() : numbers_.name();
    return {labels_ ? numbers_.name() + " and " + labels : labels, numbers_.position() - 1, numbers_.name(),
            labels};
  }

 private:
  void check_shape(const DataSpec& spec) const {
    const schema::Schema& schema = spec.schema;
    const std::span<const std::uint64_t> sizes = numbers_.header().record_shape();
    const std::vector<std::uint64_t> stored(sizes.begin(), sizes.end());
    const std::vector<std::uint64_t> wanted(schema.shape.begin(), schema.shape.end());
    std::vector<std::uint64_t> last;
    if (schema.is_image()) last = {wanted[1], wanted[2], wanted[0]};
    if (shapes_agree(stored, spec.channels_last ? last : wanted)) return;
    if (spec.channels_last) {
      throw DataError(
          fmt::format("{} holds records of shape {}; by data.layout = \"channels-last\" and data.shape "
                      "they are {}. Correct whichever is wrong.",
                      numbers_.name(), shape_text(stored), shape_text(last)));
    }
    if (stored.size() == 3 && stored == last) {
      throw DataError(
          fmt::format("{} holds images with their channels last, {}; the schema says {}. Set data.layout = "
                      "\"channels-last\", and leave data.shape as it is.",
                      numbers_.name(), shape_text(stored), shape_text(wanted)));
    }
    throw DataError(numbers_.name() + " holds records of shape " + shape_text(stored) + ", the schema says " +
                    shape_text(wanted) + ". Correct the schema's shape or the file's name.");
  }

  /// Of height x width x channels in a file.
  void place_channels(const std::vector<std::size_t>& shape) {
    const std::size_t channels = shape[0], pixels = shape[1] * shape[2];
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::size_t channel = 0; channel < channels; ++channel)
        places_.push_back(channel * pixels + pixel);
    }
  }

  void check_labels() const {
    const ArrayHeader& header = labels_->header();
    if (!header.type.is_integer() || header.record_elements() != 1) {
      throw DataError(
          labels_->name() + " does not hold labels: one whole number per record is needed, it holds " +
          header.type.name() + " records of " + std::to_string(header.record_elements()) + " numbers. " +
          (header.record_elements() > 1 ? "Are the names of records and labels exchanged? Of labels as "
                                          "rows with a 1 in them write y.argmax(axis=1)."
                                        : "Write y.astype(\"int64\")."));
    }
    if (header.records() == records()) return;
    // The counts themselves may be private (add/remove-one adjacency): the message does not tell them.
    throw DataError(
        numbers_.name() + " and " + labels_->name() +
        " hold different numbers of records: the two do not belong together, or one is cut short.");
  }

  ArrayReader numbers_;
  std::optional<ArrayReader> labels_;
  std::vector<std::byte> stored_;
  std::vector<std::size_t> places_;  ///< where each stored number of a record belongs; empty: where it is
};

}  // namespace

std::uint64_t ArrayHeader::record_elements() const { return schema::numbers_of(record_shape()); }

std::string ArrayHeader::text() const { return shape_text(dims); }

std::uint64_t ArrayHeader::checked_bytes(const std::string& name) const {
  std::uint64_t bytes = type.size;
  bool fits = true;
  for (const std::uint64_t d : record_shape()) fits &= !__builtin_mul_overflow(bytes, d, &bytes);
  fits = fits && !__builtin_mul_overflow(bytes, dims[0], &bytes) &&
         bytes <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - 4096;
  if (fits) return bytes;
  throw DataError(
      name + " declares more elements than any file can hold: its header is damaged or lies." + kCopyAgain,
      LocalDetail{name + " declares " + text() + " elements."});
}

DataError truncated(const std::string& name, const std::string& where) {
  return DataError(name + " is truncated: it ends before what its header declares." + kCopyAgain,
                   LocalDetail{name + " ends " + where + "."});
}

void check_size(const std::string& name, const ArrayHeader& header, std::uint64_t declared,
                std::uint64_t bytes) {
  if (declared == bytes) return;
  throw DataError(name +
                      (bytes < declared ? " has fewer bytes than its header declares: it is truncated"
                                        : " has more bytes than its header declares: others follow it") +
                      ", or its header lies." + kCopyAgain,
                  LocalDetail{name + " declares " + header.text() + " elements, " + std::to_string(declared) +
                              " bytes with the header, but has " + std::to_string(bytes) + " bytes."});
}

void ArrayReader::read(std::span<std::byte> out) {
  require(out.size() == header_.record_bytes() && position_ < header_.records(),
          "an array is read record by record, and not beyond its end");
  if (bytes_->read(out) < out.size()) throw truncated(name_, "inside record " + std::to_string(position_));
  ++position_;
}

void ArrayReader::go_to(std::uint64_t record) {
  require(record >= position_ && record <= header_.records(), "an array is read forwards, to its end");
  const std::uint64_t size = header_.record_bytes(), bytes = (record - position_) * size;
  const std::uint64_t got = bytes_->skip(bytes);
  if (got < bytes) throw truncated(name_, "inside record " + std::to_string(position_ + got / size));
  position_ = record;
}

void ArrayReader::expect_end() {
  go_to(header_.records());
  std::byte extra[1];
  if (bytes_->read(extra) == 0) return;
  throw DataError(name_ +
                      " has bytes after the last record that its header declares: the header lies or the "
                      "file was damaged." +
                      kCopyAgain,
                  LocalDetail{name_ + " declares " + std::to_string(header_.records()) + " records."});
}

std::unique_ptr<RecordStream> array_records(const DataSpec& spec, ArrayReader numbers,
                                            std::optional<ArrayReader> labels) {
  return std::make_unique<ArrayRecords>(spec, std::move(numbers), std::move(labels));
}

}  // namespace muffle::data
