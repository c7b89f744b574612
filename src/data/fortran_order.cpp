#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "arrays.hpp"

namespace muffle::data {
namespace {

/// In Fortran order the first number of all records comes first, then the second of all: a part of the
/// records lies in as many places as a record has numbers, which one passage through the file comes by.
class FortranBytes final : public ByteReader {
 public:
  FortranBytes(const ArrayHeader& header, OpenBytes open)
      : open_(std::move(open)),
        shape_(header.record_shape().begin(), header.record_shape().end()),
        records_(header.records()),
        elements_(header.record_elements()),
        size_(header.type.size) {}

 private:
  static constexpr std::size_t kPartBytes = std::size_t{1} << 24;

  std::span<const std::byte> more() override {
    if (next_ == records_ || elements_ == 0) return std::exchange(behind_, {});
    const std::size_t record_bytes = elements_ * size_;
    const auto n = static_cast<std::size_t>(
        std::min<std::uint64_t>(std::max<std::size_t>(kPartBytes / record_bytes, 1), records_ - next_));
    part_.resize(n * record_bytes);
    column_.resize(n * size_);
    const std::unique_ptr<ByteReader> bytes = open_();
    std::uint64_t at = 0;
    for (std::uint64_t element = 0; element < elements_; ++element) {
      const std::uint64_t from = (element * records_ + next_) * size_;
      if (bytes->skip(from - at) < from - at || bytes->read(column_) < column_.size()) return {};
      at = from + column_.size();
      std::byte* const to = part_.data() + place(element) * size_;
      for (std::size_t i = 0; i < n; ++i)
        std::memcpy(to + i * record_bytes, column_.data() + i * size_, size_);
    }
    next_ += n;
    // The file's end, and with it an archive's checksum, is looked at with the last part.
    if (next_ == records_) behind_ = std::span<const std::byte>(extra_).first(bytes->read(extra_));
    return part_;
  }

  std::uint64_t jump(std::uint64_t n) override {
    const std::uint64_t record_bytes = elements_ * size_;
    if (record_bytes == 0) return 0;
    // Not over the last record: the end is looked at with it.
    const std::uint64_t whole = std::min(n / record_bytes, records_ - std::min(records_, next_ + 1));
    next_ += whole;
    return whole * record_bytes;
  }

  /// Of a number of a record, counted in Fortran order, the place in C order.
  std::size_t place(std::uint64_t element) const {
    std::uint64_t out = 0;
    for (const std::uint64_t side : shape_) {
      out = out * side + element % side;
      element /= side;
    }
    return static_cast<std::size_t>(out);
  }

  OpenBytes open_;
  std::vector<std::uint64_t> shape_;
  std::uint64_t records_, elements_;
  std::size_t size_;
  std::uint64_t next_ = 0;  ///< record
  std::vector<std::byte> part_, column_;
  std::array<std::byte, 1> extra_{};
  std::span<const std::byte> behind_;
};

}  // namespace

std::unique_ptr<ByteReader> in_c_order(const ArrayHeader& header, OpenBytes open) {
  return std::make_unique<FortranBytes>(header, std::move(open));
}

}  // namespace muffle::data
