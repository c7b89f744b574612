// The numbers of an HDF5 array, row by row: as they lie, or out of chunks.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "hdf5_file.hpp"
#include "muffle/core/error.hpp"

namespace muffle::data {
namespace {

using Bytes = std::vector<std::byte>;

/// A run of bytes of the file.
class RunOfBytes final : public ByteReader {
 public:
  RunOfBytes(const std::filesystem::path& file, std::uint64_t place, std::uint64_t bytes)
      : file_(file), place_(place), left_(bytes) {}

 private:
  std::span<const std::byte> more() override {
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes, left_)));
    file_.read(place_, buffer_);
    (void)jump(buffer_.size());
    return buffer_;
  }
  std::uint64_t jump(std::uint64_t n) override {
    n = std::min(n, left_);
    place_ += n;
    left_ -= n;
    return n;
  }

  Hdf5Bytes file_;
  std::uint64_t place_, left_;
  Bytes buffer_;
};

/// Bytes that were in a header.
class HeldBytes final : public ByteReader {
 public:
  explicit HeldBytes(Bytes bytes) : bytes_(std::move(bytes)) { ready_ = bytes_; }

 private:
  std::span<const std::byte> more() override { return {}; }
  std::uint64_t jump(std::uint64_t) override { return 0; }
  Bytes bytes_;
};

/// Fletcher's checksum of 16-bit words, as HDF5 forms it.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  std::uint64_t a = 0, b = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const std::uint64_t low = i + 1 < bytes.size() ? std::to_integer<std::uint64_t>(bytes[i + 1]) : 0;
    a = (a + (std::to_integer<std::uint64_t>(bytes[i]) << 8 | low)) % 65535;
    b = (b + a) % 65535;
  }
  return static_cast<std::uint32_t>(b << 16 | a);
}

/// The same residue: HDF5 may write 65535 for 0.
bool same_sum(std::uint32_t a, std::uint32_t b) {
  return (a & 0xFFFF) % 65535 == (b & 0xFFFF) % 65535 && (a >> 16) % 65535 == (b >> 16) % 65535;
}

/// An array in chunks, whose tree has them in the order of their places. Held at once: the records of one row
/// of chunks, and a chunk.
class ChunkedNumbers final : public ByteReader {
 public:
  ChunkedNumbers(const std::filesystem::path& file, Hdf5Set set)
      : file_(file), set_(std::move(set)), left_(dims()[0]) {
    chunk_bytes_ = set_.header.type.size;
    for (const std::uint64_t c : set_.chunk) chunk_bytes_ *= c;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(std::min(set_.chunk[0], dims()[0]), set_.header.record_bytes(), &bytes) ||
        bytes > kMostChunkBytes)
      throw file_.unreadable("has chunks whose records are more than 64 MiB at once: choose smaller ones");
    descend();
  }

 private:
  struct Chunk {
    std::uint64_t bytes, skipped, place;
  };

  const std::vector<std::uint64_t>& dims() const { return set_.header.dims; }
  std::size_t key_bytes() const { return 8 + 8 * (dims().size() + 1); }

  Bytes block(std::uint64_t place, std::size_t bytes) {
    Bytes out(bytes);
    file_.read(place, out);
    return out;
  }

  struct Node {
    std::uint64_t place, level, used, right;
  };
  Node node(std::uint64_t place) {
    const Bytes head = block(place, 24);
    Hdf5Fields in(file_, head);
    if (std::memcmp(in.take(4).data(), "TREE", 4) != 0 || in.number(1) != 1) throw file_.damaged();
    Node out{place, in.number(1), in.number(2), 0};
    in.skip(8);
    out.right = in.address();
    if (out.used == 0) throw file_.damaged();
    return out;
  }
  /// The file may have something before its HDF5: addresses count from there.
  std::uint64_t place_of(std::uint64_t address) const {
    if (address > file_.size()) throw file_.damaged();
    return set_.base + address;
  }
  void descend() {
    if (set_.place == kNoAddress) return;
    node_ = node(set_.place);
    while (node_.level > 0) {
      const Bytes first = block(node_.place + 24 + key_bytes(), 8);
      const Node below = node(place_of(Hdf5Fields(file_, first).address()));
      if (below.level + 1 != node_.level) throw file_.damaged();
      node_ = below;
    }
  }

  /// The next one of the tree, which must be the next of the array: so that none is missing, or there twice.
  Chunk next_chunk(std::span<const std::uint64_t> corner) {
    if (entry_ == node_.used) {
      if (node_.right == kNoAddress) throw file_.unreadable("has an array of which parts were never written");
      node_ = node(place_of(node_.right));
      if (node_.level != 0) throw file_.damaged();
      entry_ = 0;
    }
    const Bytes bytes = block(node_.place + 24 + entry_++ * (key_bytes() + 8), key_bytes() + 8);
    Hdf5Fields in(file_, bytes);
    Chunk out{in.number(4), in.number(4), 0};
    bool expected = true;
    for (const std::uint64_t at : corner) expected = in.number(8) == at && expected;
    if (!expected) throw file_.unreadable("has an array of which parts were never written");
    in.skip(8);
    out.place = place_of(in.address());
    return out;
  }

  /// Its numbers, without what filters made of them.
  Bytes numbers_of(const Chunk& chunk) {
    // Deflate makes nothing longer by more than a few bytes, and a checksum is 4.
    if (chunk.bytes > chunk_bytes_ + chunk_bytes_ / 64 + 64) throw file_.damaged();
    Bytes bytes = block(chunk.place, static_cast<std::size_t>(chunk.bytes));
    for (std::size_t f = set_.filters.size(); f-- > 0;) {
      if ((chunk.skipped >> f & 1) != 0) continue;
      switch (set_.filters[f]) {
        case Hdf5Set::Filter::kDeflate:
          bytes = inflated(bytes, f);
          break;
        case Hdf5Set::Filter::kShuffle:
          bytes = unshuffled(bytes);
          break;
        case Hdf5Set::Filter::kFletcher32: {
          if (bytes.size() < 4) throw file_.damaged();
          const std::span<const std::byte> all(bytes);
          Hdf5Fields sum(file_, all.last(4));
          if (!same_sum(static_cast<std::uint32_t>(sum.number(4)), fletcher32(all.first(all.size() - 4))))
            throw DataError(file_.name() + " is damaged: a checksum of its numbers is wrong." + kCopyAgain);
          bytes.resize(bytes.size() - 4);
        }
      }
    }
    if (bytes.size() != chunk_bytes_) throw file_.damaged();
    return bytes;
  }

  /// To the chunk's size, or that and a checksum, which an earlier filter has put there.
  Bytes inflated(const Bytes& bytes, std::size_t at) const {
    const auto sums = std::count(set_.filters.begin(), set_.filters.begin() + static_cast<std::ptrdiff_t>(at),
                                 Hdf5Set::Filter::kFletcher32);
    Bytes out(chunk_bytes_ + 4 * static_cast<std::size_t>(sums));
    uLongf length = out.size();
    if (::uncompress(reinterpret_cast<Bytef*>(out.data()), &length,
                     reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != Z_OK)
      throw DataError(file_.name() + " is damaged: its compressed numbers cannot be unpacked." + kCopyAgain);
    out.resize(length);
    return out;
  }

  /// Shuffled: all first bytes of the numbers, then all second ones, ...
  Bytes unshuffled(const Bytes& bytes) const {
    const std::size_t size = set_.header.type.size, count = bytes.size() / size;
    Bytes out(bytes);
    for (std::size_t b = 0; b < size; ++b) {
      for (std::size_t i = 0; i < count; ++i) out[i * size + b] = bytes[b * count + i];
    }
    return out;
  }

  /// Copies what of a chunk lies in the array to its place among the rows.
  void place(const Bytes& chunk, std::span<const std::uint64_t> corner, std::uint64_t first) {
    const std::size_t rank = dims().size(), size = set_.header.type.size;
    std::vector<std::uint64_t> count(rank), at(rank, 0);
    for (std::size_t i = 0; i < rank; ++i) count[i] = std::min(set_.chunk[i], dims()[i] - corner[i]);
    const std::size_t run = static_cast<std::size_t>(count[rank - 1]) * size;
    while (true) {
      std::uint64_t from = 0, to = corner[0] - first + at[0];
      for (std::size_t i = 0; i < rank; ++i) {
        from = from * set_.chunk[i] + at[i];
        if (i > 0) to = to * dims()[i] + corner[i] + at[i];
      }
      std::memcpy(rows_.data() + to * size, chunk.data() + from * size, run);
      std::size_t i = rank - 1;
      while (i > 0 && ++at[i - 1] == count[i - 1]) at[--i] = 0;
      if (i == 0) return;
    }
  }

  /// Calls use(corner) for each chunk of a row of them, in order.
  template <class Use>
  void for_each_of_row(std::uint64_t first, const Use& use) {
    const std::size_t rank = dims().size();
    std::vector<std::uint64_t> corner(rank, 0);
    corner[0] = first;
    while (true) {
      use(corner);
      std::size_t i = rank;
      while (i > 1 && (corner[i - 1] += set_.chunk[i - 1]) >= dims()[i - 1]) corner[--i] = 0;
      if (i <= 1) return;
    }
  }

  std::span<const std::byte> more() override {
    if (left_ == 0) return {};
    const std::uint64_t first = dims()[0] - left_, n = std::min(set_.chunk[0], left_);
    rows_.resize(static_cast<std::size_t>(n * set_.header.record_bytes()));
    for_each_of_row(first, [&](std::span<const std::uint64_t> corner) {
      place(numbers_of(next_chunk(corner)), corner, first);
    });
    left_ -= n;
    return rows_;
  }
  std::uint64_t jump(std::uint64_t n) override {
    std::uint64_t done = 0;
    while (left_ > 0) {
      const std::uint64_t rows = std::min(set_.chunk[0], left_), bytes = rows * set_.header.record_bytes();
      if (bytes > n - done) break;
      for_each_of_row(dims()[0] - left_,
                      [&](std::span<const std::uint64_t> corner) { (void)next_chunk(corner); });
      left_ -= rows;
      done += bytes;
    }
    return done;
  }

  Hdf5Bytes file_;
  Hdf5Set set_;
  std::uint64_t left_;  ///< records
  std::uint64_t chunk_bytes_ = 0;
  Node node_{};
  std::uint64_t entry_ = 0;  ///< of the node
  Bytes rows_;
};

}  // namespace

std::unique_ptr<ByteReader> hdf5_numbers(const std::filesystem::path& file, const Hdf5Set& set) {
  const std::uint64_t bytes = set.header.record_bytes() * set.header.records();
  if (bytes == 0 || set.layout == Hdf5Set::Layout::kCompact) return std::make_unique<HeldBytes>(set.inside);
  if (set.layout == Hdf5Set::Layout::kContiguous) return std::make_unique<RunOfBytes>(file, set.place, bytes);
  return std::make_unique<ChunkedNumbers>(file, set);
}

}  // namespace muffle::data
