#include "decoded_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "muffle/core/text.hpp"

namespace muffle::data {
namespace {

const iconv_t kNone = reinterpret_cast<iconv_t>(-1);  // NOLINT(performance-no-int-to-ptr): POSIX has it so
constexpr auto kFailed = static_cast<std::size_t>(-1);

/// iconv's own name for one that people write.
iconv_t open_iconv(const std::string& encoding) {
  // Behind a stroke iconv takes orders: to leave out what it cannot decode, for one.
  if (encoding.empty() || encoding.find('/') != std::string::npos) return kNone;
  static constexpr std::pair<std::string_view, const char*> kOthers[] = {
      {"latin-1", "ISO-8859-1"}, {"utf-8-sig", "UTF-8"}, {"mac-roman", "MACINTOSH"}};
  for (const auto& [name, known] : kOthers) {
    if (encoding == name) return ::iconv_open("UTF-8", known);
  }
  return ::iconv_open("UTF-8", encoding.c_str());
}

}  // namespace

std::string encoding_problem(const std::string& encoding) {
  const iconv_t known = open_iconv(encoding);
  if (known == kNone) {
    return fmt::format(
        "data.encoding = \"{}\" is no encoding that iconv knows: write \"utf-8\", \"latin-1\", "
        "\"windows-1252\", \"utf-16\", or another of `iconv --list`",
        printable(encoding));
  }
  ::iconv_close(known);
  return {};
}

std::unique_ptr<ByteReader> open_text(const std::filesystem::path& path, const std::string& encoding) {
  if (encoding == "utf-8") return std::make_unique<ByteStream>(path);
  return std::make_unique<DecodedStream>(path, encoding);
}

DecodedStream::DecodedStream(const std::filesystem::path& path, const std::string& encoding)
    : name_("'" + path.string() + "'"),
      encoding_(encoding),
      bytes_(path),
      iconv_(open_iconv(encoding)),
      input_(kBufferBytes),
      output_(kBufferBytes) {
  if (iconv_ == kNone) throw DataError(encoding_problem(encoding) + ".");
}

DecodedStream::~DecodedStream() { ::iconv_close(iconv_); }

std::span<const std::byte> DecodedStream::more() {
  for (;;) {
    // What is left of a character moves to the front.
    std::copy(input_.begin() + static_cast<std::ptrdiff_t>(begin_),
              input_.begin() + static_cast<std::ptrdiff_t>(end_), input_.begin());
    before_ += begin_;
    end_ -= begin_;
    begin_ = 0;
    end_ += bytes_.read(std::as_writable_bytes(std::span(input_).subspan(end_)));
    if (end_ == 0) return {};
    char *from = input_.data(), *to = output_.data();
    std::size_t left = end_, room = output_.size();
    const std::size_t done = ::iconv(iconv_, &from, &left, &to, &room);
    const bool wrong = done == kFailed && errno != E2BIG && errno != EINVAL;
    begin_ = end_ - left;
    const std::size_t written = output_.size() - room;
    if (wrong || (written == 0 && begin_ == 0)) throw no_text();
    if (written > 0) return std::as_bytes(std::span(output_)).first(written);
  }
}

UnpaddedStream::UnpaddedStream(std::unique_ptr<ByteReader> text)
    : text_(std::move(text)), input_(kBufferBytes) {}

std::span<const std::byte> UnpaddedStream::more() {
  do {
    const std::size_t size = text_->read(std::as_writable_bytes(std::span(input_)));
    if (size == 0) return {};
    output_.clear();
    for (const char c : std::span(input_).first(size)) {
      if (!quoted_ && (c == ' ' || c == '\t')) {
        blank_ = true;
        continue;
      }
      const bool ends = !quoted_ && (c == '\n' || c == '\r');
      if (blank_ && !at_start_ && !ends) output_.push_back('\t');
      blank_ = false;
      at_start_ = ends;
      quoted_ = quoted_ != (c == '"');
      output_.push_back(c);
    }
  } while (output_.empty());
  return std::as_bytes(std::span(output_));
}

DataError DecodedStream::no_text() const {
  return DataError(
      fmt::format("{} has bytes that are no text in data.encoding = \"{}\". Is it the file's encoding?",
                  name_, printable(encoding_)),
      LocalDetail{fmt::format("{} has bytes that are no text in this encoding after {} bytes.", name_,
                              before_ + begin_)});
}

}  // namespace muffle::data
