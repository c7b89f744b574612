#include "csv_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "muffle/schema/plain_text.hpp"

namespace muffle::data {

std::string HeaderMatch::listed(const std::vector<std::string>& names) {
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

std::string HeaderMatch::differences() const {
  std::vector<std::string> wrong;
  if (!missing.empty()) wrong.push_back("lacks " + listed(missing));
  if (!twice.empty()) wrong.push_back("has " + listed(twice) + " twice");
  if (!unknown.empty()) wrong.push_back(fmt::format("has {} that the schema does not know", unknown.size()));
  return fmt::format("{}", fmt::join(wrong, ", "));
}

std::string HeaderMatch::unknown_places() const {
  return fmt::format("name{} {}", unknown.size() == 1 ? "" : "s", fmt::join(unknown, ", "));
}

std::string other_separator(std::span<const std::string_view> fields, char separator) {
  for (const char other : {';', '\t', '|', ','}) {
    const auto has = [&](std::string_view field) { return field.find(other) != std::string_view::npos; };
    if (other != separator && std::any_of(fields.begin(), fields.end(), has))
      return fmt::format(" (\"{}\" stands in it)", other == '\t' ? "tab" : std::string(1, other));
  }
  return {};
}

HeaderMatch match_header(std::span<const std::string_view> names, const schema::Table& table,
                         const std::function<bool(std::size_t)>& needed) {
  std::map<std::string, std::size_t> columns;
  for (std::size_t j = 0; j < table.columns.size(); ++j)
    columns[schema::plain_text(table.columns[j].name)] = j;
  HeaderMatch match;
  std::vector<int> seen(table.columns.size(), 0);
  for (const std::string_view name : names) {
    const auto found = columns.find(schema::plain_text(name));
    match.places.push_back(found == columns.end() ? HeaderMatch::kUnknown : found->second);
    if (found == columns.end()) {
      match.unknown.push_back(match.places.size());
    } else {
      ++match.known;
      if (++seen[found->second] == 2) match.twice.emplace_back(name);
    }
  }
  for (std::size_t j = 0; j < seen.size(); ++j) {
    if (seen[j] == 0 && needed(j)) match.missing.push_back(table.columns[j].name);
  }
  return match;
}

}  // namespace muffle::data
