#include "muffle/data/table_check.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "csv_header.hpp"
#include "csv_rows.hpp"
#include "muffle/core/error.hpp"
#include "muffle/schema/row_rules.hpp"
#include "muffle/schema/table_text.hpp"
#include "npy_files.hpp"
#include "table_arrays.hpp"

namespace muffle::data {
namespace {

using schema::ColumnType;
using schema::Misfit;

class TableChecker {
 public:
  TableChecker(const DataSpec& spec, std::size_t most_places)
      : spec_(spec),
        table_(*spec.schema.table),
        most_places_(most_places),
        rules_(table_),
        row_(table_.columns.size()) {
    for (const schema::Column& c : table_.columns) {
      Use& use = uses_.emplace_back();
      if (c.type == ColumnType::kIgnore) continue;
      schema::Column read = c;
      if (c.role == schema::ColumnRole::kPerson) {
        read.type = ColumnType::kCategory;
        read.values.clear();  // any text; only that it is there is looked at
        read.missing = true;
        if (read.spellings.empty()) read.spellings = {""};
      }
      use.text.emplace(std::move(read));
    }
    broken_.resize(table_.constraints.size());
  }

  void file(const std::string& path) {
    if (is_npy(path) || path.ends_with(".npz")) {
      arrays(path);
    } else {
      csv(path);
    }
  }

  TableCheck finish() {
    const auto count = [&](std::uint64_t n, const std::string& text) {
      if (n > 0) out_.counts.push_back(text);
    };
    for (std::size_t j = 0; j < uses_.size(); ++j) {
      for (std::size_t k = 0; k < uses_[j].misfits.size(); ++k) {
        count(uses_[j].misfits[k],
              fmt::format("column '{}': {} that {}", table_.columns[j].name, uses_[j].misfits[k],
                          schema::misfit_text(static_cast<Misfit>(k), table_.columns[j])));
      }
    }
    for (std::size_t i = 0; i < broken_.size(); ++i)
      count(broken_[i], fmt::format("{}: rows that break it: {}", constraint(i), broken_[i]));
    count(wrong_widths_, fmt::format("rows with more or fewer fields than columns: {}", wrong_widths_));
    count(malformed_, fmt::format("files with a row that is no CSV: {}", malformed_));
    count(headers_, fmt::format("files with other columns than the schema: {}", headers_));
    return std::move(out_);
  }

 private:
  struct Use {
    std::optional<schema::ColumnText> text;  ///< none: ignored
    std::array<std::uint64_t, 6> misfits{};  ///< by schema::Misfit
  };

  void arrays(const std::string& path) {
    TableArrays arrays(path, table_, [this](std::size_t j) { return uses_[j].text.has_value(); });
    while (arrays.position() < arrays.records()) {
      arrays.read();
      ++out_.rows;
      const auto where = [&] { return fmt::format("row {} of '{}'", arrays.position(), path); };
      begin();
      arrays.each([&](std::size_t j, const ElementType& type, const std::byte* stored) {
        if (!uses_[j].text) return;
        const bool text = type.is_text() || (is_person(j) && type.is_integer());
        look_at(j, text ? field(j, type.to_text(stored)) : field(j, type.to_double(stored)), where);
      });
      end(where);
    }
    arrays.expect_end();
  }

  void csv(const std::string& path) {
    CsvRows rows(path, {spec_.separator, spec_.comment.empty() ? '\0' : spec_.comment.front()});
    try {
      if (!header(rows)) return;
      while (rows.read()) {
        ++out_.rows;
        record(rows);
      }
      if (std::string doubt = rows.long_rows(); !doubt.empty()) out_.doubts.push_back(std::move(doubt));
    } catch (const DataError& e) {
      if (e.local_detail().empty()) throw;  // nothing can be read of it
      ++malformed_;
      misfit(e.local_detail() + " What follows in that file was not looked at.");
    }
  }

  void misfit(std::string place) {
    ++out_.misfits;
    if (out_.places.size() < most_places_) out_.places.push_back(std::move(place));
  }

  /// Of the constraint, for people.
  std::string constraint(std::size_t index) const {
    std::vector<std::string> names;
    for (const std::size_t j : table_.constraints[index].columns) names.push_back(table_.columns[j].name);
    return fmt::format("constraint {} (of {})", index + 1, HeaderMatch::listed(names));
  }

  /// @returns whether records can be looked at.
  bool header(CsvRows& rows) {
    places_.clear();
    if (!spec_.header) {
      for (std::size_t j = 0; j < uses_.size(); ++j) places_.push_back(j);
      return true;
    }
    if (!rows.read_header()) {
      ++headers_;
      misfit(rows.name() + " is empty: it has no header");
      return false;
    }
    HeaderMatch match =
        match_header(rows.fields(), table_, [&](std::size_t j) { return uses_[j].text.has_value(); });
    places_ = std::move(match.places);
    if (match.matches()) return true;
    ++headers_;
    if (match.known == 0) {  // the line may be a record
      misfit("the first line of " + rows.name() +
             " names none of the schema's columns: is it a header (--no-header), and is --separator right? "
             "The file "
             "was not looked at");
      return false;
    }
    misfit(fmt::format("the header of {} {}{}", rows.name(), match.differences(),
                       match.unknown.empty() ? "" : ": " + HeaderMatch::listed(match.unknown)));
    return true;
  }

  void record(const CsvRows& rows) {
    const auto fields = rows.fields();
    if (fields.size() != places_.size()) {
      ++wrong_widths_;
      return misfit(fmt::format("{} has {} field{}, the file has {} columns", rows.where(), fields.size(),
                                fields.size() == 1 ? "" : "s", places_.size()));
    }
    const auto where = [&] { return rows.where(); };
    begin();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::size_t j = places_[i];
      if (j != HeaderMatch::kUnknown && uses_[j].text) look_at(j, field(j, fields[i]), where);
    }
    end(where);
  }

  // A row's fields, one by one. Where it is, is asked only for what does not fit.
  void begin() {
    whole_ = true;
    read_ = 0;
  }
  template <class Where>
  void look_at(std::size_t j, Misfit which, const Where& where) {
    ++read_;
    if (which == Misfit::kNone) return;
    whole_ = false;
    ++uses_[j].misfits.at(static_cast<std::size_t>(which));
    misfit(fmt::format("{}, column '{}': the field {}", where(), table_.columns[j].name,
                       schema::misfit_text(which, table_.columns[j])));
  }
  template <class Where>
  void end(const Where& where) {
    if (!whole_ || read_ < needed_columns()) return;
    if (const auto rule = rules_.broken(row_)) {
      ++broken_[*rule];
      misfit(fmt::format("{} breaks {}", where(), constraint(*rule)));
    }
  }

  bool is_person(std::size_t j) const { return table_.columns[j].role == schema::ColumnRole::kPerson; }

  /// @param value  text, or a number
  template <class Value>
  Misfit field(std::size_t j, const Value& value) {
    if (is_person(j)) return person(j, value);
    const schema::FieldReading reading = uses_[j].text->read(value);
    if (reading.cell) row_[j] = *reading.cell;
    return reading.misfit;
  }
  Misfit person(std::size_t j, std::string_view text) const {
    // Any text that does not stand for nothing is a person.
    return uses_[j].text->read(text).misfit == Misfit::kUnknown ? Misfit::kNone : Misfit::kAbsent;
  }
  Misfit person(std::size_t, double number) const {
    return std::isnan(number) ? Misfit::kAbsent : Misfit::kNone;
  }

  std::size_t needed_columns() const {
    std::size_t n = 0;
    for (const Use& use : uses_) n += use.text ? 1 : 0;
    return n;
  }

  const DataSpec& spec_;
  const schema::Table& table_;
  std::size_t most_places_;
  schema::RowRules rules_;
  std::vector<schema::Cell> row_;
  std::vector<Use> uses_;
  std::vector<std::uint64_t> broken_;
  std::uint64_t wrong_widths_ = 0, malformed_ = 0, headers_ = 0;
  std::vector<std::size_t> places_;  ///< of the file's columns: the schema's
  bool whole_ = true;                ///< all fields of the row so far fit
  std::size_t read_ = 0;             ///< fields of the row
  TableCheck out_;
};

}  // namespace

TableCheck check_table(const DataSpec& spec, const std::vector<std::string>& files, std::size_t most_places) {
  require(spec.schema.table != nullptr, "a check needs a table");
  TableChecker checker(spec, most_places);
  for (const std::string& file : files) checker.file(file);
  return checker.finish();
}

}  // namespace muffle::data
