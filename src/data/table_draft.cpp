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
#include "muffle/schema/table_toml.hpp"
#include "public_column.hpp"

namespace muffle::data {
namespace {

using schema::ColumnType;
using schema::DraftColumn;

constexpr const char* kOrNoHeader = ", or say --no-header if the file has none: its first line is a record.";

/// The first line is taken for names, which are public: that may not go wrong. @param why  without content
DataError perhaps_a_record(const std::string& why) {
  return DataError(why +
                   ": perhaps the first line is a record, which must not get into a schema. Say --no-header "
                   "if the file has no names (data.header = false), or --header if these are names.");
}

/// The names of a file's columns, and its rows one by one.
class NamedRows {
 public:
  NamedRows(const DataSpec& spec, bool named)
      : rows_(spec.features, dialect_of(spec)), separator_(spec.separator) {
    const bool any = spec.header ? rows_.read_header() : rows_.read();
    if (!any) throw DataError(rows_.name() + " is empty. Is it the right file?");
    const std::string hint = other_separator(rows_.fields(), spec.separator);
    if (rows_.fields().size() == 1 && !named && !hint.empty()) {
      throw DataError(
          fmt::format("the first line of {} is one field{}: say which --separator there is between fields{}.",
                      rows_.name(), hint,
                      spec.header ? ", or --header if that is the name of an only column, or how many lines "
                                    "stand above the header "
                                    "(--skip)"
                                  : ""));
    }
    width_ = rows_.fields().size();
    if (spec.header) {
      read_names(named);
      if (!unnamed_end_ && rows_have_names(spec.features, dialect_of(spec), width_)) {
        ++width_;
        ++first_;
        for (std::size_t& column : passed_) ++column;
        passed_.insert(passed_.begin(), 1);
      }
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
        throw rows_.malformed(fmt::format(
            "has {} field{}, the file has {} columns{}{}", fields.size(), fields.size() == 1 ? "" : "s",
            width_, other_separator(fields, separator_),
            fields.size() > width_ && !rows_fit_
                ? "; if lines stand above the header, --skip says how many (in a configuration data.skip)"
                : ""));
      }
      rows_fit_ = true;
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
      if (!named && ColumnGuess::is_value(name))
        throw perhaps_a_record(which + "is a number, a date or a missing value");
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
  bool rows_fit_ = false;  ///< some row has as many fields as there are names
  bool pending_ = false;   ///< the first row was read, and nobody has looked at it
};

constexpr const char* kHasTexts = "a few texts stand among its numbers: are they missing values?";

/// Of private records: the type, the notation, and the grid of whole numbers that are written as decimals.
void guessed_from(const Reading& r, DraftColumn& c) {
  c.type = r.type;
  c.notation = r.notation;
  c.note = r.note;
  if (!r.values.empty()) c.values = r.values;
  // Which number a code has is content.
  if (!c.notation.top_code.empty()) c.notation.top_code = schema::kFillIn;
  if (!c.notation.bottom_code.empty()) c.notation.bottom_code = schema::kFillIn;
  if (c.type == ColumnType::kDecimal && r.step && *r.step == std::floor(*r.step)) {
    c.step = 1.0;  // which larger one is content
    c.decimals = r.places;
  }
}

/// Above fields that look like dates or numbers, a text that does not is a name.
bool is_unlike(const std::string& name, const ColumnGuess& fields) {
  ColumnGuess of_name;
  of_name.look_at(name);
  return !fields.unknown_shape().empty() && of_name.unknown_shape().empty();
}

/// @returns whether the sample has all the columns: then their names are public by its owner's word.
bool fill_in(std::vector<DraftColumn>& columns, const DataSpec& sample, bool named) {
  NamedRows rows(sample, named);
  std::vector<PublicColumn> looks(rows.names().size());
  rows.each([&](std::size_t j, std::string_view field) { looks[j].look_at(field); });
  FileMarks marks;
  for (const PublicColumn& look : looks) look.guess().tell(marks);
  std::size_t known = 0;
  for (DraftColumn& column : columns) {
    const auto at = std::find(rows.names().begin(), rows.names().end(), column.name);
    if (at == rows.names().end()) continue;
    ++known;
    looks[static_cast<std::size_t>(at - rows.names().begin())].fill(marks, column);
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
  std::vector<ColumnGuess> guesses(columns.size());
  std::optional<std::size_t> repeated;
  bool any_row = false;
  rows.each([&](std::size_t j, std::string_view field) {
    any_row = true;
    if (!columns[j].guessed) return;
    guesses[j].look_at(field);
    if (!repeated && !named && file.header && field == columns[j].name) repeated = j;
  });
  bool told_apart = named || !file.header;
  FileMarks marks;
  for (const ColumnGuess& guess : guesses) guess.tell(marks);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (!columns[j].guessed) continue;
    DraftColumn& column = columns[j];
    std::vector<DraftColumn> choices;
    for (const Reading& r : guesses[j].readings(marks)) guessed_from(r, choices.emplace_back(column));
    settle(std::move(choices), column);
    // Text above numbers is a name.
    told_apart = told_apart || column.type != ColumnType::kCategory || guesses[j].are_codes() ||
                 is_unlike(column.name, guesses[j]);
    if (schema::is_number_type(column.type) && !guesses[j].words().empty()) column.note = kHasTexts;
    if (guesses[j].are_codes()) column.note = kAreCodes;
    if (const std::string shape = guesses[j].unknown_shape();
        column.type == ColumnType::kCategory && !shape.empty())
      column.note = unknown_note(shape);
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
