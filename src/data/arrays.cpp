#include "arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace muffle::data {
namespace {

/// The stored number in this machine's byte order.
template <class T>
T load(const std::byte* stored, bool big_endian) {
  std::array<std::byte, sizeof(T)> bytes;
  std::copy_n(stored, sizeof(T), bytes.begin());
  if (big_endian != (std::endian::native == std::endian::big)) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

/// IEEE's binary16.
float half(const std::byte* stored, bool big_endian) {
  const auto bits = load<std::uint16_t>(stored, big_endian);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                     : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                     : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

/// Rounded down.
__int128 quotient(__int128 a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Whole seconds since 1970-01-01.
double seconds_of(std::int64_t count, const ElementType::Unit& unit) {
  if (count == std::numeric_limits<std::int64_t>::min()) return NAN;  // NumPy's NaT
  if (unit.months == 0)
    return static_cast<double>(quotient(static_cast<__int128>(count) * unit.seconds, unit.parts));
  constexpr int kMostYears = 30000;  // std::chrono's calendar ends there
  const __int128 months = static_cast<__int128>(count) * unit.months, year = quotient(months, 12);
  if (year > kMostYears || year < -kMostYears) return year < 0 ? -INFINITY : INFINITY;
  const auto month = static_cast<unsigned>(months - 12 * year);
  const std::chrono::sys_days day =
      std::chrono::year(static_cast<int>(year) + 1970) / std::chrono::month(month + 1) / 1;
  return 86400.0 * static_cast<double>(day.time_since_epoch().count());
}

/// Calls `use` with the number in its own type.
template <class Use>
auto with_number(const ElementType& type, const std::byte* stored, Use&& use) {
  const bool big = type.big_endian;
  switch (type.kind) {
    case ElementType::Kind::kFloat:
      return type.size == 2   ? use(half(stored, big))
             : type.size == 4 ? use(load<float>(stored, big))
                              : use(load<double>(stored, big));
    case ElementType::Kind::kTime:
    case ElementType::Kind::kSigned:
      return type.size == 1   ? use(load<std::int8_t>(stored, big))
             : type.size == 2 ? use(load<std::int16_t>(stored, big))
             : type.size == 4 ? use(load<std::int32_t>(stored, big))
                              : use(load<std::int64_t>(stored, big));
    case ElementType::Kind::kUnsigned:
      break;
    case ElementType::Kind::kCharacters:
    case ElementType::Kind::kBytes:
    case ElementType::Kind::kFields:
      require(false, "a text is no number");
  }
  return type.size == 1   ? use(load<std::uint8_t>(stored, big))
         : type.size == 2 ? use(load<std::uint16_t>(stored, big))
         : type.size == 4 ? use(load<std::uint32_t>(stored, big))
                          : use(load<std::uint64_t>(stored, big));
}

void append_utf8(std::uint32_t character, std::string& out) {
  if (character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) character = 0xFFFD;
  const auto byte = [&](std::uint32_t head, int shift) {
    out += static_cast<char>(head | (character >> shift & (head == 0x80 ? 0x3F : 0xFF)));
  };
  if (character < 0x80) return byte(0, 0);
  if (character < 0x800) {
    byte(0xC0, 6);
  } else if (character < 0x10000) {
    byte(0xE0, 12);
    byte(0x80, 6);
  } else {
    byte(0xF0, 18);
    byte(0x80, 12);
    byte(0x80, 6);
  }
  byte(0x80, 0);
}

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
      throw DataError(labels_->name() +
                      " does not hold labels: one whole number per record is needed, it holds " +
                      header.type.name() + " records of " + std::to_string(header.record_elements()) +
                      " numbers. Are the names of records and labels exchanged?");
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

std::string ElementType::name() const {
  if (is_text()) return "text";
  if (kind == Kind::kTime) return "datetime64";
  const char* what = kind == Kind::kFloat ? "float" : kind == Kind::kSigned ? "int" : "uint";
  return what + std::to_string(8 * size);
}

float ElementType::to_float(const std::byte* stored) const {
  return with_number(*this, stored, [](auto v) { return static_cast<float>(v); });
}

double ElementType::to_double(const std::byte* stored) const {
  if (kind == Kind::kTime) return seconds_of(load<std::int64_t>(stored, big_endian), unit);
  return with_number(*this, stored, [](auto v) { return static_cast<double>(v); });
}

std::string ElementType::to_text(const std::byte* stored) const {
  if (kind == Kind::kBytes) {
    const std::string text(reinterpret_cast<const char*>(stored), size);
    return text.substr(0, text.find_last_not_of('\0') + 1);
  }
  if (kind == Kind::kCharacters) {
    std::string text;
    for (std::size_t at = 0; at < size; at += sizeof(std::uint32_t))
      append_utf8(load<std::uint32_t>(stored + at, big_endian), text);
    return text.substr(0, text.find_last_not_of('\0') + 1);
  }
  return with_number(*this, stored, [](auto v) { return std::to_string(v); });
}

std::int64_t ElementType::to_label(const std::byte* stored) const {
  return with_number(*this, stored, [](auto v) -> std::int64_t {
    constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
    if constexpr (std::is_integral_v<decltype(v)>) {
      return std::cmp_less(v, 0) || std::cmp_greater(v, kMost) ? -1 : static_cast<std::int64_t>(v);
    } else {
      return -1;
    }
  });
}

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
