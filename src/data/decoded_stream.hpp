#pragma once

#include <iconv.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "byte_stream.hpp"
#include "muffle/core/error.hpp"

namespace muffle::data {

/// Empty, or why no text can be read in this encoding: iconv knows no such name.
std::string encoding_problem(const std::string& encoding);

/// The bytes of a text file as UTF-8, whatever its encoding. @throws what ByteStream does, and DataError:
/// bytes that are no character in the encoding.
std::unique_ptr<ByteReader> open_text(const std::filesystem::path& path, const std::string& encoding);

/// Text in another encoding, by iconv.
class DecodedStream final : public ByteReader {
 public:
  DecodedStream(const std::filesystem::path& path, const std::string& encoding);
  ~DecodedStream() override;
  DecodedStream& operator=(DecodedStream&&) = delete;

 private:
  std::span<const std::byte> more() override;
  std::uint64_t jump(std::uint64_t) override { return 0; }
  DataError no_text() const;

  std::string name_, encoding_;
  ByteStream bytes_;
  iconv_t iconv_;
  std::vector<char> input_, output_;
  std::size_t begin_ = 0, end_ = 0;  ///< of input_: what is not yet decoded
  std::uint64_t before_ = 0;         ///< bytes of the file before input_
};

/// Blanks and tabs outside quotes as one tab, and none at the ends of lines: fields with blanks between them,
/// as R's write.table writes them and columns are padded, become fields with a tab between them.
class UnpaddedStream final : public ByteReader {
 public:
  explicit UnpaddedStream(std::unique_ptr<ByteReader> text);

 private:
  std::span<const std::byte> more() override;
  std::uint64_t jump(std::uint64_t) override { return 0; }

  std::unique_ptr<ByteReader> text_;
  std::vector<char> input_, output_;
  bool quoted_ = false, at_start_ = true, blank_ = false;  ///< of the line; blanks are to be written
};

}  // namespace muffle::data
