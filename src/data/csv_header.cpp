#include "csv_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "muffle/schema/plain_text.hpp"

namespace muffle::data {

std::string HeaderMatch::listed(const std::vector<std::string>& names) {
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

std::string HeaderMatch::differences() const {
  std::vector<std::string> wrong;
  if (!missing.empty()) wrong.push_back("lacks " + listed(missing));
  if (!other_case.empty())
    wrong.push_back("has " + listed(other_case) + " in other capital or small letters");
  if (!twice.empty()) wrong.push_back("has " + listed(twice) + " twice");
  if (!unknown.empty())
    wrong.push_back(fmt::format("has {} that the schema does not know",
                                unknown.size() == 1 ? "1 name" : fmt::format("{} names", unknown.size())));
  return fmt::format("{}", fmt::join(wrong, ", "));
}

std::string HeaderMatch::unknown_places() const {
  return fmt::format("name{} {}", unknown.size() == 1 ? "" : "s", fmt::join(unknown, ", "));
}

std::string unnamed_text(const std::vector<std::size_t>& columns, const std::string& file) {
  if (columns.empty()) return {};
  return fmt::format(
      "column{} {} of {} {} no name, as the row numbers of pandas and R have none, and what stands "
      "behind a separator at a line's end: read past",
      columns.size() == 1 ? "" : "s", fmt::join(columns, ", "), file, columns.size() == 1 ? "has" : "have");
}

bool is_unnamed(std::span<const std::string_view> names, std::size_t column) {
  const auto nameless = [](std::string_view name) {
    constexpr std::string_view kPandas = "Unnamed: ";
    name = schema::trimmed(name);
    if (name.size() > 3 && name.starts_with("...") &&  // readr's
        name.find_first_not_of("0123456789", 3) == std::string_view::npos)
      return true;
    return name.empty() || (name.size() > kPandas.size() && name.starts_with(kPandas) &&
                            name.find_first_not_of("0123456789.", kPandas.size()) == std::string_view::npos);
  };
  const auto front = names.first(column + 1), back = names.subspan(column);
  return std::all_of(front.begin(), front.end(), nameless) || std::all_of(back.begin(), back.end(), nameless);
}

std::optional<std::size_t> fields_that_count(std::span<const std::string_view> fields, std::size_t columns,
                                             bool unnamed_end) {
  const bool fits = fields.size() == columns || (fields.size() == columns + 1 && fields.back().empty()) ||
                    (fields.size() + 1 == columns && unnamed_end);
  if (!fits) return std::nullopt;
  return std::min(fields.size(), columns);
}

std::string other_separator(std::span<const std::string_view> fields, char separator) {
  const auto stands = [&](std::string_view text) {
    return std::any_of(fields.begin(), fields.end(),
                       [&](std::string_view field) { return field.find(text) != std::string_view::npos; });
  };
  // Tabs and blanks.
  const bool padded = fields.size() == 1 && stands(" ") && separator != kBlankSeparator;
  for (const char other : {';', '\t', '|', ','}) {
    if (other == separator || !stands(std::string_view(&other, 1)) || (other == '\t' && padded)) continue;
    return fmt::format(" (\"{}\" stands in it)", other == '\t' ? "tab" : std::string(1, other));
  }
  return padded ? " (blanks stand in it: \"blank\"?)" : "";
}

/// One row with a field too many is malformed.
constexpr std::uint64_t kLeastRows = 2, kNamesCompared = 20;

bool rows_have_names(const std::string& path, const CsvDialect& dialect, std::size_t columns) {
  try {
    CsvRows rows(path, dialect);
    std::set<std::string, std::less<>> names;
    std::uint64_t looked_at = 0;
    // All rows: no row fits both readings of a file, so that no record decides how the others are read. One
    // that differs is malformed in the other reading, or makes all others so: then there is no release.
    for (bool header = rows.read_header(); header && rows.read(); ++looked_at) {
      if (rows.fields().size() != columns + 1 || rows.fields().back().empty()) return false;
      if (looked_at < kNamesCompared && !names.emplace(rows.fields().front()).second) return false;
    }
    return looked_at >= kLeastRows;
  } catch (const DataError&) {  // whoever reads the row says what is wrong
    return false;
  }
}

bool header_is_below(CsvRows& rows, const schema::Table& table,
                     const std::function<bool(std::size_t)>& needed) {
  constexpr int kMostRows = 20;
  try {
    for (int i = 0; i < kMostRows && rows.read(); ++i) {
      if (match_header(rows.fields(), table, needed).matches()) return true;
    }
  } catch (const DataError&) {  // what is above need not be CSV, and what is below is for other messages
  }
  return false;
}

HeaderMatch match_header(std::span<const std::string_view> names, const schema::Table& table,
                         const std::function<bool(std::size_t)>& needed) {
  std::map<std::string, std::size_t> columns;
  for (std::size_t j = 0; j < table.in_files(); ++j) columns[schema::plain_text(table.columns[j].name)] = j;
  HeaderMatch match;
  std::vector<int> seen(table.columns.size(), 0);
  std::set<std::string> unknown;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = names[i];
    const auto found = columns.find(schema::plain_text(name));
    match.places.push_back(found == columns.end() ? HeaderMatch::kUnknown : found->second);
    if (found == columns.end() && is_unnamed(names, i)) {
      match.unnamed.push_back(match.places.size());
    } else if (found == columns.end()) {
      match.unknown.push_back(match.places.size());
      unknown.insert(schema::caseless(name));
    } else {
      ++match.known;
      if (++seen[found->second] == 2) match.twice.emplace_back(name);
    }
  }
  for (std::size_t j = 0; j < seen.size(); ++j) {
    if (seen[j] != 0 || !needed(j)) continue;
    match.missing.push_back(table.columns[j].name);
    if (unknown.contains(schema::caseless(match.missing.back())))
      match.other_case.push_back(match.missing.back());
  }
  return match;
}

}  // namespace muffle::data
