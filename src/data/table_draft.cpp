#include "muffle/data/table_draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "csv_header.hpp"
#include "csv_rows.hpp"
#include "muffle/core/error.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table_text.hpp"
#include "number_grid.hpp"

namespace muffle::data {
namespace {

using schema::ColumnType;
using schema::DraftColumn;

/// How missing values are spelt almost everywhere.
constexpr std::string_view kMissing[] = {
    "",    "?",   ".",    "-",    "--",     "---", "NA",   "N/A",  "n/a",  "na",   "#N/A", "#NA",    "<NA>",
    "NaN", "nan", "-nan", "-NaN", "#NULL!", "NaT", "None", "none", "null", "NULL", "Null", "(null)", "\\N"};
/// Types of which a number can be.
constexpr ColumnType kNumbers[] = {ColumnType::kDecimal, ColumnType::kDate, ColumnType::kDatetime};
/// A public sample with more categories in a column holds identifiers or free text.
constexpr std::size_t kMostListed = 200;
/// Significant digits of decimals in a draft.
constexpr int kDigits = 7;

bool is_missing_word(std::string_view field) {
  return std::find(std::begin(kMissing), std::end(kMissing), field) != std::end(kMissing);
}

/// "007": a code, whose zeros a number would lose.
bool is_code(std::string_view field) {
  field.remove_prefix(field.starts_with('-') || field.starts_with('+') ? 1 : 0);
  return field.size() > 1 && field[0] == '0' && field[1] >= '0' && field[1] <= '9';
}

bool is_boolean_word(std::string_view field) {
  std::string lower(field);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower == "true" || lower == "false";
}

/// What a record holds, and hardly a name.
bool is_value(std::string_view name) {
  const std::string_view field = schema::trimmed(name);
  return is_missing_word(field) || is_boolean_word(field) ||
         std::any_of(std::begin(kNumbers), std::end(kNumbers),
                     [&](ColumnType type) { return schema::parse_number(type, field).has_value(); });
}

constexpr const char* kAreCodes =
    "a few numbers over a wide range: codes. If they are amounts: type = \"integer\"";

constexpr const char* kOrNoHeader = ", or say --no-header if the file has none: its first line is a record.";

/// The first line is taken for names, which are public: that may not go wrong. @param why  without content
DataError perhaps_a_record(const std::string& why) {
  return DataError(why +
                   ": perhaps the first line is a record, which must not get into a schema. Say --no-header "
                   "if the file has no names (data.header = false), or --header if these are names.");
}

/// Which types fit all fields of a column so far. All that is kept of private records are these, and the step
/// and the places of decimals that lie on a coarser grid than they are written with.
class TypeGuess {
 public:
  void look_at(std::string_view field) {
    if (is_missing_word(field)) return;
    seen_ = true;
    const auto is = [&](ColumnType type) { return schema::parse_number(type, field).has_value(); };
    const auto number = schema::parse_number(ColumnType::kDecimal, field);
    decimal_ = decimal_ && !is_code(field) && number.has_value();
    integer_ = integer_ && decimal_ && field.find_first_of(".eE") == std::string_view::npos;
    if (decimal_) grid_.look_at(*number, field);
    date_ = date_ && is(ColumnType::kDate);
    datetime_ = datetime_ && is(ColumnType::kDatetime);
    boolean_ = boolean_ && is_boolean_word(field);
  }
  ColumnType type() const {
    if (!seen_) return ColumnType::kCategory;
    if (decimal_ && grid_.are_codes()) return ColumnType::kCategory;
    return integer_    ? ColumnType::kInteger
           : decimal_  ? ColumnType::kDecimal
           : date_     ? ColumnType::kDate
           : datetime_ ? ColumnType::kDatetime
           : boolean_  ? ColumnType::kBoolean
                       : ColumnType::kCategory;
  }
  bool seen() const { return seen_; }
  /// Numbers that look like a category's codes.
  bool are_codes() const { return decimal_ && grid_.are_codes(); }
  /// Of decimals: between them, if that is more than their last place; and the places that they are written
  /// with.
  std::optional<double> step() const { return grid_.step(); }
  int places() const { return grid_.places(); }

 private:
  NumberGrid grid_;
  bool seen_ = false, integer_ = true, decimal_ = true, date_ = true, datetime_ = true, boolean_ = true;
};

/// 1, 2 or 5 times a power of ten, of which the span holds 10 to 25.
double round_unit(double span) {
  const double power = std::pow(10.0, std::floor(std::log10(span)) - 1);
  const double tenths = span / power;  // 10 to 100
  return tenths <= 20 ? power : tenths <= 50 ? 2 * power : 5 * power;
}

/// What a column of a public file holds.
class PublicColumn {
 public:
  void look_at(std::string_view field) {
    guess_.look_at(field);
    if (is_missing_word(field)) {
      missing_.insert(std::string(field));
      return;
    }
    if (values_.size() <= kMostListed) values_.insert(std::string(field));
    for (const ColumnType type : kNumbers) {
      if (const auto value = schema::parse_number(type, field)) {
        lo_ = std::min(lo_, *value);
        hi_ = std::max(hi_, *value);
        break;
      }
    }
    if (const auto point = field.find('.'); point != std::string_view::npos) {
      const auto end = std::min(field.find_first_not_of("0123456789", point + 1), field.size());
      places_ = std::max(places_, static_cast<int>(std::min<std::size_t>(end - point - 1, 15)));
    }
  }

  void fill(DraftColumn& c) const {
    if (!guess_.seen()) return;
    c.guessed = false;
    c.type = guess_.type();
    c.missing.emplace(missing_.begin(), missing_.end());
    if (guess_.are_codes()) c.note = kAreCodes;
    if (c.type == ColumnType::kInteger || c.type == ColumnType::kDecimal) {
      numbers(c);
    } else if (c.type == ColumnType::kDate || c.type == ColumnType::kDatetime) {
      years(c);
    } else if (values_.size() > kMostListed) {
      ignore(c, fmt::format("more than {} different texts in the sample: an identifier, or free text",
                            kMostListed));
    } else {
      c.values.emplace(values_.begin(), values_.end());
      std::sort(c.values->begin(), c.values->end(), in_natural_order);
      if (c.type == ColumnType::kBoolean && values_.size() != 2) c.type = ColumnType::kCategory;
    }
  }

 private:
  static void ignore(DraftColumn& c, std::string why) {
    c.type = ColumnType::kIgnore;
    c.note = std::move(why) + ". If it says whose a row is: type = \"category\", role = \"person\"";
  }

  void numbers(DraftColumn& c) const {
    const double largest = std::max(std::abs(lo_), std::abs(hi_));
    int places = 0;
    if (c.type == ColumnType::kDecimal) {
      const int before = largest > 0 ? static_cast<int>(std::floor(std::log10(largest))) + 1 : 1;
      places = std::clamp(std::min(places_, kDigits - before), 0, 15);
    }
    if (largest > 0x1p50 / std::pow(10.0, places))
      return ignore(c, "numbers of more digits than muffle counts exactly");
    if (c.type == ColumnType::kDecimal && places == places_) c.step = guess_.step();
    const double scale = std::pow(10.0, places), step = c.step.value_or(1 / scale), span = hi_ - lo_;
    const double unit = step * std::ceil(std::max(1.0, span > 0 ? round_unit(span) / step : 1.0) - 1e-9);
    // A hair inwards, or the quotient's rounding would take a round number to the next.
    const auto written = [&](double v) { return std::round(v * scale) / scale; };
    c.lo = written(std::floor(lo_ / unit + 1e-9) * unit);
    c.hi = written(std::ceil(hi_ / unit - 1e-9) * unit);
    if (c.type == ColumnType::kDecimal) c.decimals = places;
  }

  /// From the first day of the first year to the last of the last one.
  void years(DraftColumn& c) const {
    const bool dates = c.type == ColumnType::kDate;
    schema::Column format;
    format.type = c.type;
    std::string first, last;
    schema::write_number(format, lo_, first);
    schema::write_number(format, hi_, last);
    c.lo = schema::parse_number(c.type, first.substr(0, 4) + (dates ? "-01-01" : "-01-01T00:00:00"));
    c.hi = schema::parse_number(c.type, last.substr(0, 4) + (dates ? "-12-31" : "-12-31T23:59:59"));
  }

  TypeGuess guess_;
  std::set<std::string> values_, missing_;
  double lo_ = INFINITY, hi_ = -INFINITY;
  int places_ = 0;
};

/// The names of a file's columns, and its rows one by one.
class NamedRows {
 public:
  NamedRows(const DataSpec& spec, bool named)
      : rows_(spec.features, dialect_of(spec)), separator_(spec.separator) {
    const bool any = spec.header ? rows_.read_header() : rows_.read();
    if (!any) throw DataError(rows_.name() + " is empty. Is it the right file?");
    const std::string hint = other_separator(rows_.fields(), spec.separator);
    if (rows_.fields().size() == 1 && !named && !hint.empty()) {
      throw DataError(fmt::format(
          "the first line of {} is one field{}: say which --separator there is between fields{}.",
          rows_.name(), hint, spec.header ? ", or --header if that is the name of an only column" : ""));
    }
    width_ = rows_.fields().size();
    if (spec.header) {
      read_names(named);
    } else {
      pending_ = true;
      for (std::size_t j = 0; j < rows_.fields().size(); ++j)
        names_.push_back(fmt::format("column-{}", j + 1));
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  const std::string& file() const { return rows_.name(); }
  /// What is read past, for people; empty: nothing.
  std::string passed() const { return unnamed_text(passed_, rows_.name()); }

  template <class Look>  // (column, field)
  void each(const Look& look) {
    while (pending_ || rows_.read()) {
      pending_ = false;
      const auto fields = rows_.fields();
      const auto count = fields_that_count(fields, width_, unnamed_end_);
      if (!count) {
        throw rows_.malformed(fmt::format("has {} field{}, the file has {} columns{}", fields.size(),
                                          fields.size() == 1 ? "" : "s", width_,
                                          width_hint(fields, width_, separator_)));
      }
      for (std::size_t j = first_; j < std::min(*count, first_ + names_.size()); ++j) {
        if (schema::is_ascii(fields[j])) {
          look(j - first_, schema::trimmed(fields[j]));
        } else {
          look(j - first_, schema::plain_text(fields[j]));
        }
      }
    }
  }

 private:
  void read_names(bool named) {
    const std::span<const std::string_view> header = rows_.fields();
    std::set<std::string> known;
    for (std::size_t j = 0; j < header.size(); ++j) {
      if (is_unnamed(header, j)) {
        passed_.push_back(j + 1);
        if (known.empty()) ++first_;
        unnamed_end_ = true;
        continue;
      }
      unnamed_end_ = false;
      std::string name = schema::plain_text(header[j]);
      const std::string which = fmt::format("name {} in the header of {} ", j + 1, rows_.name());
      if (name.empty())
        throw DataError(which + "is empty: every column needs a name. Mend the header" + kOrNoHeader);
      if (!named && is_value(name)) throw perhaps_a_record(which + "is a number, a date or a missing value");
      if (!known.insert(name).second) {
        throw DataError(which + "is there twice: every column needs a name of its own. Mend the header" +
                        kOrNoHeader);
      }
      names_.push_back(std::move(name));
    }
    if (names_.empty())
      throw DataError("the header of " + rows_.name() + " has no names. Is it the right file" + kOrNoHeader);
  }

  CsvRows rows_;
  char separator_;
  std::vector<std::string> names_;
  std::size_t width_ = 0, first_ = 0;  ///< columns of the file, and where those with names begin
  std::vector<std::size_t> passed_;    ///< columns without a name, from 1
  bool unnamed_end_ = false;
  bool pending_ = false;  ///< the first row was read, and nobody has looked at it
};

/// @returns whether the sample has all the columns: then their names are public by its owner's word.
bool fill_in(std::vector<DraftColumn>& columns, const DataSpec& sample, bool named) {
  NamedRows rows(sample, named);
  std::vector<PublicColumn> looks(rows.names().size());
  rows.each([&](std::size_t j, std::string_view field) { looks[j].look_at(field); });
  std::size_t known = 0;
  for (DraftColumn& column : columns) {
    const auto at = std::find(rows.names().begin(), rows.names().end(), column.name);
    if (at == rows.names().end()) continue;
    ++known;
    looks[static_cast<std::size_t>(at - rows.names().begin())].fill(column);
  }
  if (known == 0) {
    throw DataError("the header of the sample " + rows.file() +
                    " has none of the file's columns. Is it the right one?");
  }
  return known == columns.size();
}

}  // namespace

std::vector<DraftColumn> draft_columns(const DataSpec& file, const DataSpec* sample, bool named,
                                       std::string* passed) {
  NamedRows rows(file, named);
  if (passed != nullptr) *passed = rows.passed();
  std::vector<DraftColumn> columns(rows.names().size());
  for (std::size_t j = 0; j < columns.size(); ++j) {
    columns[j].name = rows.names()[j];
    columns[j].guessed = true;
  }
  if (sample != nullptr && fill_in(columns, *sample, named)) named = true;
  if (std::none_of(columns.begin(), columns.end(), [](const DraftColumn& c) { return c.guessed; }))
    return columns;
  std::vector<TypeGuess> guesses(columns.size());
  std::optional<std::size_t> repeated;
  bool any_row = false;
  rows.each([&](std::size_t j, std::string_view field) {
    any_row = true;
    if (!columns[j].guessed) return;
    guesses[j].look_at(field);
    if (!repeated && !named && file.header && field == columns[j].name) repeated = j;
  });
  bool told_apart = named || !file.header;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (!columns[j].guessed) continue;
    DraftColumn& column = columns[j];
    column.type = guesses[j].type();
    // Text above numbers is a name.
    told_apart = told_apart || column.type != ColumnType::kCategory || guesses[j].are_codes();
    if (guesses[j].are_codes()) column.note = kAreCodes;
    if (column.type == ColumnType::kDecimal && guesses[j].step() == 1.0) {
      column.step = 1.0;
      column.decimals = guesses[j].places();
    }
    if (any_row && !guesses[j].seen()) {
      column.type = ColumnType::kIgnore;
      column.note = "no row has a value here";
    }
  }
  if (repeated) {
    throw perhaps_a_record(fmt::format("name {} in the header of {} is a field of a later row, too",
                                       *repeated + 1, rows.file()));
  }
  if (!told_apart) {
    throw perhaps_a_record(fmt::format("all columns of {}{} hold text, and so does the first line",
                                       rows.file(), sample == nullptr ? "" : " that the sample lacks"));
  }
  return columns;
}

}  // namespace muffle::data
