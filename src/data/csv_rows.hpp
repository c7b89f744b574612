#pragma once

#include <csv.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "byte_stream.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/source.hpp"

namespace muffle::data {

/// More is taken for a quote that is never closed. Both bound what a reader holds.
inline constexpr std::size_t kMostFieldBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostRowBytes = std::size_t{1} << 22;

/// More line breaks within the quotes of a row are worth a word.
inline constexpr std::uint64_t kManyBreaks = 100;

/// How a CSV file is spelt beyond RFC 4180.
struct CsvDialect {
  char separator = ',';  ///< kBlankSeparator: any blanks and tabs
  /// Lines before the first row (the header, where there is one) that begin with it are passed over; behind
  /// that no record may decide whether its line is one. 0: there are none.
  char comment = '\0';
  std::uint64_t skip = 0;          ///< lines at the file's beginning that are none of the table's
  std::string encoding = "utf-8";  ///< a name that iconv knows
};
CsvDialect dialect_of(const DataSpec& spec);

/// The rows of a CSV file (RFC 4180, plain or gzip), one at a time: libcsv takes rows with quotes apart;
/// where rows begin and end is found here, so that they can be passed over at the speed of memory. Blank
/// lines are no rows. Memory: a buffer and a row.
///
/// Messages say that a row is malformed; which one and how is a local detail; nothing holds its content.
class CsvRows {
 public:
  /// @throws IoError;  DataError: a first line "sep=;" speaks against the dialect. The others throw both, of
  /// compressed data too.
  CsvRows(const std::string& path, CsvDialect dialect);
  ~CsvRows();
  CsvRows& operator=(CsvRows&&) = delete;

  /// Reads the next row as the header: it does not count. @returns whether there was one.
  bool read_header() { return take(/*parse=*/true, /*counts=*/false); }
  /// Takes the next row apart. @returns false at the end. @throws DataError  quotes, UTF-8, a NUL byte,
  /// sizes.
  bool read() { return take(true, true); }
  /// Passes over a row without a look at its fields. @returns false at the end. @throws DataError  sizes; the
  /// file ends within quotes.
  bool skip() { return take(false, true); }

  /// Of the row that was read last, without quotes and the blanks around unquoted ones; valid until the next.
  std::span<const std::string_view> fields() const { return fields_; }
  /// Rows that were read or passed over.
  std::uint64_t rows() const { return rows_; }
  /// "'FILE'"
  const std::string& name() const { return name_; }
  /// "row 7 of 'FILE'": local. The first row after the header is 1; blank lines and comments do not count.
  std::string where() const;
  /// Of the rows so far those with many line breaks in quotes, the first by its place: local. Empty: none.
  std::string long_rows() const;
  /// The row that was read last is no row of CSV. @param how  "has 3 fields, ...": local.
  DataError malformed(const std::string& how) const;

 private:
  static void on_field(void* text, std::size_t bytes, void* self);
  static void on_row(int, void* self) { ++static_cast<CsvRows*>(self)->parsed_rows_; }

  bool take(bool parse, bool counts);
  template <bool kParse>
  bool find_row();
  template <bool kParse>
  std::size_t pass_stretch(std::size_t at);
  bool pass_blank_lines();
  bool refill();
  bool fill(std::size_t bytes);
  void pass_byte_order_mark();
  void pass_line();
  void pass_separator_line();
  void parse();
  void parse_quoted();
  void split();
  void check_text(std::string_view row) const;

  std::string name_;
  CsvDialect dialect_;
  std::unique_ptr<ByteReader> stream_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< what of the buffer is not yet taken
  bool ended_ = false;               ///< of the file
  bool begun_ = false;               ///< a row was there, or the header: comments are over
  std::string_view row_;             ///< as it is in the file, with its line's end
  bool has_quotes_ = false;          ///< row_
  bool plain_ = false;               ///< row_ outside quotes: ASCII without NUL; of rows that are parsed
  std::vector<std::size_t> cuts_;    ///< its separators, if it has no quotes
  bool in_header_ = false;
  std::uint64_t rows_ = 0;
  std::uint64_t breaks_ = 0;  ///< of lines, within quotes of the row
  std::uint64_t long_rows_ = 0;
  std::string first_long_row_;

  csv_parser parser_{};
  std::string text_;               ///< of all fields
  std::vector<std::size_t> ends_;  ///< of each field in text_
  std::vector<std::string_view> fields_;
  std::size_t parsed_rows_ = 0;
  bool field_too_long_ = false;
  std::exception_ptr failed_;  ///< in a callback: nothing is thrown through C
};

/// How many bytes of the text are UTF-8, all of them or up to the first that is not.
std::size_t valid_utf8(std::string_view text);

}  // namespace muffle::data
