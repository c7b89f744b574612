#include "hdf5_writer.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byte_stream.hpp"
#include "hdf5_file.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"

namespace muffle::data {
namespace {

using Bytes = std::vector<std::byte>;

// How many entries a group's nodes have room for: what libhdf5 takes by itself.
constexpr std::size_t kLeafHalf = 4, kInnerHalf = 16;
constexpr std::size_t kSuperblock = 96, kEntry = 40, kNames = 24;

/// Fields of a header, little-endian.
class Fields {
 public:
  Fields& number(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) out_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
    return *this;
  }
  Fields& address(std::uint64_t value) { return number(value, 8); }
  Fields& text(std::string_view chars) {
    for (const char c : chars) out_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  Fields& all(const Bytes& bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// Zeros to a multiple of 8, or to a size.
  Fields& pad() { return pad_to((out_.size() + 7) / 8 * 8); }
  Fields& pad_to(std::size_t size) {
    out_.resize(size);
    return *this;
  }
  Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
};

Bytes message(unsigned type, const Bytes& body) {
  const std::size_t padded = (body.size() + 7) / 8 * 8;
  return Fields().number(type, 2).number(padded, 2).number(0, 4).all(body).pad().take();
}

/// An object's header of these messages.
Bytes object(const std::vector<Bytes>& messages) {
  Bytes all;
  for (const Bytes& m : messages) all.insert(all.end(), m.begin(), m.end());
  return Fields().number(1, 2).number(messages.size(), 2).number(1, 4).number(all.size(), 8).all(all).take();
}

/// Of an array in one piece.
Bytes array(const std::vector<std::uint64_t>& dims, bool floats, std::uint64_t place) {
  Fields space, type;
  space.number(1, 1).number(dims.size(), 1).number(0, 6);
  std::uint64_t bytes = floats ? sizeof(float) : 1;
  for (const std::uint64_t d : dims) {
    space.number(d, 8);
    bytes *= d;
  }
  if (floats) {  // little-endian IEEE binary32
    type.number(0x11, 1).number(0x001F20, 3).number(4, 4).number(0, 2).number(32, 2);
    type.number(23, 1).number(8, 1).number(0, 1).number(23, 1).number(127, 4);
  } else {
    type.number(0x10, 1).number(0, 3).number(1, 4).number(0, 2).number(8, 2);
  }
  const Bytes fill = Fields().number(2, 1).number(2, 1).number(2, 1).number(0, 1).take();  // none
  const Bytes layout =
      Fields().number(3, 1).number(1, 1).address(bytes == 0 ? kNoAddress : place).number(bytes, 8).take();
  return object({message(1, space.take()), message(3, type.take()), message(5, fill), message(8, layout)});
}

/// All that stands before the numbers of x, which those of y follow.
Bytes headers(const schema::RecordKind& kind) {
  std::vector<std::uint64_t> dims{kind.count};
  dims.insert(dims.end(), kind.shape.begin(), kind.shape.end());
  const std::size_t root = kSuperblock, tree = root + object({message(17, Bytes(16))}).size();
  const std::size_t heap = tree + 24 + (2 * kInnerHalf + 1) * 8 + 2 * kInnerHalf * 8;
  const std::size_t names = heap + 32, table = names + kNames, x = table + 8 + 2 * kLeafHalf * kEntry;
  const std::size_t y = x + array(dims, kind.floats, 0).size();
  const std::size_t begin = y + array({kind.count}, false, 0).size();
  const std::uint64_t labels = begin + kind.count * kind.record_bytes(), end = labels + kind.count;
  Fields out;
  out.text(std::string_view("\x89HDF\r\n\x1a\n", 8)).number(0, 5).number(8, 1).number(8, 1).number(0, 1);
  out.number(kLeafHalf, 2).number(kInnerHalf, 2).number(0, 4);
  out.address(0).address(kNoAddress).address(end).address(kNoAddress);
  out.number(0, 8).address(root).number(1, 4).number(0, 4).address(tree).address(heap);  // the root's entry
  out.all(object({message(17, Fields().address(tree).address(heap).take())}));
  // One leaf, whose names are in the heap at 8 ("x") and 16 ("y").
  out.text("TREE").number(0, 2).number(1, 2).address(kNoAddress).address(kNoAddress);
  out.number(0, 8).address(table).number(16, 8).pad_to(heap);
  out.text("HEAP").number(0, 4).number(kNames, 8).number(1, 8).address(names);
  out.number(0, 8).text("x").pad().text("y").pad();
  out.text("SNOD").number(1, 2).number(2, 2);
  out.number(8, 8).address(x).number(0, 24);
  out.number(16, 8).address(y).number(0, 24).pad_to(x);
  out.all(array(dims, kind.floats, begin)).all(array({kind.count}, false, labels));
  Bytes bytes = out.take();
  require(bytes.size() == begin, "HDF5 headers are as long as was reckoned");
  return bytes;
}

/// Records go to their place as they come; labels wait in a file of their own until all records are there.
class Hdf5Writer final : public schema::RecordWriter {
 public:
  Hdf5Writer(const std::filesystem::path& path, const schema::RecordKind& kind)
      : RecordWriter(kind), path_(path), file_(path), labels_(path.string() + ".labels") {
    file_.write(headers(kind));
  }

 private:
  void write(const schema::Records& some) override {
    file_.write(kind().floats ? std::as_bytes(std::span(some.floats)) : std::as_bytes(std::span(some.bytes)));
    labels_.write(std::as_bytes(std::span(some.labels)));
  }
  void complete(const Heartbeat& heartbeat) override {
    InputFile labels(labels_.temporary(), "a file of labels", "It was made just now.");
    Bytes some(kBufferBytes);
    for (std::size_t n = labels.read(some); n > 0; n = labels.read(some)) {
      beat(heartbeat);
      file_.write(std::span(some).first(n));
    }
    file_.commit();
  }

  std::filesystem::path path_;
  NewFile file_, labels_;
};

}  // namespace

std::unique_ptr<schema::RecordWriter> hdf5_writer(const std::filesystem::path& file,
                                                  const schema::RecordKind& kind) {
  return std::make_unique<Hdf5Writer>(file, kind);
}

std::uint64_t hdf5_header_bytes(const schema::RecordKind& kind) { return headers(kind).size(); }

}  // namespace muffle::data
