#include "array_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

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

/// Calls `use` with the number in its own type.
template <class Use>
auto with_number(const ElementType& type, const std::byte* stored, Use&& use) {
  const bool big = type.big_endian;
  switch (type.kind) {
    case ElementType::Kind::kFloat:
      return type.size == 4 ? use(load<float>(stored, big)) : use(load<double>(stored, big));
    case ElementType::Kind::kSigned:
      return type.size == 1   ? use(load<std::int8_t>(stored, big))
             : type.size == 2 ? use(load<std::int16_t>(stored, big))
             : type.size == 4 ? use(load<std::int32_t>(stored, big))
                              : use(load<std::int64_t>(stored, big));
    case ElementType::Kind::kUnsigned:
      break;
  }
  return type.size == 1   ? use(load<std::uint8_t>(stored, big))
         : type.size == 2 ? use(load<std::uint16_t>(stored, big))
         : type.size == 4 ? use(load<std::uint32_t>(stored, big))
                          : use(load<std::uint64_t>(stored, big));
}

}  // namespace

std::string ElementType::name() const {
  const char* what = kind == Kind::kFloat ? "float" : kind == Kind::kSigned ? "int" : "uint";
  return what + std::to_string(8 * size);
}

float ElementType::to_float(const std::byte* stored) const {
  return with_number(*this, stored, [](auto v) { return static_cast<float>(v); });
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

std::uint64_t ArrayHeader::record_elements() const {
  std::uint64_t product = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) product *= dims[i];
  return product;
}

std::string ArrayHeader::text() const {
  std::string text;
  for (const std::uint64_t d : dims) text += (text.empty() ? "" : " x ") + std::to_string(d);
  return text;
}

std::uint64_t ArrayHeader::checked_bytes(const std::string& name) const {
  std::uint64_t bytes = type.size;
  bool fits = true;
  for (std::size_t i = 1; i < dims.size(); ++i) fits &= !__builtin_mul_overflow(bytes, dims[i], &bytes);
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

}  // namespace muffle::data
