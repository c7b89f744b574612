#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "check_notes.hpp"
#include "csv_header.hpp"
#include "csv_rows.hpp"
#include "differences.hpp"
#include "muffle/core/error.hpp"
#include "muffle/schema/date_differences.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/row_rules.hpp"
#include "muffle/schema/table_text.hpp"
#include "person_text.hpp"
#include "table_arrays.hpp"

namespace muffle::data {
namespace {

using schema::ColumnType;
using schema::Misfit;

/// "1.234,5": a number to people, and none to muffle.
bool has_decimal_comma(std::string_view field) {
  std::string text(field);
  std::erase(text, '.');
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return false;
  text[comma] = '.';
  return schema::parse_number(ColumnType::kDecimal, text).has_value();
}

/// "31.12.2021", "12/31/21", "2021/12/31": three numbers with points, strokes or slashes between them.
bool is_date_in_other_order(std::string_view field) {
  std::size_t at = 0;
  for (int part = 0; part < 3; ++part) {
    if (part > 0 &&
        (at == field.size() || std::string_view("./-").find(field[at++]) == std::string_view::npos))
      return false;
    const std::size_t end = std::min(field.find_first_not_of("0123456789", at), field.size());
    if (end == at || end - at > 4) return false;
    at = end;
  }
  return at == field.size() || field[at] == ' ' || field[at] == 'T';
}

class TableChecker {
 public:
  TableChecker(const DataSpec& spec, CheckNotes& notes)
      : spec_(spec),
        table_(*spec.schema.table),
        notes_(notes),
        rules_(table_),
        row_(table_.columns.size()),
        differences_(table_, Differences::Of::kChecks),
        following_(table_.columns.size()) {
    for (const schema::Column& c : table_.columns) {
      Use& use = uses_.emplace_back();
      if (c.is_unread()) continue;
      use.is_read = !c.follows() && !c.time_of;
      if (c.role == schema::ColumnRole::kPerson) continue;
      if (c.role == schema::ColumnRole::kLabel) use.classes.resize(c.codes());
      use.text.emplace(c);
    }
    broken_.resize(table_.constraints.size());
  }

  void finish() {
    for (std::size_t j = 0; j < uses_.size(); ++j) {
      if (uses_[j].is_read) tell_of_column(table_.columns[j], uses_[j]);
      notes_.count(uses_[j].strays, fmt::format("column '{}': fields that are not {}: {}",
                                                table_.columns[j].name, what_follows(j), uses_[j].strays));
    }
    for (std::size_t i = 0; i < broken_.size(); ++i)
      notes_.count(broken_[i],
                   fmt::format("{}: rows that break it: {}", schema::constraint_name(table_, i), broken_[i]));
    notes_.count(wrong_widths_,
                 fmt::format("rows with more or fewer fields than columns: {}", wrong_widths_));
    notes_.count(malformed_, fmt::format("files with a row that is no CSV: {}", malformed_));
    notes_.count(headers_, fmt::format("files with other columns than the schema: {}", headers_));
  }

  void arrays(const std::string& path) {
    TableArrays arrays(path, table_, [this](std::size_t j) { return uses_[j].is_read; });
    notes_.found.read = true;
    while (arrays.position() < arrays.records()) {
      arrays.read();
      ++notes_.found.records;
      const auto where = [&] { return fmt::format("row {} of '{}'", arrays.position(), path); };
      begin();
      arrays.each([&](std::size_t j, const ElementType& type, const std::byte* stored) {
        if (!uses_[j].is_read) return;
        const bool text = type.is_text() || (is_person(j) && type.is_integer());
        const auto look = [&](const auto& value) {
          if (!differences_.take(j, value)) look_at(j, field(j, value), where);
        };
        if (text) {
          look(type.to_text(stored));
        } else {
          look(TableArrays::number(table_.columns[j], type, stored));
        }
      });
      end(where);
    }
    arrays.expect_end();
  }

  void csv(const std::string& path) {
    CsvRows rows(path, dialect_of(spec_));
    try {
      if (!header(rows, path)) return;
      notes_.found.read = true;
      while (rows.read()) {
        ++notes_.found.records;
        record(rows);
      }
      if (std::string doubt = rows.long_rows(); !doubt.empty())
        notes_.found.doubts.push_back(std::move(doubt));
    } catch (const DataError& e) {
      if (e.local_detail().empty()) throw;
      ++malformed_;
      notes_.refused(e.local_detail() + " What follows in that file was not looked at.");
    }
  }

 private:
  struct Use {
    bool is_read = false;                                   ///< it is not ignored
    std::optional<schema::ColumnText> text;                 ///< none: ignored, or the person
    std::array<std::uint64_t, schema::kMisfits> misfits{};  ///< by schema::Misfit
    std::uint64_t strays = 0;                               ///< fields of a column that follows, which do not
    std::uint64_t decimal_commas = 0, other_orders = 0;
    double least = INFINITY, largest = -INFINITY;  ///< of numbers
    std::vector<std::uint64_t> classes;            ///< of the label
  };

  void tell_of_column(const schema::Column& column, const Use& use) {
    const std::string name = fmt::format("column '{}'", column.name);
    for (std::size_t k = 0; k < use.misfits.size(); ++k) {
      notes_.count(
          use.misfits[k],
          fmt::format("{}: {}", name, schema::misfits_text(use.misfits[k], static_cast<Misfit>(k), column)));
    }
    notes_.count(
        use.decimal_commas,
        fmt::format("{}: fields with a decimal comma, where a point is needed (or decimal_mark = \",\" in "
                    "the schema): {}",
                    name, use.decimal_commas));
    notes_.count(
        use.other_orders,
        fmt::format("{}: dates in another order than YYYY-MM-DD (format = \"%d.%m.%Y\" in the schema says "
                    "which): {}",
                    name, use.other_orders));
    HeldValues held{name, {}, {}, {}, {}};
    if (column.is_number()) {
      const auto [lo, hi] = column.counts_days() ? *column.apart
                            : column.is_day()    ? *column.dates
                                                 : schema::DateBounds{column.lo, column.hi};
      held.bounds = fmt::format("{} to {}", written(column, lo), written(column, hi));
      if (use.least <= use.largest) {
        held.least = written(column, use.least);
        held.largest = written(column, use.largest);
      }
    } else if (column.role == schema::ColumnRole::kLabel) {
      for (std::size_t code = 0; code < use.classes.size(); ++code)
        held.counts.emplace_back(column.values[code].name, use.classes[code]);
      if (const std::uint64_t none = use.misfits[static_cast<std::size_t>(Misfit::kUnknown)] +
                                     use.misfits[static_cast<std::size_t>(Misfit::kAbsent)];
          none > 0)
        held.counts.emplace_back("none of them", none);
    } else {
      return;
    }
    notes_.found.holds.push_back(std::move(held));
  }

  static std::string written(const schema::Column& column, double value) {
    if (column.since) return *schema::special_text(column, value);
    const bool days = column.is_temporal();
    constexpr double kMostDays = 2.9e6;  // of years with four digits
    if (days && std::abs(value) > kMostDays * (column.type == ColumnType::kDate ? 1 : 86400))
      return fmt::format("{}", value);
    if (column.type == ColumnType::kTime && !(value >= 0 && value < 86400)) return fmt::format("{}", value);
    std::string text;
    schema::write_number(column, value, text);
    return text;
  }

  /// @returns whether records can be looked at.
  bool header(CsvRows& rows, const std::string& path) {
    places_.clear();
    unnamed_end_ = false;
    if (!spec_.header) {
      for (std::size_t j = 0; j < uses_.size(); ++j) places_.push_back(j);
      return true;
    }
    if (!rows.read_header()) {
      ++headers_;
      notes_.refused(rows.name() + " is empty: it has no header");
      return false;
    }
    const auto needed = [&](std::size_t j) { return uses_[j].is_read; };
    HeaderMatch match = match_header(rows.fields(), table_, needed);
    places_ = std::move(match.places);
    unnamed_end_ = !match.unnamed.empty() && match.unnamed.back() == places_.size();
    if (std::string past = unnamed_text(match.unnamed, rows.name()); match.matches() && !past.empty())
      notes_.found.doubts.push_back(std::move(past));
    if (match.matches()) {
      if (!unnamed_end_ && rows_have_names(path, dialect_of(spec_), places_.size())) {
        places_.insert(places_.begin(), HeaderMatch::kUnknown);
        notes_.found.doubts.push_back(unnamed_text({1}, rows.name()));
      }
      return true;
    }
    ++headers_;
    if (match.may_be_record()) {
      const std::string separator = other_separator(rows.fields(), spec_.separator);
      notes_.refused(
          fmt::format("the first line of {} names few of the schema's columns, or none: is it a header "
                      "(data.header), and is data.separator right{}?{} The file was not looked at",
                      rows.name(), separator,
                      header_is_below(rows, table_, needed)
                          ? " A later line names them: data.skip says how many lines stand above it."
                          : ""));
      return false;
    }
    notes_.refused(fmt::format("the header of {} {}{}", rows.name(), match.differences(),
                               match.unknown.empty() ? "" : ": " + match.unknown_places()));
    return true;
  }

  void record(const CsvRows& rows) {
    const auto fields = rows.fields();
    const auto count = fields_that_count(fields, places_.size(), unnamed_end_);
    if (!count) {
      ++wrong_widths_;
      return notes_.refused(fmt::format("{} has {} field{}, the file has {} columns{}", rows.where(),
                                        fields.size(), fields.size() == 1 ? "" : "s", places_.size(),
                                        other_separator(fields, spec_.separator)));
    }
    const auto where = [&] { return rows.where(); };
    begin();
    for (std::size_t i = 0; i < *count; ++i) {
      const std::size_t j = places_[i];
      if (j == HeaderMatch::kUnknown) continue;
      if (table_.columns[j].follows()) following_[j] = fields[i];
      if (uses_[j].is_read && !differences_.take(j, fields[i])) look_at(j, field(j, fields[i]), where);
    }
    end(where);
  }

  // A row's fields, one by one. Where it is, is asked only for what does not fit.
  void begin() {
    whole_ = true;
    read_ = 0;
    differences_.begin();
    std::ranges::fill(following_, std::nullopt);
  }
  template <class Where>
  void look_at(std::size_t j, Misfit which, const Where& where) {
    ++read_;
    if (which == Misfit::kNone) return;
    whole_ = false;
    ++uses_[j].misfits.at(static_cast<std::size_t>(which));
    notes_.misfit(fmt::format("{}, column '{}': the field {}", where(), table_.columns[j].name,
                              schema::misfit_text(which, table_.columns[j])));
  }
  template <class Where>
  void end(const Where& where) {
    differences_.settle([&](std::size_t j, const schema::FieldReading& reading) {
      if (!uses_[j].is_read) return;  // a time of day: the datetime is looked at once
      if (reading.cell) row_[j] = *reading.cell;
      look_at(j, reading.misfit, where);
      if (table_.columns[j].is_day()) return look_at_number(uses_[j], *differences_.date(j));
      if (table_.columns[j].counts_days()) return look_at_difference(j, reading.misfit);
      if (reading.misfit == Misfit::kNone && reading.cell)
        look_at_number(uses_[j], uses_[j].text->number(*reading.cell));
    });
    for (std::size_t j = 0; j < following_.size(); ++j) {
      if (!following_[j] || is_what_follows(j, *following_[j])) continue;
      ++uses_[j].strays;
      notes_.misfit(fmt::format("{}, column '{}': the field is not {}", where(), table_.columns[j].name,
                                what_follows(j)));
    }
    if (!whole_ || read_ < needed_columns()) return;
    if (const auto rule = rules_.broken(row_)) {
      ++broken_[*rule];
      notes_.misfit(fmt::format("{} breaks {}", where(), schema::constraint_name(table_, *rule)));
    }
  }

  /// Of a column that counts_days(), as files have both datetimes.
  void look_at_difference(std::size_t j, Misfit misfit) {
    const auto later = differences_.date(j), earlier = differences_.date(*table_.columns[j].since);
    if (misfit == Misfit::kNone && later && earlier) look_at_number(uses_[j], *later - *earlier);
  }

  std::string what_follows(std::size_t j) const {
    const schema::Column& column = table_.columns[j];
    if (column.derived) return schema::derivation_text(*column.derived, table_);
    if (column.determined)
      return fmt::format("what '{}' determines", table_.columns[column.determined->by].name);
    return {};
  }
  /// Of a field of a column that follows: what is in its row, where that fits, gives the same.
  bool is_what_follows(std::size_t j, std::string_view field) const {
    const schema::Column& column = table_.columns[j];
    if (column.determined) {
      const std::size_t by = column.determined->by;
      const schema::FieldReading own = uses_[j].text->read(field);
      if (!whole_ || read_ < needed_columns()) return true;  // the other one may be none
      const bool there = row_[by].code < table_.columns[by].bins();
      return own.misfit == Misfit::kNone &&
             own.cell->code == (there ? column.determined->codes[row_[by].code] : column.missing_code());
    }
    const auto later = differences_.date(column.derived->later),
               earlier = differences_.date(column.derived->earlier);
    const schema::FieldReading reading = uses_[j].text->read(field);
    const bool missing =
        column.missing && reading.misfit == Misfit::kNone && reading.cell->code == column.missing_code();
    if (!later || !earlier) return missing;
    const auto value = uses_[j].text->number(schema::trimmed(field));
    return !missing && value &&
           std::abs(*value - derived_number(table_, column, *later, *earlier)) < column.step / 2;
  }

  bool is_person(std::size_t j) const { return table_.columns[j].role == schema::ColumnRole::kPerson; }

  /// @param value  text, or a number
  template <class Value>
  Misfit field(std::size_t j, const Value& value) {
    if (is_person(j)) return person_text(table_.columns[j], value).empty() ? Misfit::kAbsent : Misfit::kNone;
    Use& use = uses_[j];
    const schema::Column& column = table_.columns[j];
    const schema::FieldReading reading = use.text->read(value);
    if (reading.cell) row_[j] = *reading.cell;
    if (!column.is_number()) {
      if (column.role == schema::ColumnRole::kLabel && reading.misfit == Misfit::kNone)
        ++use.classes.at(reading.cell->code);
    } else if (reading.misfit != Misfit::kNone || reading.cell->code < column.bins()) {
      look_at_number(use, value);
    }
    return reading.misfit;
  }
  static void look_at_number(Use& use, double value) {
    if (!std::isfinite(value)) return;
    use.least = std::min(use.least, value);
    use.largest = std::max(use.largest, value);
  }
  static void look_at_number(Use& use, std::string_view field) {
    const schema::Column& column = use.text->column();
    if (const auto value = use.text->number(schema::trimmed(field))) {
      look_at_number(use, *value);
    } else if (!column.notation.is_plain()) {
      return;  // misfit_text() says what is needed
    } else if (column.is_temporal()) {
      use.other_orders += is_date_in_other_order(field) ? 1 : 0;
    } else {
      use.decimal_commas += has_decimal_comma(field) ? 1 : 0;
    }
  }

  std::size_t needed_columns() const {
    std::size_t n = 0;
    for (const Use& use : uses_) n += use.is_read ? 1 : 0;
    return n;
  }

  const DataSpec& spec_;
  const schema::Table& table_;
  CheckNotes& notes_;
  schema::RowRules rules_;
  std::vector<schema::Cell> row_;
  Differences differences_;
  std::vector<std::optional<std::string_view>> following_;  ///< the row's fields of columns that follow
  std::vector<Use> uses_;
  std::vector<std::uint64_t> broken_;
  std::uint64_t wrong_widths_ = 0, malformed_ = 0, headers_ = 0;
  std::vector<std::size_t> places_;  ///< of the file's columns: the schema's
  bool unnamed_end_ = false;         ///< the last of these has no name
  bool whole_ = true;                ///< all fields of the row so far fit
  std::size_t read_ = 0;             ///< fields of the row
};

}  // namespace

void check_table(const DataSpec& spec, const std::vector<std::string>& files, bool arrays,
                 CheckNotes& notes) {
  TableChecker checker(spec, notes);
  for (const std::string& file : files) {
    try {
      if (arrays) {
        checker.arrays(file);
      } else {
        checker.csv(file);
      }
    } catch (const DataError& e) {  // nothing, or no more, can be read of it
      notes.refused(fmt::format("{} {}", e.what(), e.local_detail()));
    }
  }
  checker.finish();
}

}  // namespace muffle::data
