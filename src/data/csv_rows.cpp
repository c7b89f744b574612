#include "csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "decoded_stream.hpp"

namespace muffle::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr char kQuote = '"';

/// Ends a stretch of unquoted text.
bool ends_stretch(char c) { return c == kQuote || c == '\n' || c == '\r'; }

/// Of 16 bytes, a bit each: those that are the separator; and all that end a stretch, are 0, or begin or
/// continue a character beyond ASCII, with some that are none of these.
struct Marks {
  unsigned separators, others;
};

#if defined(__SSE2__)
Marks marks_of(const char* at, char separator) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(kQuote + 1));  // signed: beyond ASCII is below 0
  const __m128i separators = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(separator));
  return {static_cast<unsigned>(_mm_movemask_epi8(separators)),
          static_cast<unsigned>(_mm_movemask_epi8(_mm_andnot_si128(separators, low)))};
}
#else
Marks marks_of(const char* at, char separator) {
  Marks marks{0, 0};
  for (unsigned i = 0; i < 16; ++i) {
    if (at[i] == separator) {
      marks.separators |= 1u << i;
    } else if (static_cast<signed char>(at[i]) <= kQuote) {
      marks.others |= 1u << i;
    }
  }
  return marks;
}
#endif

bool all_ascii(const char* at, std::size_t n) {
  std::uint64_t high = 0;
  for (; n >= sizeof high; at += sizeof high, n -= sizeof high) {
    std::uint64_t eight;
    std::memcpy(&eight, at, sizeof eight);
    high |= eight;
  }
  for (; n > 0; ++at, --n) high |= static_cast<unsigned char>(*at);
  return (high & 0x8080808080808080u) == 0;
}

/// Bytes of the character at the front; 0: it is none (overlong, a surrogate, above U+10FFFF, cut off).
std::size_t utf8_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xC2 && first < 0xE0   ? 2
                           : first >= 0xE0 && first < 0xF0 ? 3
                           : first >= 0xF0 && first < 0xF5 ? 4
                                                           : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : size;
}

}  // namespace

CsvDialect dialect_of(const DataSpec& spec) {
  return {spec.separator, spec.comment.empty() ? '\0' : spec.comment.front(), spec.skip, spec.encoding};
}

std::size_t valid_utf8(std::string_view text) {
  if (all_ascii(text.data(), text.size())) return text.size();
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t size = utf8_character(text.substr(at));
    if (size == 0) break;
    at += size;
  }
  return at;
}

CsvRows::CsvRows(const std::string& path, CsvDialect dialect)
    : name_("'" + path + "'"), dialect_(std::move(dialect)), stream_(open_text(path, dialect_.encoding)) {
  if (dialect_.separator == kBlankSeparator) {
    stream_ = std::make_unique<UnpaddedStream>(std::move(stream_));
    dialect_.separator = '\t';
  }
  require(csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) == 0, "libcsv could not be set up");
  csv_set_delim(&parser_, static_cast<unsigned char>(dialect_.separator));
  pass_byte_order_mark();
  for (std::uint64_t line = 0; line < dialect_.skip; ++line) pass_line();
  pass_separator_line();
}

CsvRows::~CsvRows() { csv_free(&parser_); }

std::string CsvRows::where() const {
  return in_header_ ? "the header of " + name_ : "row " + std::to_string(rows_) + " of " + name_;
}

DataError CsvRows::malformed(const std::string& how) const {
  return DataError(
      name_ +
          " has a line that is no row of the schema's columns in CSV (RFC 4180, UTF-8); this rank's own log "
          "says which one and why. Mend the file, or correct data.separator, data.encoding, data.header, "
          "data.skip or data.comment.",
      LocalDetail{
          where() + " " + how +
          " (the first row after the header is 1; blank lines, and comments before it, do not count)."});
}

std::string CsvRows::long_rows() const {
  if (long_rows_ == 0) return {};
  return fmt::format(
      "{}{}; if no text of this file is so long, two stray quotes have swallowed the rows between them, and "
      "those are missing",
      first_long_row_,
      long_rows_ > 1 ? fmt::format(", and {} more rows more than {}", long_rows_ - 1, kManyBreaks) : "");
}

/// @returns whether so many bytes of the file are left, in the buffer.
bool CsvRows::fill(std::size_t bytes) {
  while (end_ - begin_ < bytes && refill()) {
  }
  return end_ - begin_ >= bytes;
}

/// Over a line, with its end: LF, CR LF or CR.
void CsvRows::pass_line() {
  while (fill(1)) {
    const char c = buffer_[begin_++];
    if (c == '\r' && fill(1) && buffer_[begin_] == '\n') ++begin_;
    if (c == '\n' || c == '\r') return;
  }
}

/// Over "sep=;", which spreadsheets read as the separator of the lines below.
void CsvRows::pass_separator_line() {
  constexpr std::string_view kSays = "sep=", kSeparators = ",;|\t";
  fill(kSays.size() + 4);  // with quotes and a line's end
  std::string_view line(buffer_.data() + begin_, end_ - begin_);
  line = line.substr(0, line.find_first_of("\r\n"));
  if (line.size() > 2 && line.front() == kQuote && line.back() == kQuote)
    line = line.substr(1, line.size() - 2);
  const bool says = line.size() == kSays.size() + 1 &&
                    (line.starts_with(kSays) || line.starts_with("SEP=")) &&
                    kSeparators.find(line.back()) != std::string_view::npos;
  if (!says) return;
  if (line.back() != dialect_.separator) {
    const std::string other = line.back() == '\t' ? "tab" : std::string(1, line.back());
    throw DataError(
        fmt::format("{} says in its first line (sep=) that \"{}\" stands between fields: set "
                    "data.separator, or --separator of schema init.",
                    name_, other));
  }
  pass_line();
}

void CsvRows::pass_byte_order_mark() {
  fill(kByteOrderMark.size());
  if (std::string_view(buffer_.data() + begin_, end_ - begin_).starts_with(kByteOrderMark))
    begin_ += kByteOrderMark.size();
}

bool CsvRows::take(bool parse_it, bool counts) {
  in_header_ = !counts;
  fields_.clear();
  if (!pass_blank_lines()) return false;
  begun_ = true;
  rows_ += counts ? 1 : 0;
  breaks_ = 0;
  const bool ends_in_quotes = parse_it ? find_row<true>() : find_row<false>();
  if (breaks_ > kManyBreaks && long_rows_++ == 0)
    first_long_row_ = fmt::format("{} has quoted fields that span {} lines", where(), breaks_ + 1);
  // Rows that are passed over are not taken apart; but one that goes on to the file's end has swallowed what
  // was to be counted, and the parser knows why.
  if (parse_it || ends_in_quotes) parse();
  begin_ += row_.size();
  return true;
}

/// More bytes behind what is there, which moves to the buffer's front. @returns false at the end.
bool CsvRows::refill() {
  if (ended_) return false;
  if (begin_ > 0) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + kBufferBytes) buffer_.resize(end_ + kBufferBytes);
  const std::size_t n = stream_->read(std::as_writable_bytes(std::span(buffer_).subspan(end_, kBufferBytes)));
  end_ += n;
  ended_ = n < kBufferBytes;
  return n > 0;
}

/// To the first byte of a row. @returns false at the end.
bool CsvRows::pass_blank_lines() {
  bool in_comment = false, at_start = true;
  for (;; ++begin_) {
    if (begin_ == end_ && !refill()) return false;
    const char c = buffer_[begin_];
    if (c == '\n' || c == '\r') {
      in_comment = false;
      at_start = true;
      continue;
    }
    if (in_comment) continue;
    if (at_start && !begun_ && dialect_.comment != '\0' && c == dialect_.comment) {
      in_comment = true;
      continue;
    }
    at_start = false;
    if (c != ' ' && (c != '\t' || dialect_.separator == '\t')) return true;
  }
}

/// Over unquoted text. Where the row is parsed, cuts_ gets the separators on the way, and plain_ whether all
/// of it is ASCII without a NUL byte.
/// @returns the place of what ends the stretch, or end_
template <bool kParse>
std::size_t CsvRows::pass_stretch(std::size_t at) {
  const char* const data = buffer_.data();
  constexpr std::size_t kBytes = 16;
  for (; at + kBytes <= end_; at += kBytes) {
    const Marks marks = marks_of(data + at, dialect_.separator);
    std::size_t stop = kBytes;
    for (unsigned others = marks.others; others != 0; others &= others - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(others));
      const char c = data[at + i];
      if (ends_stretch(c)) {
        stop = i;
        break;
      }
      if constexpr (kParse) plain_ &= c > '\0';
    }
    if constexpr (kParse) {
      unsigned separators = marks.separators & ((1u << stop) - 1);
      for (; separators != 0; separators &= separators - 1)
        cuts_.push_back(at - begin_ + static_cast<std::size_t>(std::countr_zero(separators)));
    }
    if (stop < kBytes) return at + stop;
  }
  for (; at < end_ && !ends_stretch(data[at]); ++at) {
    if constexpr (kParse) {
      plain_ &= data[at] > '\0';
      if (data[at] == dialect_.separator) cuts_.push_back(at - begin_);
    }
  }
  return at;
}

/// row_: from begin_ up to the next line's end outside quotes, or the end of the file.
/// @returns whether the file ends within quotes.
template <bool kParse>
bool CsvRows::find_row() {
  bool quoted = false;
  has_quotes_ = false;
  plain_ = true;
  cuts_.clear();
  for (std::size_t at = begin_;;) {
    if (quoted) {
      const char* const data = buffer_.data();
      const void* quote = at < end_ ? std::memchr(data + at, kQuote, end_ - at) : nullptr;
      const std::size_t from = at;
      at = quote != nullptr ? static_cast<std::size_t>(static_cast<const char*>(quote) - data) : end_;
      breaks_ += static_cast<std::uint64_t>(std::count(data + from, data + at, '\n'));
    } else {
      at = pass_stretch<kParse>(at);
    }
    if (at - begin_ > kMostRowBytes) {
      throw malformed("is longer than " + std::to_string(kMostRowBytes >> 20) +
                      " MiB: is there a quote that is never closed?");
    }
    if (at == end_) {
      const std::size_t passed = at - begin_;
      if (!refill()) {
        row_ = {buffer_.data() + begin_, passed};
        return quoted;
      }
      at = begin_ + passed;
      continue;
    }
    if (!quoted && buffer_[at] != kQuote) {
      row_ = {buffer_.data() + begin_, at + 1 - begin_};
      return false;
    }
    quoted = !quoted;
    has_quotes_ = true;
    ++at;
  }
}

void CsvRows::on_field(void* text, std::size_t bytes, void* self) {
  CsvRows& rows = *static_cast<CsvRows*>(self);
  try {
    rows.field_too_long_ |= bytes > kMostFieldBytes;
    rows.text_.append(static_cast<const char*>(text), bytes);
    rows.ends_.push_back(rows.text_.size());
  } catch (...) {
    rows.failed_ = std::current_exception();
  }
}

/// A row without quotes, as most are: what libcsv makes of it, without its copies.
void CsvRows::split() {
  std::string_view row = row_;
  if (row.ends_with('\n') || row.ends_with('\r')) row.remove_suffix(1);
  const auto is_blank = [&](char c) { return c == ' ' || (c == '\t' && dialect_.separator != '\t'); };
  std::size_t from = 0;
  cuts_.push_back(row.size());
  fields_.resize(cuts_.size());
  for (std::size_t i = 0; i < cuts_.size(); ++i) {
    std::string_view field(row.data() + from, cuts_[i] - from);
    from = cuts_[i] + 1;
    while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
    while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
    field_too_long_ |= field.size() > kMostFieldBytes;
    fields_[i] = field;
  }
}

/// A row by libcsv.
void CsvRows::parse_quoted() {
  text_.clear();
  ends_.clear();
  parsed_rows_ = 0;
  const auto feed = [&](std::string_view bytes) {
    return csv_parse(&parser_, bytes.data(), bytes.size(), &on_field, &on_row, this) == bytes.size();
  };
  bool good = feed(row_);
  if (good && parsed_rows_ == 0) good = feed("\n");  // the last line of a file may have no end
  if (failed_) std::rethrow_exception(failed_);
  if (!good && csv_error(&parser_) == CSV_ENOMEM) throw InvariantError("libcsv ran out of memory.");
  const std::string field = "field " + std::to_string(ends_.size() + (good && parsed_rows_ == 1 ? 0 : 1));
  if (!good)
    throw malformed(
        "has a quote inside " + field + " that is not doubled, or text behind the one that closes it" +
        (in_header_ && dialect_.separator != '\t'
             ? " (is it a tab, or are they blanks, that stand between fields? Do lines stand above the "
               "header?)"
             : ""));
  if (parsed_rows_ != 1) throw malformed("has a quote in " + field + " that is never closed");
  std::size_t from = 0;
  for (const std::size_t end : ends_) {
    fields_.emplace_back(text_.data() + from, end - from);
    from = end;
  }
}

void CsvRows::parse() {
  field_too_long_ = false;
  if (in_header_) check_beginning(row_);
  if (has_quotes_ || !plain_) check_text(row_);
  if (has_quotes_) {
    parse_quoted();
  } else {
    split();
  }
  if (field_too_long_)
    throw malformed("has a field longer than " + std::to_string(kMostFieldBytes >> 20) + " MiB");
}

/// @throws DataError  the file is of another kind.
void CsvRows::check_beginning(std::string_view row) const {
  using std::string_view_literals::operator""sv;
  static constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"\x93NUMPY"sv, "a NumPy file (data.format = \"npz\")"},
      {"PK\x03\x04"sv,
       "a ZIP archive: of a spreadsheet (save it as CSV) or of NumPy's arrays (data.format = \"npz\")"},
      {"\xD0\xCF\x11\xE0"sv, "an old spreadsheet: save it as CSV"},
      {"PAR1\x15"sv, "a Parquet file: write it as CSV"},  // PAR1 alone may name a column
      {"SQLite format 3"sv, "a database: write its table as CSV"},
      {"\xFD\x37zXZ"sv, "a file that xz compressed: unpack it, or use gzip"},
      {"\x28\xB5\x2F\xFD"sv, "a file that zstd compressed: unpack it, or use gzip"},
      {"{\""sv, "a JSON file: write it as CSV"},
      {"[{"sv, "a JSON file: write it as CSV"},
      {"<!DOCTYPE"sv, "a web page"},
      {"<html"sv, "a web page"},
      {"<?xml"sv, "an XML file: write it as CSV"}};
  for (const auto& [beginning, kind] : kOthers) {
    if (row.starts_with(beginning)) throw malformed("is that of " + std::string(kind));
  }
  if (row.starts_with("BZh") && row.substr(3, 7).ends_with("1AY&SY"))  // between them the level, 1 to 9
    throw malformed("is that of a file that bzip2 compressed: unpack it, or use gzip");
}

/// @throws DataError  it has a byte that no text in UTF-8 has.
void CsvRows::check_text(std::string_view row) const {
  std::size_t bad = valid_utf8(row);
  const char* what = "has bytes that are not UTF-8 (is data.encoding \"windows-1252\" or \"utf-16\"?) in";
  if (const std::size_t nul = row.find('\0'); nul < bad) {
    bad = nul;
    what = "has a NUL byte (is data.encoding \"utf-16\"?) in";
  }
  if (bad >= row.size()) return;
  bool quoted = false;
  std::size_t field = 1;
  for (const char c : row.substr(0, bad)) {
    if (c == kQuote) quoted = !quoted;
    if (c == dialect_.separator && !quoted) ++field;
  }
  throw malformed(std::string(what) + " field " + std::to_string(field));
}

}  // namespace muffle::data
