#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include "byte_stream.hpp"
#include "csv_format.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/schema/date_differences.hpp"
#include "muffle/schema/key_text.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::data {
namespace {

using schema::Cell;
using schema::Column;

constexpr int kGzipLevel = 3;           // half the time of zlib's default, for a tenth more bytes
constexpr int kGzipWrapping = 15 + 16;  // deflateInit2: the largest window, gzip wrapping

/// As RFC 4180 wants it; blanks at either end are quoted too, as readers may drop them.
/// @param always  in quotes whatever it holds
void append_field(std::string_view field, char separator, bool always, std::string& out) {
  const bool blanks =
      field.starts_with(' ') || field.ends_with(' ') || field.starts_with('\t') || field.ends_with('\t');
  // Between blanks an empty field would be none.
  const bool between_blanks =
      separator == kBlankSeparator && (field.empty() || field.find('\t') != std::string_view::npos);
  if (!always && !blanks && !between_blanks && field.find_first_of("\"\r\n") == std::string_view::npos &&
      field.find(separator) == std::string_view::npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

/// The texts of a grid's values: of the first ones made once, of the others as schema::write_number() makes
/// them, but from whole numbers where that is the same.
class NumberTexts {
 public:
  NumberTexts(const schema::ColumnText& text, char separator)
      : text_(text), separator_(separator), column_(text.column()), grid_(text.column()) {
    const Column& column = column_;
    const std::uint64_t count = std::min(grid_.count(), kMostTexts);
    for (std::uint64_t i = 0; i < count; ++i) {
      write_value(grid_.value(i), texts_);
      ends_.push_back(static_cast<std::uint32_t>(texts_.size()));
    }
    const bool plain =
        column.type == schema::ColumnType::kInteger || column.type == schema::ColumnType::kDecimal;
    const double most =
        std::max(std::fabs(column.lo), std::fabs(column.hi)) * std::pow(10.0, column.decimals);
    by_units_ =
        plain && column.notation == schema::Notation() && column.decimals <= kMostDecimals && most < 0x1p49;
  }

  void write(Cell cell, std::string& out) const {
    const std::uint64_t index = grid_.index_of(cell);
    if (index < ends_.size()) {
      const std::uint32_t from = index > 0 ? ends_[index - 1] : 0;
      out.append(texts_, from, ends_[index] - from);
    } else if (by_units_) {
      write_units(grid_.value(index), out);
    } else {
      write_value(grid_.value(index), out);
    }
  }

 private:
  /// No number in muffle's own way has a quote, a separator or a blank at its end.
  void write_value(double value, std::string& out) const {
    if (column_.notation == schema::Notation()) return text_.write_number(value, out);
    std::string field;
    text_.write_number(value, field);
    append_field(field, separator_, false, out);
  }
  /// A value of the grid is the double next to its digits, and so few of them tell which ones.
  void write_units(double value, std::string& out) const {
    const auto units = std::llround(value * std::pow(10.0, column_.decimals));
    char digits[32];
    const auto decimals = static_cast<std::size_t>(column_.decimals);
    const char* const end = std::to_chars(digits, digits + sizeof digits, std::llabs(units)).ptr;
    const auto n = static_cast<std::size_t>(end - digits);
    if (units < 0) out += '-';
    if (n <= decimals) out += '0';
    if (n > decimals) out.append(digits, n - decimals);
    if (decimals == 0) return;
    out += '.';
    if (n < decimals) out.append(decimals - n, '0');
    const std::size_t behind = std::min(n, decimals);
    out.append(digits + n - behind, behind);
  }

  static constexpr std::uint64_t kMostTexts = std::uint64_t{1} << 14;
  static constexpr int kMostDecimals = 15;

  schema::ColumnText text_;
  char separator_;
  Column column_;
  schema::Grid grid_;
  std::string texts_;
  std::vector<std::uint32_t> ends_;  ///< in texts_
  bool by_units_ = false;
};

/// A column as samples have it.
struct WrittenColumn {
  schema::ColumnText text;
  std::size_t column = 0;                            ///< of the table
  std::optional<std::size_t> number = std::nullopt;  ///< of a record; none: the label, a key, or it follows
  std::vector<std::string> fields = {};  ///< as they are written, by code; of numbers only the missing value
  std::optional<NumberTexts> numbers = std::nullopt;
  std::optional<schema::KeyText> key = std::nullopt;  ///< of a key, or of the person
};

std::vector<WrittenColumn> written_columns(const schema::RecordKind& kind) {
  std::vector<WrittenColumn> columns;
  std::size_t numbers = 0;
  for (std::size_t j = 0; j < kind.table->columns.size(); ++j) {
    const Column& column = kind.table->columns[j];
    if (!column.is_sampled()) continue;
    WrittenColumn& written = columns.emplace_back(WrittenColumn{schema::ColumnText(column), j});
    if (column.is_feature()) written.number = numbers++;
    if (column.type == schema::ColumnType::kKey || column.is_person()) {
      require(!column.is_person() || kind.persons, "rows of people whom nobody has dealt them to");
      written.key.emplace(column);
      continue;
    }
    written.fields.resize(column.codes());
    for (std::uint32_t code = 0; code < column.codes(); ++code) {
      if (column.is_number() && code != column.missing_code()) continue;
      std::string text;
      written.text.write({code, 0.5f}, text);
      append_field(text, kind.text.separator, kind.text.quote_texts && !column.is_number(),
                   written.fields[code]);
    }
  }
  return columns;
}

/// Appends a line of what `append(column, out)` writes of each column.
template <class Append>
void append_line(const std::vector<WrittenColumn>& columns, char separator, std::string& out,
                 const Append& append) {
  const std::size_t begin = out.size();
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (j > 0) out += separator;
    append(columns[j], out);
  }
  if (out.size() == begin) out += "\"\"";  // a blank line is no row
  out += '\n';
}

void append_header(const std::vector<WrittenColumn>& columns, const schema::TextStyle& text,
                   std::string& out) {
  if (!text.header) return;
  append_line(columns, text.separator, out, [&](const WrittenColumn& c, std::string& line) {
    append_field(c.text.column().name, text.separator, text.quote_texts, line);
  });
}

constexpr std::size_t kLongestNotation = 40;

/// The longest field that such a column can have, with its quotes and separator.
std::uint64_t longest_field(const WrittenColumn& written, const schema::RecordKind& kind) {
  const Column& column = written.text.column();
  std::size_t longest = 2;
  if (written.key) {  // the last one has most digits
    std::string text, field;
    written.key->write(kind.last_key_number(column), text);
    append_field(text, kind.text.separator, kind.text.quote_texts, field);
    return field.size() + 1;
  }
  for (const std::string& field : written.fields) longest = std::max(longest, field.size());
  if (column.is_number()) {  // no number between two is longer than both, but for a sign
    for (const Cell cell : {Cell{0, 0.0f}, Cell{column.missing_code() - 1, 1.0f}}) {
      std::string text;
      written.text.write(cell, text);
      // Names of months differ in length; codes of bounds are shorter or longer than what is between.
      if (column.notation != schema::Notation()) text += std::string(kLongestNotation, ' ');
      longest = std::max(longest, text.size() + 1);
    }
  }
  return longest + 1;
}

/// A new file's bytes, compressed or not. Equal bytes make equal files.
class ByteWriter {
 public:
  ByteWriter(const std::filesystem::path& path, bool compressed) : file_(path) {
    if (!compressed) return;
    require(::deflateInit2(&zlib_, kGzipLevel, Z_DEFLATED, kGzipWrapping, 8, Z_DEFAULT_STRATEGY) == Z_OK,
            "zlib could not be set up: out of memory?");
    buffer_.resize(kBufferBytes);
  }
  ~ByteWriter() {
    if (!buffer_.empty()) ::deflateEnd(&zlib_);
  }
  ByteWriter& operator=(ByteWriter&&) = delete;

  void write(std::string_view bytes) {
    if (buffer_.empty()) {
      file_.write(std::as_bytes(std::span(bytes)));
    } else {
      deflate(bytes, Z_NO_FLUSH);
    }
  }
  void commit() {
    if (!buffer_.empty()) deflate({}, Z_FINISH);
    file_.commit();
  }

 private:
  void deflate(std::string_view bytes, int flush) {
    // zlib does not write to what it reads; its interface is older than const.
    zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    zlib_.avail_in = static_cast<uInt>(bytes.size());
    do {
      zlib_.next_out = buffer_.data();
      zlib_.avail_out = static_cast<uInt>(buffer_.size());
      const int status = ::deflate(&zlib_, flush);
      require(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, "zlib cannot compress");
      file_.write(std::as_bytes(std::span(buffer_).first(buffer_.size() - zlib_.avail_out)));
    } while (zlib_.avail_out == 0);
  }

  NewFile file_;
  z_stream zlib_{};
  std::vector<unsigned char> buffer_;  ///< empty: not compressed
};

class CsvWriter final : public schema::RecordWriter {
 public:
  CsvWriter(const std::filesystem::path& path, const schema::RecordKind& kind, bool compressed)
      : RecordWriter(kind),
        columns_(written_columns(kind)),
        rows_(*this->kind().table),
        file_(path, compressed) {
    for (WrittenColumn& written : columns_) {
      if (written.text.column().is_number() && !rows_.follows(written.column))
        written.numbers.emplace(written.text, kind.text.separator);
    }
    append_header(columns_, kind.text, lines_);
    file_.write(lines_);
  }

 private:
  void write(const schema::Records& some) override {
    const std::size_t dims = kind().dims();
    lines_.clear();
    for (std::size_t i = 0; i < some.count(); ++i) {
      append_line(columns_, kind().text.separator, lines_, [&](const WrittenColumn& c, std::string& line) {
        const std::size_t codes = c.fields.size();
        if (c.key) {
          field_.clear();
          c.key->write(kind().key_number(c.text.column(), written() + i), field_);
          append_field(field_, kind().text.separator, kind().text.quote_texts, line);
          return;
        }
        if (rows_.follows(c.column)) {
          const double value = rows_.number(c.column, std::span(some.floats).subspan(i * dims, dims));
          if (std::isnan(value)) {
            line += c.fields.back();
          } else if (!c.text.column().is_number()) {
            line += c.fields[static_cast<std::size_t>(value)];
          } else {
            field_.clear();
            c.text.write_number(value, field_);
            append_field(field_, kind().text.separator, false, line);
          }
          return;
        }
        const Cell cell =
            c.number ? schema::cell_at(some.floats[i * dims + *c.number], codes) : Cell{some.labels[i], 0.5f};
        if (c.numbers && cell.code != c.text.column().missing_code()) {
          c.numbers->write(cell, line);
        } else {
          line += c.fields[std::min<std::size_t>(cell.code, codes - 1)];
        }
      });
      if (lines_.size() < kBufferBytes) continue;
      file_.write(lines_);
      lines_.clear();
    }
    file_.write(lines_);
  }
  void complete(const Heartbeat&) override { file_.commit(); }

  std::vector<WrittenColumn> columns_;
  schema::RowNumbers rows_;
  ByteWriter file_;
  std::string lines_, field_;
};

}  // namespace

std::uint64_t CsvFormat::bytes_on_disk(const schema::RecordKind& kind) const {
  std::uint64_t row = 1;
  const std::vector<WrittenColumn> columns = written_columns(kind);
  for (const WrittenColumn& column : columns) row += longest_field(column, kind);
  std::string header;
  append_header(columns, kind.text, header);
  const std::uint64_t bytes = kind.count * row + header.size();
  return compressed_ ? bytes + bytes / 1000 + 64 : bytes;  // what does not compress grows by less
}

std::unique_ptr<schema::RecordWriter> CsvFormat::writer(const std::filesystem::path& file,
                                                        const schema::RecordKind& kind) const {
  return std::make_unique<CsvWriter>(file, kind, compressed_);
}

}  // namespace muffle::data
