#include "byte_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "muffle/core/error.hpp"

namespace muffle::data {
namespace {

constexpr unsigned char kGzipMagic[] = {0x1F, 0x8B};
constexpr int kGzipOnly = 15 + 16;  // inflateInit2: the largest window, gzip wrapping

}  // namespace

std::size_t ByteReader::read(std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    if (ready_.empty() && (ready_ = more()).empty()) break;
    const std::size_t n = std::min(out.size() - done, ready_.size());
    std::memcpy(out.data() + done, ready_.data(), n);
    ready_ = ready_.subspan(n);
    done += n;
  }
  return done;
}

std::uint64_t ByteReader::skip(std::uint64_t n) {
  std::uint64_t done = 0;
  while (done < n) {
    if (ready_.empty() && n - done > kBufferBytes && (done += jump(n - done)) == n) break;
    if (ready_.empty() && (ready_ = more()).empty()) break;
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(n - done, ready_.size()));
    ready_ = ready_.subspan(step);
    done += step;
  }
  return done;
}

InputFile record_file(const std::filesystem::path& path) {
  return {path, "a record file", "Check the data folder and the file's name in the configuration."};
}

ByteStream::ByteStream(const std::filesystem::path& path)
    : name_(path.string()), file_(record_file(path)), buffer_(kBufferBytes) {
  const std::size_t n = read_disk(buffer_);
  ready_ = std::as_bytes(std::span(buffer_)).first(n);
  if (n < 2 || buffer_[0] != kGzipMagic[0] || buffer_[1] != kGzipMagic[1]) return;
  ready_ = {};
  input_ = std::exchange(buffer_, std::vector<unsigned char>(kBufferBytes));
  zlib_.next_in = input_.data();
  zlib_.avail_in = static_cast<uInt>(n);
  require(::inflateInit2(&zlib_, kGzipOnly) == Z_OK, "zlib could not be set up: out of memory?");
  compressed_ = true;
}

ByteStream::~ByteStream() {
  if (compressed_) ::inflateEnd(&zlib_);
}

std::span<const std::byte> ByteStream::more() {
  return std::as_bytes(std::span(buffer_)).first(compressed_ ? inflate_more() : read_disk(buffer_));
}

std::uint64_t ByteStream::jump(std::uint64_t n) {
  if (compressed_) return 0;
  n = std::min(n, file_.size() - std::min(file_.size(), disk_position_));
  file_.skip(n);
  disk_position_ += n;
  return n;
}

/// @returns the bytes that came, at least one; 0 at the end.
std::size_t ByteStream::inflate_more() {
  zlib_.next_out = buffer_.data();
  zlib_.avail_out = static_cast<uInt>(buffer_.size());
  while (zlib_.avail_out == buffer_.size()) {
    if (zlib_.avail_in == 0) {
      zlib_.next_in = input_.data();
      zlib_.avail_in = static_cast<uInt>(read_disk(input_));
      if (zlib_.avail_in == 0) {
        if (between_members_) return 0;
        throw DataError(
            "'" + name_ + "' is truncated: its compressed data ends in the middle of the " +
                "stream. Copy or download it again.",
            LocalDetail{"'" + name_ + "' ends after " + std::to_string(file_.size()) + " bytes."});
      }
    }
    if (between_members_) {
      // gzip allows several compressed members in a row, but nothing else.
      if (zlib_.next_in[0] != kGzipMagic[0]) {
        throw DataError("'" + name_ +
                        "' has bytes after the end of its compressed data: it was damaged, or two files " +
                        "were joined. Copy or download it again.");
      }
      ::inflateReset(&zlib_);
      between_members_ = false;
    }
    const int status = ::inflate(&zlib_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      between_members_ = true;
    } else if (status == Z_MEM_ERROR) {
      throw InvariantError("zlib ran out of memory while reading '" + name_ + "'.");
    } else if (status != Z_OK) {
      throw DataError(
          "'" + name_ + "' is damaged: its compressed data does not decode. Copy or download it again.",
          LocalDetail{"'" + name_ + "': zlib says " + (zlib_.msg != nullptr ? zlib_.msg : "nothing") + "."});
    }
  }
  return buffer_.size() - zlib_.avail_out;
}

std::size_t ByteStream::read_disk(std::span<unsigned char> out) {
  const std::size_t n = file_.read(std::as_writable_bytes(out));
  disk_position_ += n;
  return n;
}

}  // namespace muffle::data
