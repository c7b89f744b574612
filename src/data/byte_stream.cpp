#include "byte_stream.hpp"

#include <algorithm>
#include <cstring>

#include "muffle/core/error.hpp"

namespace muffle::data {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 17;
constexpr unsigned char kGzipMagic[] = {0x1F, 0x8B};
constexpr int kGzipOnly = 15 + 16;  // inflateInit2: the largest window, gzip wrapping

}  // namespace

ByteStream::ByteStream(const std::filesystem::path& path)
    : name_(path.string()),
      file_(path, "a record file", "Check the data folder and the file's name in the configuration.") {
  ready_.resize(kBufferBytes);
  end_ = read_disk(ready_);
  if (end_ < 2 || ready_[0] != kGzipMagic[0] || ready_[1] != kGzipMagic[1]) return;
  input_.resize(kBufferBytes);
  std::swap(input_, ready_);
  zlib_.next_in = input_.data();
  zlib_.avail_in = static_cast<uInt>(end_);
  end_ = 0;
  require(::inflateInit2(&zlib_, kGzipOnly) == Z_OK, "zlib could not be set up: out of memory?");
  compressed_ = true;
}

ByteStream::~ByteStream() {
  if (compressed_) ::inflateEnd(&zlib_);
}

std::size_t ByteStream::read(std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    if (begin_ == end_ && !refill()) break;
    const std::size_t n = std::min(out.size() - done, end_ - begin_);
    std::memcpy(out.data() + done, ready_.data() + begin_, n);
    begin_ += n;
    done += n;
  }
  return done;
}

std::uint64_t ByteStream::skip(std::uint64_t n) {
  std::uint64_t done = 0;
  while (done < n) {
    if (begin_ == end_) {
      if (!compressed_ && n - done > kBufferBytes) {
        const std::uint64_t left = file_.size() - std::min(file_.size(), disk_position_);
        const std::uint64_t jump = std::min(n - done, left);
        file_.skip(jump);
        disk_position_ += jump;
        return done + jump;
      }
      if (!refill()) break;
    }
    const std::uint64_t step = std::min<std::uint64_t>(n - done, end_ - begin_);
    begin_ += static_cast<std::size_t>(step);
    done += step;
  }
  return done;
}

/// Makes at least one byte ready, or returns false at the end.
bool ByteStream::refill() {
  begin_ = 0;
  end_ = 0;
  if (compressed_) return inflate_more();
  end_ = read_disk(ready_);
  return end_ > 0;
}

bool ByteStream::inflate_more() {
  zlib_.next_out = ready_.data();
  zlib_.avail_out = static_cast<uInt>(ready_.size());
  while (zlib_.avail_out == ready_.size()) {
    if (zlib_.avail_in == 0) {
      zlib_.next_in = input_.data();
      zlib_.avail_in = static_cast<uInt>(read_disk(input_));
      if (zlib_.avail_in == 0) {
        if (between_members_) return false;
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
  end_ = ready_.size() - zlib_.avail_out;
  return true;
}

std::size_t ByteStream::read_disk(std::span<unsigned char> out) {
  const std::size_t n = file_.read(std::as_writable_bytes(out));
  disk_position_ += n;
  return n;
}

}  // namespace muffle::data
