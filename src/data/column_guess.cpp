#include "column_guess.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table_text.hpp"
#include "text_shape.hpp"

namespace muffle::data {
namespace {

using schema::bound_code;
using schema::ColumnType;

/// How missing values are spelt almost everywhere.
constexpr std::string_view kMissing[] = {
    "",        "?",       ".",     "-",      "--",    "---",        "NA",
    "N/A",     "n/a",     "na",    "#N/A",   "#NA",   "<NA>",       "NaN",
    "nan",     "-nan",    "-NaN",  "#NULL!", "NaT",   "None",       "none",
    "null",    "NULL",    "Null",  "(null)", "\\N",   "n.a.",       "N.A.",
    "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "0000-00-00", "0000-00-00 00:00:00"};
/// So many of a column's fields look like dates or numbers: then it holds these.
constexpr double kMost = 0.9;
/// Texts with numbers in them, such as "5-9", are categories if there are no more than so many.
constexpr std::size_t kManyTexts = 50;
constexpr std::array<std::pair<const char*, const char*>, 3> kBooleans{
    {{"false", "true"}, {"False", "True"}, {"FALSE", "TRUE"}}};
/// So few different words among more different numbers than that are missing values.
constexpr std::size_t kMostWords = 8, kFewNumbers = 10;

constexpr const char* kExponents = "numbers with exponents are read, and samples have all digits";
constexpr const char* kPlus = "plus signs are read, and samples have none";
constexpr const char* kFirsts =
    "each date is the first of a month, and samples will have all days: muffle has no grid of months";

/// "007": a code, whose zeros a number would lose.
bool is_code(std::string_view field) {
  field.remove_prefix(field.starts_with('-') || field.starts_with('+') ? 1 : 0);
  return field.size() > 1 && field[0] == '0' && field[1] >= '0' && field[1] <= '9';
}

bool is_word(std::string_view field) {
  return field.find_first_of("0123456789") == std::string_view::npos &&
         !schema::has_digits_of_other_scripts(field);
}

bool is_boolean_word(std::string_view field) {
  std::string lower(field);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower == "true" || lower == "false";
}

bool is_number_word(std::string_view field) {
  return !is_code(field) && schema::parse_number(ColumnType::kDecimal, field).has_value();
}

Reading of_marks(const MarkReading& m) {
  Reading r;
  r.notation = m.notation;
  r.type = m.has_decimals ? ColumnType::kDecimal : ColumnType::kInteger;
  r.lo = m.grid.lo();
  r.hi = m.grid.hi();
  r.places = m.has_decimals ? m.grid.places() : 0;
  const bool codes = !m.notation.top_code.empty() || !m.notation.bottom_code.empty();
  r.step = m.has_decimals || !codes ? m.grid.step() : std::nullopt;
  const double step = m.has_decimals ? r.step.value_or(std::pow(10.0, -r.places)) : 1.0;
  // The code's number, unless that is not meant or stands for itself as well.
  if (const auto top = bound_code(r.notation.top_code, r.notation))
    r.hi = std::max(top->beyond ? top->number + step : top->number,
                    r.hi < top->number ? top->number : r.hi + step);
  if (const auto bottom = bound_code(r.notation.bottom_code, r.notation))
    r.lo = std::min(bottom->beyond ? bottom->number - step : bottom->number,
                    r.lo > bottom->number ? bottom->number : r.lo - step);
  return r;
}

/// Codes stand at the ends: "10-14" beside "90+" are categories.
bool codes_fit(const MarkReading& m) {
  const auto top = bound_code(m.notation.top_code, m.notation),
             bottom = bound_code(m.notation.bottom_code, m.notation);
  return (!top || top->number >= m.grid.hi()) && (!bottom || bottom->number <= m.grid.lo());
}

}  // namespace

bool is_missing_word(std::string_view field) {
  return std::find(std::begin(kMissing), std::end(kMissing), field) != std::end(kMissing);
}

void ColumnGuess::look_at(std::string_view field) {
  if (is_missing_word(field)) return;
  seen_ = true;
  ++count_;
  if (different_.size() <= kManyTexts) different_.emplace(field);
  boolean_ = boolean_ && is_boolean_word(field);
  for (std::size_t k = 0; k < kBooleans.size(); ++k)
    spellings_[k] = spellings_[k] && (field == kBooleans[k].first || field == kBooleans[k].second);
  if (is_word(field)) {
    ++word_count_;
    if (words_.size() <= kMostWords) words_.emplace(field);
    return;
  }
  const auto number = schema::parse_number(ColumnType::kDecimal, field);
  decimal_ = decimal_ && !is_code(field) && number.has_value();
  integer_ = integer_ && decimal_ && field.find_first_of(".eE") == std::string_view::npos;
  if (decimal_) grid_.look_at(*number, field);
  if (const auto time = schema::parse_number(ColumnType::kDatetime, field)) {
    lo_ = std::min(lo_, *time);
    hi_ = std::max(hi_, *time);
  }
  datetime_ = datetime_ && schema::parse_number(ColumnType::kDatetime, field).has_value();
  times_.look_at(field);
  marks_.look_at(field);
  const bool plain = is_number_word(field);
  plus_ = plus_ || (plain && field.starts_with('+'));
  if (plain && plain_.size() <= kFewNumbers) plain_.emplace(field);
  TextShape shape = shape_of(field);
  if (shape.kind == TextShape::Kind::kDate) {
    ++dates_;
    if (date_form_.empty()) date_form_ = shape.form;
  }
  if (plain || shape.kind != TextShape::Kind::kText) ++numbers_;
  // Digits alone that are no number are a code.
  if (!plain && number_form_.empty() && field.find_first_not_of("0123456789") != std::string_view::npos)
    number_form_ = std::move(shape.form);
}

bool ColumnGuess::holds_numbers() const {
  if (words_.empty()) return seen_;
  return words_.size() <= kMostWords && 2 * word_count_ <= count_ &&
         different_.size() > words_.size() + kFewNumbers;
}

bool ColumnGuess::is_value(std::string_view name) {
  const std::string_view field = schema::trimmed(name);
  if (is_missing_word(field) || is_boolean_word(field)) return true;
  if (schema::parse_number(ColumnType::kDecimal, field)) return true;
  ColumnGuess guess;
  guess.look_at(field);
  return guess.readings({}).front().type != ColumnType::kCategory;
}

void ColumnGuess::tell(FileMarks& marks) const {
  if (!holds_numbers()) return;
  if (decimal_ && !integer_) {
    // "1.101" may be a thousand.
    marks.point = marks.point || (marks_.readings().size() == 1 && marks_.readings().front().has_decimals);
    return;
  }
  const std::vector<MarkReading> readings = decimal_ ? std::vector<MarkReading>() : marks_.readings();
  if (readings.size() != 1) return;
  const MarkReading& only = readings.front();
  const std::string& thousands = only.notation.thousands_mark;
  marks.comma = marks.comma || (only.has_decimals && only.notation.decimal_mark == ",") || thousands == ".";
  marks.point = marks.point || (only.has_decimals && only.notation.decimal_mark == ".") || thousands == ",";
}

std::vector<Reading> ColumnGuess::marked(const FileMarks& marks) const {
  std::vector<MarkReading> all = marks_.readings();
  std::erase_if(all, [](const MarkReading& m) { return !codes_fit(m); });
  if (all.size() > 1 && marks.comma != marks.point) {
    std::erase_if(all, [&](const MarkReading& m) {
      const std::string& decimal = m.notation.decimal_mark;
      return marks.comma ? (m.has_decimals && decimal == ".") || m.notation.thousands_mark == ","
                         : (m.has_decimals && decimal == ",") || m.notation.thousands_mark == ".";
    });
  }
  if (all.size() > 1 && marks_.looks_like_thousands())
    std::erase_if(all, [](const MarkReading& m) { return !m.has_thousands; });
  std::vector<Reading> out;
  for (const MarkReading& m : all) out.push_back(of_marks(m));
  return out;
}

std::vector<Reading> ColumnGuess::readings(const FileMarks& marks) const {
  if (boolean_ && seen_) {
    Reading r{ColumnType::kBoolean};
    for (std::size_t k = 0; k < kBooleans.size(); ++k) {
      if (spellings_[k]) r.values = {kBooleans[k].first, kBooleans[k].second};
    }
    return {r};
  }
  if (!holds_numbers()) return {{}};
  const std::vector<TimeReading> times = times_.readings();
  std::vector<Reading> out;
  for (const TimeReading& t : times) {
    Reading r;
    r.type = t.type;
    r.notation.format = t.format;
    r.lo = t.lo;
    r.hi = t.hi;
    if (t.firsts) r.note = kFirsts;
    out.push_back(std::move(r));
  }
  if (!out.empty()) return out;
  if (datetime_) return {{ColumnType::kDatetime, {}, lo_, hi_}};
  if (decimal_ && grid_.are_codes()) return {{}};
  if (decimal_) {
    // Points between groups of three, in a file whose decimal mark is a comma, are marks of thousands.
    if (!integer_ && marks.comma && !marks.point) {
      if (out = marked(marks); out.size() == 1 && out.front().notation.thousands_mark == ".") return out;
    }
    return {{integer_ ? ColumnType::kInteger : ColumnType::kDecimal,
             {},
             grid_.lo(),
             grid_.hi(),
             grid_.places(),
             grid_.step(),
             {},
             grid_.has_exponents() ? kExponents
             : plus_               ? kPlus
                                   : ""}};
  }
  out = marked(marks);
  if (out.empty()) out.push_back({});
  return out;
}

std::string ColumnGuess::unknown_shape() const {
  const auto mostly = [&](std::uint64_t some) {
    return static_cast<double>(some) >= kMost * static_cast<double>(count_);
  };
  if (!seen_ || boolean_ || (holds_numbers() && decimal_)) return {};
  if (mostly(dates_)) return date_form_;
  const bool many = different_.size() > kManyTexts || plain_.size() > kFewNumbers;
  return mostly(numbers_) && many ? number_form_ : "";
}

}  // namespace muffle::data
